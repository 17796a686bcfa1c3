"""The entities that actors reach with one privilege: set algebra over entities, the mirror image of the snapshot's.

Entities are numbered from 0. A posting is the set of entities that share one facet value, an extent the set that one
selector covers; both are compressed bitmaps. Questions about a type alone, without a resource or with sub-resources are
not supported. Entities that a restricted allow reaches are left to `decide`: several restrictions together may show
nothing, and that depends on the roles of the actor (rules/datazone.md DZ-55 to DZ-57).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pyroaring import FrozenBitMap

from policies.engine.actor_conditional_reach import ConditionalReach, OwnedEntities, self_entity, statement_kind
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.selectors import (
    ONESELF,
    OWNER_OF_ANY_TYPE,
    owner_type,
)
from policies.engine.snapshot import Snapshot

_GROUP_PREFIX, _ROLE_PREFIX = "urn:li:corpGroup:", "urn:li:dataHubRole:"


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
    return _subtract_denies(
        union(extent for is_plain, extent in allow_extents if is_plain),
        union(extent for is_plain, extent in allow_extents if not is_plain),
        union(owned_entities.find_extent(cover) for cover in coverage.denies),
    )


class ReachIndex:
    """The entities that each actor reaches with one privilege; everything independent of the actor is computed once.

    For each token one bitmap holds the entities that statements give to actors with the token (to owners: if owned). An
    actor's reach is the union over its tokens, so actors share the work for their groups and roles. Entities given by
    actor-specific statements are computed for each actor.
    """

    def __init__(self, postings: Postings, snapshot: Snapshot, privilege: str) -> None:
        self._postings = postings
        kinds: tuple[dict[str, list[FrozenBitMap]], ...] = (defaultdict(list), defaultdict(list), defaultdict(list))
        statements = snapshot.list_statements(privilege)
        self._conditional_reach = ConditionalReach(
            postings, [statement for statement in statements if statement.is_actor_specific]
        )
        for statement in statements:
            if statement.is_actor_specific:
                continue
            extent = postings.find_extent(statement.resources)
            if not extent:
                # Nobody gets anything by it here, and actors that only such statements tell apart are alike.
                continue
            for token in statement.actors.tokens:
                kinds[statement_kind(statement)][token].append(extent)
        self._extents_by_kind = tuple(
            _TokenExtents(postings, {token: union(extents) for token, extents in kind.items()}) for kind in kinds
        )

    def find_extent(self, actor: Actor) -> EntityExtent:
        """Return the entities that one actor reaches; equal to `compute_extent` of its coverage."""
        if actor.urn == SYSTEM_ACTOR:
            return EntityExtent(self._postings.everything, EMPTY)
        if not actor.is_active:
            return EntityExtent(EMPTY, EMPTY)
        extents = [token_extents.find_extent(actor) for token_extents in self._extents_by_kind]
        if self._conditional_reach.statements:
            extents = [
                extent | conditional_extent
                for extent, conditional_extent in zip(extents, self._conditional_reach.find_extents(actor), strict=True)
            ]
        return _subtract_denies(*extents)

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors of equal extents."""
        kinds = (kind.group_key(actor) for kind in self._extents_by_kind)
        return (actor.is_active, actor.urn == SYSTEM_ACTOR, *kinds, self._conditional_reach.group_key(actor))

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


class _TokenExtents:
    """The entities that one kind of statement gives to the actors with each token."""

    def __init__(self, postings: Postings, extent_by_token: dict[str, FrozenBitMap]) -> None:
        self._postings = postings
        self._extent_by_token = extent_by_token
        self._tokens = frozenset(extent_by_token)
        size = len(postings.everything)
        self._universal_tokens = frozenset(
            token for token, entities in extent_by_token.items() if len(entities) == size
        )
        owner_tokens = [token for token in extent_by_token if token.startswith(OWNER_OF_ANY_TYPE)]
        self._owners_by_token = {token: postings.owners(owner_type(token)) for token in owner_tokens}
        self._owner_urns = frozenset(postings.owners(None)) if owner_tokens else frozenset[str]()
        self._extent_by_holder: dict[str, FrozenBitMap] = {}

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors to whom these statements give the same entities."""
        if not self._extent_by_token:
            return None
        tokens = actor.tokens
        if not self._universal_tokens.isdisjoint(tokens):
            return True
        self_urn = (
            actor.urn if ONESELF in self._extent_by_token and self._postings.number(actor.urn) is not None else ""
        )
        return (tokens & self._tokens, actor.holders & self._owner_urns if self._owner_urns else None, self_urn)

    def find_extent(self, actor: Actor) -> FrozenBitMap:
        """Return the entities that these statements give to an actor."""
        if not self._extent_by_token:
            return EMPTY
        tokens, holders = actor.tokens, actor.holders
        if not self._universal_tokens.isdisjoint(tokens):
            return self._postings.everything
        extents = [extent for holder in holders if (extent := self._find_holder_extent(holder))]
        extents += [self._extent_by_token[token] for token in (tokens & self._tokens) - holders]
        if ONESELF in self._extent_by_token:
            extents.append(self._extent_by_token[ONESELF] & self_entity(self._postings, actor))
        return union(extents)

    def _find_holder_extent(self, holder: str) -> FrozenBitMap:
        """Return the entities that a user or group gets by name, and as owner of an entity."""
        extent = self._extent_by_holder.get(holder)
        if extent is None:
            extents = [self._extent_by_token[holder]] if holder in self._extent_by_token else []
            if holder in self._owner_urns:
                owned_extents = ((token, owners.get(holder)) for token, owners in self._owners_by_token.items())
                extents += [
                    self._extent_by_token[token] & entities for token, entities in owned_extents if entities is not None
                ]
            extent = self._extent_by_holder[holder] = union(extents)
        return extent


@dataclass(frozen=True, slots=True)
class Difference:
    """The entities that were gained and that were lost between two states."""

    gained: FrozenBitMap
    lost: FrozenBitMap


def compare_extents(before: FrozenBitMap, after: FrozenBitMap) -> Difference:
    """Compare two extents, or two answers about one actor, over the same numbering."""
    return Difference(after - before, before - after)


def _subtract_denies(
    plain_extent: FrozenBitMap, restricted_extent: FrozenBitMap, denied_extent: FrozenBitMap
) -> EntityExtent:
    """Subtract denies; a restricted allow leaves an entity undecided even if a plain one reaches it (DZ-55, DZ-67)."""
    if not restricted_extent and not denied_extent:
        return EntityExtent(plain_extent, EMPTY)
    return EntityExtent(plain_extent - restricted_extent - denied_extent, restricted_extent - denied_extent)
