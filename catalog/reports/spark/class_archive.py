"""The archive of Java's classes, with which Spark starts in half the time.

Java reads, checks and links ten thousand classes of Spark at each start. Its archive (class data sharing) has them as
Java needs them in memory. It belongs to one Java and one Spark; Java ignores one that does not fit.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyspark

#: Names the folder of archives; without it there are none.
FOLDER_VARIABLE = "SPARK_CLASSES_DIR"

SUFFIX = ".jsa"

#: Variables that name folders of configurations, which Spark puts on Java's class path.
_CONF_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


def find_java() -> Path | None:
    """Return the program of Java in JAVA_HOME, or else on the PATH; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which(f"{home}/bin/java" if home else "java")
    return Path(program) if program else None


def find_spark_folder() -> Path:
    """Return the folder of Spark: SPARK_HOME, or the one in PySpark."""
    return Path(os.environ.get("SPARK_HOME", "").strip() or Path(pyspark.__file__).parent)


def find_conf_folder() -> Path:
    """Return the folder where Spark looks for the user's configuration, which need not be there."""
    return Path(os.environ.get("SPARK_CONF_DIR", "").strip() or find_spark_folder() / "conf")


def find_file() -> Path | None:
    """Return the path of the archive for this Java and this Spark, which need not be there; None without a folder."""
    folder, java = os.environ.get(FOLDER_VARIABLE, "").strip(), find_java()
    if not folder or java is None:
        return None
    key = hashlib.sha256("\n".join(_iterate_versions(java)).encode())
    return Path(folder).resolve() / f"{key.hexdigest()[:16]}{SUFFIX}"


def list_conf_folders() -> list[Path]:
    """Return the folders with files on Java's class path: Java makes no archive with them, and uses none."""
    named_folders = (os.environ.get(name, "").strip() for name in _CONF_VARIABLES)
    folders = [find_conf_folder(), *(Path(name) for name in named_folders if name)]
    return [folder for folder in folders if folder.is_dir() and any(folder.iterdir())]


def build_java_options() -> list[str]:
    """Return the option with which Java uses the archive, if it is there."""
    path = find_file()
    # Without the file Java would use no archive at all, not even its own.
    return [f'"-XX:SharedArchiveFile={path}"'] if path is not None and path.is_file() else []


def _iterate_versions(java: Path) -> Iterator[str]:
    """Yield what Java and Spark consist of."""
    for path in (java.resolve(), *sorted((find_spark_folder() / "jars").glob("*.jar"))):
        status = path.stat()
        yield f"{path} {status.st_size} {status.st_mtime_ns}"
