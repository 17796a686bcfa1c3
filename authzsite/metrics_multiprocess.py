"""One folder in which the web processes of a machine count together, so that one scrape speaks for all of them.

Each process writes files of its own, named after it; `prometheus_client` adds them up. This module is imported before
that library is, so it must not import it.
"""

import os
import re
from pathlib import Path

ENVIRONMENT_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_OWNER_PATTERN = re.compile(r"_(\d+)\.db")


def prepare(folder: Path) -> None:
    """Make the folder, and have this process count in it.

    Where no other process counts any more everything begins at nothing. Otherwise what ended ones counted is kept: a
    sum that shrinks would look like a restart of all of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(_is_running(process_id) for process_id in _list_process_ids(folder)):
        for path in _list_files(folder):
            path.unlink(missing_ok=True)
    os.environ[ENVIRONMENT_VARIABLE] = str(folder)


def list_ended_processes(folder: Path) -> tuple[int, ...]:
    """Return the numbers of the processes that counted here and are gone."""
    return tuple(
        process_id
        for process_id in _list_process_ids(folder)
        if process_id != os.getpid() and not _is_running(process_id)
    )


def _list_files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.db") if _OWNER_PATTERN.search(path.name)]


def _list_process_ids(folder: Path) -> list[int]:
    return sorted({int(match[1]) for path in _list_files(folder) if (match := _OWNER_PATTERN.search(path.name))})


def _is_running(process_id: int) -> bool:
    """Whether another process of this number is there; in a new container an old number may be one's own."""
    if process_id == os.getpid():
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
