"""The entities that one actor reaches through ownership and actor-specific statements: `reach_index` per actor.

Statements with actor conditions or exclusions have no fixed audience per token: it depends on each actor.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from pyroaring import FrozenBitMap

from policies.engine.actor_conditions import actor_cover, bind_actor, relevant_attributes, tested_attributes
from policies.engine.model import Actor, Cover, Effect, Statement
from policies.engine.postings import EMPTY, Postings, union
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE


class OwnedEntities:
    """The entities that one actor is or owns, each kind of ownership looked up once, since many covers share it."""

    def __init__(self, postings: Postings, actor: Actor) -> None:
        self._postings = postings
        self._actor = actor
        self._extent_by_ownership: dict[tuple[bool, bool, frozenset[str] | None], FrozenBitMap] = {}

    def find_extent(self, cover: Cover) -> FrozenBitMap:
        """Return the entities that a cover reaches."""
        extent = self._postings.find_extent(cover.selector)
        for owner_type in cover.excluded_owner_types:
            extent -= self._postings.find_owned_entities(self._actor.holders, owner_type)
        if cover.is_unconditional:
            return extent
        key = (cover.is_self, cover.is_owned, cover.owner_types)
        owned_extent = self._extent_by_ownership.get(key)
        if owned_extent is None:
            owned_extent = self._extent_by_ownership[key] = union(self._iterate_extents(cover))
        return extent & owned_extent

    def _iterate_extents(self, cover: Cover) -> Iterator[FrozenBitMap]:
        if cover.is_self:
            yield self_entity(self._postings, self._actor)
        if cover.is_owned:
            types: Collection[str | None] = (None,) if cover.owner_types is None else cover.owner_types
            for owner_type in types:
                yield self._postings.find_owned_entities(self._actor.holders, owner_type)


class ConditionalReach:
    """The entities that actor-specific statements give to one actor."""

    def __init__(self, postings: Postings, statements: list[Statement]) -> None:
        self.statements = statements
        self._postings = postings
        self._tokens = frozenset[str]().union(*(item.actors.tested_tokens for item in statements))
        self._tested_attributes = tested_attributes(statements)
        self._has_oneself = ONESELF in self._tokens
        has_owners = any(token.startswith(OWNER_OF_ANY_TYPE) for token in self._tokens)
        self._owner_urns = frozenset(postings.owners(None)) if has_owners else frozenset[str]()

    def can_reach(self, actor: Actor) -> bool:
        """Whether these statements may give the actor an entity."""
        return (
            not self._tokens.isdisjoint(actor.tokens)
            or not self._owner_urns.isdisjoint(actor.tokens)
            or (self._has_oneself and self._postings.number(actor.urn) is not None)
        )

    def group_key(self, actor: Actor) -> object:
        """Return a key that is equal for actors to whom these statements give the same entities."""
        if not self.statements:
            return None
        self_urn = actor.urn if self._has_oneself and self._postings.number(actor.urn) is not None else ""
        attributes = relevant_attributes(actor, self._tested_attributes)
        return actor.tokens & self._tokens, attributes, actor.holders & self._owner_urns, self_urn

    def find_extents(self, actor: Actor) -> tuple[FrozenBitMap, ...]:
        """Return the entities that an actor gets by plain allows, by restricted allows, and by denies."""
        owned_entities, tokens = OwnedEntities(self._postings, actor), actor.tokens
        kinds: tuple[list[FrozenBitMap], ...] = ([], [], [])
        for statement in self.statements:
            bound_statement = bind_actor(statement, actor)
            if bound_statement is not None:
                kinds[statement_kind(statement)].append(
                    owned_entities.find_extent(actor_cover(bound_statement, tokens))
                )
        return tuple(union(kind) for kind in kinds)


class ConditionalAudience:
    """The audiences of actor-specific statements: `allowed_by_entity` and `denied_by_entity`, by entity number.

    `actors` are the active actors with their numbers in the actor index. Actors with equal keys are evaluated once.
    """

    def __init__(self, postings: Postings, statements: list[Statement], actors: Iterable[tuple[int, Actor]]) -> None:
        reach = ConditionalReach(postings, statements)
        actors_by_key: dict[object, list[tuple[int, Actor]]] = defaultdict(list)
        for number, actor in actors:
            actors_by_key[reach.group_key(actor)].append((number, actor))
        kinds: tuple[dict[int, list[FrozenBitMap]], ...] = (defaultdict(list), defaultdict(list))
        for alike_actors in actors_by_key.values():
            audience = FrozenBitMap(number for number, _ in alike_actors)
            allow_extent, _, deny_extent = reach.find_extents(alike_actors[0][1])
            for kind, entities in zip(kinds, (allow_extent, deny_extent), strict=True):
                for entity in entities:
                    kind[entity].append(audience)
        self.allowed_by_entity, self.denied_by_entity = (
            {entity: union(audiences) for entity, audiences in kind.items()} for kind in kinds
        )


def self_entity(postings: Postings, actor: Actor) -> FrozenBitMap:
    """Return the entity that an actor is."""
    number = postings.number(actor.urn)
    return EMPTY if number is None else FrozenBitMap((number,))


def statement_kind(statement: Statement) -> int:
    """Return the kind of a statement: 0 a plain allow, 1 a restricted allow, 2 a deny."""
    if statement.effect is Effect.DENY:
        return 2
    return 0 if statement.restriction is None else 1
