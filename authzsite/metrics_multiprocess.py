"""One folder in which the web processes of a machine count together, so that one scrape speaks for all of them.

Each process writes files of its own, named after it; `prometheus_client` adds them up. This module is imported before
that library is, so it must not import it.
"""

import os
import re
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_OWNER = re.compile(r"_(\d+)\.db")


def prepare(folder: Path) -> None:
    """Make the folder, and have this process count in it.

    Where no other process counts any more everything begins at nothing. Otherwise what ended ones counted is kept: a
    sum that shrinks would look like a restart of all of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(_is_running(owner) for owner in _owners(folder)):
        for path in _files(folder):
            path.unlink(missing_ok=True)
    os.environ[VARIABLE] = str(folder)


def ended(folder: Path) -> tuple[int, ...]:
    """Return the numbers of the processes that counted here and are gone."""
    return tuple(owner for owner in _owners(folder) if owner != os.getpid() and not _is_running(owner))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.db") if _OWNER.search(path.name)]


def _owners(folder: Path) -> list[int]:
    return sorted({int(found[1]) for path in _files(folder) if (found := _OWNER.search(path.name))})


def _is_running(number: int) -> bool:
    """Whether another process of this number is there; in a new container an old number may be one's own."""
    if number == os.getpid():
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
