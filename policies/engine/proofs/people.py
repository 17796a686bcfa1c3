"""The people there are, for proofs that are about them and not about everybody there could be."""

from collections.abc import Iterable, Iterator

from policies.engine.model import SYSTEM_ACTOR, Actor


class People:
    """Active people with their groups and roles, each set of them as one integer. Their facts are free."""

    def __init__(self, actors: Iterable[Actor]) -> None:
        self._actors = tuple(actor for actor in actors if actor.is_active and actor.urn != SYSTEM_ACTOR)
        self._by_token: dict[str, int] = {}
        self._by_beginning: dict[str, int] = {}
        for number, actor in enumerate(self._actors):
            bit = 1 << number
            for token in (actor.urn, *actor.groups, *actor.roles):
                self._by_token[token] = self._by_token.get(token, 0) | bit

    @property
    def everybody(self) -> int:
        """The set of all."""
        return (1 << len(self._actors)) - 1

    def find_holders(self, text: str, *, is_beginning: bool) -> int:
        """Return the people with a URN, a group or a role; with `is_beginning` with one that begins with the text."""
        if not is_beginning:
            return self._by_token.get(text, 0)
        bits = self._by_beginning.get(text)
        if bits is None:
            bits = 0
            for token, holders in self._by_token.items():
                if token.startswith(text):
                    bits |= holders
            self._by_beginning[text] = bits
        return bits

    def select(self, bits: int) -> Iterator[Actor]:
        """Yield the people of a set."""
        while bits:
            number = bits.bit_length() - 1
            bits ^= 1 << number
            yield self._actors[number]
