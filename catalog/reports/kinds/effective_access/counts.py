"""Counts who may use privileges on what, slice by slice: entities by person, people by entity, both by place.

It stands apart from the job, since what travels to the processes of Spark has to be found in a module by its name.
"""

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap, FrozenBitMap

from catalog.reports.snapshot import partitions
from catalog.reports.spark.job import Job, progress
from catalog.reports.spark.parallel_map import spread
from catalog.reports.spark.partition_facts import SLICE
from policies.engine import reach_index, selectors
from policies.engine.audience import Crowd, Crowds, People
from policies.engine.postings import Postings
from policies.engine.statement_groups import Unit, units_of

#: How many slices there are at least.
FEWEST = 4

#: What counts are broken down by: name of the place → field.
PLACES = {"domain": selectors.DOMAIN, "platform": partitions.PLATFORM, "tag": selectors.TAG}


class _Row(NamedTuple):
    """What a slice adds: 8 bytes a person, 8 bytes an entity, or a place.

    A place has its kind, its URN, its entities, pairs of person and entity, and the people as a serialized bitmap.
    """

    privilege: str
    what: str
    name: str
    entities: int
    accesses: int
    found: bytes


@dataclass(frozen=True)
class _Shared:
    """What every slice is given."""

    state: partitions.State
    units: Mapping[str, tuple[Unit, ...]]
    fields: frozenset[str]

    @cached_property
    def people(self) -> People:
        """The people, gathered once by each process and not sent to it."""
        return People(self.state.actors)


@dataclass(slots=True)
class Place:
    """One domain, platform or tag: its entities, who reaches any of them, and how many pairs of both there are."""

    entities: int
    accesses: int
    people: BitMap


@dataclass(slots=True)
class Count:
    """What was counted for one privilege: entities by person, people by entity, and places by (kind, URN)."""

    people: "array[int]"
    entities: "array[int]"
    places: dict[tuple[str, str], Place]


def counted(
    job: Job, state: partitions.State, privileges: Sequence[str], *, at_least: int = FEWEST
) -> dict[str, Count]:
    """Return what was counted for each privilege, in at least so many slices."""
    numbers = partitions.numbers_of(job.source)
    types = pc.unique(job.table("entities", ["type"]).column("type")).to_pylist()
    units = {privilege: units_of(state.snapshot, privilege, types) for privilege in privileges}
    sent = job.context.broadcast(_Shared(state, units, state.fields_for(privileges)))
    spans = _spans(len(numbers), at_least)
    adding = _Adding(spans, len(state.actors), privileges)

    def of_slice(packed: bytes) -> Sequence[_Row]:
        return _counted_slice(sent.value, pa.array(memoryview(packed).cast("q"), pa.int64()))

    parts = [_bytes(numbers[start:end]) for start, end in spans]
    progress("Counting", 0, len(numbers))
    spread(job.context, parts, of_slice, adding.take)
    return adding.counts()


class _Adding:
    """Adds slices up."""

    def __init__(self, spans: Sequence[tuple[int, int]], people: int, privileges: Sequence[str]) -> None:
        self._spans = spans
        self._counts = {privilege: Count(_zeros(people), _zeros(0), {}) for privilege in privileges}
        # The counts of entities by the number of the slice, since slices come in any order.
        self._entities: dict[str, dict[int, bytes]] = {privilege: {} for privilege in privileges}
        self._done = 0

    def take(self, number: int, rows: Sequence[_Row]) -> None:
        """Add a slice, and say how far it is."""
        for row in rows:
            count = self._counts[row.privilege]
            if row.what == "people":
                for person, more in enumerate(memoryview(row.found).cast("q")):
                    count.people[person] += more
            elif row.what == "entities":
                self._entities[row.privilege][number] = row.found
            else:
                _add_place(count, row)
        start, end = self._spans[number]
        self._done += end - start
        progress("Counting", self._done, self._spans[-1][1])

    def counts(self) -> dict[str, Count]:
        """Return the sums."""
        for privilege, parts in self._entities.items():
            for number in sorted(parts):
                self._counts[privilege].entities.frombytes(parts.pop(number))
        return self._counts


