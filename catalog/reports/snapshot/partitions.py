"""A snapshot on disk read in partitions of entities, column by column, so that rows never become Python objects.

No Django here: Spark jobs use it, and so does `run.access_lookup`. The partitioning changes no answer.
"""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from catalog.reports.snapshot import reader
from policies.engine import families, selectors
from policies.engine.families import cdap
from policies.engine.model import Actor, Effect, Statement
from policies.engine.postings import FacetGroup, Postings
from policies.engine.selectors import ActorMatch, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot

#: Maximum number of entities of a partition.
MAX_PARTITION_ENTITIES = 262_144

#: Facet field without a constant in the engine, as in catalog.aspects.base.
PLATFORM = "PLATFORM"

#: File of the settings of grants, beside the tables of a snapshot.
GRANT_SETTINGS_FILE = "grants.json"

_OBJECT_COLUMNS = {selectors.ID: "object_id", selectors.PROJECT: "project"}
_TEXT_COLUMNS = ("field", "value", "type")


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """State shared by all partitions of a snapshot: statements (with grants), actors, descendants of nodes."""

    source: str
    snapshot: Snapshot
    actors: Sequence[Actor]
    descendants: dict[str, tuple[str, ...]]

    def tested_fields(self, privileges: Collection[str]) -> frozenset[str]:
        """Return the facet fields that statements on these privileges test."""
        return self.snapshot.tested_fields(privileges) - selectors.CONSTANT_FACETS.keys()


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """The first and the last number that the entities of a partition can have, and how many there are."""

    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Partition:
    """The sorted numbers of some entities in the catalog, and their postings."""

    numbers: pa.Array
    postings: Postings


def load_state(source: str, version: int) -> SnapshotState:
    """Return the state that the partitions of a snapshot share. Raises CorruptSnapshot."""
    snapshot = reader.load_snapshot(source, version)
    grant_statements = tuple(load_grant_statements(source))
    if grant_statements:
        snapshot = snapshot.replace(version, {families.grant_origin().policy: grant_statements})
    return SnapshotState(source, snapshot, reader.load_actors(source), reader.load_descendants(source))


def read_entity_numbers(source: str, first: int, last: int) -> pa.Array:
    """Return the numbers of the entities from `first` to `last`, sorted."""
    number = ds.field("number")
    condition = (number >= first) & (number <= last)
    table = reader.read_table(source, "entities", ["number"], condition, numbers=(first, last))
    return table.column("number").combine_chunks().sort()


def list_loaded_fields(fields: Iterable[str]) -> frozenset[str]:
    """Return those of these facet fields that partitions load; the others follow from an entity itself."""
    return frozenset(fields) - {selectors.TYPE, selectors.URN} - selectors.CONSTANT_FACETS.keys()


