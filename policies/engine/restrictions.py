"""Row conditions and visible columns attached to an allow, and their combination (rules/datazone.md DZ-52 to DZ-67)."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

#: The parts of a column's name, case folded: `Address.City` is ("address", "city").
ColumnPath = tuple[str, ...]

#: The SQL dialects in which the readable part of a table can be selected (`sql_rendering`).
DIALECTS = ("spark", "postgres", "sqlite")


@dataclass(frozen=True, slots=True)
class Restriction:
    """The restriction that one statement puts on its allow.

    `rows` are boolean SQL expressions, all of which a row must meet. `columns` are the visible columns, None for all.
    `paths` are the path prefixes, None if the statement has none. Names of columns keep their spelling.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RoleSlice:
    """The part of a table that one role shows to its holder: these columns of the rows that meet all conditions.

    Rows and columns of one slice belong together: the columns of one are never shown for the rows of another (DZ-56).
    """

    role: str
    rows: tuple[str, ...]
    columns: tuple[str, ...] | None
    paths: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RoleAllow:
    """One matching allow and the role through which the actor has it ('' if not through a role)."""

    role: str
    restriction: Restriction | None


def combine_allows(allows: Iterable[RoleAllow]) -> tuple[RoleSlice, ...] | None:
    """Combine all matching allows into slices, or return None if the actor is not restricted.

    Within one role restrictions stack and a plain allow does not lift them (DZ-55); across roles access adds up and a
    role without restriction lifts all (DZ-56). A slice without columns gives nothing and is left out (DZ-57), so an
    empty tuple means that nothing is visible. Slices are sorted by role; equal ones appear once, under the first role
    (DZ-61).
    """
    by_role: dict[str, list[Restriction]] = {}
    for allow in allows:
        role_restrictions = by_role.setdefault(allow.role, [])
        if allow.restriction is not None:
            role_restrictions.append(allow.restriction)
    slices = []
    for role, restrictions in sorted(by_role.items()):
        if not restrictions:
            return None
        merged_slice = _stack(role, restrictions)
        if merged_slice.columns != ():
            slices.append(merged_slice)
    return deduplicate_slices(slices)


def deduplicate_slices(slices: Iterable[RoleSlice]) -> tuple[RoleSlice, ...]:
    """Return the slices without duplicates: slices that show the same appear once, under the first role (DZ-61)."""
    slice_by_key: dict[tuple[object, ...], RoleSlice] = {}
    for role_slice in slices:
        slice_by_key.setdefault(_slice_key(role_slice), role_slice)
    return tuple(slice_by_key.values())


def intersect_slices(slices: tuple[RoleSlice, ...], other_slices: tuple[RoleSlice, ...]) -> tuple[RoleSlice, ...]:
    """Return the slices of what both show: both conditions on rows, the columns in both lists, the paths in both.

    Each slice keeps the role of the first; its paths are alternatives (DZ-67). Empty if nothing is left.
    """
    if slices == other_slices:
        return slices
    paths_by_slice: dict[RoleSlice, list[tuple[str, ...] | None]] = defaultdict(list)
    for role_slice in slices:
        for other_slice in other_slices:
            rows = tuple(dict.fromkeys((*role_slice.rows, *other_slice.rows)))
            columns = _intersect_lists((role_slice.columns, other_slice.columns), intersect_columns)
            paths = _intersect_lists((role_slice.paths, other_slice.paths), _intersect_paths)
            if columns != () and paths != ():
                paths_by_slice[RoleSlice(role_slice.role, rows, columns, None)].append(paths)
    return deduplicate_slices(
        replace(pathless_slice, paths=_join_paths(path_lists)) for pathless_slice, path_lists in paths_by_slice.items()
    )


def _stack(role: str, restrictions: list[Restriction]) -> RoleSlice:
    rows = tuple(dict.fromkeys(row for restriction in restrictions for row in restriction.rows))
    columns = _intersect_lists((restriction.columns for restriction in restrictions), intersect_columns)
    paths = _join_paths([restriction.paths for restriction in restrictions if restriction.paths is not None])
    return RoleSlice(role, rows, columns, paths or None)


def _intersect_lists(
    name_lists: Iterable[tuple[str, ...] | None],
    intersect: Callable[[tuple[str, ...], tuple[str, ...]], tuple[str, ...]],
) -> tuple[str, ...] | None:
    """Return the intersection of these lists; None, which stands for everything, if there is none."""
    limiting_lists = [names for names in name_lists if names is not None]
    return reduce(intersect, limiting_lists) if limiting_lists else None


def _intersect_paths(prefixes: tuple[str, ...], other_prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longer of each two prefixes of which one is within the other."""
    nested_pairs = (sorted(pair, key=len) for pair in product(prefixes, other_prefixes))
    return tuple(sorted({longer for shorter, longer in nested_pairs if is_within(longer, shorter)}))


def _join_paths(path_lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the paths of all lists, None (everything) if one of them is."""
    paths: set[str] = set()
    for path_list in path_lists:
        if path_list is None:
            return None
        paths.update(path_list)
    return tuple(sorted(paths))


def intersect_columns(columns: Sequence[str], other_columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that two lists share, in the order and spelling of the first (DZ-51).

    Case does not matter. A column includes its nested fields: `address` and `address.city` share `address.city`.
    """
    common_columns: dict[ColumnPath, str] = {}
    name_by_path = {column_path(name): name for name in other_columns}
    nested_paths: dict[ColumnPath, list[ColumnPath]] = defaultdict(list)
    for path in name_by_path:
        for length in range(1, len(path)):
            nested_paths[path[:length]].append(path)
    for name in columns:
        path = column_path(name)
        if is_included(path, name_by_path):
            common_columns.setdefault(path, name)
        else:
            for nested_path in nested_paths.get(path, ()):
                common_columns.setdefault(nested_path, name_by_path[nested_path])
    return tuple(common_columns.values())


def column_path(name: str) -> ColumnPath:
    """Return the case-folded parts of a column's name; equal paths mean the same column."""
    return tuple(name.casefold().split("."))


def is_included(path: ColumnPath, paths: Container[ColumnPath]) -> bool:
    """Whether a column as a whole is in `paths`: itself, or a column of which it is a nested field."""
    return any(path[:length] in paths for length in range(1, len(path) + 1))


def is_within(path: str, prefix: str) -> bool:
    """Whether a path equals the prefix or is below it, by whole parts (DZ-65)."""
    return path == prefix or path.startswith(f"{prefix}/")


def normalize_path(text: str) -> str | None:
    """Return a path without its trailing slash, or None if it is not a relative path of plain parts (DZ-64)."""
    path = text.removesuffix("/")
    if any(part in ("", ".", "..") for part in path.split("/")) or "\\" in path or not path.isprintable():
        return None
    return path


def _slice_key(role_slice: RoleSlice) -> tuple[object, ...]:
    columns = None if role_slice.columns is None else frozenset(column.casefold() for column in role_slice.columns)
    return frozenset(role_slice.rows), columns, role_slice.paths
