"""Reads the rows of snapshot tables as Arrow batches, all as of one moment, in ranges of the number of their entity.

On PostgreSQL several connections share an exported snapshot, and rows never become Python objects. SQLite has one.
"""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import pyarrow as pa
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, QuerySet, Window
from django.db.models.functions import Mod, RowNumber

from catalog.models import Entity, SnapshotBase
from catalog.reports.snapshot.horizon import Horizon, read_horizon
from catalog.reports.snapshot.schema import SnapshotTable
from policies.models import PolicyVersion

#: Entities of one file, so that a partition of a report reads few files and a file fits into memory.
ENTITIES_PER_FILE = 65_536

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

#: Connections of one snapshot; more would take them from those who ask for decisions.
_MAX_CONNECTIONS = 4
_BATCH_ROWS = 50_000
#: Bytes of a batch that the driver of PostgreSQL reads, as a text.
_BATCH_BYTES = str(4 * 2**20)


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A range of numbers of entities: from `first` on, up to and without `end`; None is without a bound."""

    first: int | None = None
    end: int | None = None

    def limit(self, rows: QuerySet[Any, Any], column: str) -> QuerySet[Any, Any]:
        """Return the rows whose number lies in the range, in its order."""
        if self.first is not None:
            rows = rows.filter(**{f"{column}__gte": self.first})
        if self.end is not None:
            rows = rows.filter(**{f"{column}__lt": self.end})
        return rows.order_by(column)


class DatabaseReader:
    """The database as of one moment. Raises errors of the database, and PolicyVersion.DoesNotExist."""

    def __init__(self, connection: BaseDatabaseWrapper, arrow_connections: "SimpleQueue[Any] | None") -> None:
        self._connection = connection
        # Worker threads read with it in turn.
        self._connection.inc_thread_sharing()
        self._arrow_connections = arrow_connections

    @property
    def max_readers(self) -> int:
        """The number of tables that can be read at once."""
        return self._arrow_connections.qsize() if self._arrow_connections is not None else 1

    def read_counters(self) -> tuple[int, int]:
        """Return the version of the policies and the number of the last change."""
        with self._connection.cursor() as cursor:
            cursor.execute(*self._compile_sql(PolicyVersion.objects.values_list("version", "change_seq")))
            counters: tuple[int, int] | None = cursor.fetchone()
        if counters is None:
            raise PolicyVersion.DoesNotExist("The row of the policy version is gone; run the migrations.")
        return counters

    def read_horizon(self, change_seq: int) -> Horizon | None:
        """Return what this reader sees, if later changes can be told from it; `change_seq` is the last change."""
        return read_horizon(self._connection, change_seq)

    def is_base(self, token: str) -> bool:
        """Whether the database knows the snapshot with this token as one that can be continued."""
        return bool(self._fetch_rows(SnapshotBase.objects.filter(token=token).order_by().values_list("key")))

    def has_markers(self, horizon: Horizon) -> bool:
        """Whether every change of a table since a horizon is still noted."""
        return not self._fetch_rows(horizon.select_deletions())

    def list_sources(self, table: SnapshotTable) -> frozenset[str]:
        """Return the tables of the database that the query of a table names anywhere."""
        query, _ = self._compile_sql(table.rows())
        tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
        return frozenset(re.findall(r'"(\w+)"', query)) & tables

    def find_changed_tables(self, horizon: Horizon) -> frozenset[str]:
        """Return the names of the tables that changed since a horizon, among those of which it is noted."""
        return frozenset(name for (name,) in self._fetch_rows(horizon.select_changed_tables()))

    def list_ranges(self) -> list[NumberRange]:
        """Return ranges that together have every entity, ENTITIES_PER_FILE in each but the last; one without any."""
        row_number = Window(RowNumber(), order_by=F("pk").asc())
        entities = Entity.objects.filter(is_removed=False).order_by().annotate(row_number=row_number)
        first_entities = entities.annotate(remainder=Mod(F("row_number"), ENTITIES_PER_FILE)).filter(remainder=1)
        with self._connection.cursor() as cursor:
            cursor.execute(*self._compile_sql(first_entities.order_by("pk").values_list("pk")))
            # What is not an entity that is present has no row in any table, so that the first range begins anywhere.
            starts = [number for (number,) in cursor.fetchall()][1:]
        return [NumberRange(*bounds) for bounds in zip([None, *starts], [*starts, None], strict=True)]

    def iterate_batches(self, table: SnapshotTable, numbers: NumberRange) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table, of a range if it has numbers of entities."""
        rows = table.rows() if table.number_column is None else numbers.limit(table.rows(), table.number_column)
        if self._arrow_connections is None or table.transform is not None:
            yield from self._fetch_batches(table, rows)
            return
        arrow_connection = self._arrow_connections.get()
        try:
            yield from _read_arrow_batches(arrow_connection, table, self._render_sql(rows))
        finally:
            self._arrow_connections.put(arrow_connection)

    def _fetch_batches(self, table: SnapshotTable, query: QuerySet[Any, Any]) -> Iterator[pa.RecordBatch]:
        with self._connection.cursor() as cursor:
            cursor.execute(*self._compile_sql(query))
            while database_rows := cursor.fetchmany(_BATCH_ROWS):
                rows = database_rows if table.transform is None else list(table.transform(database_rows))
                if rows:
                    yield _build_batch(table.schema, [pa.array(values) for values in zip(*rows, strict=True)])

    def _fetch_rows(self, rows: QuerySet[Any, Any]) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(*self._compile_sql(rows))
            return list(cursor.fetchall())

    def _compile_sql(self, rows: QuerySet[Any, Any]) -> tuple[str, tuple[Any, ...]]:
        query, parameters = rows.query.get_compiler(connection=self._connection).as_sql()
        return query, tuple(parameters)

    def _render_sql(self, rows: QuerySet[Any, Any]) -> str:
        """Return a query of PostgreSQL with its values in it, which a copy of rows needs."""
        from psycopg import ClientCursor

        query, parameters = self._compile_sql(rows)
        return ClientCursor(self._connection.connection).mogrify(query, parameters)


