"""The catalog cut into slices of entities, each with its facts as the engine takes them.

A slice goes through `policies.engine` whole: its postings answer for all its entities at once, its resources one by one
where only `decide` can tell. What a job makes of a slice it adds up over the slices, so that how the catalog is cut
changes nothing. Grants that were given on an entity, or on a pattern that its URN matches, stand among the statements
of the policies.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyroaring import FrozenBitMap
from pyspark.sql import functions as f

from catalog.reporting.disk import UnknownPolicy, actors_of, below_of, snapshot_of
from catalog.spark.arrow import in_pairs
from catalog.spark.job import BadInput, Job, progress
from policies.engine import bulk, families, matching
from policies.engine.evaluate import decide
from policies.engine.matching import ActorMatch, Condition, Criterion, Selector
from policies.engine.model import SYSTEM_ACTOR, Actor, Decision, Effect, Question, Statement
from policies.engine.postings import Postings
from policies.engine.snapshot import Snapshot

#: How many entities one slice has.
SLICE = 262_144

#: The field under which grants travel beside the facts: `value` is the holder, `type` the privilege.
_GRANT = "*grant"
NOBODY: frozenset[str] = frozenset()
_OBJECTS = {"object_id": matching.ID, "project": matching.PROJECT}


class Fact(NamedTuple):
    """A fact of one entity: its number, a field, a value, and for an owner the ownership type."""

    number: int
    field: str
    value: str
    type: str


@dataclass(frozen=True, slots=True)
class World:
    """What every slice shares: statements, people, hierarchies, the fields that are loaded, and grants on patterns."""

    snapshot: Snapshot
    actors: Sequence[Actor]
    below: Mapping[str, Sequence[str]]
    fields: frozenset[str]
    patterns: tuple[Statement, ...] = ()


class Facts:
    """One slice: `numbers` and `urns` of its entities in the order of their numbers, and what is known of them."""

    def __init__(self, world: World, entities: Iterable[tuple[int, str, str]], facts: Iterable[Fact]) -> None:
        listed = sorted(entities)
        self.world = world
        self.numbers = [number for number, _, _ in listed]
        self.urns = [urn for _, urn, _ in listed]
        places = {number: place for place, number in enumerate(self.numbers)}
        grants: dict[tuple[str, str], set[str]] = defaultdict(set)
        rows = list(self._groups())
        for fact in facts:
            place = places[fact.number]
            if fact.field == _GRANT:
                grants[fact.value, fact.type].add(self.urns[place])
            else:
                rows.append((place, *fact[1:]))
        self._grants = (
            *world.patterns,
            *(_grant(*pair, Condition.EQUALS, urns) for pair, urns in sorted(grants.items())),
        )
        self.snapshot = self._with_grants(world.snapshot)
        self.postings = Postings(
            urns=self.urns,
            types=[kind for _, _, kind in listed],
            fields=world.fields | {matching.OWNER},
            rows=rows,
            below=world.below,
        )
        self._reaches: dict[str, _Alike] = {}

    def under(self, snapshot: Snapshot) -> "Facts":
        """Return the same slice with other policies, and the same grants; their facets have to be loaded too."""
        other = copy(self)
        other.snapshot = self._with_grants(snapshot)
        other._reaches = {}
        return other

    def reached(self, actor: Actor, privilege: str) -> bulk.Covered:
        """Return what an actor reaches with a privilege; worked out once for all who are alike to its statements."""
        reach = self._reaches.get(privilege)
        if reach is None:
            reach = self._reaches[privilege] = _Alike(self, privilege)
        return reach.of(actor)

    def may(self, actor: Actor, privilege: str, within: FrozenBitMap | None = None) -> FrozenBitMap:
        """Return the entities (among these) on which the actor may use the privilege, exactly."""
        covered = self.reached(actor, privilege)
        certain = covered.certain if within is None else covered.certain & within
        open_ = covered.undecided if within is None else covered.undecided & within
        if not open_:
            return certain
        return certain | FrozenBitMap(one for one in open_ if self.decide(actor, privilege, one).is_allowed)

    def decide(self, actor: Actor, privilege: str, place: int) -> Decision:
        """Return the decision about one entity of the slice."""
        return decide(self.snapshot, self.question(actor, privilege, place))

    def question(self, actor: Actor, privilege: str, place: int) -> Question:
        """Return the question about one entity of the slice."""
        return Question(actor, privilege, self.postings.resource(place))

    def _groups(self) -> Iterator[tuple[int, str, str, str]]:
        """Give the groups of those entities that are users: they live with the people."""
        if matching.GROUP_MEMBERSHIP in self.world.fields:
            groups = {actor.urn: actor.groups for actor in self.world.actors}
            for place, urn in enumerate(self.urns):
                for group in groups.get(urn, ()):
                    yield place, matching.GROUP_MEMBERSHIP, group, ""

    def _with_grants(self, snapshot: Snapshot) -> Snapshot:
        if not self._grants:
            return snapshot
        return snapshot.replace(snapshot.version, {families.grant_origin().policy: self._grants})


class _Alike:
    """The reach of one privilege. Two actors are alike when the same statements speak to them and they own the same."""

    def __init__(self, facts: Facts, privilege: str) -> None:
        tokens = frozenset[str]().union(*(one.actors.tokens for one in facts.snapshot.listed(privilege)))
        self._tokens = tokens
        self._owners = (
            frozenset(facts.postings.owners(None))
            if any(one.startswith(matching.OWNER_OF_ANY_TYPE) for one in tokens)
            else NOBODY
        )
        self._selves = frozenset(facts.urns) if matching.ONESELF in tokens else NOBODY
        self._reach = bulk.Reach(facts.postings, facts.snapshot, privilege)
        self._found: dict[tuple[bool, frozenset[str], frozenset[str], str], bulk.Covered] = {}

    def of(self, actor: Actor) -> bulk.Covered:
        """Return what one actor reaches."""
        itself = actor.urn if actor.urn in self._selves or actor.urn == SYSTEM_ACTOR else ""
        key = (actor.is_active, actor.tokens & self._tokens, actor.holders & self._owners, itself)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._reach.of(actor)
        return found


def statements_of(job: Job) -> Snapshot:
    """Return the compiled policies. Raises BadInput."""
    progress("Reading policies and people")
    try:
        return snapshot_of(job.table("policies"), job.manifest["policy_version"])
    except UnknownPolicy as error:
        raise BadInput(str(error)) from error


def people_of(job: Job) -> list[Actor]:
    """Return every user with its groups and roles."""
    return actors_of(job.table("users"), job.table("memberships"), job.table("roles"))


def world_of(job: Job, *, snapshot: Snapshot, actors: Sequence[Actor], fields: Iterable[str]) -> World:
    """Return what slices share when these fields are tested."""
    return World(
        snapshot=snapshot,
        actors=actors,
        below=below_of(job.table("ancestries")),
        fields=frozenset(fields) - {matching.TYPE, matching.URN} - matching.CONSTANTS.keys(),
        patterns=patterns_of(job.table("patterns").to_pylist()),
    )


def roles_of(job: Job) -> Mapping[str, frozenset[str]]:
    """Return the roles that are bound to each user and group."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in job.table("roles").to_pylist():
        found[row["holder"]].add(row["role"])
    return {holder: frozenset(some) for holder, some in found.items()}


