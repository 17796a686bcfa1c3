"""Writes a snapshot: every table as Parquet, a manifest and the settings of grants, in one consistent transaction.

Rows are written in batches, so that memory does not grow with their number. On PostgreSQL they never become objects.
"""

import io
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from catalog.access.grant_rows import instance_administrators
from catalog.reports.snapshot.partitions import GRANT_SETTINGS_FILE
from catalog.reports.snapshot.reader import SCHEMA_VERSION
from catalog.reports.snapshot.schema import FACETS_TABLE, TABLES, SnapshotTable
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.models import PolicyVersion

MANIFEST_FILE = "manifest.json"

_BEGIN = {"postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "sqlite": "BEGIN"}
_BATCH_ROWS = 50_000
_BATCH_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a snapshot: schema version, policy version, change number, ISO 8601 time, row counts."""

    schema: int
    policy_version: int
    change_seq: int
    as_of: str
    rows: Mapping[str, int]


def write(*, folder: Path, as_of: datetime, excluded_fields: Collection[str] = ()) -> Manifest:
    """Write a snapshot into a new folder, which appears only when the snapshot is complete, and return its manifest.

    It contains committed data, read on a connection of its own, without the facets of `excluded_fields`. Raises
    FileExistsError when the folder exists or is being written, and errors of the file system and the database.
    """
    if folder.exists():
        raise FileExistsError(f"There is a snapshot at {folder} already.")
    partial_folder = folder.with_name(f"{folder.name}.part")
    partial_folder.mkdir(parents=True)
    try:
        with _open_consistent_connection() as connection:
            version, change_seq = _read_counters(connection)
            rows = {
                table.name: _write_table(connection, _exclude_fields(table, excluded_fields), partial_folder)
                for table in TABLES
            }
        manifest = Manifest(SCHEMA_VERSION, version, change_seq, as_of.isoformat(), rows)
        (partial_folder / MANIFEST_FILE).write_text(json.dumps(asdict(manifest), indent=2), encoding="utf-8")
        (partial_folder / GRANT_SETTINGS_FILE).write_text(json.dumps(_grant_settings()), encoding="utf-8")
        partial_folder.rename(folder)
    except BaseException:
        shutil.rmtree(partial_folder)
        raise
    return manifest


def _grant_settings() -> dict[str, Any]:
    return {
        "administrators": sorted(instance_administrators()),
        "instance": INSTANCE_URN,
        "is_inherited": settings.INHERIT_PRIVILEGES,
    }


@contextmanager
def _open_consistent_connection() -> Iterator[BaseDatabaseWrapper]:
    """Yield a connection that sees the database as of its first query, whatever is written meanwhile."""
    connection = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        with connection.cursor() as cursor:
            cursor.execute(_BEGIN[connection.vendor])
        yield connection
        # The connection may return to a pool; nothing was written.
        connection.rollback()
    finally:
        connection.close()


def _read_counters(connection: BaseDatabaseWrapper) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(*_compile_sql(connection, PolicyVersion.objects.values_list("version", "change_seq")))
        counters: tuple[int, int] | None = cursor.fetchone()
    if counters is None:
        raise PolicyVersion.DoesNotExist("The row of the policy version is gone; run the migrations.")
    return counters


def _compile_sql(connection: BaseDatabaseWrapper, rows: Any) -> tuple[str, tuple[Any, ...]]:
    query, parameters = rows.query.get_compiler(connection=connection).as_sql()
    return query, tuple(parameters)


def _exclude_fields(table: SnapshotTable, excluded_fields: Collection[str]) -> SnapshotTable:
    if table.name != FACETS_TABLE or not excluded_fields:
        return table
    return replace(table, rows=lambda: table.rows().exclude(field__in=sorted(excluded_fields)))


def _write_table(connection: BaseDatabaseWrapper, table: SnapshotTable, folder: Path) -> int:
    """Write one table and return its number of rows; a batch is written while the next one is read."""
    count = 0
    with (
        pq.ParquetWriter(folder / f"{table.name}.parquet", table.schema, compression="zstd") as writer,
        ThreadPoolExecutor(1) as executor,
    ):
        reader = _READERS[connection.vendor] if table.transform is None else _fetch_batches
        pending_write: Future[None] | None = None
        for batch in reader(connection, table):
            if pending_write is not None:
                pending_write.result()
            pending_write = executor.submit(writer.write_batch, batch)
            count += batch.num_rows
        if pending_write is not None:
            pending_write.result()
    return count


# -- reading ----------------------------------------------------------------------------------------------------------


def _fetch_batches(connection: BaseDatabaseWrapper, table: SnapshotTable) -> Iterator[pa.RecordBatch]:
    with connection.cursor() as cursor:
        cursor.execute(*_compile_sql(connection, table.rows()))
        while database_rows := cursor.fetchmany(_BATCH_ROWS):
            rows = database_rows if table.transform is None else list(table.transform(database_rows))
            if not rows:
                continue
            columns = zip(zip(*rows, strict=True), table.schema, strict=True)
            arrays = [pa.array(values).cast(field.type) for values, field in columns]
            yield pa.record_batch(arrays, schema=table.schema)


def _copy_batches(connection: BaseDatabaseWrapper, table: SnapshotTable) -> Iterator[pa.RecordBatch]:
    """Yield batches of CSV from PostgreSQL's COPY, parsed by pyarrow: null is empty, an empty text is ""."""
    query, parameters = _compile_sql(connection, table.rows())
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)", parameters) as copy:
        stream = io.BufferedReader(_PieceStream(copy), _BATCH_BYTES)
        if not stream.peek(1):
            return
        reader = pa_csv.open_csv(
            stream,
            read_options=pa_csv.ReadOptions(column_names=table.schema.names, block_size=_BATCH_BYTES),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=table.schema,
                null_values=[""],
                true_values=["t"],
                false_values=["f"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        for batch in reader:
            yield batch.cast(table.schema)


_READERS: Mapping[str, Callable[[BaseDatabaseWrapper, SnapshotTable], Iterator[pa.RecordBatch]]] = {
    "postgresql": _copy_batches,
    "sqlite": _fetch_batches,
}


class _PieceStream(io.RawIOBase):
    """Pieces of bytes as one readable stream."""

    def __init__(self, pieces: Iterable[bytes | memoryview]) -> None:
        self._pieces = iter(pieces)
        self._remaining_bytes = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as data remains, and return the number of bytes."""
        chunks = [self._remaining_bytes]
        length = len(self._remaining_bytes)
        while length < len(buffer) and (piece := next(self._pieces, None)) is not None:
            chunks.append(bytes(piece))
            length += len(piece)
        data = b"".join(chunks)
        head = data[: len(buffer)]
        buffer[: len(head)] = head
        self._remaining_bytes = data[len(head) :]
        return len(head)
