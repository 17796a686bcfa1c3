"""A decision about a table as SQL: the SELECT that shows exactly what may be read (rules/datazone.md DZ-56 to DZ-62).

`view_of` says which rows and which cells are shown; `select` prints that in a dialect. Nothing is pasted: conditions
are printed from their trees, names from identifiers. A dialect that has no equal of a condition is refused.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from policies.engine.errors import EngineError
from policies.engine.families.datazone_row_conditions import Node, columns, parsed
from policies.engine.families.vocabulary import read_table
from policies.engine.restrictions import ColumnPath, Slice, column_path, is_held, shared_columns

#: One alternative: conditions that a row must all meet. None at all: every row does.
Rows = tuple[str, ...]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CannotRender(EngineError):
    """A query that cannot be printed: `code` says why and `pointer` which part of what was asked stands in the way."""

    def __init__(self, code: str, pointer: str, detail: str) -> None:
        self.code = code
        self.pointer = pointer
        super().__init__(detail)


class NothingToShow(EngineError):
    """No column of the table is left to show (DZ-57)."""

    code = "no_columns"


@dataclass(frozen=True, slots=True)
class Shown:
    """A column, and the alternatives of which a row must meet one for its cell to be shown; () where it always is."""

    name: str
    rows: tuple[Rows, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """What may be read of a table: these columns (None: all), of the rows that meet one of the alternatives (): all."""

    columns: tuple[Shown, ...] | None
    rows: tuple[Rows, ...] = ()


def view_of(
    slices: Sequence[Slice] | None, *, known: Sequence[str] | None = None, wanted: Sequence[str] | None = None
) -> View:
    """Return what slices (None: no restriction) show of a table.

    `known` are the columns that the table has, where they are known, and `wanted` those that are asked for (None: all).
    Raises NothingToShow, or CannotRender when several slices meet on columns that nobody has named.
    """
    parts = (Slice("", (), None, None),) if slices is None else slices
    table = None if known is None else _Table(known)
    shown = [
        (part, _listed(part.columns, table, wanted)) for part in parts if table is None or table.can_ask(part.rows)
    ]
    shown = [(part, listed) for part, listed in shown if listed != ()]
    if not shown:
        raise NothingToShow("No column is left to show.")
    rows = _alternatives(part for part, _ in shown)
    if len(shown) == 1 and shown[0][1] is None:
        return View(None, rows)
    if known is not None:
        shown = [(part, _topmost(known) if listed is None else listed) for part, listed in shown]
    lists = [listed for _, listed in shown if listed is not None]
    if len(lists) < len(shown):
        detail = "Several roles show different parts; name the columns of the table."
        raise CannotRender("columns.needed", "/columns", detail)
    return View(tuple(_cells(shown, _ordered(lists, known))), rows)


def select(view: View, *, table: str, dialect: str, known: Collection[str] | None = None) -> str:
    """Return the SELECT of a view, in `spark`, `sqlite` or `postgres`, names quoted only where they must be.

    `table` may have dots. Raises CannotRender for what is no name of a table, and for a condition that the dialect has
    no equal of.
    """
    printer = _Printer(dialect, known)
    if view.columns is None:
        cells: list[Node] = [exp.Star()]
    else:
        cells = [printer.cell(column) for column in view.columns]
    query = exp.Select(expressions=cells).from_(printer.table(table), copy=False)
    if view.rows:
        query = query.where(printer.any_of(view.rows), copy=False)
    return _for_spark(query) if dialect == "spark" else query.sql(dialect=_dialect(dialect))


# -- which cells ------------------------------------------------------------------------------------------------------


class _Table:
    """The columns that a table is known to have."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.spelled = {name.casefold(): name for name in names}
        paths = map(column_path, names)
        self._paths = {path[:length] for path in paths for length in range(1, len(path) + 1)}
        self._opened: set[ColumnPath] = {(), *(path[:-1] for path in self._paths)}

    def has(self, name: str) -> bool:
        """Whether the table has a column, as far as is known: not every schema tells the fields of its columns."""
        path = column_path(name)
        deepest = path
        while deepest and deepest not in self._paths:
            deepest = deepest[:-1]
        return deepest == path or deepest not in self._opened

    def can_ask(self, rows: Rows) -> bool:
        """Whether the table has every column that the conditions read; one that it has not grants nothing (DZ-51)."""
        return all(self.has(read) for row in rows for read in columns(row))


