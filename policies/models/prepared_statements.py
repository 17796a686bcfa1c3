"""Statements in SQL that the server plans once for each connection and some seconds, and then only runs.

Planning a statement of many tables takes PostgreSQL several times as long as running it for a few rows. Lists are
single parameters, so a statement has one text and one plan however long they are.
"""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

#: Seconds for which a plan is used. It is made for the sizes of the tables; with the plan of an empty table a question
#: would read all rows of a full one.
PLAN_SECONDS = 30

#: Rows (urn, number) of a list of URNs, numbered from 1; membership in a list; texts joined by commas.
_SQL_BY_VENDOR = {
    "postgresql": {
        "numbered": "unnest(%s::text[]) WITH ORDINALITY AS asked(urn, number)",
        "among": "= ANY(%s::text[])",
        "join": "string_agg",
    },
    "sqlite": {
        "numbered": "(SELECT value AS urn, key + 1 AS number FROM json_each(%s)) AS asked",
        "among": "IN (SELECT value FROM json_each(%s))",
        "join": "group_concat",
    },
}


def list_parameter(values: list[Any], connection: BaseDatabaseWrapper) -> Any:
    """Return a list as the one parameter that `= ANY(%s)` (PostgreSQL) or `json_each(%s)` (SQLite) unpacks."""
    return values if connection.vendor == "postgresql" else json.dumps(values, ensure_ascii=False)


class PreparedStatement:
    """A statement whose parameters are lists of texts.

    Its text may contain `{numbered}`, the rows (urn, number) of a parameter; `{among}`, membership in a parameter; and
    `{join}(text, ',')`, which joins texts; `forms_by_vendor` names what else the databases say differently. Parameters
    have the order of their places in the text.
    """

    def __init__(self, text: str, forms_by_vendor: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._text_by_vendor = {
            vendor: text.format(**forms, **(forms_by_vendor or {}).get(vendor, {}))
            for vendor, forms in _SQL_BY_VENDOR.items()
        }

    def fetch_rows(self, lists: Iterable[list[str]]) -> list[tuple[Any, ...]]:
        """Return all rows for these lists of storable texts."""
        connection = transaction.get_connection()
        parameters = [list_parameter(values, connection) for values in lists]
        # Only the backend for PostgreSQL distinguishes them; SQLite's driver keeps statements prepared by their texts.
        with getattr(connection, "open_prepared_cursor", connection.cursor)() as cursor:
            # With another comment it is another statement, which is planned anew.
            period = int(time.monotonic() // PLAN_SECONDS)
            cursor.execute(f"/* {period} */ {self._text_by_vendor[connection.vendor]}", parameters)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
