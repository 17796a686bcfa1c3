"""Limits of the files of exports: what they grow to when they are unpacked, and the length of a line.

Spark reads lines whole and unpacks without a limit, so files are measured before it reads them: a file that was made to
fill the memory or the disk costs its export, and not the run.
"""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any

from catalog.reports.storage import StorageFolder
from catalog.warehouses.files.file_patterns import match_path
from catalog.warehouses.warehouse import Export, list_patterns

_MEBIBYTE = 2**20
#: Maximum length of a line, in bytes.
MAX_LINE_LENGTH = 16 * _MEBIBYTE
_BLOCK_SIZE = _MEBIBYTE
#: Files that are measured at the same time.
_THREAD_COUNT = 4
#: What Spark unpacks by the end of the name, and can be measured here.
_UNPACKERS: Mapping[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
}
#: What Spark would unpack, too, or nobody does.
_OTHER_ARCHIVES = (".zip", ".deflate", ".zst", ".lz4", ".snappy", ".xz", ".7z", ".tar", ".tgz", ".rar", ".br", ".lzo")


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How many times its size, and how many bytes, a file may grow to when it is unpacked."""

    growth: int = 100
    size: int = 4 * 2**30


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that is beyond the limits, and the sentence that says so and names it."""

    path: str
    sentence: str


def find_file_problems(
    folder: StorageFolder, exports: Iterable[Export], limits: FileLimits
) -> dict[str, list[FileProblem]]:
    """Return the files beyond the limits, by the name of the export that reads them. Raises OSError."""
    exports_by_path: dict[str, list[str]] = {}
    sizes = folder.list_sizes()
    for export in exports:
        for path in sizes:
            if any(match_path(pattern, path) for pattern in list_patterns(export)):
                exports_by_path.setdefault(path, []).append(export.name)
    with ThreadPoolExecutor(_THREAD_COUNT) as executor:
        sentences = executor.map(lambda path: _find_problem(folder, path, sizes[path], limits), exports_by_path)
        problems: dict[str, list[FileProblem]] = {}
        for path, sentence in zip(exports_by_path, sentences, strict=True):
            for name in exports_by_path[path] if sentence else ():
                problems.setdefault(name, []).append(FileProblem(path, sentence))
    return problems


def _find_problem(folder: StorageFolder, path: str, size: int, limits: FileLimits) -> str:
    """Return the sentence about a file that has a line too long, or grows too much, or ""."""
    ending = f".{path.rpartition('.')[2].lower()}"
    if ending in _OTHER_ARCHIVES:
        return f"{path} is packed in a way that is not read: unpack it, or pack it with gzip."
    # Hadoop looks for its endings as they are written.
    unpack = _UNPACKERS.get(f".{path.rpartition('.')[2]}")
    if unpack is None and size <= MAX_LINE_LENGTH:
        return ""
    max_size = size if unpack is None else min(limits.growth * size, limits.size)
    total_size = 0
    line_length = 0
    for block in _read_blocks(folder, path, unpack):
        total_size += len(block)
        if unpack is not None and total_size > max_size:
            return (
                f"{path} grows beyond {_describe_limit(size, limits)} when it is unpacked. If it should, raise the "
                "limits (EXPORTS_MAX_GROWTH, EXPORTS_MAX_BYTES)."
            )
        # No line that begins and ends inside a block is too long.
        end = block.find(b"\n")
        line_length += len(block) if end < 0 else end
        if line_length > MAX_LINE_LENGTH:
            return f"{path} has a line of more than {MAX_LINE_LENGTH // _MEBIBYTE} MiB: export it again, row by row."
        if end >= 0:
            line_length = len(block) - block.rfind(b"\n") - 1
    return ""


def _describe_limit(size: int, limits: FileLimits) -> str:
    if limits.growth * size <= limits.size:
        return f"{limits.growth:,} times its size"
    return f"{limits.size:,} bytes"


def _read_blocks(folder: StorageFolder, path: str, unpack: Callable[[IO[bytes]], Any] | None) -> Iterator[bytes]:
    """Yield the content of a file, up to where it is damaged: what reads it says what is wrong with it."""
    with folder.open_input(path) as native_file:
        file: Any = native_file if unpack is None else unpack(native_file)
        try:
            while block := file.read(_BLOCK_SIZE):
                yield bytes(block)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return