def _listed(
    allowed: Sequence[str] | None, table: _Table | None, wanted: Sequence[str] | None
) -> tuple[str, ...] | None:
    """Return the columns that one slice shows, spelled as the table spells them; None for all, whichever they are."""
    if allowed is None and wanted is None:
        return None
    lists = [names for names in (None if table is None else table.names, wanted, allowed) if names is not None]
    found: Sequence[str] = lists[0]
    for names in lists[1:]:
        found = shared_columns(found, names)
    if table is not None:
        found = [table.spelled.get(name.casefold(), name) for name in found if table.has(name)]
    return _topmost(found)


def _topmost(names: Sequence[str]) -> tuple[str, ...]:
    """Leave out fields of columns that are there as a whole."""
    paths = frozenset(map(column_path, names))
    return tuple(name for name in names if not is_held(column_path(name)[:-1], paths))


def _alternatives(slices: Iterable[Slice]) -> tuple[Rows, ...]:
    """Return the different conditions of slices, or () when one of them has none."""
    found = tuple(dict.fromkeys(one.rows for one in slices))
    return () if () in found else found


def _ordered(lists: Sequence[Sequence[str]], known: Sequence[str] | None) -> list[str]:
    names = {name.casefold(): name for listed in reversed(lists) for name in listed}
    first_seen = dict.fromkeys(name.casefold() for listed in lists for name in listed)
    places = {name.casefold(): place for place, name in enumerate(known or ())}
    return [names[key] for key in sorted(first_seen, key=lambda key: places.get(key, -1))]


def _cells(shown: Sequence[tuple[Slice, Sequence[str] | None]], names: Iterable[str]) -> Iterable[Shown]:
    paths = [(part, frozenset(map(column_path, listed or ()))) for part, listed in shown]
    for name in names:
        listing = [part for part, listed in paths if is_held(column_path(name), listed)]
        is_everywhere = len(listing) == len(shown)
        yield Shown(name, () if is_everywhere else _alternatives(listing))


# -- printing ---------------------------------------------------------------------------------------------------------


class _SQLite(SQLite):
    """SQLite, with names between backticks: between double quotes it takes an unknown name for a text."""

    class Tokenizer(SQLite.Tokenizer):
        """The same words, the backtick first."""

        IDENTIFIERS = ["`", '"', ("[", "]")]


