"""Publishes the results of READY runs as tables of Delta Lake, which other programs read (docs/result-tables.md).

Every table of results is one of these tables, with the rows of all runs; RUNS_TABLE gets the rows of a run last. The
transaction that makes a run READY notes what is to be published, and whichever worker comes first publishes it: a
worker that is killed in between loses nothing. A commit bears the run as its transaction: a repeated one is recognized,
and of two at once the library refuses one.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.registry import KINDS
from catalog.reports.run import run_state
from catalog.reports.run.result_loader import UnreadableResults
from catalog.reports.storage import BadAddress, StorageFolder
from catalog.reports.tables import LEFT_OUT

log = logging.getLogger(__name__)

#: The table with a row for each table that a run has published.
RUNS_TABLE = "runs"

#: The columns with which every table begins. The last one is the partition: the day of `as_of`, in UTC.
RUN_COLUMNS = pa.schema(
    {
        "run": pa.string(),
        "attempt": pa.int64(),
        "as_of": pa.timestamp("us", "UTC"),
        "policy_version": pa.int64(),
        "day": pa.date32(),
    }
)
_RUNS_SCHEMA = pa.schema({"kind": pa.string(), "table": pa.string(), "rows": pa.int64(), "left_out": pa.int64()})
_PARTITION_COLUMN = "day"

_BATCH_ROWS = 100_000


def open_tables_folder() -> StorageFolder:
    """Return the folder of the open tables. Raises BadAddress."""
    if settings.RESULT_TABLES_DIR:
        return storage.parse_address(settings.RESULT_TABLES_DIR)
    return storage.parse_address(settings.REPORTS_DIR) / "tables"


def describe_tables(results: StorageFolder) -> list[dict[str, Any]]:
    """Return {"table", "columns" (name -> type of Arrow), "rows", "left_out"} for each table of results.

    Raises UnreadableResults.
    """
    try:
        return [_describe_table(name, results / name, files) for name, files in _list_files(results).items()]
    except (OSError, pa.ArrowException) as error:
        raise UnreadableResults("The tables of the results cannot be read.") from error


def publish_pending() -> int:
    """Publish the READY runs that are not yet published, and return their number."""
    count = 0
    for report in Report.objects.filter(status=Report.Status.READY, unpublished_tables__isnull=False):
        try:
            publish(report, run_state.find_kept_folder(report, "output"))
        except (OSError, BadAddress, UnreadableResults) as error:
            # The next look of the schedule tries again.
            log.error("report_not_published", extra={"report": str(report.pk), "error": str(error)})
            continue
        Report.objects.filter(pk=report.pk).update(unpublished_tables=None)
        count += 1
    return count


def publish(report: Report, results: StorageFolder) -> None:
    """Append the tables of these results of a run, each once. Raises OSError, BadAddress, UnreadableResults."""
    folder = open_tables_folder()
    for name, files in _list_files(results).items():
        with _raise_os_errors():
            schema, batches = _read_batches(results / name, files)
            _append(folder / report.kind / name, report, schema, batches)
    rows = [{**table, "kind": report.kind} for table in describe_tables(results)]
    with _raise_os_errors():
        _append(folder / RUNS_TABLE, report, _RUNS_SCHEMA, pa.Table.from_pylist(rows, schema=_RUNS_SCHEMA).to_batches())


def delete_old() -> None:
    """Delete the rows that are older than RESULT_TABLES_DAYS from the open tables. Raises OSError, BadAddress.

    Without such a number of days they stay, whatever is deleted of the runs themselves. Their files go a week later,
    when nobody reads them any more (the default of Delta Lake).
    """
    if not settings.RESULT_TABLES_DAYS:
        return
    from deltalake import DeltaTable

    first_day = f"{timezone.now() - timedelta(days=settings.RESULT_TABLES_DAYS):%Y-%m-%d}"
    folder = open_tables_folder()
    tables = [folder / kind / name for kind in KINDS for name in (folder / kind).list_names()]
    for table in (folder / RUNS_TABLE, *tables):
        options = table.read_s3_options()
        with _raise_os_errors():
            if DeltaTable.is_deltatable(table.url, options):
                delta_table = DeltaTable(table.url, storage_options=options)
                delta_table.delete(f"{_PARTITION_COLUMN} < '{first_day}'")
                delta_table.vacuum(dry_run=False)


def _append(folder: StorageFolder, report: Report, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Append the rows of a run to a table, created where it is missing, unless the table has them."""
    from deltalake import DeltaTable, Schema, write_deltalake
    from deltalake.transaction import CommitProperties, Transaction

    full_schema = pa.schema([*RUN_COLUMNS, *schema])
    folder.create()
    delta_table = DeltaTable.create(
        folder.url,
        Schema.from_arrow(full_schema),
        mode="ignore",
        partition_by=[_PARTITION_COLUMN],
        # The library knows neither where a bucket is nor that a server without TLS is meant.
        storage_options=folder.read_s3_options(),
    )
    run = str(report.pk)
    if delta_table.transaction_version(run) is None:
        write_deltalake(
            delta_table,
            pa.RecordBatchReader.from_batches(full_schema, _add_run_columns(batches, report, full_schema)),
            mode="append",
            schema_mode="merge",
            commit_properties=CommitProperties(app_transactions=[Transaction(run, report.attempts)]),
        )


def _add_run_columns(batches: Iterable[pa.RecordBatch], report: Report, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    assert report.as_of is not None  # noqa: S101 - set with the snapshot
    moment = report.as_of.astimezone(UTC)
    values = (str(report.pk), report.attempts, moment, report.policy_version, moment.date())
    for batch in batches:
        constants = [
            pa.repeat(pa.scalar(value, column.type), batch.num_rows)
            for value, column in zip(values, RUN_COLUMNS, strict=True)
        ]
        yield pa.RecordBatch.from_arrays([*constants, *batch.columns], schema=schema)


def _read_batches(folder: StorageFolder, files: Sequence[str]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the columns of a table of results, which are those of its first file, and its rows."""
    schema = pa.schema([column.with_nullable(nullable=True) for column in _read_schema(folder, files[0])])

    def iterate() -> Iterator[pa.RecordBatch]:
        for name in files:
            with folder.open_input(name) as file:
                for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH_ROWS, columns=schema.names):
                    yield batch.select(schema.names).cast(schema)

    return schema, iterate()


def _list_files(results: StorageFolder) -> Mapping[str, Sequence[str]]:
    """Return the names of the files of each table of results. Raises OSError."""
    files: dict[str, list[str]] = {}
    for path in sorted(results.list_sizes()):
        table, _, name = path.rpartition("/")
        if table and name.endswith(".parquet"):
            files.setdefault(table, []).append(name)
    return files


def _describe_table(name: str, folder: StorageFolder, files: Sequence[str]) -> dict[str, Any]:
    row_count, left_out = 0, 0
    for file_name in files:
        with folder.open_input(file_name) as file:
            parquet_file = pq.ParquetFile(file)
            row_count += parquet_file.metadata.num_rows
            left_out += int((parquet_file.schema_arrow.metadata or {}).get(LEFT_OUT, 0))
    columns = {column.name: str(column.type) for column in _read_schema(folder, files[0])}
    return {"table": name, "columns": columns, "rows": row_count, "left_out": left_out}


def _read_schema(folder: StorageFolder, name: str) -> pa.Schema:
    with folder.open_input(name) as file:
        return pq.read_schema(file)


@contextmanager
def _raise_os_errors() -> Iterator[None]:
    """Raise what the libraries raise as OSError: all of it is about storage, or about another one who was faster."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, pa.ArrowException) as error:
        raise OSError(str(error)) from error
