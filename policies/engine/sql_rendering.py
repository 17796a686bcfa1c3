"""A decision about a table as SQL: the SELECT that shows exactly the readable part (rules/datazone.md DZ-56 to DZ-62).

`build_view` computes the visible rows and cells; `render_select` prints them in a dialect. No text is pasted into SQL:
conditions are printed from trees, names from identifiers. A condition without equivalent in the dialect is refused.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from policies.engine.errors import EngineError
from policies.engine.families.datazone_row_conditions import SqlNode, find_problem, list_columns, parse_condition
from policies.engine.families.vocabulary import read_table
from policies.engine.restrictions import ColumnPath, RoleSlice, column_path, intersect_columns, is_included
from policies.engine.sql_conditions.postgres import PostgresTranslator
from policies.engine.sql_conditions.sqlite import SqliteTranslator
from policies.engine.sql_conditions.translator import Translator
from policies.engine.sql_conditions.values import UnsupportedCondition

#: One alternative: conditions that a row must all meet; () for every row.
RowConditions = tuple[str, ...]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class RenderError(EngineError):
    """A query that cannot be printed: `code` gives the cause, `pointer` the part of the request that prevents it."""

    def __init__(self, code: str, pointer: str, detail: str) -> None:
        self.code = code
        self.pointer = pointer
        super().__init__(detail)


class NoVisibleColumns(EngineError):
    """No column of the table is left to show (DZ-57)."""

    code = "no_columns"


class MissingColumns(NoVisibleColumns):
    """Nothing is shown because the table lacks columns that row conditions read (DZ-51)."""

    code = "columns.missing"

    def __init__(self, names: Sequence[str]) -> None:
        words = f"a column {names[0]}" if len(names) == 1 else f"columns {', '.join(names)}"
        super().__init__(f"The rows are restricted by {words}, and the table has none of that name.")


@dataclass(frozen=True, slots=True)
class VisibleColumn:
    """A column, and the alternatives of which a row must meet one for its cell to be shown; () if it always is."""

    name: str
    rows: tuple[RowConditions, ...] = ()


@dataclass(frozen=True, slots=True)
class TableView:
    """The readable part of a table: these columns (None: all) of rows that meet one of the alternatives ((): all)."""

    columns: tuple[VisibleColumn, ...] | None
    rows: tuple[RowConditions, ...] = ()


def build_view(
    slices: Sequence[RoleSlice] | None,
    *,
    table_columns: Sequence[str] | None = None,
    requested_columns: Sequence[str] | None = None,
) -> TableView:
    """Return the part of a table that slices (None: no restriction) show.

    `table_columns` are the columns that the table has, if known, and `requested_columns` those to show (None: all).
    Raises NoVisibleColumns, MissingColumns where that is due to row conditions, or RenderError if several slices must
    be combined without a list of columns.
    """
    role_slices = (RoleSlice("", (), None, None),) if slices is None else slices
    table = None if table_columns is None else _TableColumns(table_columns)
    missing_columns = {
        role_slice: [] if table is None else table.list_missing(role_slice.rows) for role_slice in role_slices
    }
    if role_slices and all(missing_columns.values()):
        raise MissingColumns(sorted({name for names in missing_columns.values() for name in names}))
    slice_columns = [
        (role_slice, _select_columns(role_slice.columns, table, requested_columns))
        for role_slice, missing_names in missing_columns.items()
        if not missing_names
    ]
    slice_columns = [
        (role_slice, visible_columns) for role_slice, visible_columns in slice_columns if visible_columns != ()
    ]
    if not slice_columns:
        raise NoVisibleColumns("No column is left to show.")
    rows = _row_alternatives(role_slice for role_slice, _ in slice_columns)
    if len(slice_columns) == 1 and slice_columns[0][1] is None:
        return TableView(None, rows)
    if table_columns is not None:
        slice_columns = [
            (role_slice, _drop_nested(table_columns) if visible_columns is None else visible_columns)
            for role_slice, visible_columns in slice_columns
        ]
    column_lists = [visible_columns for _, visible_columns in slice_columns if visible_columns is not None]
    if len(column_lists) < len(slice_columns):
        detail = "Several roles show different parts; name the columns of the table."
        raise RenderError("columns.needed", "/columns", detail)
    return TableView(tuple(_iterate_cells(slice_columns, _order_columns(column_lists, table_columns))), rows)


def render_select(view: TableView, *, table: str, dialect: str, table_columns: Collection[str] | None = None) -> str:
    """Return the SELECT of a view, in `spark`, `sqlite` or `postgres`, names quoted only if they must be.

    `table` may have up to three parts with dots. Raises RenderError for an invalid table name, and for a condition
    without an equivalent in the dialect.
    """
    printer = _SqlPrinter(dialect, table_columns)
    if view.columns is None:
        cells: list[SqlNode] = [exp.Star()]
    else:
        cells = [printer.build_cell(column) for column in view.columns]
    table_node = printer.build_table(table)
    query = exp.Select(expressions=cells).from_(table_node, copy=False)
    if view.rows:
        query = query.where(printer.build_any_of(view.rows), copy=False)
    printer.check_columns(query)
    if dialect == "spark":
        _add_alias_for_spark(query, table_node)
    return _render_for_spark(query) if dialect == "spark" else query.sql(dialect=_DIALECTS[dialect][0])


# -- visible cells ----------------------------------------------------------------------------------------------------


class _TableColumns:
    """The known columns of a table."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.spelling_by_key = {name.casefold(): name for name in names}
        paths = map(column_path, names)
        self._paths = {path[:length] for path in paths for length in range(1, len(path) + 1)}
        self._struct_paths: set[ColumnPath] = {(), *(path[:-1] for path in self._paths)}

    def has_column(self, name: str) -> bool:
        """Whether the table has a column, as far as is known: not every schema lists the fields of its columns."""
        path = column_path(name)
        known_path = path
        while known_path and known_path not in self._paths:
            known_path = known_path[:-1]
        return known_path == path or known_path not in self._struct_paths

    def list_missing(self, rows: RowConditions) -> list[str]:
        """Return the columns that conditions read and the table lacks; a slice with any grants nothing (DZ-51)."""
        return [column for row in rows for column in list_columns(row) if not self.has_column(column)]


