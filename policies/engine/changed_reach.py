"""What actors reach with one privilege before and after a change, where it can differ.

Statements that both sides have are indexed once. Where facts and actor are the same, only entities that a statement of
one side alone reaches can differ: whoever such a statement does not reach is passed over, and of all others only these
entities are looked at.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyroaring import FrozenBitMap

from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.reach_index import EntityExtent, StatementReach, subtract_denies
from policies.engine.selectors import is_relational
from policies.engine.snapshot import Snapshot

_NOTHING = EntityExtent(EMPTY, EMPTY)
_NO_KINDS = (EMPTY, EMPTY, EMPTY)


@dataclass(frozen=True, slots=True)
class AccessState:
    """One side of a change: statements, entities with their facts, and people by URN.

    Both sides number the same entities alike, and have the same people. What is the same object on both is the same.
    """

    snapshot: Snapshot
    postings: Postings
    actors: Mapping[str, Actor]


class ChangedExtents(NamedTuple):
    """The entities that an actor reaches before and after, and those that changed policies no longer give it.

    Only of the entities that can differ; what both sides have beside them is in neither.
    """

    was: EntityExtent
    now: EntityExtent
    given_up: FrozenBitMap

    def count_decisions(self) -> int:
        """Return the number of entities that have to be decided one by one."""
        return len(self.was.needs_decision) + len(self.now.needs_decision)


class ChangedReach:
    """What actors reach with one privilege before and after a change of statements, facts and actors."""

    def __init__(self, before: AccessState, after: AccessState, privilege: str, policies: Iterable[str]) -> None:
        self._states = before, after
        self._privilege = privilege
        statements = before.snapshot.list_statements(privilege), after.snapshot.list_statements(privilege)
        self.statement_count = sum(map(len, statements))
        shared_statements, *own_statements = _split_statements(*statements)
        self._has_same_facts = before.postings is after.postings
        shared_reach = StatementReach(before.postings, shared_statements)
        self._shared_reaches = (
            shared_reach,
            shared_reach if self._has_same_facts else StatementReach(after.postings, shared_statements),
        )
        self._own_reaches = tuple(
            StatementReach(state.postings, own) for state, own in zip(self._states, own_statements, strict=True)
        )
        self._given_up_reach = _GivenUpReach(before, after, privilege, policies)
        self._restricted_tokens = _find_restricted_tokens([*statements[0], *own_statements[1]])

    @property
    def policy_count(self) -> int:
        """The number of policies that are compared one by one for each group of actors."""
        return self._given_up_reach.policy_count

    def can_differ(self, was: Actor, now: Actor) -> bool:
        """Whether the change can concern an actor; without looking at entities."""
        if was.urn == SYSTEM_ACTOR:
            return False
        return not self._is_focused(was, now) or any(reach.can_reach(was) for reach in self._own_reaches)

    def group_key(self, was: Actor, now: Actor) -> object:
        """Return a key that is equal for actors of equal extents."""
        sides = (was, now)
        keys = [was.is_active, self._shared_reaches[0].group_key(was), self._given_up_reach.group_key(was, now)]
        keys += [reach.group_key(actor) for reach, actor in zip(self._own_reaches, sides, strict=True)]
        if not self._is_focused(was, now):
            keys += [now.is_active, self._shared_reaches[1].group_key(now)]
        return tuple(keys) if self._restricted_tokens is None else (*keys, *map(self._restriction_key, sides))

    def find_extents(self, was: Actor, now: Actor) -> ChangedExtents:
        """Return what an actor reaches on both sides, among the entities that can differ."""
        old_extents, new_extents = (
            reach.find_extents(actor) if actor.is_active else _NO_KINDS
            for reach, actor in zip(self._own_reaches, (was, now), strict=True)
        )
        if self._is_focused(was, now):
            focus = union(extent for extent in (*old_extents, *new_extents) if extent)
            if not focus:
                return ChangedExtents(_NOTHING, _NOTHING, EMPTY)
            old_shared = new_shared = tuple(extent & focus for extent in self._find_shared(0, was))
        else:
            old_shared, new_shared = self._find_shared(0, was), self._find_shared(1, now)
        return ChangedExtents(
            _combine_extents(old_shared, old_extents),
            _combine_extents(new_shared, new_extents),
            self._given_up_reach.find_extent(was, now),
        )

    def decide_extent(self, side: int, actor: Actor, extent: EntityExtent) -> FrozenBitMap:
        """Return the entities on which an actor may use the privilege; what is restricted is decided one by one."""
        if not extent.needs_decision:
            return extent.allowed
        return extent.allowed | FrozenBitMap(
            number for number in extent.needs_decision if self._decide(self._states[side], actor, number)
        )

    def _is_focused(self, was: Actor, now: Actor) -> bool:
        """Whether only statements can differ, and neither facts nor the actor."""
        return was is now and self._has_same_facts

    def _restriction_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors whose columns the same roles restrict."""
        tokens = self._restricted_tokens or frozenset()
        return actor.urn if any(map(is_relational, tokens)) else actor.tokens & tokens

    def _find_shared(self, side: int, actor: Actor) -> tuple[FrozenBitMap, ...]:
        return self._shared_reaches[side].find_extents(actor) if actor.is_active else _NO_KINDS

    def _decide(self, state: AccessState, actor: Actor, number: int) -> bool:
        question = Question(actor, self._privilege, state.postings.build_resource(number))
        return decide(state.snapshot, question).is_allowed


