"""The folder in which all web processes of a machine store their metrics, so that one scrape covers them all.

Each process writes files of its own, named after its id; `prometheus_client` adds them up. This module must not import
that library, since it has to run before the library is imported.
"""

import os
import re
from pathlib import Path

ENVIRONMENT_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_OWNER_PATTERN = re.compile(r"_(\d+)\.db")


def prepare(folder: Path) -> None:
    """Create the folder and make it the metrics folder of this process.

    If no other process uses it any more, old files are deleted. Otherwise the counts of ended processes are kept: a sum
    that shrinks would look like a restart of all of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(_is_running(process_id) for process_id in _list_process_ids(folder)):
        for path in _list_files(folder):
            path.unlink(missing_ok=True)
    os.environ[ENVIRONMENT_VARIABLE] = str(folder)


def remove_files(folder: Path, process_id: int) -> None:
    """Delete the files of a process that answers no requests and so has no numbers of its own."""
    for path in _list_files(folder):
        if _find_owner(path) == process_id:
            path.unlink(missing_ok=True)


def list_ended_processes(folder: Path) -> tuple[int, ...]:
    """Return the ids of the processes that wrote files here and have ended."""
    return tuple(
        process_id
        for process_id in _list_process_ids(folder)
        if process_id != os.getpid() and not _is_running(process_id)
    )


def _list_files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.db") if _OWNER_PATTERN.search(path.name)]


def _list_process_ids(folder: Path) -> list[int]:
    return sorted({_find_owner(path) for path in _list_files(folder)})


def _find_owner(path: Path) -> int:
    return int(_OWNER_PATTERN.findall(path.name)[0])


def _is_running(process_id: int) -> bool:
    """Whether another process with this id is running; in a new container an old id may be that of this process."""
    if process_id == os.getpid():
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
