"""The exact difference that a change makes: who may use which privileges on which entities before and after it.

Both sides are whole states, a snapshot with facts, so that every other statement counts. People who are alike for the
statements on a privilege are compared once, and privileges that the same statements list are compared together.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from pyroaring import FrozenBitMap

from policies.engine import families
from policies.engine.actor_conditional_reach import OwnedEntities
from policies.engine.actor_conditions import relevant_attributes, tested_attributes
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.reach_index import ReachIndex, compare_extents
from policies.engine.selectors import (
    ONESELF,
    OWNER,
    OWNER_OF_ANY_TYPE,
    URN,
    ActorMatch,
    Condition,
    Criterion,
    Selector,
    is_relational,
)
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class AccessState:
    """One side of a change: statements, entities with their facts, and people by URN.

    Both sides number the same entities alike, and have the same people.
    """

    snapshot: Snapshot
    postings: Postings
    actors: Mapping[str, Actor]


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """What changed statements can touch: privileges, entities that a selector covers, and actors with a token.

    `selectors` are those of statements that list a privilege on entities. Relational tokens stand for owners of covered
    entities, and for covered entities that are people. `policies` are those of the statements.
    """

    privileges: tuple[str, ...]
    platform_privileges: tuple[str, ...]
    selectors: tuple[Selector, ...]
    tokens: frozenset[str]
    policies: frozenset[str]


class AccessDifference(NamedTuple):
    """The difference for people who are alike, with each of these privileges.

    `kept_entities` are those on which they may use them before and after, although a changed policy no longer says so.
    """

    privileges: tuple[str, ...]
    people: tuple[str, ...]
    gained: FrozenBitMap
    lost: FrozenBitMap
    kept_entities: FrozenBitMap


class PlatformDifference(NamedTuple):
    """People who gain, or lose, a privilege on the platform."""

    privilege: str
    people: tuple[str, ...]
    is_gained: bool


class WorkBudget:
    """The number of steps that a comparison may take, so that its time is bounded by something that can be repeated."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    @property
    def is_exhausted(self) -> bool:
        """Whether the comparison ended before everything was compared."""
        return self.steps < 0

    def spend(self, steps: int) -> bool:
        """Take steps; return whether there were enough."""
        self.steps -= steps
        return self.steps >= 0


def list_changed_statements(before: Snapshot, after: Snapshot, policies: Iterable[str]) -> frozenset[Statement]:
    """Return the statements of these policies that only one of the snapshots has."""
    return frozenset[Statement]().union(
        *(
            frozenset(before.list_policy_statements(policy)) ^ frozenset(after.list_policy_statements(policy))
            for policy in policies
        )
    )


def find_scope(statements: Iterable[Statement], privileges: Collection[str] | None = None) -> ChangeScope:
    """Return what a change of these statements can touch; of `privileges` only, unless that is None."""
    names: set[str] = set()
    entity_statements: list[Statement] = []
    tokens: set[str] = set()
    policies: set[str] = set()
    for statement in statements:
        if statement.needs_subresource:
            continue
        listed_names = statement.privileges if privileges is None else statement.privileges.intersection(privileges)
        if not listed_names:
            continue
        names |= listed_names
        tokens |= statement.actors.tokens
        policies.add(statement.origin.policy)
        if not listed_names <= families.platform_privileges():
            entity_statements.append(statement)
    return ChangeScope(
        tuple(sorted(names - families.platform_privileges())),
        tuple(sorted(names & families.platform_privileges())),
        tuple(dict.fromkeys(statement.resources for statement in entity_statements)),
        frozenset(tokens),
        frozenset(policies),
    )


def find_people_scope(
    statements: Iterable[Statement], changes: Iterable[tuple[Actor, Actor]], privileges: Collection[str] | None = None
) -> ChangeScope:
    """Return what changes of actors, each as it was and as it is, can touch; without tokens: these actors alone.

    Only statements can differ that name what an actor gained or lost; through ownership, for entities of such holders.
    """
    tokens: set[str] = set()
    holders: set[str] = set()
    selves: set[str] = set()
    for was, now in changes:
        if was.is_active == now.is_active:
            tokens |= was.tokens ^ now.tokens
            holders |= was.holders ^ now.holders
        else:
            tokens |= was.tokens | now.tokens
            holders |= was.holders | now.holders
            selves.add(was.urn)
    narrowed = [
        replace(statement, resources=selector, actors=ActorMatch())
        for statement in statements
        for selector in _narrow_selectors(statement, tokens, holders, selves)
    ]
    return find_scope(narrowed, privileges)


