"""The catalog of a snapshot on disk, cut into slices of entities: column by column, so that rows never become objects.

Nothing here is Django: the jobs of Spark read it, and so does the worker that answers an extract. How the catalog is
cut changes no answer.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from catalog.reports.snapshot import reader
from policies.engine import families, selectors
from policies.engine.model import Actor, Effect, Statement
from policies.engine.postings import Group, Postings
from policies.engine.selectors import ActorMatch, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot

#: Fields of facets that the engine has no name for, as catalog.aspects.base calls them.
PLATFORM, VERSION_OF, WITHIN = "PLATFORM", "VERSION_OF", "WITHIN"

#: What the settings say about grants, beside the tables of a snapshot.
SETTINGS = "grants.json"

_OBJECTS = {selectors.ID: "object_id", selectors.PROJECT: "project"}
_TEXTS = ("field", "value", "type")


class Corrupt(Exception):
    """A snapshot that cannot be read; the sentence says which part."""


@dataclass(frozen=True, slots=True)
class State:
    """What every slice of a snapshot shares: statements (grants among them), actors, what is under each node."""

    source: str
    snapshot: Snapshot
    actors: Sequence[Actor]
    below: dict[str, tuple[str, ...]]

    def fields_for(self, privileges: Collection[str]) -> frozenset[str]:
        """Return the facets that statements on these privileges test."""
        return self.snapshot.fields_for(privileges) - selectors.CONSTANTS.keys()


@dataclass(frozen=True, slots=True)
class Slice:
    """Entities by their numbers in the catalog, in order, and their postings."""

    numbers: pa.Array
    postings: Postings


def state_of(source: str, version: int) -> State:
    """Return what the slices of a snapshot share. Raises Corrupt, and UnknownPolicy."""
    snapshot = reader.snapshot_of(_read(source, "policies"), version)
    granted = tuple(granted_by(source))
    if granted:
        snapshot = snapshot.replace(version, {families.grant_origin().policy: granted})
    actors = reader.actors_of(*(_read(source, name) for name in ("users", "memberships", "roles", "circumstances")))
    return State(source, snapshot, actors, reader.below_of(_read(source, "ancestries")))


def numbers_of(source: str) -> pa.Array:
    """Return the numbers of all entities, in order."""
    return _read(source, "entities", ["number"]).column("number").combine_chunks().sort()


def named(source: str, urns: Collection[str]) -> pa.Array:
    """Return the numbers of entities that are there, in order."""
    wanted = ds.field("urn").isin(pa.array(sorted(urns), pa.string()))
    return _read(source, "entities", ["number"], wanted).column("number").combine_chunks().sort()


def having(source: str, field: str, value: str) -> pa.Array:
    """Return the numbers of the entities that have a facet of exactly this value, in order."""
    wanted = (ds.field("field") == field) & (ds.field("value") == value)
    found = _read(source, "facets", ["entity"], wanted).column("entity").combine_chunks()
    return pc.unique(found).sort()


def read(state: State, fields: Collection[str], numbers: pa.Array) -> Slice:
    """Return the entities of these numbers, which are in order, with these facets and their owners. Raises Corrupt."""
    wanted = frozenset(fields) | {selectors.OWNER}
    columns = ["number", "urn", "type", *(_OBJECTS[field] for field in sorted(wanted & _OBJECTS.keys()))]
    found = _read(state.source, "entities", columns, _spanning("number", numbers))
    found = found.filter(pc.is_in(found.column("number"), value_set=numbers)).sort_by("number")
    present = found.column("number").combine_chunks()
    urns = found.column("urn").to_pylist()
    postings = Postings(
        urns=urns,
        types=found.column("type").to_pylist(),
        fields=wanted,
        rows=[
            (place, field, value, "")
            for field in wanted & _OBJECTS.keys()
            for place, value in enumerate(found.column(_OBJECTS[field]).to_pylist())
            if value is not None
        ]
        + (list(_groups(state.actors, urns)) if selectors.GROUP_MEMBERSHIP in wanted else []),
        groups=_shared(state.source, wanted, present),
        below=state.below,
    )
    return Slice(present, postings)


def _groups(actors: Iterable[Actor], urns: Sequence[str]) -> Iterator[tuple[int, str, str, str]]:
    """Give the groups of those entities that are users: they live with the people."""
    groups = {actor.urn: actor.groups for actor in actors}
    for place, urn in enumerate(urns):
        yield from ((place, selectors.GROUP_MEMBERSHIP, group, "") for group in groups.get(urn, ()))


def _shared(source: str, fields: Collection[str], numbers: pa.Array) -> Iterator[Group]:
    """Give each value of the facets with the places, among these numbers, of the entities that have it."""
    spanned = _read(
        source, "facets", ["entity", *_TEXTS], _spanning("entity", numbers), coded=_TEXTS
    ).unify_dictionaries()
    places = pc.index_in(spanned.column("entity"), value_set=numbers)
    coded = [spanned.column(name).combine_chunks() for name in _TEXTS]
    if not spanned.num_rows:
        return
    texts = [column.dictionary.to_pylist() for column in coded]
    field, value, type_ = (column.indices.cast(pa.int64()) for column in coded)
    is_wanted = pa.array([name in fields for name in texts[0]])
    kept = pc.and_(pc.take(is_wanted, field), pc.is_valid(places))
    code = pc.add(pc.multiply(pc.add(pc.multiply(value, len(texts[0])), field), len(texts[2])), type_)
    table = pa.table({"code": code, "place": places.cast(pa.uint32())}).filter(kept)
    lists = table.group_by("code", use_threads=False).aggregate([("place", "list")])
    flat = lists.column("place_list").combine_chunks()
    offsets, memory = flat.offsets.to_pylist(), memoryview(flat.values.buffers()[1] or b"").cast("B")
    start = flat.values.offset
    for row, key in enumerate(lists.column("code").to_pylist()):
        rest, kind = divmod(key, len(texts[2]))
        text, name = divmod(rest, len(texts[0]))
        found = array("I")
        found.frombytes(memory[4 * (start + offsets[row]) : 4 * (start + offsets[row + 1])])
        yield texts[0][name], texts[1][text], texts[2][kind], found


def _spanning(column: str, numbers: pa.Array) -> ds.Expression:
    """Return the condition that a file can be skipped by: between the first of these numbers and the last."""
    if not len(numbers):
        return ds.field(column) < ds.field(column)
    return (ds.field(column) >= numbers[0]) & (ds.field(column) <= numbers[-1])


def _read(
    source: str,
    name: str,
    columns: Sequence[str] | None = None,
    where: ds.Expression | None = None,
    coded: Sequence[str] = (),
) -> pa.Table:
    try:
        place, folder = fs.FileSystem.from_uri(source)
        form = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=list(coded)))
        files = ds.dataset(f"{folder}/{name}.parquet", filesystem=place, format=form)
        return files.to_table(columns=columns, filter=where)
    except (OSError, pa.ArrowException) as error:
        raise Corrupt(f"{name}.parquet of the snapshot cannot be read.") from error


# -- grants -----------------------------------------------------------------------------------------------------------


def granted_by(source: str) -> Iterator[Statement]:
    """Give the grants of a snapshot as statements (rules/cdap.md CD-4, CD-5, CD-18).

    A grant reaches its entity and the versions of it, one on a pattern whatever begins alike, and where the settings
    say so all that lies in these.
    """
    told = _settings(source)
    within = (WITHIN,) if told["is_inherited"] else ()
    for pair, values in sorted(_entities_granted(source, told).items()):
        for field in (selectors.URN, VERSION_OF, *within):
            yield _granted(*pair, Criterion(field, Condition.EQUALS, frozenset(values)))
    prefixes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in _read(source, "patterns").to_pylist():
        prefixes[row["holder"], row["privilege"]].add(row["prefix"])
    for pair, values in sorted(prefixes.items()):
        for field in (selectors.URN, *within):
            yield _granted(*pair, Criterion(field, Condition.STARTS_WITH, frozenset(values)))


def _entities_granted(source: str, told: dict[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Return the entities on which each holder has each privilege; administrators of the instance have all on it."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    grants = _read(source, "grants")
    if grants.num_rows:
        known = _read(source, "entities", ["number", "urn"])
        urns = dict(zip(known.column("number").to_pylist(), known.column("urn").to_pylist(), strict=True))
        for row in grants.to_pylist():
            if row["entity"] in urns:
                found[row["holder"], row["privilege"]].add(urns[row["entity"]])
    for holder in told["administrators"]:
        for privilege in families.in_order(["ALL"]):
            found[holder, privilege].add(told["instance"])
    return found


def _granted(holder: str, privilege: str, criterion: Criterion) -> Statement:
    return Statement(
        origin=families.grant_origin(),
        effect=Effect.ALLOW,
        actors=ActorMatch(frozenset((holder,))),
        privileges=frozenset((privilege,)),
        resources=Selector((criterion,), needs_resource=True),
    )


def _settings(source: str) -> dict[str, Any]:
    place, folder = fs.FileSystem.from_uri(source)
    try:
        with place.open_input_stream(f"{folder}/{SETTINGS}") as stream:
            found: dict[str, Any] = json.loads(stream.read())
    except (OSError, ValueError) as error:
        raise Corrupt(f"{SETTINGS} of the snapshot cannot be read.") from error
    return found
