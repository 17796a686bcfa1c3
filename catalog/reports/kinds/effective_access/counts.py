"""Counts of effective access by partition: entities by person, people by entity, and both by domain, platform and tag.

Separate from the job module, because Spark's processes unpickle classes by the name of their module.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from pyroaring import BitMap, FrozenBitMap

from catalog.reports.kinds.effective_access.edges import EdgeCollector, EdgeWriter, PartitionEdges
from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.spark.job import Job
from catalog.reports.spark.partition_visits import visit_partitions
from policies.engine import reach_index, selectors
from policies.engine.actor_index import ActorIndex
from policies.engine.audience import Audience, AudienceIndex
from policies.engine.postings import Postings
from policies.engine.statement_groups import group_statements

#: Minimum number of partitions.
MIN_PARTITIONS = 4

#: Breakdowns of the counts: kind of place to facet field.
PLACE_FIELDS = {"domain": selectors.DOMAIN, "platform": partitions.PLATFORM, "tag": selectors.TAG}


def _make_zeros(length: int = 0) -> "array[int]":
    return array("q", bytes(8 * length))


class _CountRow(NamedTuple):
    """The counts of one partition: 8 bytes for each person or entity, or the counts of one place.

    A place has its kind, URN, entities and (person, entity) pairs; `data` is a serialized bitmap of people.
    """

    privilege: str
    kind: str
    name: str
    entities: int
    accesses: int
    data: bytes


@dataclass(frozen=True)
class _CountQuery:
    """The counts of every partition: these privileges on entities of these types.

    `edges_per_entity` is the bound of the rows of edges, and None where none are wanted.
    """

    privileges: Sequence[str]
    types: Sequence[str]
    edges_per_entity: float | None = None

    @cached_property
    def _indexes(self) -> list[tuple[ActorIndex, Mapping[str, AudienceIndex]]]:
        return []

    def get_indexes(self, facts: PartitionFacts) -> tuple[ActorIndex, Mapping[str, AudienceIndex]]:
        """Return the index of actors and those of audiences, by privilege: built once in each process."""
        if not self._indexes:
            actor_index = ActorIndex(facts.actors)
            audience_indexes = {}
            for privilege in self.privileges:
                statement_groups = group_statements(facts.snapshot, privilege, self.types)
                audience_indexes[privilege] = AudienceIndex(facts.snapshot, privilege, statement_groups, actor_index)
            self._indexes.append((actor_index, audience_indexes))
        return self._indexes[0]


@dataclass(slots=True)
class PlaceCount:
    """Counts of one domain, platform or tag: entities, people with any of them, (person, entity) pairs."""

    entities: int
    accesses: int
    people: BitMap


@dataclass(slots=True)
class PrivilegeCount:
    """Counts of one privilege: entities by person and people by entity, in the order of the snapshot, and places.

    Places are by (kind, URN).
    """

    people: "array[int]"
    entities: "array[int]" = field(default_factory=_make_zeros)
    places: dict[tuple[str, str], PlaceCount] = field(default_factory=dict)


def count_access(
    job: Job,
    privileges: Sequence[str],
    people: Sequence[str],
    *,
    min_partitions: int = MIN_PARTITIONS,
    max_edges: int = 0,
) -> dict[str, PrivilegeCount]:
    """Return the counts of each privilege for all people, whose URNs are given in the order of the snapshot.

    They are computed in at least `min_partitions` partitions. The edges of access are written, too, up to `max_edges`
    rows. Memory of this process: 8 bytes for each person or entity and privilege, and that for edges.
    """
    edge_writer = EdgeWriter(job) if max_edges else None
    accumulator = _Accumulator(len(people), privileges, edge_writer)
    edges_per_entity = max_edges / max(job.manifest["rows"]["entities"], 1) if max_edges else None
    visit_partitions(
        job,
        _count_partition,
        _CountQuery(privileges, partitions.list_types(job.source), edges_per_entity),
        accumulator.add_partition,
        choose_fields=partial(_choose_fields, tuple(privileges)),
        stage="Counting",
        min_partitions=min_partitions,
    )
    if edge_writer is not None:
        edge_writer.write_crowds(people)
    return accumulator.build()


def _choose_fields(privileges: Sequence[str], state: partitions.SnapshotState) -> frozenset[str]:
    return state.tested_fields(privileges) | frozenset(PLACE_FIELDS.values())


class _Accumulator:
    """Sum of the counts of all partitions; their edges are passed on."""

    def __init__(self, people_count: int, privileges: Sequence[str], edge_writer: EdgeWriter | None) -> None:
        self._counts = {privilege: PrivilegeCount(_make_zeros(people_count)) for privilege in privileges}
        self._entities_by_partition: dict[str, dict[int, bytes]] = {privilege: {} for privilege in privileges}
        self._edge_writer = edge_writer

    def add_partition(self, number: int, rows: Sequence[_CountRow | PartitionEdges]) -> None:
        """Add the rows of a partition; a higher number has later entities."""
        for row in rows:
            if isinstance(row, PartitionEdges):
                if self._edge_writer is not None:
                    self._edge_writer.add_partition(number, row)
                continue
            count = self._counts[row.privilege]
            if row.kind == "entities":
                self._entities_by_partition[row.privilege][number] = row.data
            elif row.kind == "people":
                for person, entity_count in enumerate(memoryview(row.data).cast("q")):
                    count.people[person] += entity_count
            else:
                _add_place(count, row)

    def build(self) -> dict[str, PrivilegeCount]:
        """Return the counts of each privilege, when all partitions are added."""
        for privilege, data_by_partition in self._entities_by_partition.items():
            for _, data in sorted(data_by_partition.items()):
                self._counts[privilege].entities.frombytes(data)
        return self._counts


def _count_partition(facts: PartitionFacts, query: _CountQuery) -> list[_CountRow | PartitionEdges]:
    """Return the counts of one partition, and its edges where they are wanted."""
    rows: list[_CountRow | PartitionEdges] = []
    edge_collector = None
    if query.edges_per_entity is not None:
        max_edges = int(query.edges_per_entity * len(facts.urns))
        edge_collector = EdgeCollector(facts.urns, [actor.urn for actor in facts.actors], max_edges)
    actor_index, audience_indexes = query.get_indexes(facts)
    for privilege, audience_index in audience_indexes.items():
        entity_counts = reach_index.ReachIndex(facts.postings, facts.snapshot, privilege).count_entities(facts.actors)
        counts_by_person = array("q", (entity_counts[actor.urn] for actor in facts.actors))
        counts_by_entity = _make_zeros(len(facts.urns))
        place_counter = _PlaceCounter(facts.postings, len(actor_index.eligible_actors))
        audiences = audience_index.iterate_audiences(facts.postings)
        if edge_collector is not None:
            audiences = edge_collector.add_privilege(privilege, audiences)
        for audience in audiences:
            _count_entities(audience, counts_by_entity)
            place_counter.add(audience)
            for actors in audience.decided_by_entity.values():
                for person in actors:
                    counts_by_person[person] += 1
        rows.append(_CountRow(privilege, "people", "", 0, 0, counts_by_person.tobytes()))
        rows.append(_CountRow(privilege, "entities", "", 0, 0, counts_by_entity.tobytes()))
        rows += [_CountRow(privilege, *place_row) for place_row in place_counter.list_rows(counts_by_entity)]
    if edge_collector is not None:
        rows.append(edge_collector.build())
    return rows


def _count_entities(audience: Audience, counts_by_entity: "array[int]") -> None:
    size = len(audience.base_actors) + len(audience.extra_actors)
    for number in audience.entities:
        counts_by_entity[number] = size
    for number, extra_actors in audience.extra_by_entity.items():
        counts_by_entity[number] += len(extra_actors)


class _PlaceCounter:
    """Counts, for each place, the people with access to any of its entities and the (person, entity) pairs."""

    def __init__(self, postings: Postings, people_count: int) -> None:
        self._entities_by_place = [
            (kind, value, entities)
            for kind, field in PLACE_FIELDS.items()
            for value, entities in sorted(postings.values(field).items())
        ]
        self._people_count = people_count
        self._audiences: list[Audience] = []
        self._audience_by_entity: list[int] = [0] * len(postings.urns)

    def add(self, audience: Audience) -> None:
        """Note the audience of its entities."""
        for number in audience.entities:
            self._audience_by_entity[number] = len(self._audiences)
        self._audiences.append(audience)

    def list_rows(self, counts_by_entity: "array[int]") -> list[tuple[str, str, int, int, bytes]]:
        """Return (kind, URN, entities, accesses, serialized bitmap of people) of each place."""
        return [
            (
                kind,
                value,
                len(entities),
                sum(map(counts_by_entity.__getitem__, entities)),
                self._find_people(entities).serialize(),
            )
            for kind, value, entities in self._entities_by_place
        ]

    def _find_people(self, entities: FrozenBitMap) -> BitMap:
        """Return the people with access to any of these entities; looks no further once these are all there are."""
        people = BitMap()
        audiences = [self._audiences[index] for index in set(map(self._audience_by_entity.__getitem__, entities))]
        # Many audiences share one base.
        bases = {id(audience.base_actors): audience.base_actors for audience in audiences}
        extra_actors = (audience.extra_actors for audience in audiences if audience.extra_actors)
        related_actors = (
            actors
            for audience in audiences
            for number, actors in audience.extra_by_entity.items()
            if number in entities
        )
        for actors in chain(bases.values(), extra_actors, related_actors):
            people |= actors
            if len(people) == self._people_count:
                break
        return people


def _add_place(count: PrivilegeCount, row: _CountRow) -> None:
    key = (row.kind, row.name)
    people = BitMap.deserialize(row.data)
    place_count = count.places.get(key)
    if place_count is None:
        count.places[key] = PlaceCount(row.entities, row.accesses, people)
    else:
        place_count.entities += row.entities
        place_count.accesses += row.accesses
        place_count.people |= people
