"""The only module that starts and stops Spark, through PySpark's public builder of sessions.

Spark is a Java program beside this process, which ends with this process, so that none remains. It listens on the
loopback address only, unless its master is on another machine. A Spark Connect server (`sc://`) runs for itself, and
spark-submit starts Java before this process: then only the session is made here.
"""

import importlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import catalog
from catalog.reports import spark_address
from catalog.reports.spark import class_archive, error_sentences, session_settings
from catalog.reports.spark.session_settings import LOCAL_MASTER, LOOPBACK

_PROJECT_FOLDER = Path(catalog.__file__).parents[1]

_CONNECT_SCHEME = "sc://"

#: Set by spark-submit for the programs that it starts.
_SUBMITTED_VARIABLE = "PYSPARK_GATEWAY_PORT"

#: Loggers of PySpark that repeat a raised exception with the Java stack.
_ECHO_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

#: Packages whose exceptions PySpark lets through: the bridge to Java, and Connect's transport.
_TRANSPORT_PACKAGES = frozenset({"py4j", "grpc"})
#: What PySpark raises where Java ends in the middle of an answer.
_LOST_CONNECTION = ConnectionError | EOFError


class SparkUnavailable(RuntimeError):
    """Spark cannot be started or reached; the message says why, or what to install."""


@contextmanager
def open_session(
    name: str, *, folder: Path | None = None, has_ui: bool = False, is_short: bool = False
) -> Iterator[SparkSession]:
    """Open a session of Spark under an application name and stop it at the end of the block.

    The address is SPARK_MASTER or SPARK_REMOTE, else this machine. All files of Spark lie in `folder`, by default
    `spark` in VAR_DIR. `has_ui` serves Spark's pages, from port 4040 on, also where the user has not set it. `is_short`
    says that Java only distributes work. Times are UTC. Raises SparkUnavailable where there is no Java, no Spark at the
    address, or a session in this process already.
    """
    address = find_address()
    if not _needs_no_java(address) and class_archive.find_java() is None:
        raise SparkUnavailable(
            "Spark needs Java 17 or newer, in JAVA_HOME or on the PATH; on Debian: apt-get install default-jre-headless"
        )
    if is_connect_address(address):
        _check_server(address)
    if SparkSession.getActiveSession() is not None:
        raise SparkUnavailable("Spark runs in this process already; one session at a time.")
    _stop_echoes()
    if is_connect_address(address):
        session = _connect(address)
    else:
        session = _start(name, address, folder or find_local_folder(), has_ui=has_ui, is_short=is_short)
    try:
        add_tags(session, [f"authzsite.{name}"])
        yield session
    finally:
        try:
            session.stop()
        except Exception as error:
            # Java may have ended before; what it was asked last says so.
            if not is_spark_error(error):
                raise


def find_address() -> str:
    """Return the address of Spark. Raises SparkUnavailable where the environment names two."""
    master, remote = (os.environ.get(name, "").strip() for name in ("SPARK_MASTER", "SPARK_REMOTE"))
    if master and remote and master != remote:
        raise SparkUnavailable("SPARK_MASTER and SPARK_REMOTE name two different Sparks; set one of them.")
    if remote and not is_connect_address(remote):
        raise SparkUnavailable("SPARK_REMOTE has to be the address of a Spark Connect server, sc://host:port.")
    return master or remote or LOCAL_MASTER


def is_connect_address(address: str) -> bool:
    """Whether an address is that of a Spark Connect server."""
    return address.startswith(_CONNECT_SCHEME)


def is_started_here() -> bool:
    """Whether Spark is started by the program that opens a session: it is neither a server nor from spark-submit."""
    return not _needs_no_java(find_address())


def has_executors(session: SparkSession) -> bool:
    """Whether Python runs elsewhere than on this machine or in this account, where there is no copy of this project."""
    if is_connect_address(find_address()):
        return True
    return session.conf.get("spark.master", LOCAL_MASTER).partition("[")[0] != "local"  # type: ignore[union-attr]


def ship_code(session: SparkSession, archive: Path) -> None:
    """Give the modules in a zip to all Python processes of a session."""
    if is_connect_address(find_address()):
        session.addArtifacts(str(archive), pyfile=True)
    else:
        # Not addArtifacts, which before 4.0 is only for Connect.
        session.sparkContext.addPyFile(str(archive))


def add_tags(session: SparkSession, tags: Iterable[str]) -> None:
    """Tag what this thread asks Spark for, so that it can be found and interrupted there."""
    for tag in tags:
        # PySpark 3.5 has tags with Connect only.
        with suppress(RuntimeError):
            session.addTag(tag)


def clear_tags(session: SparkSession) -> None:
    """Forget the tags of what this thread asks Spark for."""
    with suppress(RuntimeError):
        session.clearTags()


def list_tags(session: SparkSession) -> set[str]:
    """Return the tags of what this thread asks Spark for."""
    with suppress(RuntimeError):
        return session.getTags()
    return set()


