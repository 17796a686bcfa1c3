"""Lookups with one parameter for any number of values: a query about thousands of URNs stays one query.

`column__among=[…]` is membership, `column__within=[…]` membership in nodes or anything below them. `prefix_range`
implements STARTS_WITH on a bytewise column: a half-open range, never LIKE, whose wildcards and letter case differ
between databases.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.exceptions import EmptyResultSet
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import AutoField, BigAutoField, BigIntegerField, CharField, ForeignKey, Lookup, Q
from django.db.models.sql.compiler import SQLCompiler
from pyroaring import FrozenBitMap64

from policies.models.fields import is_storable
from policies.models.prepared_statements import list_parameter

if TYPE_CHECKING:
    from django.db.models.fields import Field

    _Lookup = Lookup[Any]
else:
    # The class takes type arguments only in the stubs.
    _Lookup = Lookup

_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class AmongLookup(_Lookup):
    """Membership of the column in the values; an empty list matches nothing."""

    lookup_name = "among"

    def get_prep_lookup(self) -> list[Any]:
        """Return the values as a sorted list without duplicates: equal lookups give equal statements.

        Texts that no column can store are left out, since no row contains them.
        """
        if isinstance(self.rhs, FrozenBitMap64):
            return list(self.rhs)
        return sorted({value for value in self.rhs if not isinstance(value, str) or is_storable(value)})

    def get_db_prep_lookup(self, value: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Return the one parameter that carries the list."""
        if connection.vendor == "postgresql" and isinstance(value[0], int):
            # As a text, which is cast: thousands of numbers as a list take psycopg 2 us each.
            return "%s", (f"{{{','.join(map(str, value))}}}",)
        return "%s", (list_parameter(value, connection),)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Return membership in a list that SQLite unpacks itself."""
        column, parameters, values = self._process_sides(compiler, connection)
        # The column is a name that Django quoted; the values are a parameter.
        return f"{column} IN (SELECT value FROM json_each(%s))", (*parameters, *values)  # noqa: S608

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Return membership in an array; equality for one value, as an index then gives rows in their order."""
        column, parameters, values = self._process_sides(compiler, connection)
        if len(self.rhs) == 1:
            return f"{column} = %s", (*parameters, self.rhs[0])
        cast = "bigint[]" if isinstance(self.rhs[0], int) else "text[]"
        return f"{column} = ANY(%s::{cast})", (*parameters, *values)

    def _process_sides(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...], tuple[Any, ...]]:
        if not self.rhs:
            raise EmptyResultSet
        column, parameters = self.process_lhs(compiler, connection)
        return column, tuple(parameters), self.get_db_prep_lookup(self.rhs, connection)[1]


class WithinLookup(AmongLookup):
    """Membership of a column of URNs in the values and all nodes below them; an empty list matches nothing.

    One list of nodes, from which the database goes to the rows, instead of two lists of rows.
    """

    lookup_name = "within"

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Return membership in lists that SQLite unpacks itself."""
        return self._join_nodes(
            "SELECT value FROM json_each(%s)", "IN (SELECT value FROM json_each(%s))", compiler, connection
        )

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Return membership in arrays."""
        return self._join_nodes("SELECT unnest(%s::text[])", "= ANY(%s::text[])", compiler, connection)

    def _join_nodes(
        self, values_sql: str, among_sql: str, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, parameters, values = self._process_sides(compiler, connection)
        # The column is a name that Django quoted, the rest is written here; the values are parameters.
        nodes = f'{values_sql} UNION ALL SELECT "node" FROM "catalog_ancestry" WHERE "ancestor" {among_sql}'  # noqa: S608
        return f"{column} IN ({nodes})", (*parameters, *values, *values)


_LOOKUP_FIELDS: tuple[type["Field[Any, Any]"], ...] = (CharField, BigIntegerField, AutoField, BigAutoField, ForeignKey)
for _lookup_field in _LOOKUP_FIELDS:
    _lookup_field.register_lookup(AmongLookup)
CharField.register_lookup(WithinLookup)


def prefix_range(column: str, prefixes: Iterable[str]) -> Q:
    """Return the condition that a bytewise column begins with one of the prefixes; no prefix matches nothing."""
    condition = Q(pk__in=[])
    for prefix in sorted(set(prefixes)):
        end = _prefix_end(prefix)
        condition |= Q(**{f"{column}__gte": prefix}) & (Q() if end is None else Q(**{f"{column}__lt": end}))
    return condition


def _prefix_end(prefix: str) -> str | None:
    """Return the first text in byte order after everything with the prefix, None when there is none.

    UTF-8 sorts by code point, so the last character that has a successor is incremented; surrogates are skipped.
    """
    while prefix:
        code_point = ord(prefix[-1]) + 1
        if code_point in _SURROGATES:
            code_point = _SURROGATES.stop
        if code_point <= _LAST_CODE_POINT:
            return prefix[:-1] + chr(code_point)
        prefix = prefix[:-1]
    return None
