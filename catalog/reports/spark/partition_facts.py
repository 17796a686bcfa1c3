"""The catalog cut into slices, each with what actors reach in it; a job adds up what it makes of every slice.

A slice goes through `policies.engine` whole: its postings answer for all its entities at once, its resources one by one
where only `decide` can tell. How the catalog is cut changes nothing. Grants stand among the statements.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyroaring import FrozenBitMap

from catalog.reports.snapshot import partitions, reader
from catalog.reports.spark.job import BadInput, Job, progress
from catalog.reports.spark.parallel_map import spread
from policies.engine import reach_index, selectors
from policies.engine.actor_conditions import mentioned, relevant
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Decision, Question
from policies.engine.snapshot import Snapshot

#: How many entities one slice has at most.
SLICE = 262_144

_NOBODY: frozenset[str] = frozenset()

Row = TypeVar("Row")
Shared = TypeVar("Shared")


class Facts:
    """One slice: `numbers` and `urns` of its entities in the order of their numbers, and what is known of them."""

    def __init__(self, state: partitions.State, part: partitions.Slice) -> None:
        self.actors = state.actors
        self.snapshot = state.snapshot
        self.numbers: list[int] = part.numbers.to_pylist()
        self.postings = part.postings
        self.urns = part.postings.urns
        self._reaches: dict[str, _Alike] = {}

    def under(self, snapshot: Snapshot) -> "Facts":
        """Return the same slice with other statements; the facets they test have to be loaded too."""
        other = copy(self)
        other.snapshot = snapshot
        other._reaches = {}
        return other

    def reached(self, actor: Actor, privilege: str) -> reach_index.Covered:
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


class _Alike:
    """The reach of one privilege. Two actors are alike when the same statements speak to them and they own the same.

    Where statements have provisos, the same has to be known of them too.
    """

    def __init__(self, facts: Facts, privilege: str) -> None:
        listed = facts.snapshot.listed(privilege)
        tokens = frozenset[str]().union(*(one.actors.tokens for one in listed))
        is_owned = any(one.startswith(selectors.OWNER_OF_ANY_TYPE) for one in tokens)
        self._tokens = tokens
        self._mentioned = mentioned(listed)
        self._owners = frozenset(facts.postings.owners(None)) if is_owned else _NOBODY
        self._selves = frozenset(facts.urns) if selectors.ONESELF in tokens else _NOBODY
        self._reach = reach_index.Reach(facts.postings, facts.snapshot, privilege)
        self._found: dict[object, reach_index.Covered] = {}

    def of(self, actor: Actor) -> reach_index.Covered:
        """Return what one actor reaches."""
        itself = actor.urn if actor.urn in self._selves or actor.urn == SYSTEM_ACTOR else ""
        known = relevant(actor, self._mentioned)
        key = (actor.is_active, actor.tokens & self._tokens, actor.holders & self._owners, itself, known)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._reach.of(actor)
        return found


@dataclass(frozen=True, slots=True)
class _Sent:
    """What every slice is given."""

    state: partitions.State
    fields: frozenset[str]
    shared: Any


def state_of(job: Job) -> partitions.State:
    """Return what all slices share. Raises BadInput."""
    progress("Reading policies and people")
    try:
        return partitions.state_of(job.source, job.manifest["policy_version"])
    except (partitions.Corrupt, reader.UnknownPolicy) as error:
        raise BadInput(str(error)) from error


def roles_of(job: Job) -> Mapping[str, frozenset[str]]:
    """Return the roles that are bound to each user and group."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in job.table("roles").to_pylist():
        found[row["holder"]].add(row["role"])
    return {holder: frozenset(some) for holder, some in found.items()}


def over_slices(
    job: Job,
    state: partitions.State,
    work: Callable[[Facts, Shared], Iterable[Row]],
    shared: Shared,
    *,
    fields: Iterable[str],
    stage: str,
) -> list[Row]:
    """Do a work on every slice, with these facets loaded and something that all share; return all rows.

    `work` is a function of a module. The order of the rows says nothing.
    """
    loaded = frozenset(fields) - {selectors.TYPE, selectors.URN} - selectors.CONSTANTS.keys()
    sent = job.context.broadcast(_Sent(state, loaded, shared))
    numbers = partitions.numbers_of(job.source)
    parts = [numbers[start : start + SLICE].to_pylist() for start in range(0, len(numbers), SLICE)]
    rows: list[Row] = []
    done = 0

    def worked(part: list[int]) -> Iterable[Row]:
        given: _Sent = sent.value
        found = partitions.read(given.state, given.fields, pa.array(part, pa.int64()))
        return work(Facts(given.state, found), given.shared)

    def take(number: int, more: list[Row]) -> None:
        nonlocal done
        rows.extend(more)
        done += len(parts[number])
        progress(stage, done, len(numbers))

    progress(stage, 0, len(numbers))
    spread(job.context, parts, worked, take)
    return rows
