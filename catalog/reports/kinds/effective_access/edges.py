"""Edges of access: who may do what to which entity, as far as a bound of rows allows.

A pair of person and entity a row would be billions of rows. People who reach the same entities through the same
statements form a crowd: a row for each entity that a crowd reaches and one for each person in it say the same. People
who reach a single entity besides, its owners for instance, are rows of their own, unless they are many.

An entity has all of its edges or none: what goes beyond the bound is left out by whole groups of entities, and counted.
"""

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
from pyroaring import FrozenBitMap

from catalog.reports.spark.job import Job
from catalog.reports.tables import LEFT_OUT
from policies.engine.audience import Audience

#: Table of the results with the edges.
EDGES_TABLE = "edges"

#: Up to how many people of a single entity are rows of their own.
_MAX_SINGLE_PEOPLE = 16

#: Number of rows of a file of crowds, roughly.
_BATCH_ROWS = 1_000_000

_CROWD_BYTES = 16

_SCHEMA = pa.schema([(name, pa.string()) for name in ("privilege", "entity", "crowd", "person")])


@dataclass(frozen=True, slots=True)
class PartitionEdges:
    """The edges of one partition: rows about entities, and their crowds as serialized bitmaps by name.

    The metadata of the rows has how many were left out.
    """

    rows: pa.Table
    crowds: Mapping[str, bytes]


class EdgeCollector:
    """Collects the edges of a partition, with their crowds at most `max_rows`."""

    def __init__(self, urns: Sequence[str], people: Sequence[str], max_rows: int) -> None:
        self._urns = urns
        self._people = people
        self._max_rows = max_rows
        self._row_count = 0
        self._left_out = 0
        self._crowds: dict[str, bytes] = {}
        self._bases: dict[int, tuple[FrozenBitMap, _Crowd]] = {}
        self._tables: list[pa.Table] = []

    def add_privilege(self, privilege: str, audiences: Iterator[Audience]) -> Iterator[Audience]:
        """Yield the audiences of a privilege again, and add their edges."""
        rows = _EdgeRows()
        for audience in audiences:
            self._add_audience(rows, audience)
            yield audience
        self._tables.append(rows.build_table(privilege, self._urns, self._people))

    def build(self) -> PartitionEdges:
        """Return the edges of all privileges."""
        rows = pa.concat_tables(self._tables) if self._tables else _SCHEMA.empty_table()
        return PartitionEdges(rows.replace_schema_metadata({LEFT_OUT: str(self._left_out)}), self._crowds)

    def _add_audience(self, rows: "_EdgeRows", audience: Audience) -> None:
        """Add the edges of a group of entities, or none of them."""
        shared_crowds = [self._get_base_crowd(audience.base_actors)] if audience.base_actors else []
        if audience.extra_actors:
            shared_crowds.append(_build_crowd(audience.extra_actors))
        own_crowds: dict[int, _Crowd] = {}
        singles: dict[int, FrozenBitMap] = {}
        for number, people in audience.extra_by_entity.items():
            if len(people) > _MAX_SINGLE_PEOPLE:
                own_crowds[number] = _build_crowd(people)
            else:
                singles[number] = people
        new_crowds = {crowd.name: crowd for crowd in chain(shared_crowds, own_crowds.values())}
        new_crowds = {name: crowd for name, crowd in new_crowds.items() if name not in self._crowds}
        size = len(audience.entities) * len(shared_crowds) + len(own_crowds)
        size += sum(map(len, singles.values())) + sum(crowd.size for crowd in new_crowds.values())
        if self._row_count + size > self._max_rows:
            self._left_out += size
            return
        self._row_count += size
        self._crowds.update((name, crowd.data) for name, crowd in new_crowds.items())
        for crowd in shared_crowds:
            rows.add_crowd(audience.entities, crowd.name)
        for number, crowd in own_crowds.items():
            rows.add_crowd((number,), crowd.name)
        for number, people in singles.items():
            rows.add_people(number, people)

    def _get_base_crowd(self, people: FrozenBitMap) -> "_Crowd":
        """Return the crowd of a base, which many audiences share as one object."""
        known_base = self._bases.get(id(people))
        if known_base is None:
            # With the bitmap, whose identity would otherwise be that of another one after it.
            known_base = self._bases[id(people)] = (people, _build_crowd(people))
        return known_base[1]


