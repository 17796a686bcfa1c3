"""Copies the folder of exports beside a snapshot, without what a link in it leads to outside.

The people who may write to that folder are not those who run the workers: nothing but its own files is read for them.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from catalog.reports.storage import StorageFolder

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
#: A pipe would be waited for.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class OutsideFolder(Exception):
    """A file or link in the folder is not of it; the message is a sentence that names it."""


def copy_exports(source: Path, target: StorageFolder) -> dict[str, int]:
    """Copy the files of a folder, and of the folders in it. Raises OutsideFolder, and OSError.

    Returns when each file was written, by its path, in seconds since 1970: copies are as old as the run. Links inside
    the folder are followed, as mounts of containers have them.
    """
    root = source.resolve()
    target.create()
    created_folders = {""}
    times = {}
    for name in _list_files(root, root, frozenset({root})):
        parent = name.rpartition("/")[0]
        if parent not in created_folders:
            (target / parent).create()
            created_folders.add(parent)
        with os.fdopen(_open_inside(root, name), "rb") as file, target.open_output(name) as copy:
            times[name] = int(os.fstat(file.fileno()).st_mtime)
            shutil.copyfileobj(file, copy)
    return times


def _list_files(root: Path, folder: Path, entered_folders: frozenset[Path]) -> Iterator[str]:
    """Yield the paths, relative to the root, of all files in a folder; of links the paths that they have."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        if not entry.is_dir():
            yield path.relative_to(root).as_posix()
            continue
        folder_path = _resolve_inside(root, path)
        if folder_path in entered_folders:
            raise OutsideFolder(f"{path.relative_to(root)} is a link to a folder that it is in.")
        yield from _list_files(root, path, entered_folders | {folder_path})


def _resolve_inside(root: Path, path: Path) -> Path:
    """Return where a path leads inside the folder. Raises OutsideFolder."""
    try:
        resolved_path = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise OutsideFolder(f"{path.relative_to(root)} is a link to nothing.") from error
    if not resolved_path.is_relative_to(root):
        raise OutsideFolder(f"{path.relative_to(root)} is a link that leads out of the folder of the exports.")
    return resolved_path


def _open_inside(root: Path, name: str) -> int:
    """Open a file of the folder and return its descriptor. Raises OutsideFolder.

    No part of the resolved path may have become a link since it was resolved, so each is opened from the one before.
    """
    parts = _resolve_inside(root, root / name).relative_to(root).parts
    with ExitStack() as stack:
        folder = os.open(root, _FOLDER_FLAGS)
        stack.callback(os.close, folder)
        try:
            for part in parts[:-1]:
                folder = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
                stack.callback(os.close, folder)
            descriptor = os.open(parts[-1], _FILE_FLAGS, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
                raise OutsideFolder(f"{name} is neither a file nor a link to one in the folder.") from error
            raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OutsideFolder(f"{name} is neither a file nor a link to one in the folder.")
    return descriptor
