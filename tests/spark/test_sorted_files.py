"""Sorted files merged in bounded memory: the same as sorting all rows at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catalog.reports.spark import positioned_rows, sorted_files
from catalog.reports.spark.positioned_rows import write_positioned_rows
from catalog.reports.spark.sorted_files import merge_sorted_files, write_sorted_file
from catalog.reports.storage import StorageFolder, parse_address

KEYS = (("people", "descending"), ("entity", "ascending"))
SCHEMA = pa.schema([("entity", pa.string()), ("people", pa.int64())])

#: Few numbers, so that many rows are equal in them, and texts that sort by their bytes.
ROWS = st.lists(st.tuples(st.text("aAéß\U0001f600\uffff", max_size=3), st.integers(0, 3)), max_size=25)


@pytest.fixture
def folder(tmp_path: Path) -> StorageFolder:
    return parse_address(tmp_path)


@contextmanager
def limit(**limits: int) -> Iterator[None]:
    """Merge so many rows and files at once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(sorted_files, name, value)
        yield


def build_table(rows: list[tuple[str, int]]) -> pa.Table:
    return pa.table([pa.array(column, field.type) for column, field in zip(split(rows), SCHEMA, strict=True)], SCHEMA)


def split(rows: list[tuple[str, int]]) -> list[list[Any]]:
    return [[row[index] for row in rows] for index in range(2)]


def merge(folder: StorageFolder, tables: list[pa.Table]) -> Iterator[pa.Table]:
    """Write each table as a sorted file, and merge them."""
    names = [f"file-{number}" for number in range(len(tables))]
    for name, table in zip(names, tables, strict=True):
        write_sorted_file(folder, name, table, KEYS)
    return merge_sorted_files(folder, names, KEYS)


@given(
    files=st.lists(ROWS, max_size=9),
    piece_rows=st.integers(1, 7),
    piece_count=st.integers(1, 12),
    open_files=st.integers(2, 4),
)
@example(files=[], piece_rows=1, piece_count=1, open_files=2)
@example(files=[[], [("a", 1)], []], piece_rows=1, piece_count=1, open_files=2)
@example(files=[[("a", 1)] * 9, [("a", 1)] * 3, [("b", 1), ("a", 0)]], piece_rows=2, piece_count=1, open_files=2)
def test_a_merge_is_sorting_everything(
    files: list[list[tuple[str, int]]], piece_rows: int, piece_count: int, open_files: int
):
    with (
        TemporaryDirectory() as path,
        limit(PIECE_ROWS=piece_rows, MAX_LOADED_ROWS=piece_rows * piece_count, MAX_OPEN_FILES=open_files),
    ):
        tables = list(merge(parse_address(Path(path)), [build_table(rows) for rows in files]))
    assert all(table.schema == SCHEMA for table in tables)
    # At least one piece of each file that is open.
    most_rows = max(piece_count, open_files) * piece_rows
    assert all(0 < table.num_rows <= most_rows for table in tables)
    rows = [(row["entity"], row["people"]) for table in tables for row in table.to_pylist()]
    assert rows == sorted((row for file in files for row in file), key=lambda row: (-row[1], row[0]))


@pytest.mark.parametrize(("file_count", "expected_rows"), [(1, 64), (2, 32), (5, 8), (8, 8)])
def test_the_more_files_the_fewer_rows_of_each_are_loaded(
    folder: StorageFolder, monkeypatch: pytest.MonkeyPatch, file_count: int, expected_rows: int
):
    sizes: list[int] = []
    load_rows = sorted_files._SortedFile.load_rows

    def load(file: Any) -> bool:
        is_loaded = load_rows(file)
        sizes.append(file._rows.num_rows)
        return is_loaded

    monkeypatch.setattr(sorted_files._SortedFile, "load_rows", load)
    tables = [build_table([(f"{number}", number % 7) for number in range(100)]) for _ in range(file_count)]
    with limit(PIECE_ROWS=8, MAX_LOADED_ROWS=64, MAX_OPEN_FILES=8):
        assert sum(table.num_rows for table in merge(folder, tables)) == 100 * file_count
    assert max(sizes) == expected_rows


@pytest.mark.parametrize("file_count", [4, 40])
def test_memory_does_not_grow_with_the_rows(folder: StorageFolder, monkeypatch: pytest.MonkeyPatch, file_count: int):
    monkeypatch.setattr(positioned_rows, "ROW_GROUP_ROWS", 10_000)
    peaks = []
    for row_count in (40_000, 160_000):
        rows = row_count // file_count
        tables = [
            build_table([(f"urn:li:dataset:{number * file_count + file}", number % 5) for number in range(rows)])
            for file in range(file_count)
        ]
        with limit(PIECE_ROWS=256, MAX_LOADED_ROWS=40 * 256, MAX_OPEN_FILES=40, _MAX_BUFFER_BYTES=2**18):
            merged = merge(folder, tables)
            del tables
            pool = pa.proxy_memory_pool(pa.system_memory_pool())
            default_pool = pa.default_memory_pool()
            pa.set_memory_pool(pool)
            try:
                write_positioned_rows(folder / f"{row_count}", SCHEMA, merged)
            finally:
                pa.set_memory_pool(default_pool)
        peaks.append(pool.max_memory())
    # More is the metadata of the row groups that are written.
    assert peaks[1] < 1.2 * peaks[0]


def test_many_files_become_few_before_they_are_merged(folder: StorageFolder):
    with limit(MAX_OPEN_FILES=2):
        tables = merge(folder, [build_table([(f"{number}", 0)]) for number in range(8)])
        entities = [entity for table in tables for entity in table.column("entity").to_pylist()]
    assert entities == [f"{number}" for number in range(8)]
    assert len(folder.list_names()) == 2


@pytest.mark.parametrize("sizes", [[], [0], [3], [10], [4, 6], [4, 7, 25, 0, 1], [1] * 31])
def test_positions_go_through_and_row_groups_are_full(
    folder: StorageFolder, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
):
    monkeypatch.setattr(positioned_rows, "ROW_GROUP_ROWS", 10)
    total = sum(sizes)
    numbers = iter(range(total))
    tables = [build_table([(f"{next(numbers)}", 0) for _ in range(size)]) for size in sizes]
    write_positioned_rows(folder / "entities", SCHEMA, tables)
    with (folder / "entities").open_input("part-0.parquet") as stream:
        file = pq.ParquetFile(stream)
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        rows = file.read().to_pylist()
    assert [group.num_rows for group in groups] == [10] * (total // 10) + [total % 10] * bool(total % 10)
    assert rows == [{"entity": f"{number}", "people": 0, "position": number} for number in range(total)]
    assert [group.column(2).statistics.min for group in groups] == list(range(0, total, 10))
