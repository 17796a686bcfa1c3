"""The entities that actors reach with one privilege: set algebra over entities, the mirror image of the snapshot's.

Entities are numbered from 0. A posting is the set of entities that share one facet value, an extent the set that one
selector covers; both are compressed bitmaps. Questions about a type alone, without a resource or with sub-resources are
not supported. Entities that a restricted allow reaches are left to `decide`: several restrictions together may show
nothing, and that depends on the roles of the actor (rules/datazone.md DZ-55 to DZ-57).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyroaring import FrozenBitMap

from policies.engine.actor_conditional_reach import ConditionalReach, OwnedEntities, self_entity, statement_kind
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage, Statement
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.selectors import (
    ONESELF,
    OWNER_OF_ANY_TYPE,
    owner_type,
)
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class EntityExtent:
    """The entities on which one actor may use one privilege.

    `allowed` is final. `needs_decision` are reached by a restricted allow and no deny: call `decide` for each.
    """

    allowed: FrozenBitMap
    needs_decision: FrozenBitMap


def compute_extent(postings: Postings, coverage: Coverage) -> EntityExtent:
    """Return the entities that a coverage reaches by some of its allows and by none of its denies.

    Raises MissingFact if a facet it tests was not loaded.
    """
    if coverage.is_everything:
        return EntityExtent(postings.everything, EMPTY)
    owned_entities = OwnedEntities(postings, coverage.actor)
    allow_extents = [
        (cover.statement.restriction is None, owned_entities.find_extent(cover)) for cover in coverage.allows
    ]
    return subtract_denies(
        union(extent for is_plain, extent in allow_extents if is_plain),
        union(extent for is_plain, extent in allow_extents if not is_plain),
        union(owned_entities.find_extent(cover) for cover in coverage.denies),
    )


class ReachIndex:
    """The entities that each actor reaches with one privilege; everything independent of the actor is computed once."""

    def __init__(self, postings: Postings, snapshot: Snapshot, privilege: str) -> None:
        self._postings = postings
        self._reach = StatementReach(postings, snapshot.list_statements(privilege))

    def find_extent(self, actor: Actor) -> EntityExtent:
        """Return the entities that one actor reaches; equal to `compute_extent` of its coverage."""
        if actor.urn == SYSTEM_ACTOR:
            return EntityExtent(self._postings.everything, EMPTY)
        if not actor.is_active:
            return EntityExtent(EMPTY, EMPTY)
        return subtract_denies(*self._reach.find_extents(actor))

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors of equal extents."""
        return actor.is_active, actor.urn == SYSTEM_ACTOR, self._reach.group_key(actor)

    def count_entities(self, actors: Iterable[Actor]) -> dict[str, int]:
        """Return the number of entities each actor reaches without `needs_decision`, as actor URN -> count."""
        count_by_actor: dict[str, int] = {}
        count_by_key: dict[object, int] = {}
        for actor in actors:
            key = self.group_key(actor)
            count = count_by_key.get(key)
            if count is None:
                count = count_by_key[key] = len(self.find_extent(actor).allowed)
            count_by_actor[actor.urn] = count
        return count_by_actor