def _select_columns(
    allowed: Sequence[str] | None, table: _TableColumns | None, requested_columns: Sequence[str] | None
) -> tuple[str, ...] | None:
    """Return the columns that one slice shows, in the table's spelling if it is known; None for all."""
    if allowed is None and requested_columns is None:
        return None
    column_lists = [
        names for names in (None if table is None else table.names, requested_columns, allowed) if names is not None
    ]
    selected_names: Sequence[str] = column_lists[0]
    for names in column_lists[1:]:
        selected_names = intersect_columns(selected_names, names)
    if table is not None:
        selected_names = [
            table.spelling_by_key.get(name.casefold(), name) for name in selected_names if table.has_column(name)
        ]
    return _drop_nested(selected_names)


def _drop_nested(names: Sequence[str]) -> tuple[str, ...]:
    """Drop columns that are nested in another listed column."""
    paths = frozenset(map(column_path, names))
    return tuple(name for name in names if not is_included(column_path(name)[:-1], paths))


def _row_alternatives(slices: Iterable[RoleSlice]) -> tuple[RowConditions, ...]:
    """Return the distinct row conditions of slices, or () if one of them has none."""
    alternatives = tuple(dict.fromkeys(role_slice.rows for role_slice in slices))
    return () if () in alternatives else alternatives


def _order_columns(column_lists: Sequence[Sequence[str]], table_columns: Sequence[str] | None) -> list[str]:
    names = {name.casefold(): name for column_list in reversed(column_lists) for name in column_list}
    first_keys = dict.fromkeys(name.casefold() for column_list in column_lists for name in column_list)
    positions = {name.casefold(): position for position, name in enumerate(table_columns or ())}
    return [names[key] for key in sorted(first_keys, key=lambda key: positions.get(key, -1))]