class _GivenUpReach:
    """The entities that allows of changed policies give to actors before a change, and the same policy not after it."""

    def __init__(self, before: AccessState, after: AccessState, privilege: str, policies: Iterable[str]) -> None:
        gone_statements: list[Statement] = []
        self._reaches: list[tuple[StatementReach, StatementReach]] = []
        for policy in policies:
            old_allows, new_allows = (_list_allows(state.snapshot, privilege, policy) for state in (before, after))
            if old_allows and not new_allows:
                # Of policies that are gone all entities are given up, so that they need not be told apart.
                gone_statements += old_allows
            elif old_allows:
                self._reaches.append(
                    (StatementReach(before.postings, old_allows), StatementReach(after.postings, new_allows))
                )
        self._gone_reach = StatementReach(before.postings, gone_statements)

    @property
    def policy_count(self) -> int:
        """The number of policies that are compared one by one."""
        return len(self._reaches)

    def group_key(self, was: Actor, now: Actor) -> object:
        """Return a key that is equal for actors who give up the same entities."""
        keys = [(old.group_key(was), new.group_key(now)) for old, new in self._reaches]
        return self._gone_reach.group_key(was), *keys

    def find_extent(self, was: Actor, now: Actor) -> FrozenBitMap:
        """Return the entities for an actor as it was and as it is."""
        if not was.is_active or not now.is_active:
            return EMPTY
        return union(
            [
                _find_allows(self._gone_reach, was),
                *(_find_allows(old, was) - _find_allows(new, now) for old, new in self._reaches),
            ]
        )


def _find_allows(reach: StatementReach, actor: Actor) -> FrozenBitMap:
    """Return the entities that allows give, restricted or not."""
    plain_extent, restricted_extent, _ = reach.find_extents(actor)
    return plain_extent | restricted_extent if restricted_extent else plain_extent


def _combine_extents(shared_extents: Sequence[FrozenBitMap], own_extents: Sequence[FrozenBitMap]) -> EntityExtent:
    """Return what statements of both sides and those of one side give together."""
    return subtract_denies(
        *(
            shared | own if shared and own else shared or own
            for shared, own in zip(shared_extents, own_extents, strict=True)
        )
    )


def _split_statements(
    before: Sequence[Statement], after: Sequence[Statement]
) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return the statements of both sides, those of the first alone, and those of the second alone."""
    # A snapshot that replaces another one keeps its statements, and there are thousands of them.
    old_numbers, new_numbers = set(map(id, before)), set(map(id, after))
    removed = [statement for statement in before if id(statement) not in new_numbers]
    added = [statement for statement in after if id(statement) not in old_numbers]
    equal = set(removed).intersection(added)
    shared = [statement for statement in before if id(statement) in new_numbers or statement in equal]
    return (
        shared,
        [statement for statement in removed if statement not in equal],
        [statement for statement in added if statement not in equal],
    )


def _find_restricted_tokens(statements: Collection[Statement]) -> frozenset[str] | None:
    """Return the tokens that all of these statements test if one of them restricts what it gives, else None."""
    if all(statement.restriction is None for statement in statements):
        return None
    return frozenset[str]().union(*(statement.actors.tested_tokens for statement in statements))


def _list_allows(snapshot: Snapshot, privilege: str, policy: str) -> tuple[Statement, ...]:
    return tuple(
        statement
        for statement in snapshot.list_policy_statements(policy)
        if statement.effect is Effect.ALLOW and privilege in statement.privileges
    )
