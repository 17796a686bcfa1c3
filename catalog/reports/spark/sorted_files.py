"""Files of sorted rows, and their merge in bounded memory: every partition sorts its own rows, and the job merges them.

A file is a stream of Arrow in pieces of PIECE_ROWS rows. The merge loads some pieces of each file, the fewer the more
files there are. The bound is the first, in order, of the last loaded rows of the files: no row that is not loaded sorts
before it. Arrow sorts the rows up to the bound, whose end in each file is found by bisection, so that few rows become
Python objects.

The files are no pickles, so nobody who can write to their folder can make a process of the job run code.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any
from uuid import uuid4

import pyarrow as pa

from catalog.reports.storage import StorageFolder

#: Rows of a file that are compressed, and loaded, together.
PIECE_ROWS = 1_024

#: Number of files that are merged, and open, at once; 1,024 is a usual bound of a process.
MAX_OPEN_FILES = 128

#: Rows of all files together that a merge has loaded: at least one piece of each file.
MAX_LOADED_ROWS = 2 * MAX_OPEN_FILES * PIECE_ROWS

#: Size of what is read ahead of all files together, in bytes: a request to object storage takes long.
_MAX_BUFFER_BYTES = 32 * 2**20

#: Columns without nulls by which rows are sorted: numbers "ascending" or "descending", texts "ascending".
SortKeys = Sequence[tuple[str, str]]

_Key = tuple[Any, ...]


def write_sorted_file(folder: StorageFolder, name: str, rows: pa.Table, sort_keys: SortKeys) -> None:
    """Sort rows and write them as a file, which is there as a whole or not at all. Raises OSError.

    A second attempt replaces the first.
    """
    buffer = pa.BufferOutputStream()
    _write_pieces(buffer, rows.schema, [rows.sort_by(list(sort_keys))])
    folder.write_bytes(name, memoryview(buffer.getvalue()))


def merge_sorted_files(folder: StorageFolder, names: Sequence[str], sort_keys: SortKeys) -> Iterator[pa.Table]:
    """Yield the rows of all files in order, in tables of up to MAX_LOADED_ROWS rows. Raises OSError.

    More than MAX_OPEN_FILES files are first merged in groups, each into one file, and deleted.
    """
    while len(names) > MAX_OPEN_FILES:
        # Groups of one size: a file with most of the rows would be loaded often, each time with a look at all others.
        group_count = -(-len(names) // MAX_OPEN_FILES)
        names = [_unite_files(folder, names[start::group_count], sort_keys) for start in range(group_count)]
    yield from _merge_open_files(folder, names, sort_keys)


def _unite_files(folder: StorageFolder, names: Sequence[str], sort_keys: SortKeys) -> str:
    """Merge files into one, delete them, and return its name."""
    united_name = f"united-{uuid4().hex}"
    with folder.open_input(names[0]) as file:
        schema = pa.ipc.open_stream(file).schema
    with folder.open_output(united_name) as stream:
        _write_pieces(stream, schema, _merge_open_files(folder, names, sort_keys))
    for name in names:
        folder.delete_file(name)
    return united_name


def _write_pieces(stream: pa.NativeFile, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(stream, schema, options=options) as writer:
        for table in tables:
            writer.write_table(table.combine_chunks(), max_chunksize=PIECE_ROWS)


def _merge_open_files(folder: StorageFolder, names: Sequence[str], sort_keys: SortKeys) -> Iterator[pa.Table]:
    with ExitStack() as stack:
        files = [
            _SortedFile(
                stack.enter_context(folder.open_input(name)),
                sort_keys,
                max_rows=MAX_LOADED_ROWS // len(names),
                buffer_bytes=_MAX_BUFFER_BYTES // len(names),
            )
            for name in names
        ]
        while files := [file for file in files if file.load_rows()]:
            bound = min(file.last_key for file in files)
            parts = [file.take_rows(bound) for file in files if file.first_key <= bound]
            rows = pa.concat_tables(parts).combine_chunks()
            yield rows if len(parts) == 1 else rows.sort_by(list(sort_keys))


class _SortedFile:
    """A file that is merged, and its loaded rows, at most `max_rows`, or one piece where that is more.

    `first_key` and `last_key` are those of the loaded rows; rows that are not loaded do not sort before the last one.
    """

    def __init__(self, file: pa.NativeFile, sort_keys: SortKeys, *, max_rows: int, buffer_bytes: int) -> None:
        self.first_key: _Key = ()
        self.last_key: _Key = ()
        self._sort_keys = sort_keys
        self._reader = pa.ipc.open_stream(pa.BufferedInputStream(file, buffer_bytes))
        self._max_rows = max(max_rows, PIECE_ROWS)
        self._rows = self._reader.schema.empty_table()

    def load_rows(self) -> bool:
        """Load as many rows as there may be, and return whether there are any.

        Files that were loaded anew only when they are empty would become so one after the other, each with a table.
        """
        pieces = list(islice(self._reader, (self._max_rows - self._rows.num_rows) // PIECE_ROWS))
        if pieces:
            self._rows = pa.concat_tables([self._rows, pa.Table.from_batches(pieces)])
            self.first_key, self.last_key = self._build_key(0), self._build_key(self._rows.num_rows - 1)
        return bool(self._rows.num_rows)

    def take_rows(self, bound: _Key) -> pa.Table:
        """Remove the loaded rows that do not sort after the bound, and return them."""
        is_whole = self.last_key <= bound
        row_count = self._rows.num_rows
        count = row_count if is_whole else bisect_right(range(row_count), bound, key=self._build_key)
        taken_rows, self._rows = self._rows.slice(0, count), self._rows.slice(count)
        if not is_whole:
            self.first_key = self._build_key(0)
        return taken_rows

    def _build_key(self, index: int) -> _Key:
        """Return a value that compares with those of other rows as the rows sort."""
        values = ((self._rows.column(name)[index].as_py(), order) for name, order in self._sort_keys)
        return tuple(value if order == "ascending" else -value for value, order in values)