def _iterate_cells(
    slice_columns: Sequence[tuple[RoleSlice, Sequence[str] | None]], names: Iterable[str]
) -> Iterable[VisibleColumn]:
    paths = [
        (role_slice, frozenset(map(column_path, visible_columns or ())))
        for role_slice, visible_columns in slice_columns
    ]
    for name in names:
        listing_slices = [
            role_slice for role_slice, visible_columns in paths if is_included(column_path(name), visible_columns)
        ]
        is_everywhere = len(listing_slices) == len(slice_columns)
        yield VisibleColumn(name, () if is_everywhere else _row_alternatives(listing_slices))


# -- printing ---------------------------------------------------------------------------------------------------------


class _SQLite(SQLite):
    """SQLite with names between backticks: an unknown name between double quotes would be read as a text."""

    class Tokenizer(SQLite.Tokenizer):
        """SQLite's tokenizer, with the backtick first."""

        IDENTIFIERS = ["`", '"', ("[", "]")]


#: The dialects beside Spark, each with its sqlglot dialect and the translator of its conditions.
_DIALECTS: dict[str, tuple[str | type[SQLite], type[Translator]]] = {
    "postgres": ("postgres", PostgresTranslator),
    "sqlite": (_SQLite, SqliteTranslator),
}


#: Names that a database reads as something of its own where the table has no such column.
_OWN_NAMES = {
    "spark": frozenset(
        {
            *("current_catalog", "current_database", "current_date", "current_path", "current_schema", "current_time"),
            *("current_timestamp", "current_timezone", "current_user", "grouping__id", "localtimestamp"),
            *("session_user", "user"),
        }
    ),
    "postgres": frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}),
    "sqlite": frozenset({"_rowid_", "oid", "rowid"}),
}


def _add_alias_for_spark(query: exp.Select, table: exp.Table) -> None:
    """Give the table an alias, and columns in front of which it has to stand so that Spark reads them as columns.

    `user` without one is the user of the session where the table has no such column, even between backticks, and
    `orders.state` is a column of the table `orders` before it is a field of the column `orders`.
    """
    table_names = {part.name.casefold() for part in table.parts}
    first_names = {column: column.parts[0].name.casefold() for column in query.find_all(exp.Column)}
    ambiguous_columns = [
        column
        for column, name in first_names.items()
        if name in _OWN_NAMES["spark"] or (name in table_names and _has_fields(column))
    ]
    if not ambiguous_columns:
        return
    alias = "shown_rows"
    while alias in first_names.values():
        alias += "_"
    table.set("alias", exp.TableAlias(this=exp.Identifier(this=alias, quoted=False)))
    for column in ambiguous_columns:
        column.replace(exp.Dot(this=exp.Identifier(this=alias, quoted=False), expression=column.copy()))


def _has_fields(column: exp.Column) -> bool:
    return len(column.parts) > 1 or isinstance(column.parent, exp.Dot)


def _render_for_spark(query: exp.Select) -> str:
    """Print so that Spark does not substitute a session setting for `${name}`, even inside texts and names."""
    if any("${" in name.name for name in query.find_all(exp.Identifier)):
        raise RenderError("dialect.unsupported", "/dialect", "spark reads ${ in the name of a column as a setting.")
    return query.sql(dialect="spark").replace("${", "$\\u007b")


class _SqlPrinter:
    """Builds the parts of one query."""

    def __init__(self, dialect: str, table_columns: Collection[str] | None) -> None:
        self._dialect = dialect
        self._spelling_by_key = {name.casefold(): name for name in table_columns or ()}

    def build_table(self, name: str) -> exp.Table:
        parts = name.split(".")
        if len(name) > 512 or len(parts) > 3 or not all(part and part.isprintable() for part in parts):
            raise RenderError("table.invalid", "/table", "This is no name of a table: up to three parts with dots.")
        identifiers = [self._build_identifier(part, is_exact=True) for part in reversed(parts)]
        return exp.Table(**dict(zip(("this", "db", "catalog"), identifiers, strict=False)))

    def build_cell(self, column: VisibleColumn) -> SqlNode:
        path = column.name.split(".")
        is_exact = column.name.casefold() in self._spelling_by_key
        identifiers = [self._build_identifier(part, is_exact=is_exact) for part in path]
        column_node: SqlNode = exp.Column(this=identifiers[0])
        for part in identifiers[1:]:
            column_node = exp.Dot(this=column_node, expression=part)
        if column.rows:
            case = exp.Case(ifs=[exp.If(this=self.build_any_of(column.rows), true=column_node)])
            return exp.Alias(this=case, alias=self._build_identifier(column.name, is_exact=is_exact))
        if len(path) > 1:
            return exp.Alias(this=column_node, alias=self._build_identifier(column.name, is_exact=is_exact))
        return column_node

    def check_columns(self, query: exp.Select) -> None:
        """Refuse names that the database has for something of its own, unless the table is known to have them.

        Spark reads them as columns behind an alias. Fields are refused where a dot stands behind the name of a table.
        """
        if self._dialect == "spark":
            return
        for column in query.find_all(exp.Column):
            name = column.name.casefold()
            if name in _OWN_NAMES[self._dialect] and name not in self._spelling_by_key:
                detail = f"{self._dialect} has something of its own of the name {column.name}."
                raise RenderError("dialect.unsupported", "/dialect", detail)
            if _has_fields(column):
                detail = f"{self._dialect} reads no field of a column as {column.sql()}, but a column of a table."
                raise RenderError("dialect.unsupported", "/dialect", detail)

    def build_any_of(self, alternatives: Sequence[RowConditions]) -> SqlNode:
        conditions = [self._build_all_of(rows) for rows in alternatives]
        if len(conditions) == 1:
            return conditions[0]
        return _join_nodes(
            exp.Or,
            [condition if isinstance(condition, exp.Paren) else exp.Paren(this=condition) for condition in conditions],
        )

    def _build_all_of(self, rows: RowConditions) -> SqlNode:
        return _join_nodes(exp.And, [exp.Paren(this=self._build_condition(row)) for row in rows])

    def _build_condition(self, text: str) -> SqlNode:
        if problem := find_problem(text):
            raise RenderError("dialect.unsupported", "/dialect", f"{text[:80]}: {problem}")
        tree = parse_condition(text).copy()
        for column in list(tree.find_all(exp.Column)):
            self._spell(column)
        for name in list(tree.find_all(exp.Identifier)):
            is_exact = name.name in self._spelling_by_key.values()
            name.set("quoted", self._must_be_quoted(name.name, is_exact=is_exact or bool(name.args.get("quoted"))))
        if self._dialect == "spark":
            # A table with a list of columns behind it, `t WHERE (a)`, is a table of the name `WHERE` to Spark.
            return exp.Paren(this=tree) if isinstance(tree, (exp.Column, exp.Boolean)) else tree
        try:
            return _DIALECTS[self._dialect][1]().translate(tree)
        except UnsupportedCondition as error:
            detail = f"{self._dialect} has nothing that means the same as {error} in this condition: {text[:80]}"
            raise RenderError("dialect.unsupported", "/dialect", detail) from None

    def _spell(self, column: exp.Column) -> None:
        """Spell a column as the table does; conditions ignore case (DZ-51)."""
        parts = column.parts
        full_name = self._spelling_by_key.get(".".join(part.name for part in parts).casefold())
        spelling = (
            full_name.split(".") if full_name is not None else [self._spelling_by_key.get(parts[0].name.casefold(), "")]
        )
        for part, name in zip(parts, spelling, strict=False):
            if name:
                part.set("this", name)

    def _build_identifier(self, name: str, *, is_exact: bool) -> exp.Identifier:
        return exp.Identifier(this=name, quoted=self._must_be_quoted(name, is_exact=is_exact))

    def _must_be_quoted(self, name: str, *, is_exact: bool) -> bool:
        """Whether a name needs quotes; PostgreSQL folds unquoted names, which suits a name not known to be exact."""
        is_folded = self._dialect == "postgres" and is_exact and name != name.lower()
        return is_folded or _PLAIN_NAME.fullmatch(name) is None or name.lower() in _load_reserved_words(self._dialect)


@cache
def _load_reserved_words(dialect: str) -> frozenset[str]:
    return frozenset(read_table("reserved_words")[dialect])


def _join_nodes(connector: type[exp.Connector], nodes: Sequence[SqlNode]) -> SqlNode:
    joined_node = nodes[0]
    for node in nodes[1:]:
        joined_node = connector(this=joined_node, expression=node)
    return joined_node
