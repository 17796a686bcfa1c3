"""Writes a snapshot: every table as Parquet and a manifest, read in one transaction that sees one moment.

Rows go from the database to the file in batches and never become objects, so that memory does not grow with them.
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
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from catalog.reports.snapshot.schema import FACETS, SCHEMA, TABLES, Table
from policies.models import PolicyVersion

MANIFEST = "manifest.json"

_BEGIN = {"postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "sqlite": "BEGIN"}
_BATCH_ROWS = 50_000
_BATCH_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a snapshot is of: the number of its schemas, the state of the policies and of everything, when, how much."""

    schema: int
    policy_version: int
    change_seq: int
    as_of: str
    rows: Mapping[str, int]


def write(*, folder: Path, as_of: datetime, unread: Collection[str] = ()) -> Manifest:
    """Write a snapshot into a new folder, which is there only once the snapshot is whole.

    It shows what is committed, on a connection of its own, but for `unread`: facets of these fields, which nobody is
    going to read. Raises FileExistsError when the folder is there or somebody
    else is writing it, and what the file system or the database raises.
    """
    if folder.exists():
        raise FileExistsError(f"There is a snapshot at {folder} already.")
    unfinished = folder.with_name(f"{folder.name}.part")
    unfinished.mkdir(parents=True)
    try:
        with _one_moment() as connection:
            version, change = _counters(connection)
            rows = {table.name: _written(connection, _without(table, unread), unfinished) for table in TABLES}
        manifest = Manifest(SCHEMA, version, change, as_of.isoformat(), rows)
        (unfinished / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), encoding="utf-8")
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished)
        raise
    return manifest


@contextmanager
def _one_moment() -> Iterator[BaseDatabaseWrapper]:
    """Give a connection that sees the database as it is at its first query, whatever is written meanwhile."""
    connection = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        with connection.cursor() as cursor:
            cursor.execute(_BEGIN[connection.vendor])
        yield connection
        # It goes back to where connections are kept, and nothing was written.
        connection.rollback()
    finally:
        connection.close()


def _counters(connection: BaseDatabaseWrapper) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(*_sql(connection, PolicyVersion.objects.values_list("version", "change_seq")))
        found: tuple[int, int] | None = cursor.fetchone()
    if found is None:
        raise PolicyVersion.DoesNotExist("The row of the policy version is gone; run the migrations.")
    return found


def _sql(connection: BaseDatabaseWrapper, rows: Any) -> tuple[str, tuple[Any, ...]]:
    query, parameters = rows.query.get_compiler(connection=connection).as_sql()
    return query, tuple(parameters)


def _without(table: Table, unread: Collection[str]) -> Table:
    if table.name != FACETS or not unread:
        return table
    return replace(table, rows=lambda: table.rows().exclude(field__in=sorted(unread)))


def _written(connection: BaseDatabaseWrapper, table: Table, folder: Path) -> int:
    """Write one table, and return how many rows it has; a batch is written while the next one is read."""
    count = 0
    with (
        pq.ParquetWriter(folder / f"{table.name}.parquet", table.schema, compression="zstd") as writer,
        ThreadPoolExecutor(1) as beside,
    ):
        reader = _READERS[connection.vendor] if table.made is None else _fetching
        writing: Future[None] | None = None
        for batch in reader(connection, table):
            if writing is not None:
                writing.result()
            writing = beside.submit(writer.write_batch, batch)
            count += batch.num_rows
        if writing is not None:
            writing.result()
    return count


# -- reading ----------------------------------------------------------------------------------------------------------


def _fetching(connection: BaseDatabaseWrapper, table: Table) -> Iterator[pa.RecordBatch]:
    with connection.cursor() as cursor:
        cursor.execute(*_sql(connection, table.rows()))
        while fetched := cursor.fetchmany(_BATCH_ROWS):
            rows = fetched if table.made is None else list(table.made(fetched))
            if not rows:
                continue
            columns = zip(zip(*rows, strict=True), table.schema, strict=True)
            arrays = [pa.array(values).cast(field.type) for values, field in columns]
            yield pa.record_batch(arrays, schema=table.schema)


def _copying(connection: BaseDatabaseWrapper, table: Table) -> Iterator[pa.RecordBatch]:
    """Let PostgreSQL write CSV, in which null is nothing and an empty text is "", and pyarrow read it."""
    query, parameters = _sql(connection, table.rows())
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)", parameters) as copy:
        stream = io.BufferedReader(_Stream(copy), _BATCH_BYTES)
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


_READERS: Mapping[str, Callable[[BaseDatabaseWrapper, Table], Iterator[pa.RecordBatch]]] = {
    "postgresql": _copying,
    "sqlite": _fetching,
}


class _Stream(io.RawIOBase):
    """Pieces of bytes as one stream."""

    def __init__(self, pieces: Iterable[bytes | memoryview]) -> None:
        self._pieces = iter(pieces)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something."""
        found = [self._left]
        length = len(self._left)
        while length < len(buffer) and (piece := next(self._pieces, None)) is not None:
            found.append(bytes(piece))
            length += len(piece)
        whole = b"".join(found)
        given = whole[: len(buffer)]
        buffer[: len(given)] = given
        self._left = whole[len(given) :]
        return len(given)