#: The dialects offered, and what each has no equal of.
_DIALECTS: dict[str, tuple[str | type[SQLite], tuple[type[Node], ...]]] = {
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
DIALECTS = tuple(_DIALECTS)

#: SQLite gives other numbers than the others for texts that are none, so only these casts mean the same.
_SQLITE_CASTS = frozenset({exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.DATE})


def _for_spark(query: exp.Select) -> str:
    """Print so that Spark puts no setting of its session for `${name}`, which it does even inside texts and names."""
    if any("${" in name.name for name in query.find_all(exp.Identifier)):
        raise CannotRender("dialect.unsupported", "/dialect", "spark reads ${ in the name of a column as a setting.")
    return query.sql(dialect="spark").replace("${", "$\\u007b")


def _dialect(name: str) -> str | type[SQLite]:
    return _DIALECTS[name][0]


class _Printer:
    """Makes the parts of one query."""

    def __init__(self, dialect: str, known: Collection[str] | None) -> None:
        self._dialect = dialect
        self._spelled = {name.casefold(): name for name in known or ()}

    def table(self, name: str) -> exp.Table:
        parts = name.split(".")
        if len(name) > 512 or len(parts) > 3 or not all(part and part.isprintable() for part in parts):
            raise CannotRender("table.invalid", "/table", "This is no name of a table: up to three parts with dots.")
        found = [self._identifier(part, is_exact=True) for part in reversed(parts)]
        return exp.Table(**dict(zip(("this", "db", "catalog"), found, strict=False)))

    def cell(self, column: Shown) -> Node:
        path = column.name.split(".")
        is_exact = column.name.casefold() in self._spelled
        identifiers = [self._identifier(part, is_exact=is_exact) for part in path]
        plain: Node = exp.Column(this=identifiers[0])
        for part in identifiers[1:]:
            plain = exp.Dot(this=plain, expression=part)
        if column.rows:
            case = exp.Case(ifs=[exp.If(this=self.any_of(column.rows), true=plain)])
            return exp.Alias(this=case, alias=self._identifier(column.name, is_exact=is_exact))
        if len(path) > 1:
            return exp.Alias(this=plain, alias=self._identifier(column.name, is_exact=is_exact))
        return plain

    def any_of(self, alternatives: Sequence[Rows]) -> Node:
        found = [self._all_of(rows) for rows in alternatives]
        if len(found) == 1:
            return found[0]
        return _joined(exp.Or, [one if isinstance(one, exp.Paren) else exp.Paren(this=one) for one in found])

    def _all_of(self, rows: Rows) -> Node:
        return _joined(exp.And, [exp.Paren(this=self._condition(row)) for row in rows])

    def _condition(self, text: str) -> Node:
        tree = parsed(text).copy()
        for node in list(tree.walk()):
            self._refuse(node, text)
            if isinstance(node, exp.Column):
                self._spell(node)
        for name in list(tree.find_all(exp.Identifier)):
            is_exact = name.name in self._spelled.values()
            name.set("quoted", self._must_be_quoted(name.name, is_exact=is_exact or bool(name.args.get("quoted"))))
        return tree.transform(_as_sqlite, copy=False) if self._dialect == "sqlite" else tree

    def _refuse(self, node: Node, text: str) -> None:
        is_strange = isinstance(node, _DIALECTS[self._dialect][1])
        if self._dialect == "sqlite" and isinstance(node, exp.Cast):
            is_strange = node.to.this not in _SQLITE_CASTS
        if is_strange:
            detail = f"{self._dialect} has nothing that means the same as this condition: {text[:80]}"
            raise CannotRender("dialect.unsupported", "/dialect", detail)

    def _spell(self, column: exp.Column) -> None:
        """Spell a column as the table does; conditions do not mind case (DZ-51)."""
        parts = column.parts
        whole = self._spelled.get(".".join(part.name for part in parts).casefold())
        spelled = whole.split(".") if whole is not None else [self._spelled.get(parts[0].name.casefold(), "")]
        for part, name in zip(parts, spelled, strict=False):
            if name:
                part.set("this", name)

    def _identifier(self, name: str, *, is_exact: bool) -> exp.Identifier:
        return exp.Identifier(this=name, quoted=self._must_be_quoted(name, is_exact=is_exact))

    def _must_be_quoted(self, name: str, *, is_exact: bool) -> bool:
        """PostgreSQL takes capitals for small letters unless quoted; a name that is not known to be exact lets it."""
        is_folded = self._dialect == "postgres" and is_exact and name != name.lower()
        return is_folded or _PLAIN.fullmatch(name) is None or name.lower() in _reserved(self._dialect)


@cache
def _reserved(dialect: str) -> frozenset[str]:
    return frozenset(read_table("reserved_words")[dialect])


def _joined(how: type[exp.Connector], nodes: Sequence[Node]) -> Node:
    found = nodes[0]
    for node in nodes[1:]:
        found = how(this=found, expression=node)
    return found


def _as_sqlite(node: Node) -> Node:
    """Say in SQLite what it would otherwise understand differently: its LIKE does not mind case, its GLOB does."""
    if isinstance(node, exp.Like):
        return exp.Glob(this=node.this, expression=exp.Literal.string(_as_glob(node.expression.name)))
    if isinstance(node, exp.TryCast):
        return exp.Cast(this=node.this, to=node.to)
    return node


def _as_glob(pattern: str) -> str:
    found, letters = [], iter(pattern)
    for letter in letters:
        if letter == "\\":
            found.append(_literally(next(letters, letter)))
        else:
            found.append({"%": "*", "_": "?"}.get(letter) or _literally(letter))
    return "".join(found)


def _literally(letter: str) -> str:
    return f"[{letter}]" if letter in "*?[" else letter
