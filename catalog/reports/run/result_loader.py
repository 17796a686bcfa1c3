"""Loads the results of a job: validates Parquet files and inserts their rows in batches, all of a run or none.

The rows become visible when the run is READY, so earlier results stay visible until then; a run that ends otherwise
deletes the rows that it loaded.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.db import connection, transaction

from catalog.models import Report, ReportRow
from catalog.models.report import MAX_KEY_LENGTH
from catalog.reports.spec import ReportSpec
from catalog.reports.storage import StorageFolder
from catalog.reports.tables import ColumnKind, ReportColumn, ResultTable
from policies.pdp.log import bulk_insert

SUMMARY_FILE = "summary.json"
POSITION_COLUMN = "position"

_BATCH_ROWS = 10_000

#: Kinds of columns that the search does not cover.
_UNSEARCHED_COLUMN_KINDS = (ColumnKind.NUMBER, ColumnKind.SQL)

#: A stored row: table, position, key, text, values.
StoredRow = tuple[str, int, str, str, str]
_COLUMNS = ("report", "table", "position", "key", "text", "values")

#: `json.dumps` with settings makes an encoder each time, which takes longer than a row.
_encode_values = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class UnreadableResults(Exception):
    """The results of a job do not have the form that its kind declares; the message says why."""


def read_summary(folder: StorageFolder) -> dict[str, Any]:
    """Return the headline numbers and charts of a job. Raises UnreadableResults."""
    try:
        document = json.loads(folder.read_bytes(SUMMARY_FILE))
    except (OSError, ValueError) as error:
        raise UnreadableResults(f"{SUMMARY_FILE} of the results cannot be read.") from error
    if not isinstance(document, dict):
        raise UnreadableResults(f"{SUMMARY_FILE} of the results is no JSON object.")
    return document


def count_rows(spec: ReportSpec, folder: StorageFolder) -> int:
    """Return the number of rows to load. Raises UnreadableResults when a table is missing or has a wrong schema."""
    return sum(min(_count_table_rows(table, folder), table.limit or 2**63) for table in spec.tables)


def load(report: Report, spec: ReportSpec, folder: StorageFolder, *, on_progress: Callable[[int], object]) -> int:
    """Store the rows of every table and return their number; `on_progress` receives the total with each batch.

    An exception of `on_progress` rolls its batch back, so a run that may not continue stores nothing more. Raises
    UnreadableResults for a corrupt file, or a database error.
    """
    total = 0
    report_id = Report._meta.pk.get_db_prep_value(report.pk, connection)
    for table in spec.tables:
        for batch in read_batches(table, folder):
            total += batch.num_rows
            with transaction.atomic():
                on_progress(total)
                bulk_insert.insert_rows(ReportRow, _COLUMNS, ((report_id, *row) for row in _build_rows(table, batch)))
    return total


def read_batches(table: ResultTable, folder: StorageFolder) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table within its limit, columns in order and the position last. Raises UnreadableResults."""
    names = [*(column.name for column in table.columns), POSITION_COLUMN]
    for name in _list_files(table, folder):
        with _open_file(table, folder, name) as file:
            limit = table.limit
            groups = _list_row_groups(file, limit)
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=groups, columns=names):
                limited_batch = batch.select(names)
                if limit is not None:
                    limited_batch = limited_batch.filter(pc.less(limited_batch.column(POSITION_COLUMN), limit))
                if limited_batch.num_rows:
                    yield limited_batch


def _list_row_groups(file: pq.ParquetFile, limit: int | None) -> list[int]:
    """Return the row groups that may have a position below the limit, as far as their statistics tell."""
    groups = list(range(file.metadata.num_row_groups))
    if limit is None:
        return groups
    position_index = file.schema_arrow.names.index(POSITION_COLUMN)
    statistics = [file.metadata.row_group(group).column(position_index).statistics for group in groups]
    return [
        group
        for group, group_statistics in zip(groups, statistics, strict=True)
        if group_statistics is None or not group_statistics.has_min_max or group_statistics.min < limit
    ]


def _count_table_rows(table: ResultTable, folder: StorageFolder) -> int:
    row_count = 0
    for name in _list_files(table, folder):
        with _open_file(table, folder, name) as file:
            _check_schema(table, file.schema_arrow)
            row_count += file.metadata.num_rows
    return row_count


@contextmanager
def _open_file(table: ResultTable, folder: StorageFolder, name: str) -> Iterator[pq.ParquetFile]:
    """Open a file of a table. Raises UnreadableResults, also where it turns out to be corrupt in the block."""
    try:
        with (folder / table.name).open_input(name) as stream:
            yield pq.ParquetFile(stream)
    except (OSError, pa.ArrowException) as error:
        raise UnreadableResults(f"The results of {table.name} are corrupt: {name} cannot be read.") from error


def _list_files(table: ResultTable, folder: StorageFolder) -> list[str]:
    names = [name for name in (folder / table.name).list_names() if name.endswith(".parquet")]
    if not names:
        raise UnreadableResults(f"The results have no table {table.name}.")
    return names


def _check_schema(table: ResultTable, schema: pa.Schema) -> None:
    for column in (*table.columns, ReportColumn(POSITION_COLUMN, POSITION_COLUMN, ColumnKind.NUMBER)):
        if column.name not in schema.names:
            raise UnreadableResults(f"The results of {table.name} have no column {column.name}.")
        type_ = schema.field(column.name).type
        is_number = column.kind is ColumnKind.NUMBER
        if not (pa.types.is_integer(type_) if is_number else pa.types.is_string(type_)):
            raise UnreadableResults(f"The column {column.name} of {table.name} holds {type_}.")


def _build_rows(table: ResultTable, batch: pa.RecordBatch) -> Iterator[StoredRow]:
    names = [column.name for column in table.columns]
    key_columns = [names.index(name) for name in table.keys]
    text_columns = [index for index, column in enumerate(table.columns) if column.kind not in _UNSEARCHED_COLUMN_KINDS]
    positions = batch.column(POSITION_COLUMN).to_pylist()
    value_rows = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    for position, values in zip(positions, value_rows, strict=True):
        key = build_key([values[index] for index in key_columns])
        text = " ".join(values[index] for index in text_columns if values[index]).casefold()
        yield table.name, position, key, text, _encode_values(values)


def build_key(parts: list[Any]) -> str:
    """Return the key of these values, or its SHA-256 where that is longer than MAX_KEY_LENGTH.

    Several values are joined by spaces; spaces inside them are escaped, so that different values have different keys.
    """
    texts = ["" if part is None else str(part) for part in parts]
    key = texts[0] if len(texts) == 1 else " ".join(text.replace("\\", "\\\\").replace(" ", "\\ ") for text in texts)
    return key if len(key) <= MAX_KEY_LENGTH else hashlib.sha256(key.encode()).hexdigest()
