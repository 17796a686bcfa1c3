"""The only module that starts and stops Spark.

Spark is a Java program beside this process, started by a session and ended with it, so that no process remains. It
listens on the loopback address only, unless its master is on another machine.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import catalog

#: Default of SPARK_MASTER: this machine, on every core.
LOCAL_MASTER = "local[*]"

_LOOPBACK = "127.0.0.1"
_LOG4J_FILE = Path(__file__).with_name("log4j2.properties")
_PROJECT_FOLDER = Path(catalog.__file__).parents[1]

#: Loggers of PySpark that repeat a raised exception with the Java stack.
_ECHO_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

#: JVM options for short jobs, which end before optimized compilation pays: half the processor time of a default start.
_SHORT_JOB_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
#: JVM options for jobs of minutes: the throughput collector, without the barriers that short pauses require.
_LONG_JOB_JVM = ("-XX:+UseParallelGC",)

#: Bounds, in MiB, of the Java heap when SPARK_DRIVER_MEMORY is not set: a quarter of the memory, as Java's own default,
#: within these. Spark's default would be the minimum.
_MIN_JAVA_MEMORY_MIB, _MAX_JAVA_MEMORY_MIB = 1024, 4096
#: Shuffle partitions for each core on this machine; Spark's default is meant for dozens of cores.
_PARTITIONS_PER_CORE = 4
_CGROUP_MEMORY_FILE = Path("/sys/fs/cgroup/memory.max")

#: Seconds that the Java program has to end by itself.
_SHUTDOWN_SECONDS = 30


class SparkUnavailable(RuntimeError):
    """Spark cannot be started; the message says why, or what to install."""


@contextmanager
def open_session(name: str, *, folder: Path | None = None, has_ui: bool = False) -> Iterator[SparkSession]:
    """Start Spark with an SQL session and stop it at the end of the block; otherwise as `open_context`."""
    with open_context(name, folder=folder, has_ui=has_ui) as context:
        yield SparkSession(context)


@contextmanager
def open_context(
    name: str, *, folder: Path | None = None, has_ui: bool = False, is_short: bool = False
) -> Iterator[SparkContext]:
    """Start Spark under an application name and stop it at the end of the block.

    An SQL session can be created from the context; that takes as long as everything before.

    The master is SPARK_MASTER, else this machine. All files of Spark lie in `folder`, by default `spark` in VAR_DIR.
    `has_ui` serves Spark's pages, from port 4040 on. `is_short` says that the JVM only distributes work. Times are UTC,
    and tables are transferred as Arrow. Raises SparkUnavailable where there is no Java, no such master, or Spark runs
    in this process already.
    """
    if not has_java():
        raise SparkUnavailable(
            "Spark needs Java 17 or newer, in JAVA_HOME or on the PATH; on Debian: apt-get install default-jre-headless"
        )
    if SparkContext._active_spark_context is not None:
        raise SparkUnavailable("Spark runs in this process already; one session at a time.")
    for logger_name in _ECHO_LOGGERS:
        PySparkLogger.getLogger(logger_name).disabled = True
    master = os.environ.get("SPARK_MASTER", "").strip() or LOCAL_MASTER
    conf = SparkConf(loadDefaults=False)
    conf.setAll(
        list(
            _build_settings(
                name, master, _create_folders(folder or find_local_folder()), has_ui=has_ui, is_short=is_short
            ).items()
        )
    )
    with _open_java(conf, address=_LOOPBACK if _is_local_master(master) else None) as gateway:
        try:
            context = SparkContext(conf=conf, gateway=gateway)
        except Py4JError as error:
            raise SparkUnavailable(f"Spark could not be started at {master}: {_error_sentence(error)}") from error
        try:
            yield context
        finally:
            # The session must not be handed to the next context.
            if (active_session := SparkSession.getActiveSession()) is not None:
                active_session.stop()
            context.stop()


def has_java() -> bool:
    """Whether Java is in JAVA_HOME, or else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(f"{home}/bin/java" if home else "java") is not None


def _error_sentence(error: Py4JError) -> str:
    """Return the message of a Java error without its stack."""
    lines = str(error).splitlines()
    return next((line.removeprefix(": ") for line in lines if line.startswith(": ")), lines[0])


