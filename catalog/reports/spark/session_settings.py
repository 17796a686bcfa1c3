"""Settings of a Spark session: what every session needs, and defaults for a Spark that this process starts itself.

Settings that users made in their `spark-defaults.conf` are left as they are.
"""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from catalog.reports.spark import class_archive

#: Default of SPARK_MASTER: this machine, on every core.
LOCAL_MASTER = "local[*]"
LOOPBACK = "127.0.0.1"

#: Settings without which the same data would give other results. Before 4.0 Spark was not ANSI by default.
REQUIRED_SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}

_LOG4J_FILE = Path(__file__).with_name("log4j2.properties")

#: JVM options for short jobs, which end before optimized compilation pays: half the processor time of a default start.
#: Without optimized compilation Java has room for 48 MB of code, which a few reports fill; then it compiles no more.
_SHORT_JOB_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m")
#: JVM options for jobs of minutes: the throughput collector, without the barriers that short pauses require.
#: Most methods of Spark run a few seconds altogether, and generated ones are new in every stage: only what runs ten
#: times as often as usual is worth optimized compilation, which would take a quarter of all processor time.
_LONG_JOB_JVM = (
    "-XX:+UseParallelGC",
    # What plans and generates code is over in seconds: the file says what is not worth optimized compilation at all.
    "-XX:+UnlockDiagnosticVMOptions",
    f'"-XX:CompilerDirectivesFile={Path(__file__).with_name("compiler_directives.json")}"',
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
#: Plans for a few dozen parts, or for little data, are not worth compiling, adapting or spreading.
_SHORT_JOB_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}

#: Bounds, in MiB, of the Java heap when SPARK_DRIVER_MEMORY is not set: a quarter of the memory, as Java's own default,
#: within these. Spark's default would be the minimum.
_MIN_JAVA_MEMORY_MIB, _MAX_JAVA_MEMORY_MIB = 1024, 4096
#: Partitions for each core on this machine, of what is read and of what is exchanged; Spark's default is meant for
#: dozens of cores.
_PARTITIONS_PER_CORE = 4
_HUGE_PAGES_FILE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_CGROUP_MEMORY_FILE = Path("/sys/fs/cgroup/memory.max")


def build_defaults(master: str, folder: Path, *, is_short: bool) -> dict[str, str]:
    """Return our defaults for a Spark that this process starts, without those that users have set."""
    user_settings = read_user_settings()
    defaults = {
        "spark.driver.defaultJavaOptions": " ".join(_build_java_options(folder, user_settings, is_short=is_short)),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.memory": f"{_find_java_memory()}m",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Otherwise every part of an expression asks Java three times, to say in errors which line of Python made it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Python functions of one value would need pandas for Arrow, and warn that it is missing.
        "spark.sql.execution.pythonUDF.arrow.enabled": "false",
        # Compared with the size of compressed columns, which grow twentyfold in memory.
        "spark.sql.autoBroadcastJoinThreshold": "4m",
        # Java interprets larger methods, such as one for all the columns of facts; Spark divides what it does not fuse.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        # Joins with tables of which every partition is so small need not sort both sides.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64m",
        # A file or two are read on all cores, and three parts would keep two cores busy for the time of four.
        "spark.sql.files.maxPartitionBytes": "32m",
        "spark.sql.files.openCostInBytes": "256k",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(_build_loopback_defaults() if is_local_master(master) else {}),
    }
    memory = os.environ.get("SPARK_DRIVER_MEMORY", "").strip()
    return {
        **{name: value for name, value in defaults.items() if name not in user_settings},
        **({"spark.driver.memory": memory} if memory else {}),
    }


def find_user_file() -> Path:
    """Return the path of the user's `spark-defaults.conf`, which need not be there."""
    return class_archive.find_conf_folder() / "spark-defaults.conf"


def read_job_settings(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session that short jobs change, without those that users have set."""
    user_settings = read_user_settings()
    return {name: str(session.conf.get(name)) for name in _SHORT_JOB_SETTINGS if name not in user_settings}


def apply_job_settings(session: SparkSession, job_settings: Mapping[str, str], *, is_short: bool) -> None:
    """Set for the next job of a session what depends on its length; `job_settings` are those of long ones."""
    for name, value in job_settings.items():
        session.conf.set(name, _SHORT_JOB_SETTINGS[name] if is_short else value)


def read_user_settings() -> dict[str, str]:
    """Return the settings of the user's `spark-defaults.conf`, by name."""
    file = find_user_file()
    if not file.is_file():
        return {}
    # Java, too, reads it whatever it has in it.
    lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    # Java's format of properties: name and value are separated by white space, `=` or `:`.
    pairs = (line.replace("=", " ", 1).split(maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {name.rstrip(":"): "".join(value) for name, *value in pairs}


def is_local_master(master: str) -> bool:
    """Whether the master is on this machine, so that loopback addresses suffice."""
    if master.partition("[")[0] in ("local", "local-cluster"):
        return True
    host = urlsplit(master).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _build_loopback_defaults() -> dict[str, str]:
    partition_count = str(_PARTITIONS_PER_CORE * (os.cpu_count() or 1))
    return {
        "spark.sql.shuffle.partitions": partition_count,
        "spark.sql.files.minPartitionNum": partition_count,
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
    }


def _build_java_options(folder: Path, user_settings: Mapping[str, str], *, is_short: bool) -> list[str]:
    """Return the options of Java.

    Where the user chooses a collector, they say nothing of compiler and collector; where he says something of archives
    of classes, they name none.
    """
    properties = {"java.io.tmpdir": str(folder / "local")}
    if not (class_archive.find_conf_folder() / "log4j2.properties").is_file():
        properties["log4j2.configurationFile"] = _LOG4J_FILE.as_uri()
    names = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
    user_options = [os.environ.get(name, "") for name in names]
    user_options.append(user_settings.get("spark.driver.extraJavaOptions", ""))
    long_job_options = (*_LONG_JOB_JVM, *(("-XX:+UseTransparentHugePages",) if _has_huge_pages() else ()))
    chosen_options = () if "GC" in " ".join(user_options) else _SHORT_JOB_JVM if is_short else long_job_options
    archive_options = () if "share" in " ".join(user_options).lower() else class_archive.build_java_options()
    return [*(f'"-D{name}={value}"' for name, value in properties.items()), *chosen_options, *archive_options]


def _has_huge_pages() -> bool:
    """Whether Linux has large pages for programs that ask for them: joins then wait less for addresses of memory."""
    return _HUGE_PAGES_FILE.is_file() and "[never]" not in _HUGE_PAGES_FILE.read_text(encoding="ascii")


def _find_java_memory() -> int:
    """Return the size of the Java heap, in MiB."""
    available_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _CGROUP_MEMORY_FILE.is_file() and (limit := _CGROUP_MEMORY_FILE.read_text(encoding="ascii").strip()).isdigit():
        available_bytes = min(available_bytes, int(limit))
    return max(_MIN_JAVA_MEMORY_MIB, min(available_bytes // 2**20 // 4, _MAX_JAVA_MEMORY_MIB))
