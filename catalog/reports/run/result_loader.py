"""Loads what a job wrote: Parquet is checked and becomes rows, in batches, all of a run or none.

The rows of a run are shown once it is READY, so that until then the last good results stay; a run that ends otherwise
drops what it had loaded.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.db import connection, transaction

from catalog.models import Report, ReportRow
from catalog.models.report import KEY_LENGTH
from catalog.reports.spec import Column, ColumnKind, Kind, ResultTable
from policies.pdp import bulk_insert

SUMMARY = "summary.json"
POSITION = "position"

_BATCH_ROWS = 10_000

#: Kinds of columns in which nobody searches.
_UNSEARCHED = (ColumnKind.NUMBER, ColumnKind.SQL)

#: A row as it is stored: table, position, key, text, values.
Stored = tuple[str, int, str, str, str]
_COLUMNS = ("report", "table", "position", "key", "text", "values")


class Unreadable(Exception):
    """What a job wrote is not what its kind promises; the sentence says what is wrong."""


def summary(folder: Path) -> dict[str, Any]:
    """Return the headline numbers and chart series that a job wrote. Raises Unreadable."""
    try:
        found = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unreadable(f"{SUMMARY} of the results cannot be read.") from error
    if not isinstance(found, dict):
        raise Unreadable(f"{SUMMARY} of the results is no JSON object.")
    return found


def count(kind: Kind, folder: Path) -> int:
    """Return how many rows there are to load. Raises Unreadable when a table is missing or not as promised."""
    return sum(min(_rows_of(table, folder), table.limit or 2**63) for table in kind.tables)


def load(report: Report, kind: Kind, folder: Path, *, tell: Callable[[int], object]) -> int:
    """Store the rows of every table and return how many; `tell` takes their number with each batch.

    What `tell` raises takes its batch back, so whoever may not go on any more stores nothing. Raises Unreadable when a
    file is corrupt, or what the database raises.
    """
    total = 0
    number = Report._meta.pk.get_db_prep_value(report.pk, connection)
    for table in kind.tables:
        for batch in batches(table, folder):
            total += batch.num_rows
            with transaction.atomic():
                tell(total)
                bulk_insert.store(ReportRow, _COLUMNS, ((number, *row) for row in _stored(table, batch)))
    return total


def batches(table: ResultTable, folder: Path, *, is_whole: bool = False) -> Iterator[pa.RecordBatch]:
    """Give the rows of a table, columns in their order and the position last; only those within its limit.

    With `is_whole` all rows. Raises Unreadable.
    """
    names = [*(column.name for column in table.columns), POSITION]
    for path in _files(table, folder):
        try:
            for batch in pq.ParquetFile(path).iter_batches(batch_size=_BATCH_ROWS, columns=names):
                kept = batch.select(names)
                if table.limit is not None and not is_whole:
                    kept = kept.filter(pc.less(kept.column(POSITION), table.limit))
                if kept.num_rows:
                    yield kept
        except (OSError, pa.ArrowException) as error:
            raise Unreadable(f"The results of {table.name} are corrupt: {path.name} cannot be read.") from error


def _rows_of(table: ResultTable, folder: Path) -> int:
    rows = 0
    for path in _files(table, folder):
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise Unreadable(f"The results of {table.name} are corrupt: {path.name} cannot be read.") from error
        _check(table, file.schema_arrow)
        rows += file.metadata.num_rows
    return rows


def _files(table: ResultTable, folder: Path) -> list[Path]:
    found = sorted((folder / table.name).glob("*.parquet"))
    if not found:
        raise Unreadable(f"The results have no table {table.name}.")
    return found


def _check(table: ResultTable, schema: pa.Schema) -> None:
    for column in (*table.columns, Column(POSITION, POSITION, ColumnKind.NUMBER)):
        if column.name not in schema.names:
            raise Unreadable(f"The results of {table.name} have no column {column.name}.")
        type_ = schema.field(column.name).type
        is_number = column.kind is ColumnKind.NUMBER
        if not (pa.types.is_integer(type_) if is_number else pa.types.is_string(type_)):
            raise Unreadable(f"The column {column.name} of {table.name} holds {type_}.")


def _stored(table: ResultTable, batch: pa.RecordBatch) -> Iterator[Stored]:
    names = [column.name for column in table.columns]
    keys = [names.index(name) for name in table.keys]
    searched = [place for place, column in enumerate(table.columns) if column.kind not in _UNSEARCHED]
    positions = batch.column(POSITION).to_pylist()
    rows = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    for position, values in zip(positions, rows, strict=True):
        key = key_of([values[place] for place in keys])
        text = " ".join(values[place] for place in searched if values[place]).casefold()
        yield table.name, position, key, text, json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def key_of(parts: list[Any]) -> str:
    """Return the key that these values make; a part too long to be kept is stood for by its hash."""
    key = " ".join("" if part is None else str(part) for part in parts)
    return key if len(key) <= KEY_LENGTH else hashlib.sha256(key.encode()).hexdigest()
