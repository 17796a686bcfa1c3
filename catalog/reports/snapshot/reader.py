"""The tables of a snapshot on disk as the engine takes them: statements, actors, hierarchies, without Django."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from policies.engine import families
from policies.engine.errors import UnknownFamily
from policies.engine.model import Actor, Origin, Statement
from policies.engine.snapshot import Snapshot


class UnknownPolicy(Exception):
    """A policy of a family that is not known here."""


def snapshot_of(policies: pa.Table, version: int) -> Snapshot:
    """Return the compiled policies of a snapshot on disk. Raises UnknownPolicy."""
    return Snapshot.build(version, [*families.implicit(), *_compiled(policies)])


def _compiled(policies: pa.Table) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    for row in policies.to_pylist():
        try:
            family = families.get(row["family"])
        except UnknownFamily as error:
            raise UnknownPolicy(f"The policy {row['urn']} is of the unknown family {row['family']!r}.") from error
        yield row["urn"], family.compile(json.loads(row["document"]), Origin(row["urn"], row["name"]))


def actors_of(users: pa.Table, memberships: pa.Table, roles: pa.Table, circumstances: pa.Table) -> list[Actor]:
    """Return every user with its groups and roles (its own and those of its groups) and what is known of it."""
    groups = _sets(zip(*_columns(memberships, "user", "group"), strict=True))
    bound = _sets(zip(*_columns(roles, "holder", "role"), strict=True))
    nothing: frozenset[str] = frozenset()
    known: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for urn, field, value in zip(*_columns(circumstances, "user", "field", "value"), strict=True):
        known[urn].add((field, value))
    return [
        Actor(
            urn,
            groups.get(urn, nothing),
            nothing.union(*(bound.get(holder, nothing) for holder in (urn, *groups.get(urn, nothing)))),
            is_active=may_act,
            circumstances=frozenset(known.get(urn, ())),
        )
        for urn, may_act in zip(*_columns(users, "urn", "may_act"), strict=True)
    ]


def below_of(ancestries: pa.Table) -> dict[str, tuple[str, ...]]:
    """Return, for each node, every node under it."""
    found = _sets(zip(*_columns(ancestries, "ancestor", "node"), strict=True))
    return {node: tuple(under - {node}) for node, under in found.items()}


def _sets(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: frozenset(values) for key, values in found.items()}


def _columns(table: pa.Table, *names: str) -> tuple[list[str], ...]:
    return tuple(table.column(name).to_pylist() for name in names)