def find_local_folder() -> Path:
    """Return the folder of Spark's files on this machine: the one that a run of a report has for itself, if any."""
    if run_folder := os.environ.get("SPARK_FOLDER", "").strip():
        return Path(run_folder)
    return Path(os.environ.get("VAR_DIR", "").strip() or _PROJECT_FOLDER / "var") / "spark"


def _create_folders(folder: Path) -> Path:
    folder = folder.resolve()
    for name in ("local", "warehouse"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


def _build_settings(name: str, master: str, folder: Path, *, has_ui: bool, is_short: bool) -> dict[str, str]:
    java_properties = {"log4j2.configurationFile": _LOG4J_FILE.as_uri(), "java.io.tmpdir": str(folder / "local")}
    options = [
        *(f'"-D{key}={value}"' for key, value in java_properties.items()),
        *_build_jvm_options(is_short=is_short),
    ]
    return {
        "spark.app.name": name,
        "spark.master": master,
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "").strip() or f"{_find_java_memory()}m",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Python functions of one value would need pandas for Arrow, and warn that it is missing.
        "spark.sql.execution.pythonUDF.arrow.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        # Compared with the size of compressed columns, which grow twentyfold in memory.
        "spark.sql.autoBroadcastJoinThreshold": "4m",
        **(
            {"spark.sql.shuffle.partitions": str(_PARTITIONS_PER_CORE * (os.cpu_count() or 1))}
            if _is_local_master(master)
            else {}
        ),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": str(has_ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        **({"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK} if _is_local_master(master) else {}),
    }


def _build_jvm_options(*, is_short: bool) -> tuple[str, ...]:
    """Return the options of compiler and garbage collector, or none where the environment chooses a collector."""
    configured_options = " ".join(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"))
    return () if "GC" in configured_options else _SHORT_JOB_JVM if is_short else _LONG_JOB_JVM


def _find_java_memory() -> int:
    """Return the size of the Java heap, in MiB."""
    available_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _CGROUP_MEMORY_FILE.is_file() and (limit := _CGROUP_MEMORY_FILE.read_text(encoding="ascii").strip()).isdigit():
        available_bytes = min(available_bytes, int(limit))
    return max(_MIN_JAVA_MEMORY_MIB, min(available_bytes // 2**20 // 4, _MAX_JAVA_MEMORY_MIB))


def has_executors(context: SparkContext) -> bool:
    """Whether Spark has executors apart from its driver, which have no copy of this project."""
    return (context.master or LOCAL_MASTER).partition("[")[0] != "local"


def _is_local_master(master: str) -> bool:
    """Whether the master is on this machine, so that loopback addresses suffice."""
    if master.partition("[")[0] in ("local", "local-cluster"):
        return True
    host = urlsplit(master).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _open_java(conf: SparkConf, *, address: str | None) -> Iterator[JavaGateway]:
    """Start the Java program and wait for its end; one that spark-submit started ends with spark-submit."""
    try:
        with _bind_local_address(address):
            gateway = launch_gateway(conf)  # type: ignore[no-untyped-call]  # PySpark gives it no types
    except PySparkRuntimeError as error:
        raise SparkUnavailable("Java ended before Spark was there; what it said stands in the log.") from error
    try:
        yield gateway
    finally:
        # PySpark would retain the program until Python ends, and give a dead one to the next session.
        SparkContext._gateway = SparkContext._jvm = None
        process: subprocess.Popen[bytes] | None = gateway.proc
        if process is not None:
            gateway.shutdown()
            _wait_for_exit(process)


@contextmanager
def _bind_local_address(address: str | None) -> Iterator[None]:
    """Set SPARK_LOCAL_IP for processes started in the block: Spark's pages read their address only from there."""
    previous_address = os.environ.get("SPARK_LOCAL_IP")
    if address is not None:
        os.environ["SPARK_LOCAL_IP"] = address
    try:
        yield
    finally:
        if previous_address is not None:
            os.environ["SPARK_LOCAL_IP"] = previous_address
        else:
            os.environ.pop("SPARK_LOCAL_IP", None)


def _wait_for_exit(process: subprocess.Popen[bytes]) -> None:
    """Close the program's standard input, upon which it ends, and wait for it; kill it after `_SHUTDOWN_SECONDS`."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_SHUTDOWN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