def _counted_slice(shared: _Shared, numbers: pa.Array) -> list[_Row]:
    """Return what one slice adds."""
    fields = shared.fields | frozenset(PLACES.values())
    found = partitions.read(shared.state, fields, numbers)
    rows: list[_Row] = []
    people = shared.people
    places = _Places(found.postings)
    for privilege, units in shared.units.items():
        reached = reach_index.Reach(found.postings, shared.state.snapshot, privilege).counts(shared.state.actors)
        by_person = array("q", (reached[actor.urn] for actor in shared.state.actors))
        by_entity = _zeros(len(found.numbers))
        crowds = Crowds(shared.state.snapshot, privilege, units, people)
        tally = _Tally(places, len(people.everybody))
        for crowd in crowds.of(found.postings):
            _count_entities(crowd, by_entity)
            tally.add(crowd, by_entity)
            for allowed in crowd.decided.values():
                for person in allowed:
                    by_person[person] += 1
        rows.append(_Row(privilege, "people", "", 0, 0, by_person.tobytes()))
        rows.append(_Row(privilege, "entities", "", 0, 0, by_entity.tobytes()))
        rows += [_Row(privilege, *place) for place in tally.rows()]
    return rows


def _count_entities(crowd: Crowd, by_entity: "array[int]") -> None:
    size = len(crowd.base) + len(crowd.extra)
    for number in crowd.alike.entities:
        by_entity[number] = size
    for number, others in crowd.more.items():
        by_entity[number] += len(others)


class _Places:
    """The places of each entity of a slice, by number."""

    def __init__(self, postings: Postings) -> None:
        self.names: list[tuple[str, str]] = []
        self.sizes: list[int] = []
        self.of: dict[int, list[int]] = defaultdict(list)
        for kind, field in PLACES.items():
            for value, entities in sorted(postings.values(field).items()):
                for number in entities:
                    self.of[number].append(len(self.names))
                self.names.append((kind, value))
                self.sizes.append(len(entities))


class _Tally:
    """Who reaches any entity of each place, and how many pairs of person and entity there are."""

    def __init__(self, places: _Places, people: int) -> None:
        self._places = places
        self._people = people
        self._reached = [BitMap() for _ in places.names]
        self._accesses = [0] * len(places.names)
        self._full: set[int] = set()
        self._based: set[tuple[int, int]] = set()

    def add(self, crowd: Crowd, by_entity: "array[int]") -> None:
        """Count a crowd at the places of its entities."""
        for number in crowd.alike.entities:
            others = crowd.more.get(number)
            for place in self._places.of.get(number, ()):
                self._accesses[place] += by_entity[number]
                if place in self._full:
                    continue
                # Many crowds have one base, and it is told apart by being the same object.
                if (place, id(crowd.base)) not in self._based:
                    self._based.add((place, id(crowd.base)))
                    self._reach(place, crowd.base)
                if crowd.extra:
                    self._reach(place, crowd.extra)
                if others is not None:
                    self._reach(place, others)

    def _reach(self, place: int, people: FrozenBitMap) -> None:
        self._reached[place] |= people
        if len(self._reached[place]) == self._people:
            self._full.add(place)

    def rows(self) -> list[tuple[str, str, int, int, bytes]]:
        """Return kind, URN, entities, accesses and the people as a serialized bitmap."""
        return [
            (kind, value, self._places.sizes[place], self._accesses[place], self._reached[place].serialize())
            for place, (kind, value) in enumerate(self._places.names)
        ]


def _add_place(count: Count, row: _Row) -> None:
    key = (row.what, row.name)
    people = BitMap.deserialize(row.found)
    known = count.places.get(key)
    if known is None:
        count.places[key] = Place(row.entities, row.accesses, people)
    else:
        known.entities += row.entities
        known.accesses += row.accesses
        known.people |= people


def _spans(count: int, at_least: int) -> list[tuple[int, int]]:
    """Return the slices as ranges of places, as equal as can be."""
    parts = min(max(-(-count // SLICE), at_least), count)
    return [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]


def _bytes(numbers: pa.Array) -> bytes:
    return array("q", numbers.to_pylist()).tobytes()


def _zeros(length: int) -> "array[int]":
    return array("q", bytes(8 * length))
