"""Limits of the files of exports: what they grow to when they are unpacked, the length of a line, and whether they end.

Spark reads lines whole and unpacks without a limit, so files are measured before it reads them: a file that was made to
fill the memory or the disk, or was not copied to its end, costs its export, and not the run.
"""

import bz2
import gzip
import json
import re
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
#: A value of CSV in which commas divide nothing.
_QUOTED_PATTERN = re.compile(r'"[^"]*"')
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
    """One problem of an export, in a sentence, and its file if that is known."""

    path: str | None
    sentence: str


def find_file_problems(
    folder: StorageFolder, exports: Iterable[Export], limits: FileLimits
) -> dict[str, list[FileProblem]]:
    """Return the files that cannot be read to their end, by the name of the export that reads them. Raises OSError."""
    exports_by_path: dict[str, list[str]] = {}
    history_paths = set()
    sizes = folder.list_sizes()
    for export in exports:
        for path in sizes:
            if any(match_path(pattern, path) for pattern in list_patterns(export)):
                exports_by_path.setdefault(path, []).append(export.name)
            if any(match_path(pattern, path) for pattern in export.usage):
                history_paths.add(path)

    def find_problem(path: str) -> str:
        # A log may be copied while a line is written.
        return _find_problem(folder, path, sizes[path], limits, may_end_anywhere=path in history_paths)

    with ThreadPoolExecutor(_THREAD_COUNT) as executor:
        sentences = executor.map(find_problem, exports_by_path)
        problems: dict[str, list[FileProblem]] = {}
        for path, sentence in zip(exports_by_path, sentences, strict=True):
            for name in exports_by_path[path] if sentence else ():
                problems.setdefault(name, []).append(FileProblem(path, sentence))
    return problems


def _find_problem(folder: StorageFolder, path: str, size: int, limits: FileLimits, *, may_end_anywhere: bool) -> str:
    """Return the sentence about a file that is damaged, has a line too long, or grows too much, or ""."""
    ending = f".{path.rpartition('.')[2].lower()}"
    if ending in _OTHER_ARCHIVES:
        return f"{path} is packed in a way that is not read: unpack it, or pack it with gzip."
    # Hadoop looks for its endings as they are written.
    unpack = _UNPACKERS.get(f".{path.rpartition('.')[2]}")
    max_size = size if unpack is None else min(limits.growth * size, limits.size)
    total_size = line_count = 0
    first_line = last_line = b""
    try:
        for block in _read_blocks(folder, path, unpack):
            total_size += len(block)
            if unpack is not None and total_size > max_size:
                return (
                    f"{path} grows beyond {_describe_limit(size, limits)} when it is unpacked. If it should, raise the "
                    "limits (EXPORTS_MAX_GROWTH, EXPORTS_MAX_BYTES)."
                )
            # No line that begins and ends inside a block is too long.
            end = block.find(b"\n")
            if len(last_line) + (len(block) if end < 0 else end) > MAX_LINE_LENGTH:
                size_text = f"{MAX_LINE_LENGTH // _MEBIBYTE} MiB"
                return f"{path} has a line of more than {size_text}: export it again, row by row."
            if not line_count:
                first_line += block if end < 0 else block[:end]
            line_count += block.count(b"\n")
            last_line = last_line + block if end < 0 else block[block.rfind(b"\n") + 1 :]
    except (EOFError, zlib.error, gzip.BadGzipFile, _DamagedArchive):
        return f"{path} is damaged, or was not copied to its end: it cannot be unpacked. Export it again."
    if last_line.strip() and not may_end_anywhere and _is_cut_off(first_line, last_line):
        return f"{path} ends in the middle of line {line_count + 1}: it was not copied to its end. Export it again."
    return ""


def _is_cut_off(first_line: bytes, last_line: bytes) -> bool:
    """Whether a last line without an end is a beginning: of a JSON object, or of a row with too few values."""
    first, last = (line.decode("utf-8", "replace") for line in (first_line, last_line))
    if last.lstrip().startswith("{"):
        try:
            json.loads(last.strip().removesuffix(","))
        except ValueError:
            return True
        return False
    # Files of other forms have no header with commas.
    return last.count('"') % 2 == 1 or _count_commas(last) < _count_commas(first)


def _count_commas(line: str) -> int:
    return _QUOTED_PATTERN.sub("", line).count(",")


def _describe_limit(size: int, limits: FileLimits) -> str:
    if limits.growth * size <= limits.size:
        return f"{limits.growth:,} times its size"
    return f"{limits.size:,} bytes"


class _DamagedArchive(Exception):
    """The content of an archive is not what its format wants."""


def _read_blocks(folder: StorageFolder, path: str, unpack: Callable[[IO[bytes]], Any] | None) -> Iterator[bytes]:
    """Yield the content of a file. Raises OSError, and what unpacking raises for one that is damaged."""
    with folder.open_input(path) as native_file:
        file: Any = native_file if unpack is None else unpack(native_file)
        while block := _read_block(file, is_packed=unpack is not None):
            yield block


def _read_block(file: Any, *, is_packed: bool) -> bytes:
    try:
        return bytes(file.read(_BLOCK_SIZE))
    except OSError as error:
        # What is wrong with storage has a number; bz2 has no other error for its content.
        if is_packed and error.errno is None:
            raise _DamagedArchive from error
        raise