def join_scopes(scopes: Sequence[ChangeScope]) -> ChangeScope:
    """Return what any of the scopes names."""
    return ChangeScope(
        tuple(sorted({name for scope in scopes for name in scope.privileges})),
        tuple(sorted({name for scope in scopes for name in scope.platform_privileges})),
        tuple(dict.fromkeys(selector for scope in scopes for selector in scope.selectors)),
        frozenset[str]().union(*(scope.tokens for scope in scopes)),
        frozenset[str]().union(*(scope.policies for scope in scopes)),
    )


def compare_access(
    before: AccessState, after: AccessState, privileges: Iterable[str], policies: Collection[str], budget: WorkBudget
) -> Iterator[AccessDifference]:
    """Yield the differences between two states for these privileges on entities, as long as the budget lasts.

    `policies` are those that differ, by which `kept_entities` are found. Raises MissingFact if a facet was not loaded.
    """
    for alike_privileges in _group_privileges(before.snapshot, after.snapshot, privileges):
        privilege = alike_privileges[0]
        statement_count = before.snapshot.find_listing(privilege).bit_count()
        if not budget.spend(statement_count + after.snapshot.find_listing(privilege).bit_count() + len(before.actors)):
            return
        sides = _AllowedReach(before, privilege), _AllowedReach(after, privilege)
        given_up = [
            _GivenUpReach(before, after, privilege, policy)
            for policy in policies
            if _list_allows(before.snapshot, privilege, policy)
        ]
        for people in _group_people(before, after, (*sides, *given_up)):
            was, now = before.actors[people[0]], after.actors[people[0]]
            if not budget.spend(_STEPS_OF_GROUP + sides[0].count_decisions(was) + sides[1].count_decisions(now)):
                return
            old_extent, new_extent = sides[0].find_allowed(was), sides[1].find_allowed(now)
            difference = compare_extents(old_extent, new_extent)
            kept_entities = (
                union(policy_reach.find_extent(was, now) for policy_reach in given_up) & old_extent & new_extent
            )
            if difference.gained or difference.lost or kept_entities:
                yield AccessDifference(alike_privileges, people, difference.gained, difference.lost, kept_entities)


def compare_platform(
    before: AccessState, after: AccessState, privileges: Iterable[str], budget: WorkBudget
) -> Iterator[PlatformDifference]:
    """Yield the differences between two states for these privileges on the platform, as long as the budget lasts."""
    for privilege in privileges:
        if not budget.spend(len(before.actors)):
            return
        sides = _PlatformAnswers(before.snapshot, privilege), _PlatformAnswers(after.snapshot, privilege)
        gaining_people: list[str] = []
        losing_people: list[str] = []
        for urn in before.actors:
            was_allowed, is_allowed = sides[0].decide(before.actors[urn]), sides[1].decide(after.actors[urn])
            if was_allowed != is_allowed:
                (gaining_people if is_allowed else losing_people).append(urn)
        for people, is_gained in ((gaining_people, True), (losing_people, False)):
            if people:
                yield PlatformDifference(privilege, tuple(people), is_gained)


def find_policies_of(state: AccessState, actor: Actor, privilege: str, entities: FrozenBitMap) -> tuple[str, ...]:
    """Return the URNs of the policies, sorted, by which an actor may use a privilege on some of these entities."""
    coverage = state.snapshot.compute_coverage(actor, privilege)
    owned_entities = OwnedEntities(state.postings, actor)
    policies = {
        cover.statement.origin.policy for cover in coverage.allows if owned_entities.find_extent(cover) & entities
    }
    return tuple(sorted(policies))


def _narrow_selectors(
    statement: Statement, tokens: Set[str], holders: Set[str], selves: Set[str]
) -> Iterator[Selector]:
    """Yield the entities on which a statement can differ for actors who gained or lost these."""
    clause_tokens, selector = statement.actors.tested_tokens, statement.resources
    if not clause_tokens.isdisjoint(tokens):
        yield selector
        return
    if holders and any(token.startswith(OWNER_OF_ANY_TYPE) for token in clause_tokens):
        owned = Criterion(OWNER, Condition.EQUALS, frozenset(holders))
        yield Selector((*selector.criteria, owned), needs_resource=True)
    if selves and ONESELF in clause_tokens:
        own = Criterion(URN, Condition.EQUALS, frozenset(selves))
        yield Selector((*selector.criteria, own), needs_resource=True)


#: Steps of comparing one group of people, beside decisions of single entities: some unions of bitmaps.
_STEPS_OF_GROUP = 2


