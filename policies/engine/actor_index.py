"""Actors numbered from 0, and compressed bitmaps of those that hold a token, or that own what a holder owns."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pyroaring import FrozenBitMap

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.postings import EMPTY, union


class ActorIndex:
    """Actors by number, and the actors of each token; inactive ones have none, the system actor is always allowed."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        self.actors = actors
        self.numbers = {actor.urn: number for number, actor in enumerate(actors)}
        self.always_allowed = FrozenBitMap(number for number, actor in enumerate(actors) if actor.urn == SYSTEM_ACTOR)
        active_actors = [(number, actor) for number, actor in enumerate(actors) if actor.is_active]
        self.eligible_actors = FrozenBitMap(number for number, _ in active_actors) | self.always_allowed
        self._numbers_by_token = _invert((number, actor.tokens) for number, actor in active_actors)
        self._numbers_by_holder = _invert((number, actor.holders) for number, actor in active_actors)

    def with_any_token(self, tokens: Iterable[str]) -> FrozenBitMap:
        """Return the actors that have any of the tokens."""
        return union(self._numbers_by_token[token] for token in tokens if token in self._numbers_by_token)

    def with_holder(self, holder: str) -> FrozenBitMap:
        """Return the actors that own the entities of a holder: the user itself, or the members of a group."""
        return self._numbers_by_holder.get(holder, EMPTY)

    def active_actors(self) -> Iterator[tuple[int, Actor]]:
        """Yield the active actors with their numbers, without the system actor."""
        return (
            (self.numbers[actor.urn], actor) for actor in self.actors if actor.is_active and actor.urn != SYSTEM_ACTOR
        )

    def with_urn(self, urn: str) -> FrozenBitMap:
        """Return the actor of this URN as a set, empty if it is unknown or inactive."""
        number = self.numbers.get(urn)
        return EMPTY if number is None or not self.actors[number].is_active else FrozenBitMap((number,))


def _invert(names_by_number: Iterable[tuple[int, Iterable[str]]]) -> dict[str, FrozenBitMap]:
    numbers_by_name: dict[str, list[int]] = defaultdict(list)
    for number, names in names_by_number:
        for name in names:
            numbers_by_name[name].append(number)
    return {name: FrozenBitMap(numbers) for name, numbers in numbers_by_name.items()}