class StatementReach:
    """The entities that some statements give to each active actor, by the kind of statement.

    For each token one bitmap holds the entities that statements give to actors with the token (to owners: if owned). An
    actor's reach is the union over its tokens, so actors share the work for their groups and roles. Entities given by
    actor-specific statements are computed for each actor.
    """

    def __init__(self, postings: Postings, statements: Iterable[Statement]) -> None:
        kinds: tuple[dict[str, list[FrozenBitMap]], ...] = (defaultdict(list), defaultdict(list), defaultdict(list))
        conditional_statements: list[Statement] = []
        for statement in statements:
            if statement.is_actor_specific:
                conditional_statements.append(statement)
                continue
            extent = postings.find_extent(statement.resources)
            if not extent:
                # Nobody gets anything by it here, and actors that only such statements tell apart are alike.
                continue
            for token in statement.actors.tokens:
                kinds[statement_kind(statement)][token].append(extent)
        self._conditional_reach = ConditionalReach(postings, conditional_statements)
        self._kinds = tuple(
            _TokenExtents(postings, {token: union(extents) for token, extents in kind.items()}) if kind else None
            for kind in kinds
        )
        self._used_kinds = tuple(kind for kind in self._kinds if kind is not None)

    def find_extents(self, actor: Actor) -> tuple[FrozenBitMap, ...]:
        """Return the entities that an actor gets by plain allows, by restricted allows, and by denies."""
        extents = tuple(EMPTY if kind is None else kind.find_extent(actor) for kind in self._kinds)
        if not self._conditional_reach.statements:
            return extents
        conditional_extents = self._conditional_reach.find_extents(actor)
        return tuple(
            extent | conditional_extent for extent, conditional_extent in zip(extents, conditional_extents, strict=True)
        )

    def can_reach(self, actor: Actor) -> bool:
        """Whether one of the statements may give the actor an entity; without looking at any."""
        return any(kind.can_reach(actor) for kind in self._used_kinds) or self._conditional_reach.can_reach(actor)

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors to whom the statements give the same entities."""
        key = tuple(kind.group_key(actor) for kind in self._used_kinds)
        return (key, self._conditional_reach.group_key(actor)) if self._conditional_reach.statements else key


class _TokenExtents:
    """The entities that one kind of statement gives to the actors with each token."""

    def __init__(self, postings: Postings, extent_by_token: Mapping[str, FrozenBitMap]) -> None:
        self._postings = postings
        self._extent_by_token = extent_by_token
        self._own_extent = extent_by_token.get(ONESELF, EMPTY)
        size = len(postings.everything)
        self._universal_tokens = frozenset(
            token for token, entities in extent_by_token.items() if len(entities) == size
        )
        self._owned_extents = [
            (extent, postings.owners(owner_type(token)))
            for token, extent in extent_by_token.items()
            if token.startswith(OWNER_OF_ANY_TYPE)
        ]
        self._owners = frozenset(
            owner
            for extent, owners in self._owned_extents
            for owner, entities in owners.items()
            if entities.intersect(extent)
        )
        self._tokens = self._owners.union(extent_by_token)
        self._extent_by_owner: dict[str, FrozenBitMap] = {}

    def can_reach(self, actor: Actor) -> bool:
        """Whether these statements may give the actor an entity."""
        return not self._tokens.isdisjoint(actor.tokens) or self._is_own_entity(actor)

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors to whom these statements give the same entities."""
        tokens = actor.tokens
        if not self._universal_tokens.isdisjoint(tokens):
            return True
        shared_tokens = tokens & self._tokens
        return (shared_tokens, actor.urn) if self._is_own_entity(actor) else shared_tokens

    def find_extent(self, actor: Actor) -> FrozenBitMap:
        """Return the entities that these statements give to an actor."""
        if not self._universal_tokens.isdisjoint(actor.tokens):
            return self._postings.everything
        extents: list[FrozenBitMap] = []
        extent_by_token, owners = self._extent_by_token, self._owners
        for token in actor.tokens & self._tokens:
            if (extent := extent_by_token.get(token)) is not None:
                extents.append(extent)
            # A role owns nothing for those who hold it.
            if token in owners and (token == actor.urn or token in actor.groups):
                extents.append(self._find_owned(token))
        if self._is_own_entity(actor):
            extents.append(self._own_extent & self_entity(self._postings, actor))
        return union(extents)

    def _is_own_entity(self, actor: Actor) -> bool:
        return bool(self._own_extent) and self._postings.number(actor.urn) is not None

    def _find_owned(self, owner: str) -> FrozenBitMap:
        """Return the entities that statements about owners give to the owner."""
        extent = self._extent_by_owner.get(owner)
        if extent is None:
            extent = self._extent_by_owner[owner] = union(
                covered & owners[owner] for covered, owners in self._owned_extents if owner in owners
            )
        return extent


@dataclass(frozen=True, slots=True)
class Difference:
    """The entities that were gained and that were lost between two states."""

    gained: FrozenBitMap
    lost: FrozenBitMap


def compare_extents(before: FrozenBitMap, after: FrozenBitMap) -> Difference:
    """Compare two extents, or two answers about one actor, over the same numbering."""
    return Difference(after - before, before - after)


def subtract_denies(
    plain_extent: FrozenBitMap, restricted_extent: FrozenBitMap, denied_extent: FrozenBitMap
) -> EntityExtent:
    """Subtract denies; a restricted allow leaves an entity undecided even if a plain one reaches it (DZ-55, DZ-67)."""
    if not restricted_extent and not denied_extent:
        return EntityExtent(plain_extent, EMPTY)
    return EntityExtent(plain_extent - restricted_extent - denied_extent, restricted_extent - denied_extent)