class _AllowedReach:
    """The entities on which actors may use one privilege in one state; what is restricted is decided one by one."""

    def __init__(self, state: AccessState, privilege: str) -> None:
        self._state = state
        self._privilege = privilege
        self._index = ReachIndex(state.postings, state.snapshot, privilege)
        statements = state.snapshot.list_statements(privilege)
        self._has_restrictions = any(statement.restriction is not None for statement in statements)
        tokens = frozenset[str]().union(*(statement.actors.tested_tokens for statement in statements))
        self._has_owners = any(is_relational(token) for token in tokens)
        self._tokens = tokens if self._has_restrictions else frozenset[str]()

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors who may use the privilege on the same entities."""
        if not self._has_restrictions:
            return self._index.group_key(actor)
        # Which columns remain depends on every role that reads, not only on the entities.
        return self._index.group_key(actor), actor.urn if self._has_owners else actor.tokens & self._tokens

    def count_decisions(self, actor: Actor) -> int:
        """Return the number of entities that have to be decided one by one."""
        return len(self._index.find_extent(actor).needs_decision) if self._has_restrictions else 0

    def find_allowed(self, actor: Actor) -> FrozenBitMap:
        """Return the entities on which an actor may use the privilege."""
        extent = self._index.find_extent(actor)
        return (
            extent.allowed | FrozenBitMap(number for number in extent.needs_decision if self._decide(actor, number))
            if extent.needs_decision
            else extent.allowed
        )

    def _decide(self, actor: Actor, number: int) -> bool:
        question = Question(actor, self._privilege, self._state.postings.build_resource(number))
        return decide(self._state.snapshot, question).is_allowed


class _GivenUpReach:
    """The entities that the allows of one policy reach before a change and not after it."""

    def __init__(self, before: AccessState, after: AccessState, privilege: str, policy: str) -> None:
        self._indexes = [_index_allows(state, privilege, policy) for state in (before, after)]

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors who are reached alike on one of the sides."""
        return tuple(index.group_key(actor) for index in self._indexes)

    def find_extent(self, was: Actor, now: Actor) -> FrozenBitMap:
        """Return the entities for an actor as it was and as it is."""
        if not was.is_active or not now.is_active:
            return EMPTY
        old_extent, new_extent = (
            index.find_extent(actor) for index, actor in zip(self._indexes, (was, now), strict=True)
        )
        return (old_extent.allowed | old_extent.needs_decision) - new_extent.allowed - new_extent.needs_decision


def _index_allows(state: AccessState, privilege: str, policy: str) -> ReachIndex:
    allows = _list_allows(state.snapshot, privilege, policy)
    return ReachIndex(state.postings, Snapshot.build(state.snapshot.version, [(policy, allows)]), privilege)


def _list_allows(snapshot: Snapshot, privilege: str, policy: str) -> tuple[Statement, ...]:
    return tuple(
        statement
        for statement in snapshot.list_policy_statements(policy)
        if statement.effect is Effect.ALLOW and privilege in statement.privileges
    )


class _PlatformAnswers:
    """Whether actors have one privilege on the platform, decided once for actors who are alike."""

    def __init__(self, snapshot: Snapshot, privilege: str) -> None:
        self._snapshot = snapshot
        self._privilege = privilege
        statements = snapshot.list_statements(privilege)
        self._tokens = frozenset[str]().union(*(statement.actors.tested_tokens for statement in statements))
        self._attributes = tested_attributes(statements)
        self._answers: dict[object, bool] = {}

    def decide(self, actor: Actor) -> bool:
        """Whether an actor has the privilege."""
        attributes = relevant_attributes(actor, self._attributes) if self._attributes else None
        key = (actor.is_active, actor.urn == SYSTEM_ACTOR, actor.tokens & self._tokens, attributes)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = decide(self._snapshot, Question(actor, self._privilege)).is_allowed
        return answer


def _group_privileges(before: Snapshot, after: Snapshot, privileges: Iterable[str]) -> Iterable[tuple[str, ...]]:
    """Return the privileges in groups that the same statements list, before and after."""
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for privilege in privileges:
        groups[before.find_listing(privilege), after.find_listing(privilege)].append(privilege)
    return [tuple(names) for names in groups.values()]


def _group_people(
    before: AccessState, after: AccessState, reaches: Sequence["_AllowedReach | _GivenUpReach"]
) -> Iterable[tuple[str, ...]]:
    """Return the people in groups that are alike for all of these on both sides."""
    groups: dict[object, list[str]] = defaultdict(list)
    for urn, was in before.actors.items():
        now = after.actors[urn]
        keys = [reach.group_key(was) for reach in reaches]
        groups[tuple(keys) if now is was else (*keys, *(reach.group_key(now) for reach in reaches))].append(urn)
    return [tuple(people) for people in groups.values()]
