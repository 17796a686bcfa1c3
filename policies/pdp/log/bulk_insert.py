"""Bulk inserts without model instances: COPY on PostgreSQL (a tenth of the cost of INSERT), executemany elsewhere."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models, transaction


def insert_rows(model: type[models.Model], field_names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of values for these fields, all or none.

    Values are in the form the database takes: JSON as text, times and UUIDs as `connection.ops` and fields prepare
    them. Raises Django's DatabaseError and InterfaceError.
    """
    quote = connection.ops.quote_name
    table = quote(model._meta.db_table)
    columns = ", ".join(quote(_column_name(model, name)) for name in field_names)
    if connection.vendor == "postgresql":
        # Django passes COPY through to psycopg without wrapping its errors.
        with (
            connection.wrap_database_errors,
            connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)
        return
    placeholders = ", ".join(["%s"] * len(field_names))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({placeholders})", list(rows))  # noqa: S608 - our own names, quoted


def _column_name(model: type[models.Model], name: str) -> str:
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)  # noqa: S101 - a reverse relation has no column; none is passed here
    return str(field.column)
