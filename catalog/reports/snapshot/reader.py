"""The files of a snapshot as tables, documents and objects of the engine: policies, actors, hierarchies. No Django."""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from catalog.reports.storage import parse_address
from policies.engine import families
from policies.engine.errors import UnknownFamily
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.snapshot import Snapshot

#: Version of the schemas in `schema.py`, stored in the manifest of every snapshot.
SCHEMA_VERSION = 3

#: Column with the number of the entity, of each table that has several files.
NUMBER_COLUMNS: Final = {"entities": "number", "facets": "entity"}

#: Largest number that an entity can have.
MAX_NUMBER: Final = 2**63 - 1

#: Folder of what changed since the files of entities were written: tables of the same names, and the numbers.
CHANGED_FOLDER = "changed"
CHANGED_NUMBERS = "numbers"


class CorruptSnapshot(Exception):
    """A snapshot cannot be read; the message names the file, or the policy of an unknown family."""


def read_table(
    source: str,
    name: str,
    columns: Sequence[str] | None = None,
    condition: ds.Expression | None = None,
    dictionary_columns: Sequence[str] = (),
    numbers: tuple[int, int] | None = None,
) -> pa.Table:
    """Return a table of a snapshot, in no order. Raises CorruptSnapshot.

    With `numbers`, the first and the last number of some entities, files without rows of these are not opened; others
    are read as far as `condition` says.
    """
    try:
        filesystem, folder = parse_address(source).open()
        file_format = ds.ParquetFileFormat(
            read_options=ds.ParquetReadOptions(dictionary_columns=list(dictionary_columns))
        )
        tables = [
            ds.dataset(paths, filesystem=filesystem, format=file_format).to_table(columns=columns, filter=valid_rows)
            for paths, valid_rows in _list_pieces(filesystem, folder, name, numbers, condition)
        ]
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
    except (OSError, pa.ArrowException) as error:
        raise CorruptSnapshot(f"{name}.parquet of the snapshot cannot be read.") from error


def read_schema(source: str, name: str) -> pa.Schema:
    """Return the columns of a table of a snapshot, by its first file. Raises CorruptSnapshot."""
    try:
        filesystem, folder = parse_address(source).open()
        path = f"{folder}/{name}.parquet"
        if filesystem.get_file_info(path).type == fs.FileType.Directory:
            path = next(iter(_list_parts(filesystem, path).values()))
        return pq.read_schema(path, filesystem=filesystem)
    except (OSError, StopIteration, pa.ArrowException) as error:
        raise CorruptSnapshot(f"{name}.parquet of the snapshot cannot be read.") from error


def list_file_ranges(source: str) -> list[tuple[int, int]]:
    """Return the first and last number that the entities of each file can have. Raises CorruptSnapshot."""
    try:
        filesystem, folder = parse_address(source).open()
        path = f"{folder}/entities.parquet"
        # An older snapshot has one file for each table.
        is_folder = filesystem.get_file_info(path).type == fs.FileType.Directory
        starts = [parse_part(name) for name in _list_parts(filesystem, path)] if is_folder else [0]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise CorruptSnapshot("entities.parquet of the snapshot cannot be read.") from error
    return list(zip(starts, [*(start - 1 for start in starts[1:]), MAX_NUMBER], strict=True))


def _list_pieces(
    filesystem: fs.FileSystem,
    folder: str,
    name: str,
    numbers: tuple[int, int] | None,
    condition: ds.Expression | None,
) -> Iterator[tuple[str | list[str], ds.Expression | None]]:
    """Yield files of a table, with the condition of the rows that are valid in them.

    Rows of entities that changed after a file was written are in a file of the same name in the folder of changes.
    """
    paths = _list_files(filesystem, f"{folder}/{name}.parquet", numbers)
    changed_parts = _list_parts(filesystem, f"{folder}/{CHANGED_FOLDER}/{CHANGED_NUMBERS}.parquet")
    if not changed_parts or name not in NUMBER_COLUMNS:
        yield paths, condition
        return
    all_paths = list(_list_parts(filesystem, paths).values()) if isinstance(paths, str) else paths
    unchanged_paths = [path for path in all_paths if _get_name(path) not in changed_parts]
    if unchanged_paths:
        yield unchanged_paths, condition
    for path in all_paths:
        if (part := _get_name(path)) in changed_parts:
            changed_numbers = pq.read_table(changed_parts[part], filesystem=filesystem).column("number")
            is_valid = ~ds.field(NUMBER_COLUMNS[name]).isin(changed_numbers.combine_chunks())
            yield [path], is_valid if condition is None else condition & is_valid
            yield [f"{folder}/{CHANGED_FOLDER}/{name}.parquet/{part}"], condition