def is_spark_error(error: BaseException) -> bool:
    """Whether an exception comes from Spark, its Java program or the connection to it."""
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, PySparkException | _LOST_CONNECTION) or not packages.isdisjoint(_TRANSPORT_PACKAGES)


def has_ended(error: Exception) -> bool:
    """Whether an exception of Spark says that its Java program is gone, and not what that program said."""
    return not isinstance(error, PySparkException) and type(error).__name__ != "Py4JJavaError"


def _needs_no_java(address: str) -> bool:
    """Whether Java runs already, on a server or as what started this program."""
    return is_connect_address(address) or _SUBMITTED_VARIABLE in os.environ


def find_local_folder() -> Path:
    """Return the folder of Spark's files on this machine: the one that a run of a report has for itself, if any."""
    if run_folder := os.environ.get("SPARK_FOLDER", "").strip():
        return Path(run_folder)
    return Path(os.environ.get("VAR_DIR", "").strip() or _PROJECT_FOLDER / "var") / "spark"


# -- classic ----------------------------------------------------------------------------------------------------------


def _start(name: str, master: str, folder: Path, *, has_ui: bool, is_short: bool) -> SparkSession:
    """Return a session of a Spark that starts now, or that spark-submit has started."""
    # PySpark takes an empty variable for a server.
    os.environ.pop("SPARK_REMOTE", None)
    builder = SparkSession.builder.appName(name)
    if _SUBMITTED_VARIABLE not in os.environ:
        defaults = session_settings.build_defaults(master, _create_folders(folder), is_short=is_short)
        builder = builder.master(master).config(map=dict(defaults))
    if has_ui:
        builder = builder.config("spark.ui.enabled", "true")
    # Spark reads the address of its pages from the environment alone.
    with _bind_local_address(LOOPBACK if session_settings.is_local_master(master) else None):
        return _open(builder, master)


def _create_folders(folder: Path) -> Path:
    folder = folder.resolve()
    for name in ("local", "warehouse"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _bind_local_address(address: str | None) -> Iterator[None]:
    """Set SPARK_LOCAL_IP for processes started in the block, unless the user has."""
    if address is None or "SPARK_LOCAL_IP" in os.environ:
        yield
        return
    os.environ["SPARK_LOCAL_IP"] = address
    try:
        yield
    finally:
        os.environ.pop("SPARK_LOCAL_IP", None)


# -- Connect ----------------------------------------------------------------------------------------------------------


def _check_server(address: str) -> None:
    """Raise SparkUnavailable unless a Spark Connect server answers."""
    variable = "SPARK_MASTER" if os.environ.get("SPARK_MASTER", "").strip() else "SPARK_REMOTE"
    if problem := spark_address.find_problem(address, variable=variable):
        # PySpark would try for ten minutes.
        raise SparkUnavailable(problem)


def _connect(address: str) -> SparkSession:
    """Return a session of a Spark Connect server."""
    try:
        return _open(SparkSession.builder.remote(address), address)
    except ImportError as error:
        raise SparkUnavailable(
            "Spark Connect needs further packages: pip install 'pyspark[connect]', in the version of the server."
        ) from error


def _shorten(address: str) -> str:
    """Return an address without its parameters, among which a token may be."""
    return address.partition(";")[0].rstrip("/")


# -- both -------------------------------------------------------------------------------------------------------------


def _open(builder: SparkSession.Builder, address: str) -> SparkSession:
    try:
        session = builder.getOrCreate()
        for name, value in session_settings.REQUIRED_SETTINGS.items():
            session.conf.set(name, value)
    except Exception as error:
        if not is_spark_error(error):
            raise
        if "JAVA_GATEWAY_EXITED" in str(error):
            raise SparkUnavailable(
                f"Java ended before Spark was there; what it said stands in the log. Check {_name_settings(address)}."
            ) from error
        # What PySpark makes of an error of Java may end before the reason.
        source = error.__context__ if error.__context__ is not None and str(error).rstrip().endswith(":") else error
        reason = error_sentences.find_reason(str(source)).rstrip(".")
        raise SparkUnavailable(
            f"Spark could not be started at {_shorten(address)}: {reason}. Check {_name_settings(address)}."
        ) from error
    return session


def _name_settings(address: str) -> str:
    """Return where users have set what a Spark at this address starts with."""
    if is_connect_address(address):
        return "SPARK_MASTER or SPARK_REMOTE"
    memory = os.environ.get("SPARK_DRIVER_MEMORY", "").strip()
    names = [
        f"SPARK_MASTER ({_shorten(address)})",
        *([f"SPARK_DRIVER_MEMORY ({memory})"] if memory else []),
        str(session_settings.find_user_file()),
    ]
    return " and ".join((", ".join(names[:-1]), names[-1]))


def _stop_echoes() -> None:
    if find_spec("pyspark.logger") is None:
        # Before 4.0 there is nothing that repeats.
        return
    logger_type = importlib.import_module("pyspark.logger").PySparkLogger
    for name in _ECHO_LOGGERS:
        logger_type.getLogger(name).disabled = True