def list_bounds(source: str, *, min_partitions: int = 1) -> list[PartitionBounds]:
    """Return partitions of nearly equal size that together have every entity; [] without any.

    Reads the numbers of one file at a time.
    """
    ranges = reader.list_file_ranges(source)
    counts = [len(read_entity_numbers(source, *numbers)) for numbers in ranges]
    total = sum(counts)
    if not total:
        return []
    part_count = min(max(-(-total // MAX_PARTITION_ENTITIES), min_partitions), total)
    starts = [total * part // part_count for part in range(part_count)]
    first_numbers = list(_find_numbers_at(source, ranges, counts, starts))
    last_numbers = [*(number - 1 for number in first_numbers[1:]), reader.MAX_NUMBER]
    sizes = [end - start for start, end in pairwise([*starts, total])]
    return [PartitionBounds(*bounds) for bounds in zip(first_numbers, last_numbers, sizes, strict=True)]


def _find_numbers_at(
    source: str, ranges: Sequence[tuple[int, int]], counts: Sequence[int], indexes: Sequence[int]
) -> Iterator[int]:
    """Yield the number of the entity at each of these indexes, sorted, among all entities."""
    ends = list(accumulate(counts))
    for file, file_indexes in groupby(indexes, key=lambda index: bisect_right(ends, index)):
        numbers = read_entity_numbers(source, *ranges[file])
        for index in file_indexes:
            yield numbers[index - (ends[file] - counts[file])].as_py()


def list_types(source: str) -> list[str]:
    """Return the types of all entities, sorted."""
    types = (pc.unique(table.column("type")).to_pylist() for table in _iterate_entities(source, ["type"]))
    return sorted(set().union(*types))


def read_urns(source: str) -> pa.Array:
    """Return the URNs of all entities in the order of their numbers, as texts that are longer than 2 GiB together."""
    tables = (table.sort_by("number") for table in _iterate_entities(source, ["number", "urn"]))
    chunks = [chunk for table in tables for chunk in table.column("urn").cast(pa.large_string()).chunks]
    return pa.chunked_array(chunks, pa.large_string()).combine_chunks()


def _iterate_entities(source: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield columns of the entities file by file. Raises CorruptSnapshot."""
    number = ds.field("number")
    for first, last in reader.list_file_ranges(source):
        condition = (number >= first) & (number <= last)
        yield reader.read_table(source, "entities", columns, condition, numbers=(first, last))


def find_entity_numbers(source: str, urns: Collection[str]) -> pa.Array:
    """Return the numbers of the entities among these URNs that exist, sorted."""
    condition = ds.field("urn").isin(pa.array(sorted(urns), pa.string()))
    return reader.read_table(source, "entities", ["number"], condition).column("number").combine_chunks().sort()


def find_numbers_with_facet(source: str, field: str, value: str) -> pa.Array:
    """Return the numbers of the entities that have exactly this facet value, sorted."""
    condition = (ds.field("field") == field) & (ds.field("value") == value)
    numbers = reader.read_table(source, "facets", ["entity"], condition).column("entity").combine_chunks()
    return pc.unique(numbers).sort()


def load_partition(state: SnapshotState, fields: Collection[str], numbers: pa.Array) -> Partition:
    """Return the entities of these sorted numbers, with these facets and their owners. Raises CorruptSnapshot."""
    loaded_fields = frozenset(fields) | {selectors.OWNER}
    columns = [
        "number",
        "urn",
        "type",
        *(_OBJECT_COLUMNS[field] for field in sorted(loaded_fields & _OBJECT_COLUMNS.keys())),
    ]
    entities = _read_range(state.source, "entities", columns, numbers)
    entities = entities.filter(pc.is_in(entities.column("number"), value_set=numbers)).sort_by("number")
    present_numbers = entities.column("number").combine_chunks()
    urns = entities.column("urn").to_pylist()
    postings = Postings(
        urns=urns,
        types=entities.column("type").to_pylist(),
        fields=loaded_fields,
        rows=[
            (index, field, value, "")
            for field in loaded_fields & _OBJECT_COLUMNS.keys()
            for index, value in enumerate(entities.column(_OBJECT_COLUMNS[field]).to_pylist())
            if value is not None
        ]
        + (list(iterate_membership_rows(state.actors, urns)) if selectors.GROUP_MEMBERSHIP in loaded_fields else []),
        groups=_iterate_facet_groups(state.source, loaded_fields, present_numbers),
        descendants=state.descendants,
    )
    return Partition(present_numbers, postings)


def iterate_membership_rows(actors: Iterable[Actor], urns: Sequence[str]) -> Iterator[tuple[int, str, str, str]]:
    """Yield the group memberships of entities that are users, as rows of postings; they come from the actors."""
    groups_by_user = {actor.urn: actor.groups for actor in actors}
    for index, urn in enumerate(urns):
        yield from ((index, selectors.GROUP_MEMBERSHIP, group, "") for group in groups_by_user.get(urn, ()))


def _iterate_facet_groups(source: str, fields: Collection[str], numbers: pa.Array) -> Iterator[FacetGroup]:
    """Yield each facet value with the positions, among these numbers, of the entities that have it."""
    facet_table = _read_range(
        source, "facets", ["entity", *_TEXT_COLUMNS], numbers, dictionary_columns=_TEXT_COLUMNS
    ).unify_dictionaries()
    entity_indexes = pc.index_in(facet_table.column("entity"), value_set=numbers)
    encoded_columns = [facet_table.column(name).combine_chunks() for name in _TEXT_COLUMNS]
    if not facet_table.num_rows:
        return
    dictionaries = [column.dictionary.to_pylist() for column in encoded_columns]
    field, value, type_ = (column.indices.cast(pa.int64()) for column in encoded_columns)
    is_loaded_field = pa.array([name in fields for name in dictionaries[0]])
    is_loaded_row = pc.and_(pc.take(is_loaded_field, field), pc.is_valid(entity_indexes))
    code = pc.add(pc.multiply(pc.add(pc.multiply(value, len(dictionaries[0])), field), len(dictionaries[2])), type_)
    table = pa.table({"code": code, "place": entity_indexes.cast(pa.uint32())}).filter(is_loaded_row)
    lists = table.group_by("code", use_threads=False).aggregate([("place", "list")])
    flat_lists = lists.column("place_list").combine_chunks()
    offsets, memory = flat_lists.offsets.to_pylist(), memoryview(flat_lists.values.buffers()[1] or b"").cast("B")
    start = flat_lists.values.offset
    for row, key in enumerate(lists.column("code").to_pylist()):
        remainder, type_code = divmod(key, len(dictionaries[2]))
        text, name = divmod(remainder, len(dictionaries[0]))
        member_indexes = array("I")
        member_indexes.frombytes(memory[4 * (start + offsets[row]) : 4 * (start + offsets[row + 1])])
        yield dictionaries[0][name], dictionaries[1][text], dictionaries[2][type_code], member_indexes


def _read_range(
    source: str, name: str, columns: Sequence[str], numbers: pa.Array, dictionary_columns: Sequence[str] = ()
) -> pa.Table:
    """Return the rows between the first and the last of these sorted numbers; the first column has the number."""
    column = ds.field(columns[0])
    if not len(numbers):
        return reader.read_table(source, name, columns, column < column, dictionary_columns)
    bounds = numbers[0].as_py(), numbers[-1].as_py()
    condition = (column >= bounds[0]) & (column <= bounds[1])
    return reader.read_table(source, name, columns, condition, dictionary_columns, bounds)


# -- grants -----------------------------------------------------------------------------------------------------------


def load_grant_statements(source: str) -> Iterator[Statement]:
    """Yield the grants of a snapshot as statements (rules/cdap.md CD-4, CD-5, CD-18).

    They reach the entities of `cdap.grant_reach`.
    """
    grant_settings = reader.read_json(source, GRANT_SETTINGS_FILE)
    values_by_condition: dict[Condition, Mapping[tuple[str, str], Collection[str]]] = {
        Condition.EQUALS: _load_granted_entities(source, grant_settings),
        Condition.STARTS_WITH: reader.group_rows(source, "patterns", ["holder", "privilege"], ["prefix"]),
    }
    for field, condition in cdap.grant_reach(is_inherited=grant_settings["is_inherited"]):
        for (holder, privilege), values in sorted(values_by_condition[condition].items()):
            yield _grant_statement(holder, privilege, Criterion(field, condition, frozenset(values)))


def _load_granted_entities(source: str, grant_settings: dict[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Return (holder, privilege) -> URNs of entities; administrators of the instance have all privileges on it."""
    urns_by_grant: dict[tuple[str, str], set[str]] = defaultdict(set)
    if numbers_by_grant := reader.group_rows(source, "grants", ["holder", "privilege"], ["entity"]):
        granted_numbers = pa.array(frozenset[int]().union(*numbers_by_grant.values()), pa.int64())
        is_granted = ds.field("number").isin(granted_numbers)
        entities = reader.read_table(source, "entities", ["number", "urn"], is_granted)
        urns = dict(zip(*(entities.column(name).to_pylist() for name in ("number", "urn")), strict=True))
        for pair, numbers in numbers_by_grant.items():
            if granted_urns := {urns[number] for number in numbers if number in urns}:
                urns_by_grant[pair] |= granted_urns
    for holder in grant_settings["administrators"]:
        for privilege in families.sort_privileges(["ALL"]):
            urns_by_grant[holder, privilege].add(grant_settings["instance"])
    return urns_by_grant


def _grant_statement(holder: str, privilege: str, criterion: Criterion) -> Statement:
    return Statement(
        origin=families.grant_origin(),
        effect=Effect.ALLOW,
        actors=ActorMatch(frozenset((holder,))),
        privileges=frozenset((privilege,)),
        resources=Selector((criterion,), needs_resource=True),
    )
