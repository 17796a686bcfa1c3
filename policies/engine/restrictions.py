"""Row and column views attached to an allow, and how several combine (rules/datazone.md DZ-52 to DZ-67)."""

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

#: The parts of a column's name, case folded: `Address.City` is ("address", "city").
ColumnPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restriction:
    """What one statement limits its allow to.

    `rows` are boolean SQL expressions, all of which a row must meet. `columns` are the visible columns, None for all.
    `paths` are the path prefixes, None where the statement has none. Names of columns are kept as written.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """What one role lets its holder see: these columns of the rows that meet all conditions.

    Rows and columns of one slice belong together: the columns of one are never shown for the rows of another (DZ-56).
    """

    role: str
    rows: tuple[str, ...]
    columns: tuple[str, ...] | None
    paths: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RoleAllow:
    """One matching allow and the role through which the actor holds it ('' when it is not held through a role)."""

    role: str
    restriction: Restriction | None


def combine(allows: Iterable[RoleAllow]) -> tuple[Slice, ...] | None:
    """Combine all matching allows into slices, or None when the actor is not restricted.

    Inside one role restrictions stack and a plain allow does not lift them (DZ-55); across roles access adds up and a
    role without restriction lifts all (DZ-56). A slice without a column gives nothing and is left out (DZ-57), so an
    empty tuple means that nothing can be seen. Slices are sorted by role; equal ones appear once, under the first role
    (DZ-61).
    """
    by_role: dict[str, list[Restriction]] = {}
    for allow in allows:
        stacked = by_role.setdefault(allow.role, [])
        if allow.restriction is not None:
            stacked.append(allow.restriction)
    slices = []
    for role, restrictions in sorted(by_role.items()):
        if not restrictions:
            return None
        merged = _stack(role, restrictions)
        if merged.columns != ():
            slices.append(merged)
    return distinct(slices)


def distinct(slices: Iterable[Slice]) -> tuple[Slice, ...]:
    """Return slices that show the same once, under the first role (DZ-61)."""
    found: dict[tuple[object, ...], Slice] = {}
    for one in slices:
        found.setdefault(_sameness(one), one)
    return tuple(found.values())


def _stack(role: str, restrictions: list[Restriction]) -> Slice:
    rows = tuple(dict.fromkeys(row for restriction in restrictions for row in restriction.rows))
    paths = tuple(sorted({path for restriction in restrictions for path in restriction.paths or ()}))
    return Slice(role, rows, _shared_columns(restrictions), paths or None)


def _shared_columns(restrictions: list[Restriction]) -> tuple[str, ...] | None:
    lists = [restriction.columns for restriction in restrictions if restriction.columns is not None]
    return reduce(shared_columns, lists) if lists else None


def shared_columns(these: Sequence[str], those: Sequence[str]) -> tuple[str, ...]:
    """Return what two lists of columns have in common, in the order and spelling of the first (DZ-51).

    Case does not matter. A column holds its nested fields: `address` and `address.city` share `address.city`.
    """
    found: dict[ColumnPath, str] = {}
    others = {column_path(name): name for name in those}
    inside: dict[ColumnPath, list[ColumnPath]] = defaultdict(list)
    for path in others:
        for length in range(1, len(path)):
            inside[path[:length]].append(path)
    for name in these:
        path = column_path(name)
        if is_held(path, others):
            found.setdefault(path, name)
        else:
            for inner in inside.get(path, ()):
                found.setdefault(inner, others[inner])
    return tuple(found.values())


def column_path(name: str) -> ColumnPath:
    """Return the parts of a column's name, so that equal ones mean the same column."""
    return tuple(name.casefold().split("."))


def is_held(path: ColumnPath, among: Container[ColumnPath]) -> bool:
    """Whether a column as a whole is among these: itself, or one that it is a field of."""
    return any(path[:length] in among for length in range(1, len(path) + 1))


def is_within(path: str, prefix: str) -> bool:
    """Whether a path is the prefix or lies below it, by whole parts (DZ-65)."""
    return path == prefix or path.startswith(f"{prefix}/")


def normal_path(text: str) -> str | None:
    """Return a path without a slash at its end, or None when it is not a relative path of plain parts (DZ-64)."""
    path = text.removesuffix("/")
    if any(part in ("", ".", "..") for part in path.split("/")) or "\\" in path or not path.isprintable():
        return None
    return path


def _sameness(view: Slice) -> tuple[object, ...]:
    columns = None if view.columns is None else frozenset(column.casefold() for column in view.columns)
    return frozenset(view.rows), columns, view.paths