def patterns_of(rows: Iterable[Mapping[str, str]]) -> tuple[Statement, ...]:
    """Return grants on patterns as statements."""
    return tuple(_grant(row["holder"], row["privilege"], Condition.STARTS_WITH, {row["prefix"]}) for row in rows)


#: What a job makes of one slice: rows for its schema.
Work = Callable[[Facts, Any], Iterable[tuple[Any, ...]]]


def over_slices(job: Job, world: World, work: Work, shared: Any, schema: str, *, stage: str) -> list[tuple[Any, ...]]:
    """Do a work on every slice, with something that all share, and return all rows; their order says nothing.

    `schema` is that of the rows, as Spark writes it.
    """
    progress(stage)
    sent = job.spark.sparkContext.broadcast((world, shared))
    slice_ = (f.floor(f.col("number") / SLICE)).cast("int").alias("slice")
    known = job.frame("entities")
    entities = known.select(slice_, "number", "urn", "type")
    facets = job.frame("facets").where(f.col("field").isin(sorted(world.fields | {matching.OWNER})))
    facts = facets.select(f.col("entity").alias("number"), "field", "value", "type")
    granted = job.frame("grants")
    facts = facts.unionByName(
        granted.select(
            f.col("entity").alias("number"),
            f.lit(_GRANT).alias("field"),
            f.col("holder").alias("value"),
            f.col("privilege").alias("type"),
        )
    )
    for column, name in _OBJECTS.items():
        if name in world.fields:
            objects = known.where(f.col(column).isNotNull())
            facts = facts.unionByName(
                objects.select(
                    "number", f.lit(name).alias("field"), f.col(column).alias("value"), f.lit("").alias("type")
                )
            )
    names = [part.split()[0] for part in schema.split(",")]

    def worked(some: pa.Table, about: pa.Table) -> pa.Table:
        world, shared = sent.value
        columns = (about.column(name).to_pylist() for name in Fact._fields)
        held = (some.column(name).to_pylist() for name in ("number", "urn", "type"))
        found = Facts(world, zip(*held, strict=True), (Fact(*row) for row in zip(*columns, strict=True)))
        rows = list(work(found, shared))
        return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)}, schema=_arrow(schema))

    table = in_pairs(entities, facts.select(slice_, *Fact._fields), ["slice"], worked, schema).toArrow()
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def _arrow(schema: str) -> pa.Schema:
    kinds = {"string": pa.string(), "long": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
    pairs = (part.split() for part in schema.split(","))
    return pa.schema([(name, kinds[kind]) for name, kind in pairs])


def _grant(holder: str, privilege: str, condition: Condition, values: Iterable[str]) -> Statement:
    return Statement(
        origin=families.grant_origin(),
        effect=Effect.ALLOW,
        actors=ActorMatch(frozenset((holder,))),
        privileges=frozenset((privilege,)),
        resources=Selector((Criterion(matching.URN, condition, frozenset(values)),), needs_resource=True),
    )