def name_part(first_number: int | None) -> str:
    """Return the name of a file with the rows of entities from a number on; None is the first file."""
    return f"part-{first_number or 0:020}.parquet"


def parse_part(name: str) -> int:
    """Return the first number of the entities in a file of this name."""
    return int(name.removeprefix("part-").removesuffix(".parquet"))


def _list_files(filesystem: fs.FileSystem, path: str, numbers: tuple[int, int] | None) -> str | list[str]:
    """Return the files of a table, or those that can have rows of entities from the first to the last number."""
    if numbers is None or filesystem.get_file_info(path).type != fs.FileType.Directory:
        return path
    first_number, last_number = numbers
    paths = _list_parts(filesystem, path)
    names = list(paths)
    start = max(bisect_right(names, name_part(first_number)) - 1, 0)
    return list(paths.values())[start : max(bisect_right(names, name_part(last_number)), start + 1)]


def _list_parts(filesystem: fs.FileSystem, path: str) -> dict[str, str]:
    """Return the files of a folder by name, sorted; none if it does not exist."""
    paths = sorted(info.path for info in filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True)))
    return {_get_name(file_path): file_path for file_path in paths}


def _get_name(path: str) -> str:
    return path.rpartition("/")[2]


def read_json(source: str, name: str) -> dict[str, Any]:
    """Return a JSON object from the folder of a snapshot. Raises CorruptSnapshot."""
    try:
        document = json.loads(parse_address(source).read_bytes(name))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise CorruptSnapshot(f"{name} of the snapshot cannot be read.") from error
    if not isinstance(document, dict):
        raise CorruptSnapshot(f"{name} of the snapshot is no JSON object.")
    return document


def group_rows(source: str, name: str, keys: Sequence[str], values: Sequence[str]) -> Mapping[Any, frozenset[Any]]:
    """Return the values of a table by key; several columns make tuples. Raises CorruptSnapshot."""
    table = read_table(source, name, [*keys, *values])
    grouped_values: dict[Any, set[Any]] = defaultdict(set)
    for key, value in zip(_list_values(table, keys), _list_values(table, values), strict=True):
        grouped_values[key].add(value)
    return {key: frozenset(group) for key, group in grouped_values.items()}


def load_snapshot(source: str, version: int) -> Snapshot:
    """Return the compiled policies of a snapshot on disk. Raises CorruptSnapshot."""
    return Snapshot.build(version, [*families.implicit_policies(), *_compile_policies(read_table(source, "policies"))])


def load_actors(source: str) -> list[Actor]:
    """Return every user as an actor with its groups, roles (also those of its groups) and attributes."""
    groups_by_user = group_rows(source, "memberships", ["user"], ["group"])
    roles_by_holder = load_roles(source)
    attributes_by_user = group_rows(source, "circumstances", ["user"], ["field", "value"])
    no_values: frozenset[Any] = frozenset()
    actors = []
    for urn, may_act in _list_values(read_table(source, "users"), ["urn", "may_act"]):
        groups = groups_by_user.get(urn, no_values)
        roles = no_values.union(*(roles_by_holder.get(holder, no_values) for holder in (urn, *groups)))
        attributes = attributes_by_user.get(urn, no_values)
        actors.append(Actor(urn, groups, roles, is_active=may_act, attributes=attributes))
    return actors


def read_people(source: str) -> list[str]:
    """Return the URNs of all users, in the order of `load_actors`. Raises CorruptSnapshot."""
    urns: list[str] = _list_values(read_table(source, "users", ["urn"]), ["urn"])
    return urns


def load_roles(source: str) -> Mapping[str, frozenset[str]]:
    """Return the roles bound to each user and group."""
    return group_rows(source, "roles", ["holder"], ["role"])


def load_descendants(source: str) -> dict[str, tuple[str, ...]]:
    """Return the descendants of each node."""
    nodes_by_ancestor = group_rows(source, "ancestries", ["ancestor"], ["node"])
    return {node: tuple(nodes - {node}) for node, nodes in nodes_by_ancestor.items()}


def _compile_policies(policies: pa.Table) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    for row in policies.to_pylist():
        try:
            family = families.get(row["family"])
        except UnknownFamily as error:
            raise CorruptSnapshot(f"The policy {row['urn']} is of the unknown family {row['family']!r}.") from error
        yield row["urn"], family.compile(json.loads(row["document"]), StatementOrigin(row["urn"], row["name"]))


def _list_values(table: pa.Table, names: Sequence[str]) -> list[Any]:
    columns = [table.column(name).to_pylist() for name in names]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
