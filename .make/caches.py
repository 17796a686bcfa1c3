"""What the checks and tests make once for a user of this machine, for every clone of the project: see `find_folder`.

All of it may be deleted at any time.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-dev.lock"

#: What Java and its scripts need of the folder of PySpark.
_SPARK_PARTS = ("bin", "jars", "python")


def find_caches() -> Path:
    """Return the project's part of the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "authzsite"


def find_folder(name: str, *facts: str) -> Path:
    """Return the folder of a cache that belongs to these facts, which need not be there."""
    return find_caches() / name / hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def find_types_folder() -> Path:
    """Return the folder of mypy's cache for these versions of libraries and these modules of models (MYPY_CACHE_DIR).

    The plugin for Django ties files to modules of models, and a cache would look for those of another branch.
    """
    models = (str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("*/models/**/*.py")))
    return find_folder("mypy", LOCK.read_text(encoding="utf-8"), sys.version, *models)


def set_spark_variables(environment: MutableMapping[str, str]) -> None:
    """Name the archive of Java's classes, unless the user has named one or a Spark of his own.

    Java uses an archive only with jars where they were when it was made. So all clones start the Spark whose files are
    linked beside the archive, and not each that in its .venv.
    """
    if {"SPARK_CLASSES_DIR", "SPARK_HOME"} & environment.keys():
        environment.setdefault("SPARK_CLASSES_DIR", str(ROOT / "var" / "spark" / "classes"))
        return
    folder = find_folder("spark-classes", read_lock("pyspark"), describe_java())
    environment["SPARK_CLASSES_DIR"] = str(folder)
    with suppress(OSError):
        # On another file system than .venv there are no links, and each clone has an archive.
        environment["SPARK_HOME"] = str(link_spark(folder / "spark"))


def read_lock(name: str) -> str:
    """Return what the lock says of a package: its version and hashes."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{name}=="))
    hashes = [line.strip() for line in lines[start + 1 :]]
    count = next(number for number, line in enumerate(hashes) if not line.startswith("--hash="))
    return "\n".join((lines[start], *hashes[:count]))


def describe_java() -> str:
    """Return which Java Spark would start, with its version; '' without any."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which(f"{home}/bin/java" if home else "java")
    if program is None:
        return ""
    java = Path(program).resolve()
    release = java.parent.parent / "release"
    return f"{java}\n{release.read_text(encoding='utf-8') if release.is_file() else ''}"


def link_spark(folder: Path) -> Path:
    """Make a folder with links to the files of PySpark, unless it is there, and return it. Raises OSError."""
    if folder.is_dir():
        return folder
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise FileNotFoundError("pyspark")
    new = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        for name in _SPARK_PARTS:
            shutil.copytree(Path(found.origin).parent / name, new / name, copy_function=os.link)
        # Another process may have been faster.
        with suppress(OSError):
            new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder
