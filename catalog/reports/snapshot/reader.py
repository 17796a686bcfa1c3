"""The files of a snapshot as tables, documents and objects of the engine: policies, actors, hierarchies. No Django."""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from catalog.reports.storage import parse_address
from policies.engine import families
from policies.engine.errors import UnknownFamily
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.snapshot import Snapshot

#: Version of the schemas in `schema.py`, stored in the manifest of every snapshot.
SCHEMA_VERSION = 2


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
    """Return a table of a snapshot. Raises CorruptSnapshot.

    With `numbers`, the first and the last number of some entities, files without rows of these are not opened; others
    are read as far as `condition` says.
    """
    try:
        filesystem, folder = parse_address(source).open()
        file_format = ds.ParquetFileFormat(
            read_options=ds.ParquetReadOptions(dictionary_columns=list(dictionary_columns))
        )
        files = ds.dataset(
            _list_files(filesystem, f"{folder}/{name}.parquet", numbers), filesystem=filesystem, format=file_format
        )
        return files.to_table(columns=columns, filter=condition)
    except (OSError, pa.ArrowException) as error:
        raise CorruptSnapshot(f"{name}.parquet of the snapshot cannot be read.") from error


def name_part(first_number: int | None) -> str:
    """Return the name of a file with the rows of entities from a number on; None is the first file."""
    return f"part-{first_number or 0:020}.parquet"


def _list_files(filesystem: fs.FileSystem, path: str, numbers: tuple[int, int] | None) -> str | list[str]:
    """Return the files of a table, or those that can have rows of entities from the first to the last number."""
    if numbers is None or filesystem.get_file_info(path).type != fs.FileType.Directory:
        return path
    first_number, last_number = numbers
    paths = sorted(info.path for info in filesystem.get_file_info(fs.FileSelector(path)))
    names = [file_path.rpartition("/")[2] for file_path in paths]
    start = max(bisect_right(names, name_part(first_number)) - 1, 0)
    return paths[start : max(bisect_right(names, name_part(last_number)), start + 1)]


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
