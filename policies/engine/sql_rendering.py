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
from policies.engine.families.datazone_row_conditions import SqlNode, list_columns, parse_condition
from policies.engine.families.vocabulary import read_table
from policies.engine.restrictions import ColumnPath, RoleSlice, column_path, intersect_columns, is_included

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
    Raises NoVisibleColumns, or RenderError if several slices must be combined without a list of columns.
    """
    role_slices = (RoleSlice("", (), None, None),) if slices is None else slices
    table = None if table_columns is None else _TableColumns(table_columns)
    slice_columns = [
        (role_slice, _select_columns(role_slice.columns, table, requested_columns))
        for role_slice in role_slices
        if table is None or table.can_evaluate(role_slice.rows)
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
    query = exp.Select(expressions=cells).from_(printer.build_table(table), copy=False)
    if view.rows:
        query = query.where(printer.build_any_of(view.rows), copy=False)
    return _render_for_spark(query) if dialect == "spark" else query.sql(dialect=_sqlglot_dialect(dialect))


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

    def can_evaluate(self, rows: RowConditions) -> bool:
        """Whether the table has every column that the conditions read; a slice without them grants nothing (DZ-51)."""
        return all(self.has_column(column) for row in rows for column in list_columns(row))


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


#: The offered dialects, each with its sqlglot dialect and the nodes it has no equivalent of.
_DIALECTS: dict[str, tuple[str | type[SQLite], tuple[type[SqlNode], ...]]] = {
    "spark": ("spark", ()),
    "postgres": ("postgres", (exp.RegexpLike, exp.EndsWith, exp.Contains)),
    "sqlite": (
        _SQLite,
        (
            exp.RegexpLike,
            exp.ILike,
            exp.StartsWith,
            exp.EndsWith,
            exp.Contains,
            exp.Year,
            exp.Month,
            exp.Day,
            exp.CurrentTimestamp,
        ),
    ),
}

#: SQLite converts a text that is no number to another value than the other dialects do; only these casts are the same.
_SQLITE_CASTS = frozenset({exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.DATE})


def _render_for_spark(query: exp.Select) -> str:
    """Print so that Spark does not substitute a session setting for `${name}`, even inside texts and names."""
    if any("${" in name.name for name in query.find_all(exp.Identifier)):
        raise RenderError("dialect.unsupported", "/dialect", "spark reads ${ in the name of a column as a setting.")
    return query.sql(dialect="spark").replace("${", "$\\u007b")


def _sqlglot_dialect(name: str) -> str | type[SQLite]:
    return _DIALECTS[name][0]


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
        tree = parse_condition(text).copy()
        for node in list(tree.walk()):
            self._refuse(node, text)
            if isinstance(node, exp.Column):
                self._spell(node)
        for name in list(tree.find_all(exp.Identifier)):
            is_exact = name.name in self._spelling_by_key.values()
            name.set("quoted", self._must_be_quoted(name.name, is_exact=is_exact or bool(name.args.get("quoted"))))
        return tree.transform(_as_sqlite, copy=False) if self._dialect == "sqlite" else tree

    def _refuse(self, node: SqlNode, text: str) -> None:
        is_unsupported = isinstance(node, _DIALECTS[self._dialect][1])
        if self._dialect == "sqlite" and isinstance(node, exp.Cast):
            is_unsupported = node.to.this not in _SQLITE_CASTS
        if is_unsupported:
            detail = f"{self._dialect} has nothing that means the same as this condition: {text[:80]}"
            raise RenderError("dialect.unsupported", "/dialect", detail)

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


def _as_sqlite(node: SqlNode) -> SqlNode:
    """Replace nodes that SQLite reads differently: its LIKE ignores case, its GLOB does not."""
    if isinstance(node, exp.Like):
        return exp.Glob(this=node.this, expression=exp.Literal.string(_as_glob(node.expression.name)))
    if isinstance(node, exp.TryCast):
        return exp.Cast(this=node.this, to=node.to)
    return node


def _as_glob(pattern: str) -> str:
    glob_parts, letters = [], iter(pattern)
    for letter in letters:
        if letter == "\\":
            glob_parts.append(_escape_glob(next(letters, letter)))
        else:
            glob_parts.append({"%": "*", "_": "?"}.get(letter) or _escape_glob(letter))
    return "".join(glob_parts)


def _escape_glob(letter: str) -> str:
    return f"[{letter}]" if letter in "*?[" else letter
