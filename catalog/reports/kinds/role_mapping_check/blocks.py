"""The blocks of files that rows are in: counted by Spark in one query, and asked in memory after that.

The place of a row is its file, its block and a number in that (`forms.lines`). Every line of a file gives a row, so the
first and the last number of each block say where its lines stand in the file.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.spark.frames import collect_table
from catalog.warehouses.grant_facts import FactKind

#: Rows of one block that have some columns in common: `export`, `file`, `block`, these columns, the `count` of the
#: rows, and their `first` and `last` number.
Block = Mapping[str, Any]
#: The place of a row.
PLACE_COLUMNS = ["export", "file", "block", "line"]

_get_file, _get_block = itemgetter("export", "file"), itemgetter("block")


def collect_blocks(rows: DataFrame, columns: Sequence[str] = (), **aggregates: str) -> list[Block]:
    """Return the blocks of rows with these columns; `aggregates` are more of their columns, expressions of SQL."""
    # Numbers alone are aggregated, which Spark does without sorting all of the rows.
    expressions = {"count": "count(*)", "first": "min(line)", "last": "max(line)", **aggregates}
    counts = rows.groupBy("export", "file", "block", *columns).agg(
        *(f.expr(f"{expression} AS {name}") for name, expression in expressions.items())
    )
    blocks: list[Block] = collect_table(counts).to_pylist()
    return blocks


def collect_surveyed_blocks(rows: DataFrame, columns: Sequence[str] = (), **aggregates: str) -> list[Block]:
    """Return the blocks of all rows of exports by `what` they are, and these columns, for `find_other_headers`."""
    header = "min(CASE WHEN has_header THEN line END)"
    return collect_blocks(rows, ["what", *columns], first_headed=header, **aggregates)


#: Bits of the number of a place that are the line; those above are the file.
_LINE_BITS = 32


class LineNumbers:
    """Numbers of lines in their files, by the blocks of all rows of these.

    A place is also one number, by which places sort as files do by export and path, and lines in their file.
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._offsets: dict[tuple[str, str, int], int] = {}
        self._files: list[tuple[str, str]] = []
        # Facts that are of no line have no file. Two exports may name one file, and each has read it.
        known_blocks = sorted((block for block in blocks if block["file"] is not None), key=_sort_block)
        for (export, file), file_blocks in groupby(known_blocks, key=_get_file):
            earlier_lines = 0
            self._files.append((export, file))
            for block, same_blocks in groupby(file_blocks, key=_get_block):
                extents = [(row["first"], row["last"]) for row in same_blocks]
                first, last = min(first for first, _ in extents), max(last for _, last in extents)
                self._offsets[export, file, block] = earlier_lines + 1 - first
                earlier_lines += last - first + 1

    def find_place(self, row: Mapping[str, Any]) -> tuple[str, int]:
        """Return the file and the line, as people name them, of a row with export, file, block and line."""
        export, file, block, line = (row[name] for name in PLACE_COLUMNS)
        return _decode_path(file), line + self._offsets[export, file, block]

    def add_places(self, rows: DataFrame) -> DataFrame:
        """Return rows of these blocks with `place`, the number of their place; null for what is of no line."""
        numbers = {file: number << _LINE_BITS for number, file in enumerate(self._files)}
        starts = [(*block, numbers[block[:2]] + offset) for block, offset in self._offsets.items()]
        schema = "export string, file string, block bigint, first_place bigint"
        frame = rows.sparkSession.createDataFrame(starts, schema)
        placed = rows.join(f.broadcast(frame), ["export", "file", "block"], "left")
        return placed.withColumn("place", f.expr("first_place + line")).drop("first_place")

    def describe_place(self, number: int) -> str:
        """Return the file and the line of the number of a place: grants.csv:12."""
        return f"{_decode_path(self._files[number >> _LINE_BITS][1])}:{number & (1 << _LINE_BITS) - 1}"

    def number_rows(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return rows with file and line as people name them, sorted by export, file and line."""
        numbered_rows = [dict(row) | dict(zip(("file", "line"), self.find_place(row), strict=True)) for row in rows]
        return sorted(numbered_rows, key=itemgetter("export", "file", "line"))


def _sort_block(block: Block) -> tuple[str, str, int]:
    return block["export"], block["file"], block["block"]


def _decode_path(path: str) -> str:
    """Return a path as people write it: Spark's have spaces and percent signs as in addresses."""
    return unquote(path)


def find_other_headers(blocks: Iterable[Block]) -> dict[str, tuple[str, str]]:
    """Return, by export, the first file by name whose first line is not the header of its export.

    The second text is the file with that header whose name is most alike, '' where there is none. `blocks` are those
    of `collect_surveyed_blocks`.
    """
    starts = sorted((row for row in blocks if row["block"] == 0 and row["first_headed"] is not None), key=_sort_block)
    files: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for (export, file), same_file in groupby(starts, key=_get_file):
        first = min(same_file, key=itemgetter("first_headed"))
        files[first["what"] == FactKind.NO_ROW].setdefault(export, []).append(_decode_path(file))
    other_headers = {}
    for export, others in files[False].items():
        neighbours = sorted(files[True].get(export, ()))
        other_headers[export] = min(others), next(iter(get_close_matches(min(others), neighbours, n=1, cutoff=0)), "")
    return other_headers
