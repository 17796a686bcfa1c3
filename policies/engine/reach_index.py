"""The entities that actors reach with one privilege: set algebra over entities, the mirror image of the snapshot's.

Entities are numbered from 0. A posting is the set of entities that share one facet value, an extent the set that one
selector covers; both are compressed bitmaps. Questions about a type alone, without a resource or with sub-resources are
not supported. Entities that a restricted allow reaches are left to `decide`: several restrictions together may show
nothing, and that depends on the roles of the actor (rules/datazone.md DZ-55 to DZ-57).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
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


#: The entities that plain allows, restricted allows, and denies give.
KindExtents = tuple[FrozenBitMap, FrozenBitMap, FrozenBitMap]


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

    def find_extents(self, actor: Actor) -> KindExtents:
        """Return the entities that an actor gets by plain allows, by restricted allows, and by denies."""
        plain, restricted, denied = self._kinds
        extents = (
            plain.find_extent(actor) if plain else EMPTY,
            restricted.find_extent(actor) if restricted else EMPTY,
            denied.find_extent(actor) if denied else EMPTY,
        )
        return self._add_conditional(extents, actor, None) if self._conditional_reach.statements else extents

    def find_extents_within(self, entities: FrozenBitMap, actor: Actor) -> KindExtents:
        """Return those of the entities that `find_extents` has: for few entities that takes less."""
        plain, restricted, denied = self._kinds
        extents = (
            plain.find_extent_within(entities, actor) if plain else EMPTY,
            restricted.find_extent_within(entities, actor) if restricted else EMPTY,
            denied.find_extent_within(entities, actor) if denied else EMPTY,
        )
        return self._add_conditional(extents, actor, entities) if self._conditional_reach.statements else extents

    def can_reach(self, actor: Actor) -> bool:
        """Whether one of the statements may give the actor an entity; without looking at any."""
        for kind in self._used_kinds:
            if kind.can_reach(actor):
                return True
        return bool(self._conditional_reach.statements) and self._conditional_reach.can_reach(actor)

    def can_depend_on(self, tokens: Set[str]) -> bool:
        """Whether what the statements give may depend on one of these tokens, held or not."""
        if self._conditional_reach.statements:
            return True
        return any(kind.can_depend_on(tokens) for kind in self._used_kinds)

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors to whom the statements give the same entities."""
        if self._conditional_reach.statements:
            key = tuple(kind.group_key(actor) for kind in self._used_kinds)
            return key, self._conditional_reach.group_key(actor)
        if len(self._used_kinds) == 1:
            return self._used_kinds[0].group_key(actor)
        return tuple(kind.group_key(actor) for kind in self._used_kinds)

    def _add_conditional(self, extents: KindExtents, actor: Actor, entities: FrozenBitMap | None) -> KindExtents:
        plain, restricted, denied = (
            extent | (conditional_extent if entities is None else conditional_extent & entities)
            for extent, conditional_extent in zip(extents, self._conditional_reach.find_extents(actor), strict=True)
        )
        return plain, restricted, denied


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
        self._extent_by_holder: dict[str, FrozenBitMap] = {}

    def can_depend_on(self, tokens: Set[str]) -> bool:
        """Whether the statements name one of these tokens, or an entity has an owner among them."""
        return not self._tokens.isdisjoint(tokens)

    def can_reach(self, actor: Actor) -> bool:
        """Whether these statements may give the actor an entity."""
        return not self._tokens.isdisjoint(actor.tokens) or (bool(self._own_extent) and self._is_entity(actor))

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors to whom these statements give the same entities."""
        tokens = actor.tokens
        if not self._universal_tokens.isdisjoint(tokens):
            return True
        shared_tokens = tokens & self._tokens
        return (shared_tokens, actor.urn) if self._own_extent and self._is_entity(actor) else shared_tokens

    def find_extent(self, actor: Actor) -> FrozenBitMap:
        """Return the entities that these statements give to an actor."""
        if not self._universal_tokens.isdisjoint(actor.tokens):
            return self._postings.everything
        return union(self._list_extents(actor))

    def find_extent_within(self, entities: FrozenBitMap, actor: Actor) -> FrozenBitMap:
        """Return those of the entities that these statements give to an actor."""
        if not self._universal_tokens.isdisjoint(actor.tokens):
            return entities
        others = entities
        for extent in self._list_extents(actor):
            others -= extent
            if not others:
                return entities
        return entities - others

    def _list_extents(self, actor: Actor) -> list[FrozenBitMap]:
        """Return the entities that each of the actor's tokens gives it."""
        tokens = actor.tokens & self._tokens
        known_extents = self._extent_by_holder
        extents = [known_extents[token] if token in known_extents else self._find_named(token) for token in tokens]
        if self._owners and not self._owners.isdisjoint(actor.roles):
            # A role owns nothing for those who hold it.
            holders = actor.holders
            extents = [
                known_extents[token] if token in holders else self._extent_by_token.get(token, EMPTY)
                for token in tokens
            ]
        if self._own_extent and self._is_entity(actor):
            extents.append(self._own_extent & self_entity(self._postings, actor))
        return extents

    def _is_entity(self, actor: Actor) -> bool:
        return self._postings.number(actor.urn) is not None

    def _find_named(self, token: str) -> FrozenBitMap:
        """Return the entities that a token gives by itself, and that a user or group owns who is named by it."""
        extents = [self._extent_by_token[token]] if token in self._extent_by_token else []
        extents += [covered & owners[token] for covered, owners in self._owned_extents if token in owners]
        extent = self._extent_by_holder[token] = union(extents)
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
