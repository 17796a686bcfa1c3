"""SQL about many findings at once: a batch is one parameter, and what all of its rows share is a constant."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection, models
from django.db.backends.utils import CursorWrapper

from catalog.models import Finding, FindingEvent
from policies.models import OutboxEvent

#: Columns of a finding that differ from row to row: those of a batch.
ROW_COLUMNS = ("key", "type", "severity", "subject", "sentence", "repair", "values")
#: Columns that a run overwrites; decisions of people are retained.
_UPDATED_COLUMNS = ("severity", "type", "sentence", "repair", "values", "subject", "last_seen_id", "last_seen_at")

#: Data of an event about a finding: name → expression.
_DATA_MEMBERS = {
    "kind": "chosen.kind",
    "type": "chosen.type",
    "severity": "chosen.severity",
    "about": "NULLIF(chosen.subject, '')",
    "assignee": "NULLIF(chosen.assignee, '')",
}


class Upsert(NamedTuple):
    """A statement that inserts or updates the findings of a batch, and its parameters behind the batch."""

    sql: str
    parameters: tuple[Any, ...]

    def execute(self, cursor: CursorWrapper, batch: str) -> None:
        """Execute it for a batch: a JSON array of objects with all of ROW_COLUMNS, which are texts."""
        cursor.execute(self.sql, [*self.parameters, batch])


def build_upsert(template: Finding) -> Upsert:
    """Return the statement for findings that have the columns of the template where a batch does not differ."""
    quote = connection.ops.quote_name
    constants = {column: value for column, value in _prepare_columns(template).items() if column not in ROW_COLUMNS}
    columns = ", ".join(map(quote, (*constants, *ROW_COLUMNS)))
    row_columns = ", ".join(f"staged.{quote(name)}" for name in ROW_COLUMNS)
    if connection.vendor == "postgresql":
        types = ", ".join(f"{quote(name)} text" for name in ROW_COLUMNS)
        source = f"json_to_recordset(%s::json) AS staged({types})"
    else:
        extracted_columns = ", ".join(f"json_extract(value, '$.{name}') AS {quote(name)}" for name in ROW_COLUMNS)
        source = f"(SELECT {extracted_columns} FROM json_each(%s)) AS staged"  # noqa: S608 - our own names
    changes = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in _UPDATED_COLUMNS)
    placeholders = ", ".join(["%s"] * len(constants))
    # SQLite takes ON after a table for the condition of a join unless a WHERE is between.
    sql = f"""
        INSERT INTO {quote(Finding._meta.db_table)} ({columns})
        SELECT {placeholders}, {row_columns} FROM {source} WHERE true
        ON CONFLICT (kind, key) DO UPDATE SET {changes}
    """  # noqa: S608 - our own names, quoted
    return Upsert(sql, tuple(constants.values()))


def insert_events(ids: Sequence[int], template: FindingEvent) -> None:
    """Insert an event like the template for each of these findings that exists."""
    quote = connection.ops.quote_name
    constants = {column: value for column, value in _prepare_columns(template).items() if column != "finding_id"}
    columns = ", ".join(map(quote, ("finding_id", *constants)))
    placeholders = "".join(", %s" for _ in constants)
    chosen_sql, chosen_parameters = (
        Finding.objects.filter(pk__among=ids).order_by("pk").values("pk").query.sql_with_params()
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
                INSERT INTO {quote(FindingEvent._meta.db_table)} ({columns})
                SELECT chosen.pk{placeholders} FROM ({chosen_sql}) AS chosen
            """,  # noqa: S608 - our own names, quoted, and what Django compiled
            [*constants.values(), *chosen_parameters],
        )


def insert_outbox_events(ids: Sequence[int], template: OutboxEvent) -> None:
    """Insert an event of the outbox like the template, with its own data, for each of these findings that exists."""
    quote = connection.ops.quote_name
    own_columns = ("subject", "data")
    constants = {column: value for column, value in _prepare_columns(template).items() if column not in own_columns}
    columns = ", ".join(map(quote, (*own_columns, *constants)))
    placeholders = "".join(", %s" for _ in constants)
    members = ", ".join(f"'{name}', {value}" for name, value in _DATA_MEMBERS.items())
    build_object = "json_build_object" if connection.vendor == "postgresql" else "json_object"
    fields = ("pk", "kind", "type", "severity", "subject", "assignee")
    chosen = Finding.objects.filter(pk__among=ids).order_by("pk").values(*fields)
    chosen_sql, chosen_parameters = chosen.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
                INSERT INTO {quote(OutboxEvent._meta.db_table)} ({columns})
                SELECT 'finding:' || chosen.pk, CAST({build_object}({members}) AS text){placeholders}
                FROM ({chosen_sql}) AS chosen ORDER BY chosen.pk
            """,  # noqa: S608 - our own names, quoted, and what Django compiled
            [*constants.values(), *chosen_parameters],
        )


def _prepare_columns(row: models.Model) -> dict[str, Any]:
    """Return the values of a row by column, as the database takes them, without its id."""
    return {
        field.column: field.get_db_prep_save(field.value_from_object(row), connection)
        for field in row._meta.concrete_fields
        if not field.primary_key and field.column is not None
    }
