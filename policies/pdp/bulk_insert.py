"""Many rows at once, without a model instance for each: by COPY on PostgreSQL, which costs a tenth of an INSERT."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models, transaction


def insert_rows(model: type[models.Model], field_names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Store rows of values for the fields of these names, all of them or none.

    Values are as the database takes them: JSON as text, times and UUIDs as `connection.ops` and fields prepare them.
    Raises Django's DatabaseError and InterfaceError.
    """
    quote = connection.ops.quote_name
    table = quote(model._meta.db_table)
    columns = ", ".join(quote(_column_name(model, name)) for name in field_names)
    if connection.vendor == "postgresql":
        # Django passes COPY through to psycopg, without turning its errors into its own.
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
    assert isinstance(field, models.Field)  # noqa: S101 - a reverse relation has no column, and nobody names one here
    return str(field.column)
