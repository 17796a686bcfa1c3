"""The entities that actors reach with one privilege before and after a change, where they can differ.

Statements that both sides have are indexed once. Where facts and actor are the same, only entities that a statement of
one side alone reaches can differ: whoever such a statement does not reach is passed over, and of all others only these
entities are looked at.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from pyroaring import FrozenBitMap

from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement, StatementOrigin
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.reach_index import EntityExtent, KindExtents, StatementReach, subtract_denies
from policies.engine.selectors import ActorMatch, is_relational
from policies.engine.snapshot import Snapshot

_NOTHING = EntityExtent(EMPTY, EMPTY)
_NO_KINDS = (EMPTY, EMPTY, EMPTY)
_NO_ORIGIN = StatementOrigin("", "")


@dataclass(frozen=True, slots=True)
class AccessState:
    """One side of a change: statements, entities with their facts, and people by URN.

    Both sides number the same entities alike, and have the same people. Sides that share the object of `postings`, or
    of an actor, are taken to have the same facts, or that actor unchanged.
    """

    snapshot: Snapshot
    postings: Postings
    actors: Mapping[str, Actor]


class ChangedExtents(NamedTuple):
    """The entities that an actor reaches before and after, and those that changed policies no longer give it.

    Entities that cannot differ are in none of them, though both sides may reach them.
    """

    was: EntityExtent
    now: EntityExtent
    given_up: FrozenBitMap

    def count_decisions(self) -> int:
        """Return the number of entities that have to be decided one by one."""
        return len(self.was.needs_decision) + len(self.now.needs_decision)


class ChangedReach:
    """The entities that actors reach with one privilege before and after a change of statements, facts and actors.

    `reaching` are the numbers, on each side, of the statements that can reach one of them.
    """

    def __init__(
        self, before: AccessState, after: AccessState, privilege: str, policies: Set[str], reaching: tuple[int, int]
    ) -> None:
        self._states = before, after
        self._privilege = privilege
        statements = (
            before.snapshot.list_statements(privilege, among=reaching[0]),
            after.snapshot.list_statements(privilege, among=reaching[1]),
        )
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
        self._given_up_reach = _GivenUpReach((before.postings, after.postings), statements, policies)
        self._restricted_tokens = _find_restricted_tokens([*statements[0], *statements[1]])

    @property
    def policy_count(self) -> int:
        """The number of policies that are compared one by one for each group of actors."""
        return self._given_up_reach.policy_count

    def can_differ(self, was: Actor, now: Actor) -> bool:
        """Whether the change can concern an actor; without looking at entities."""
        if was.urn == SYSTEM_ACTOR:
            return False
        removed_reach, added_reach = self._own_reaches
        return (
            not self._is_focused(was, now)
            or removed_reach.can_reach(was)
            or added_reach.can_reach(was)
            or self._given_up_reach.can_reach(was)
        )

    def group_key(self, was: Actor, now: Actor) -> object:
        """Return a key that is equal for actors of equal extents."""
        sides = (was, now)
        keys = [was.is_active, self._shared_reaches[0].group_key(was), self._given_up_reach.group_key(was, now)]
        keys += [reach.group_key(actor) for reach, actor in zip(self._own_reaches, sides, strict=True)]
        if not self._is_focused(was, now):
            keys += [now.is_active, self._shared_reaches[1].group_key(now)]
        return tuple(keys) if self._restricted_tokens is None else (*keys, *map(self._restriction_key, sides))

    def find_extents(self, was: Actor, now: Actor) -> ChangedExtents:
        """Return the entities that an actor reaches before and after, among those that can differ."""
        old_extents, new_extents = (
            reach.find_extents(actor) if actor.is_active else _NO_KINDS
            for reach, actor in zip(self._own_reaches, (was, now), strict=True)
        )
        given_up = self._given_up_reach.find_extent(was, now)
        if self._is_focused(was, now):
            # A statement that one policy gives up and another one says from now on is one of both sides.
            focus = union([extent for extent in (*old_extents, *new_extents, given_up) if extent])
            if not focus:
                return ChangedExtents(_NOTHING, _NOTHING, EMPTY)
            old_shared = new_shared = self._shared_reaches[0].find_extents_within(focus, was)
        else:
            old_shared, new_shared = self._find_shared(0, was), self._find_shared(1, now)
        return ChangedExtents(
            _combine_extents(old_shared, old_extents),
            _combine_extents(new_shared, new_extents),
            given_up,
        )

    def decide_extent(self, side: int, actor: Actor, extent: EntityExtent) -> FrozenBitMap:
        """Return the entities of an extent on which an actor may use the privilege before (side 0) or after (1).

        `decide` is asked about each entity that the extent leaves open. Raises MissingFact if a facet was not loaded.
        """
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

    def _find_shared(self, side: int, actor: Actor) -> KindExtents:
        return self._shared_reaches[side].find_extents(actor) if actor.is_active else _NO_KINDS

    def _decide(self, state: AccessState, actor: Actor, number: int) -> bool:
        question = Question(actor, self._privilege, state.postings.build_resource(number))
        return decide(state.snapshot, question).is_allowed


class _GivenUpReach:
    """The entities that allows of some policies give to actors before a change, and the same policy not after it."""

    def __init__(
        self, postings: Sequence[Postings], statements: Sequence[Sequence[Statement]], policies: Set[str]
    ) -> None:
        before, after = (_group_allows(side, policies) for side in statements)
        # Of policies that are gone all entities are given up, so that they need not be told apart.
        self._gone_reach = StatementReach(
            postings[0], (allow for policy, allows in before.items() if policy not in after for allow in allows)
        )
        pairs = [(allows, after[policy]) for policy, allows in before.items() if policy in after]
        has_same_owners = postings[0].has_same_owners(postings[1])
        kept_allows: dict[frozenset[str], list[Statement]] = defaultdict(list)
        self._changed_reaches: list[tuple[StatementReach, StatementReach]] = []
        for old_allows, new_allows in pairs:
            tokens = _find_common_tokens(old_allows) if old_allows == new_allows else None
            if tokens is not None and _has_same_extents(old_allows, postings, tokens, has_same_owners=has_same_owners):
                kept_allows[tokens].extend(old_allows)
            else:
                self._changed_reaches.append(
                    (StatementReach(postings[0], old_allows), StatementReach(postings[1], new_allows))
                )
        # Policies that stay as they are, and name the same, are given up together: by those who lose what these name.
        self._kept_reaches = [StatementReach(postings[0], allows) for allows in kept_allows.values()]
        removed = (_split_statements(allows, after.get(policy, ()))[1] for policy, allows in before.items())
        self._removed_reach = StatementReach(postings[0], (allow for allows in removed for allow in allows))

    @property
    def policy_count(self) -> int:
        """The number of policies that are compared one by one."""
        return len(self._changed_reaches) + len(self._kept_reaches)

    def can_reach(self, actor: Actor) -> bool:
        """Whether one of these policies gives an actor less than before; without looking at entities."""
        return self._removed_reach.can_reach(actor)

    def group_key(self, was: Actor, now: Actor) -> object:
        """Return a key that is equal for actors who give up the same entities."""
        if not self.policy_count:
            return self._gone_reach.group_key(was)
        keys = [(old.group_key(was), new.group_key(now)) for old, new in self._changed_reaches]
        keys += [(reach.group_key(was), reach.group_key(now)) for reach in self._kept_reaches]
        return self._gone_reach.group_key(was), *keys

    def find_extent(self, was: Actor, now: Actor) -> FrozenBitMap:
        """Return the entities for an actor as it was and as it is."""
        if not was.is_active or not now.is_active:
            return EMPTY
        lost_tokens = was.tokens - now.tokens
        extents = [_find_allows(self._gone_reach, was)]
        extents += [_find_allows(old, was) - _find_allows(new, now) for old, new in self._changed_reaches]
        # What a policy that stays as it is gives up is what the actor had by a group or role.
        extents += [
            _find_allows(reach, was) - _find_allows(reach, now)
            for reach in self._kept_reaches
            if reach.can_depend_on(lost_tokens)
        ]
        return union(extents)


def _find_common_tokens(allows: Sequence[Statement]) -> frozenset[str] | None:
    """Return the tokens that each of these allows names; None if they differ, or it depends on more whom they reach."""
    tokens = allows[0].actors.tokens
    are_alike = all(allow.actors.tokens == tokens and not allow.is_actor_specific for allow in allows)
    return tokens if are_alike else None


def _has_same_extents(
    allows: Iterable[Statement], postings: Sequence[Postings], tokens: Iterable[str], *, has_same_owners: bool
) -> bool:
    """Whether allows with these tokens give the same entities by the facts before and after a change."""
    if not has_same_owners and any(map(is_relational, tokens)):
        return False
    return all(postings[0].find_extent(allow.resources) is postings[1].find_extent(allow.resources) for allow in allows)


def _group_allows(statements: Iterable[Statement], policies: Set[str]) -> dict[str, list[Statement]]:
    """Return the allows of each of these policies."""
    allows_by_policy: dict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        if statement.origin.policy in policies and statement.effect is Effect.ALLOW:
            allows_by_policy[statement.origin.policy].append(statement)
    return allows_by_policy


def _find_allows(reach: StatementReach, actor: Actor) -> FrozenBitMap:
    """Return the entities that allows give, restricted or not."""
    plain_extent, restricted_extent, _ = reach.find_extents(actor)
    return plain_extent | restricted_extent if restricted_extent else plain_extent


def _combine_extents(shared: KindExtents, own: KindExtents) -> EntityExtent:
    """Return the entities that statements of both sides and those of one side give together."""
    plain, restricted, denied = shared
    own_plain, own_restricted, own_denied = own
    return subtract_denies(
        plain | own_plain if own_plain else plain,
        restricted | own_restricted if own_restricted else restricted,
        denied | own_denied if own_denied else denied,
    )


def _split_statements(
    before: Sequence[Statement], after: Sequence[Statement]
) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return the statements of both sides, those of the first alone, and those of the second alone.

    Of statements that differ in whom they name, both sides have what they say of those whom both name.
    """
    # A snapshot that replaces another one keeps its statements, and there are thousands of them.
    old_numbers, new_numbers = set(map(id, before)), set(map(id, after))
    shared = [statement for statement in before if id(statement) in new_numbers]
    removed = _group_by_content(statement for statement in before if id(statement) not in new_numbers)
    added = _group_by_content(statement for statement in after if id(statement) not in old_numbers)
    splits: tuple[list[Statement], list[Statement], list[Statement]] = (shared, [], [])
    for content in removed.keys() | added.keys():
        old_tokens, new_tokens = removed.get(content, frozenset()), added.get(content, frozenset())
        parts = old_tokens & new_tokens, old_tokens - new_tokens, new_tokens - old_tokens
        for statements, tokens in zip(splits, parts, strict=True):
            if tokens:
                match = ActorMatch(tokens, content.actors.excluded_tokens)
                statements.append(replace(content, actors=match))
    return splits


def _group_by_content(statements: Iterable[Statement]) -> dict[Statement, frozenset[str]]:
    """Return the actors' tokens by content of statements: the statement without tokens, origin and privileges."""
    tokens_by_content: dict[Statement, frozenset[str]] = {}
    for statement in statements:
        content = replace(
            statement,
            origin=_NO_ORIGIN,
            privileges=frozenset(),
            actors=ActorMatch(excluded_tokens=statement.actors.excluded_tokens),
            ends=None,
        )
        tokens_by_content[content] = tokens_by_content.get(content, frozenset()) | statement.actors.tokens
    return tokens_by_content


def _find_restricted_tokens(statements: Collection[Statement]) -> frozenset[str] | None:
    """Return the tokens that all of these statements test if one of them restricts what it gives, else None."""
    if all(statement.restriction is None for statement in statements):
        return None
    return frozenset[str]().union(*(statement.actors.tested_tokens for statement in statements))
