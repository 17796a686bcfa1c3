"""Population: the people whom a guardrail is judged for, as bit sets by the tokens of actor clauses."""

from collections.abc import Iterable, Iterator, Sequence

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.selectors import ActorMatch, is_relational


class Population:
    """Actors numbered from 0. A set of people is an integer with one bit for each.

    The system and whoever is inactive has a number and is in no set.
    """

    def __init__(self, actors: Iterable[Actor]) -> None:
        self.actors: Sequence[Actor] = tuple(actors)
        self._by_token: dict[str, int] = {}
        members_by_token: dict[str, list[int]] = {}
        everybody: list[int] = []
        for number, actor in enumerate(self.actors):
            if actor.is_active and actor.urn != SYSTEM_ACTOR:
                everybody.append(number)
                for token in actor.tokens:
                    members_by_token.setdefault(token, []).append(number)
        size = len(self.actors)
        for token, numbers in members_by_token.items():
            self._by_token[token] = build_set(numbers, size)
        self.everybody = build_set(everybody, size)

    def find_reached(self, match: ActorMatch) -> int:
        """Return the people that an actor clause can reach: for owners everybody, since anybody could own an entity."""
        reached = self.everybody if any(map(is_relational, match.tokens)) else self._unite(match.tokens)
        return reached & ~self._unite(match.excluded_tokens)

    def find_named(self, match: ActorMatch) -> int:
        """Return the people that an actor clause names whatever the resource."""
        return self._unite(match.tokens) & ~self._unite(match.excluded_tokens)

    def list_urns(self, people: int) -> frozenset[str]:
        """Return the URNs of these people."""
        return frozenset(self.actors[number].urn for number in list_numbers(people))

    def _unite(self, tokens: Iterable[str]) -> int:
        united = 0
        for token in tokens:
            bits = self._by_token.get(token)
            if bits is not None:
                united |= bits
        return united


def find_first(people: int) -> int:
    """Return the number of the first of these people, of whom there must be one."""
    return (people & -people).bit_length() - 1


def list_numbers(people: int) -> Iterator[int]:
    """Yield the numbers of the people of a set, in ascending order."""
    for index, byte in enumerate(people.to_bytes((people.bit_length() + 7) // 8, "little")):
        for bit in range(8) if byte else ():
            if byte >> bit & 1:
                yield index * 8 + bit


def build_set(numbers: Iterable[int], size: int) -> int:
    """Return the set of these numbers, each below the size."""
    bits = bytearray((size + 7) // 8)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")
