"""Ids of entities read from indexes, as long as there are few: PostgreSQL and SQLite then test these rows only.

A condition on a list of ids is read by the primary key whatever else is asked; of an index in a subquery the databases
often guess so wrongly that they test every entity.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

#: Maximum number of indexes read in one query. SQLite joins at most 500.
MAX_INDEXES = 100


def read_each(indexes: Sequence[QuerySet[Any]], max_entries: int) -> list[set[int] | None]:
    """Return the ids in each of these lists, at most MAX_INDEXES; None for a list with too many entries."""
    selects: list[str] = []
    parameters: list[tuple[Any, ...]] = []
    for number, rows in enumerate(indexes):
        if (statement := _build_statement(rows, max_entries)) is not None:
            # The SQL is Django's own.
            selects.append(f"SELECT {number:d}, entries.* FROM ({statement[0]}) entries")  # noqa: S608
            parameters.append(statement[1])
    ids_by_index: list[list[int]] = [[] for _ in indexes]
    for number, pk in _fetch(" UNION ALL ".join(selects), parameters) if selects else ():
        ids_by_index[number].append(pk)
    return [None if len(ids) > max_entries else set(ids) for ids in ids_by_index]


def _build_statement(rows: QuerySet[Any], max_entries: int) -> tuple[str, tuple[Any, ...]] | None:
    """Return the SQL of a list and its parameters, None for a list that is empty for sure."""
    try:
        sql, parameters = rows.order_by()[: max_entries + 1].query.sql_with_params()
    except EmptyResultSet:
        return None
    return sql, tuple(parameters)


def _fetch(sql: str, parameters: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [value for values in parameters for value in values])
        return list(cursor.fetchall())
