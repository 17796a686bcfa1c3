"""The tables of a snapshot as objects of the engine: statements, actors, hierarchies. No Django."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from policies.engine import families
from policies.engine.errors import UnknownFamily
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.snapshot import Snapshot


class UnknownPolicyFamily(Exception):
    """A policy has a family that is not registered."""


def build_snapshot(policies: pa.Table, version: int) -> Snapshot:
    """Return the compiled policies of a snapshot on disk. Raises UnknownPolicyFamily."""
    return Snapshot.build(version, [*families.implicit_policies(), *_compile_policies(policies)])


def _compile_policies(policies: pa.Table) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    for row in policies.to_pylist():
        try:
            family = families.get(row["family"])
        except UnknownFamily as error:
            raise UnknownPolicyFamily(f"The policy {row['urn']} is of the unknown family {row['family']!r}.") from error
        yield row["urn"], family.compile(json.loads(row["document"]), StatementOrigin(row["urn"], row["name"]))


def build_actors(users: pa.Table, memberships: pa.Table, roles: pa.Table, circumstances: pa.Table) -> list[Actor]:
    """Return every user as an actor with its groups, roles (also those of its groups) and attributes."""
    groups_by_user = _group_values(zip(*_list_columns(memberships, "user", "group"), strict=True))
    roles_by_holder = _group_values(zip(*_list_columns(roles, "holder", "role"), strict=True))
    no_urns: frozenset[str] = frozenset()
    attributes_by_user: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for urn, field, value in zip(*_list_columns(circumstances, "user", "field", "value"), strict=True):
        attributes_by_user[urn].add((field, value))
    return [
        Actor(
            urn,
            groups_by_user.get(urn, no_urns),
            no_urns.union(
                *(roles_by_holder.get(holder, no_urns) for holder in (urn, *groups_by_user.get(urn, no_urns)))
            ),
            is_active=may_act,
            attributes=frozenset(attributes_by_user.get(urn, ())),
        )
        for urn, may_act in zip(*_list_columns(users, "urn", "may_act"), strict=True)
    ]


def group_descendants(ancestries: pa.Table) -> dict[str, tuple[str, ...]]:
    """Return the descendants of each node, as node -> nodes."""
    nodes_by_ancestor = _group_values(zip(*_list_columns(ancestries, "ancestor", "node"), strict=True))
    return {node: tuple(nodes - {node}) for node, nodes in nodes_by_ancestor.items()}


def _group_values(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    values_by_key: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        values_by_key[key].add(value)
    return {key: frozenset(values) for key, values in values_by_key.items()}


def _list_columns(table: pa.Table, *names: str) -> tuple[list[str], ...]:
    return tuple(table.column(name).to_pylist() for name in names)