def _build_batch(schema: pa.Schema, columns: list[pa.Array]) -> pa.RecordBatch:
    arrays = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


@contextmanager
def open_database_reader() -> Iterator[DatabaseReader]:
    """Yield a reader that sees the database as of its first query, whatever is written meanwhile."""
    with ExitStack() as stack:
        connection = connections.create_connection(DEFAULT_DB_ALIAS)
        stack.callback(connection.close)
        yield stack.enter_context(_OPENERS[connection.vendor](connection))
        # The connection may return to a pool; nothing was written.
        connection.rollback()


@contextmanager
def _open_postgresql(connection: BaseDatabaseWrapper) -> Iterator[DatabaseReader]:
    from psycopg.conninfo import make_conninfo

    with connection.cursor() as cursor:
        cursor.execute(_BEGIN)
        cursor.execute("SELECT pg_export_snapshot()")
        (exported,) = cursor.fetchone()
    info = connection.connection.info
    address = make_conninfo(**{**info.get_parameters(), "password": info.password})
    count = min(os.cpu_count() or 1, _MAX_CONNECTIONS)
    arrow_connections: SimpleQueue[Any] = SimpleQueue()
    with ExitStack() as stack:
        # Each reads the types of the database first, which takes longer than all other statements of a small snapshot.
        with ThreadPoolExecutor(count) as executor:
            for opening in [executor.submit(_open_arrow_connection, address, exported, stack) for _ in range(count)]:
                arrow_connections.put(opening.result())
        yield DatabaseReader(connection, arrow_connections)


def _open_arrow_connection(address: str, exported_snapshot: str, stack: ExitStack) -> Any:
    """Open a connection that sees the database as of an exported snapshot; the stack closes it."""
    # Only who writes a snapshot needs this library, and web processes import this module.
    from adbc_driver_postgresql import dbapi

    arrow_connection = stack.enter_context(closing(dbapi.connect(address, autocommit=True)))
    with arrow_connection.cursor() as cursor:
        cursor.execute(_BEGIN)
        cursor.execute(f"SET TRANSACTION SNAPSHOT '{exported_snapshot}'")
    return arrow_connection


@contextmanager
def _open_sqlite(connection: BaseDatabaseWrapper) -> Iterator[DatabaseReader]:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    yield DatabaseReader(connection, None)


_OPENERS = {"postgresql": _open_postgresql, "sqlite": _open_sqlite}


def _read_arrow_batches(arrow_connection: Any, table: SnapshotTable, query: str) -> Iterator[pa.RecordBatch]:
    from adbc_driver_postgresql import StatementOptions

    with arrow_connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{StatementOptions.BATCH_SIZE_HINT_BYTES.value: _BATCH_BYTES})
        cursor.execute(query)
        with cursor.fetch_record_batch() as batches:
            for batch in batches:
                yield _build_batch(table.schema, batch.columns)
