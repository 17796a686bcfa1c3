"""Generated worlds as the slices and the snapshots on disk that jobs read."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import GRANT_SETTINGS_FILE, Partition, SnapshotState
from catalog.reports.snapshot.reader import SCHEMA_VERSION
from policies.engine import selectors
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.engine.postings import Postings
from policies.engine.restrictions import Restriction
from policies.engine.selectors import Condition, Selector
from policies.engine.snapshot import Snapshot
from tests.strategies import PROPERTIES
from tests.worlds import World

#: Settings about grants that add nothing.
GRANTS = {"is_inherited": False, "administrators": [], "instance": "urn:li:instance:cdap"}

FIELDS = frozenset(
    {
        *selectors.HIERARCHICAL_FIELDS,
        selectors.TAG,
        selectors.DATA_PLATFORM_INSTANCE,
        selectors.GROUP_MEMBERSHIP,
        *(f"PROPERTY.{name}" for name in PROPERTIES),
    }
)


def bare(world: World) -> World:
    """Return the world with direct facts: nothing lies in anything."""
    return World(world.raw | {"parents": {}})


def actors_of(world: World) -> list[Actor]:
    """Return everybody."""
    return [world.actor(one) for one in world.raw["users"]]


class Fact(NamedTuple):
    """A fact of one entity: its number, a field, a value, and for an owner the ownership type."""

    number: int
    field: str
    value: str
    type: str


def facts_of(world: World) -> list[Fact]:
    """Return every direct fact of every entity, numbered in the order of URNs."""
    flat, found = bare(world), []
    for number, urn in enumerate(sorted(world.raw["entities"])):
        resource = flat.resource(urn, fields=FIELDS - {selectors.GROUP_MEMBERSHIP} | {selectors.OWNER})
        for field, values in resource.facets.items():
            found += [Fact(number, field, value, "") for value in values if field != selectors.OWNER]
        found += [Fact(number, selectors.OWNER, owner.actor, owner.type) for owner in resource.owners]
    return found


def known(world: World, snapshot: Snapshot | None = None) -> SnapshotState:
    """Return what the slices of a world share."""
    below: dict[str, list[str]] = {}
    for node in world.raw["parents"]:
        for ancestor in _above(world, node):
            below.setdefault(ancestor, []).append(node)
    under = {node: tuple(nodes) for node, nodes in below.items()}
    return SnapshotState("", world.snapshot() if snapshot is None else snapshot, actors_of(world), under)


def cut(world: World, slices: int, snapshot: Snapshot | None = None) -> list[PartitionFacts]:
    """Return a world in so many slices."""
    shared, urns = known(world, snapshot), sorted(world.raw["entities"])
    return [PartitionFacts(shared, _slice(world, shared, range(start, len(urns), slices))) for start in range(slices)]


def _slice(world: World, shared: SnapshotState, numbers: range) -> Partition:
    urns = sorted(world.raw["entities"])
    places = {number: place for place, number in enumerate(numbers)}
    rows = [(places[one.number], *one[1:]) for one in facts_of(world) if one.number in places]
    groups = [
        (place, actor.urn) for number, place in places.items() for actor in shared.actors if actor.urn == urns[number]
    ]
    rows += [
        (place, selectors.GROUP_MEMBERSHIP, group, "") for place, user in groups for group in world.actor(user).groups
    ]
    postings = Postings(
        urns=[urns[number] for number in numbers],
        types=[world.raw["entities"][urns[number]]["type"] for number in numbers],
        fields=FIELDS | {selectors.OWNER},
        rows=rows,
        descendants=shared.descendants,
    )
    return Partition(pa.array(numbers, pa.int64()), postings)


def restricted(world: World, which: Iterable[bool]) -> Snapshot:
    """Return the policies of a world, of which some allow no column at all, so that only `decide` can tell."""
    compiled = [
        (
            urn,
            tuple(
                replace(one, restriction=Restriction(columns=())) if is_so and not one.actor_conditions else one
                for one in statements
            ),
        )
        for (urn, statements), is_so in zip(world.statements(), which, strict=False)
    ]
    return Snapshot.build(1, [*compiled, *datahub.implicit_policies()])


def write(world: World, folder: Path, **files: object) -> str:
    """Write a world as a snapshot that a job reads, with further files of JSON; return its URL."""
    folder.mkdir(parents=True)
    urns, raw = sorted(world.raw["entities"]), world.raw
    ancestries = [(node, above) for node in raw["parents"] for above in _above(world, node)]
    tables = {
        "entities": {
            "number": pa.array(range(len(urns)), pa.int64()),
            "urn": urns,
            "type": [raw["entities"][urn]["type"] for urn in urns],
            "object_id": pa.nulls(len(urns), pa.string()),
            "project": pa.nulls(len(urns), pa.string()),
        },
        "facets": _columns(("entity", "field", "value", "type"), facts_of(world)),
        "ancestries": _columns(("node", "ancestor"), ancestries),
        "users": {"urn": raw["users"], "may_act": [one not in raw["suspended"] for one in raw["users"]]},
        "circumstances": _columns(
            ("user", "field", "value"),
            [(one.urn, *pair) for one in actors_of(world) for pair in sorted(one.attributes)],
        ),
        "memberships": _columns(("user", "group"), raw["memberships"]),
        "roles": _columns(("holder", "role"), raw["roles"]),
        "grants": _columns(("entity", "privilege", "holder"), []),
        "patterns": _columns(("kind", "prefix", "privilege", "holder"), []),
        "policies": _columns(
            ("urn", "family", "name", "document"),
            [
                (f"urn:li:dataHubPolicy:{name}", datahub.NAME, name, json.dumps(document))
                for name, document in world.policies
            ],
        ),
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    manifest = {
        "schema": SCHEMA_VERSION,
        "policy_version": 1,
        "change_seq": 1,
        "as_of": "2026-01-01T00:00:00+00:00",
        "rows": {name: len(next(iter(columns.values()))) for name, columns in tables.items()},
    }
    for name, content in {
        "manifest": manifest,
        "parameters": {},
        GRANT_SETTINGS_FILE.removesuffix(".json"): GRANTS,
        **files,
    }.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder.as_uri()


def read(folder: Path, name: str) -> list[dict]:
    """Return the rows of a table of results, in order; those of a table without an order by what is in them."""
    rows = pq.read_table(folder / name).to_pylist()
    return sorted(rows, key=lambda row: (row.get("position", 0), repr(row)))


def selector(field: str, *values: str) -> Selector:
    """Return a selector of one criterion."""
    return Selector((selectors.Criterion(field, Condition.EQUALS, frozenset(values)),), needs_resource=True)


def _above(world: World, node: str) -> list[str]:
    parents, found = world.raw["parents"], []
    while node in parents and parents[node] not in found:
        node = parents[node]
        found.append(node)
    return found


def _columns(names: tuple[str, ...], rows: Iterable[Iterable]) -> dict[str, pa.Array]:
    listed = [tuple(row) for row in rows]
    kinds = {"entity": pa.int64()}
    return {
        name: pa.array([row[place] for row in listed], kinds.get(name, pa.string())) for place, name in enumerate(names)
    }