class _Crowd(NamedTuple):
    """People as a serialized bitmap; the same people have the same name, in every partition of a run."""

    name: str
    size: int
    data: bytes


def _build_crowd(people: FrozenBitMap) -> _Crowd:
    data = people.serialize()
    return _Crowd(hashlib.blake2b(data, digest_size=_CROWD_BYTES).hexdigest(), len(people), data)


class _EdgeRows:
    """Rows of one privilege by numbers: pairs of entity and crowd, and of entity and person."""

    def __init__(self) -> None:
        self._crowd_entities = array("I")
        self._crowds: list[str] = []
        self._crowd_indexes = array("I")
        self._single_entities = array("I")
        self._single_people = array("I")

    def add_crowd(self, entities: Sequence[int], crowd: str) -> None:
        """Add a crowd that reaches these entities."""
        self._crowd_entities.extend(entities)
        self._crowd_indexes.extend(array("I", [len(self._crowds)]) * len(entities))
        self._crowds.append(crowd)

    def add_people(self, entity: int, people: FrozenBitMap) -> None:
        """Add people who reach an entity."""
        self._single_entities.extend(array("I", [entity]) * len(people))
        self._single_people.extend(people)

    def build_table(self, privilege: str, urns: Sequence[str], people: Sequence[str]) -> pa.Table:
        """Return the rows with URNs."""
        crowd_count, single_count = len(self._crowd_entities), len(self._single_entities)
        entities = _take(urns, self._crowd_entities + self._single_entities)
        crowds = pa.concat_arrays([_take(self._crowds, self._crowd_indexes), pa.nulls(single_count, pa.string())])
        singles = pa.concat_arrays([pa.nulls(crowd_count, pa.string()), _take(people, self._single_people)])
        privileges = pa.repeat(pa.scalar(privilege), crowd_count + single_count)
        return pa.Table.from_arrays([privileges, entities, crowds, singles], schema=_SCHEMA)


class EdgeWriter:
    """Writes the edges of the partitions as they come, and every crowd once."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._crowds: dict[str, bytes] = {}

    def add_partition(self, number: int, edges: PartitionEdges) -> None:
        """Write the rows of a partition."""
        self._job.write_part(EDGES_TABLE, f"entities-{number}", edges.rows)
        self._crowds.update(edges.crowds)

    def write_crowds(self, people: Sequence[str]) -> None:
        """Write who is in the crowds."""
        for number, batch in enumerate(self._iterate_batches(people)):
            self._job.write_part(EDGES_TABLE, f"crowds-{number}", batch)

    def _iterate_batches(self, people: Sequence[str]) -> Iterator[pa.Table]:
        urns = pa.array(people, pa.string())
        names: list[str] = []
        members, indexes = array("I"), array("I")
        for name, data in sorted(self._crowds.items()):
            crowd_members = FrozenBitMap.deserialize(data).to_array()
            members.extend(crowd_members)
            indexes.extend(array("I", [len(names)]) * len(crowd_members))
            names.append(name)
            if len(members) >= _BATCH_ROWS:
                yield _build_members(names, indexes, urns, members)
                names, members, indexes = [], array("I"), array("I")
        if members:
            yield _build_members(names, indexes, urns, members)


def _build_members(names: Sequence[str], indexes: "array[int]", urns: pa.Array, members: "array[int]") -> pa.Table:
    nulls = pa.nulls(len(members), pa.string())
    columns = [nulls, nulls, _take(names, indexes), urns.take(_view(members))]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _take(values: Sequence[str], indexes: "array[int]") -> pa.Array:
    return pa.array(values, pa.string()).take(_view(indexes))


def _view(numbers: "array[int]") -> pa.Array:
    return pa.Array.from_buffers(pa.uint32(), len(numbers), [None, pa.py_buffer(numbers)])
