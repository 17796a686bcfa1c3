"""The exact difference that a change makes: who may use which privileges on which entities before and after it.

It is what a preview counts (api-next.md section 2).

Both sides are whole states, a snapshot with facts, so that every other statement counts. People who are alike for the
statements on a privilege are compared once, and privileges that the same statements list are compared together.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from pyroaring import FrozenBitMap

from policies.engine import families
from policies.engine.actor_conditional_reach import OwnedEntities
from policies.engine.actor_conditions import relevant_attributes, tested_attributes
from policies.engine.changed_reach import AccessState, ChangedReach
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Question, Statement
from policies.engine.postings import EMPTY
from policies.engine.reach_index import compare_extents
from policies.engine.selectors import (
    ONESELF,
    OWNER,
    OWNER_OF_ANY_TYPE,
    URN,
    ActorMatch,
    Condition,
    Criterion,
    Selector,
)
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """The reach of changed statements: privileges, entities that a selector covers, and actors with a token.

    `selectors` are those of statements that list a privilege on entities. Relational tokens stand for owners of covered
    entities, and for covered entities that are people. `policies` are those of the statements.
    """

    privileges: tuple[str, ...]
    platform_privileges: tuple[str, ...]
    selectors: tuple[Selector, ...]
    tokens: frozenset[str]
    policies: frozenset[str]


class AccessDifference(NamedTuple):
    """The difference for people (URNs) who are alike, with each of these privileges.

    Entities are numbered as in the postings of both states. `kept_entities` are those on which they may use them before
    and after, although a changed policy no longer says so.
    """

    privileges: tuple[str, ...]
    people: tuple[str, ...]
    gained: FrozenBitMap
    lost: FrozenBitMap
    kept_entities: FrozenBitMap


class PlatformDifference(NamedTuple):
    """People (URNs) who gain a privilege on the platform (`is_gained`), or lose it."""

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
        """Take steps; return whether there were enough. It is exhausted from then on if there were not."""
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
    """Return the scope of a change of these statements; of `privileges` only, unless that is None."""
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
    """Return the scope of changes of actors, each as it was and as it is; without tokens: these actors alone.

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
    """Return the scope with everything that any of these names."""
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

    Whether it did, the budget says (`is_exhausted`). `policies` are those that differ, by which `kept_entities` are
    found. Raises MissingFact if a facet was not loaded.
    """
    changed_policies = frozenset(policies)
    # Of 10,000 policies and owners few concern the people of most changes.
    tokens = frozenset[str]().union(
        *(actor.tokens for state in (before, after) for actor in state.actors.values()),
    )
    before, after = _limit_owners(before, after, tokens)
    reaching = before.snapshot.find_reaching(tokens), after.snapshot.find_reaching(tokens)
    for alike_privileges in _group_privileges(before.snapshot, after.snapshot, privileges, reaching):
        reach = ChangedReach(before, after, alike_privileges[0], changed_policies, reaching)
        if not budget.spend(reach.statement_count + len(before.actors) // _PEOPLE_IN_STEP):
            return
        for people in _group_people(before, after, reach):
            was, now = before.actors[people[0]], after.actors[people[0]]
            extents = reach.find_extents(was, now)
            if not budget.spend(1 + reach.policy_count // _POLICIES_IN_STEP + extents.count_decisions()):
                return
            old_extent, new_extent = reach.decide_extent(0, was, extents.was), reach.decide_extent(1, now, extents.now)
            difference = compare_extents(old_extent, new_extent)
            kept_entities = extents.given_up & old_extent & new_extent if extents.given_up else EMPTY
            if difference.gained or difference.lost or kept_entities:
                yield AccessDifference(alike_privileges, people, difference.gained, difference.lost, kept_entities)


def compare_platform(
    before: AccessState, after: AccessState, privileges: Iterable[str]
) -> Iterator[PlatformDifference]:
    """Yield the differences between two states for these privileges on the platform, however many there are.

    There are some dozens of these privileges, and nothing is asked of entities.
    """
    for privilege in privileges:
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


#: People who are passed over, or found alike, in one step: what it takes to compare one group of them.
_PEOPLE_IN_STEP = 10
#: Policies of which it is found for one group of people what they give up.
_POLICIES_IN_STEP = 10


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


def _limit_owners(before: AccessState, after: AccessState, holders: Collection[str]) -> tuple[AccessState, AccessState]:
    """Return both states with these owners alone; they share their facts afterwards if they do now."""
    old_postings = before.postings.limit_owners(holders)
    has_same_facts = before.postings is after.postings
    new_postings = old_postings if has_same_facts else after.postings.limit_owners(holders)
    return replace(before, postings=old_postings), replace(after, postings=new_postings)


def _group_privileges(
    before: Snapshot, after: Snapshot, privileges: Iterable[str], reaching: tuple[int, int]
) -> Iterable[tuple[str, ...]]:
    """Return the privileges in groups that the same of the reaching statements list, before and after."""
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for privilege in privileges:
        listing = before.find_listing(privilege) & reaching[0], after.find_listing(privilege) & reaching[1]
        groups[listing].append(privilege)
    return [tuple(names) for names in groups.values()]


def _group_people(before: AccessState, after: AccessState, reach: ChangedReach) -> Iterable[tuple[str, ...]]:
    """Return the people whom the change can concern, in groups that are alike."""
    groups: dict[object, list[str]] = defaultdict(list)
    for urn, was in before.actors.items():
        now = after.actors[urn]
        if reach.can_differ(was, now):
            groups[reach.group_key(was, now)].append(urn)
    return [tuple(people) for people in groups.values()]
