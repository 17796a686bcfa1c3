"""The actors that have a token only in relation to an entity: because they are it, or own it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from pyroaring import FrozenBitMap

from policies.engine.actor_index import ActorIndex
from policies.engine.postings import Postings
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, owner_type


class RelationalActors:
    """The actors (of a given set) that have relational tokens for an entity."""

    def __init__(self, postings: Postings, actor_index: ActorIndex, actor_numbers: FrozenBitMap) -> None:
        self.postings = postings
        self._actor_index = actor_index
        self._actor_numbers = actor_numbers
        self._actors_by_tokens: dict[frozenset[str], Mapping[int, Sequence[FrozenBitMap]]] = {}

    def group_by_entity(self, relational_tokens: frozenset[str]) -> Mapping[int, Sequence[FrozenBitMap]]:
        """Return entity -> sets of actors that have one of the relational tokens for it, where there are such."""
        actors_by_entity = self._actors_by_tokens.get(relational_tokens)
        if actors_by_entity is None:
            actors_by_entity = self._actors_by_tokens[relational_tokens] = self._find_actors(relational_tokens)
        return actors_by_entity

    def _find_actors(self, relational_tokens: frozenset[str]) -> Mapping[int, Sequence[FrozenBitMap]]:
        actors_by_entity: dict[int, list[FrozenBitMap]] = defaultdict(list)
        # An owner of a specific type is also an owner of any type.
        for token in (OWNER_OF_ANY_TYPE,) if OWNER_OF_ANY_TYPE in relational_tokens else relational_tokens:
            if token.startswith(OWNER_OF_ANY_TYPE):
                for holder, numbers in self.postings.owners(owner_type(token)).items():
                    owners = self._actor_index.with_holder(holder)
                    # Most holders are none of these actors, and an intersection costs more than this check.
                    if owners.intersect(self._actor_numbers):
                        owners &= self._actor_numbers
                        for number in numbers:
                            actors_by_entity[number].append(owners)
        if ONESELF in relational_tokens:
            for number, self_actor in self._self_by_entity.items():
                actors_by_entity[number].append(self_actor)
        return dict(actors_by_entity)

    @cached_property
    def _self_by_entity(self) -> Mapping[int, FrozenBitMap]:
        """The entities that are actors."""
        known_actors = self._actor_index.numbers
        return {
            number: self_actor
            for number, urn in enumerate(self.postings.urns)
            if urn in known_actors and (self_actor := self._actor_index.with_urn(urn) & self._actor_numbers)
        }
