"""How much more than the question asks a suggestion would open, if somebody followed it.

An actor who joins a group or gets a role for the sake of one privilege has all that policies give there.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from policies.engine.families import vocabulary
from policies.engine.model import Effect, Question, Statement
from policies.engine.selectors import URN, Condition, resource_tokens
from policies.engine.snapshot import Snapshot

#: Prefixes of the tokens that an actor can come to have: by joining a group, and by getting a role.
_OBTAINABLE_PREFIXES = ("urn:li:corpGroup:", "urn:li:dataHubRole:")


class Extent(StrEnum):
    """The entities on which a suggestion would open something."""

    QUESTION = "question"
    COVERED = "covered"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Opening:
    """The number of privileges that a suggestion opens beside those of the question, and on which entities."""

    privilege_count: int
    extent: Extent

    def __bool__(self) -> bool:
        return bool(self.privilege_count) or self.extent is not Extent.QUESTION

    @property
    def sentence(self) -> str:
        """The entities that it opens beside the question's, '' if none."""
        if not self:
            return ""
        count = self.privilege_count
        privileges = f"{count} more {'privilege' if count == 1 else 'privileges'}"
        places = {
            Extent.QUESTION: "",
            Extent.COVERED: " on all that the policy covers",
            Extent.EVERYTHING: " on every entity",
        }
        if not count:
            return f"This would open it{places[self.extent]}."
        also = ", some of them" if self.extent is Extent.EVERYTHING and count > 1 else ""
        return f"This would also open {privileges}{also}{places[self.extent]}."


def rank_by_opening(statement: Statement) -> tuple[int, int, int]:
    """Return a key that sorts statements by how much they open, least first.

    Named entities come first, then more criteria, then fewer privileges. A statement with more criteria covers
    less, and is likelier to be about entities such as the one in question.
    """
    criteria = statement.resources.criteria
    names_entities = any(item.field == URN and item.condition is Condition.EQUALS for item in criteria)
    return (0 if names_entities else 1, -len(criteria), len(statement.privileges))


class OpeningMeter:
    """Measures how much suggestions would open; what policies give a group, role or actor is found once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._gifts: dict[str, _Gift] = {}
        self._held: dict[frozenset[str], frozenset[str]] = {}

    def measure(self, statement: Statement, question: Question, asked_names: Collection[str]) -> Opening:
        """Return how much more than the `asked_names` the actor gains if the statement comes to match."""
        actor, resource = question.actor, question.resource
        tokens = statement.actors.tokens
        held_names = self._find_held(actor.tokens)
        if not tokens.isdisjoint(actor.tokens | resource_tokens(actor.urn, actor.holders, resource)):
            return Opening(len((statement.privileges - held_names).difference(asked_names)), Extent.QUESTION)
        ways = [self._find_gift(token) for token in sorted(tokens) if token.startswith(_OBTAINABLE_PREFIXES)]
        gift = min(ways, key=lambda way: len(way.privileges), default=_Gift.from_statements((statement,)))
        count = len((gift.privileges - held_names).difference(asked_names))
        if resource is None:
            return Opening(count, Extent.QUESTION)
        if not gift.everywhere <= held_names:
            return Opening(count, Extent.EVERYTHING)
        return Opening(count, Extent.QUESTION if gift.urns <= {resource.urn} else Extent.COVERED)

    def _find_gift(self, token: str) -> "_Gift":
        if token not in self._gifts:
            self._gifts[token] = _Gift.from_statements(self._snapshot.list_naming_statements((token,)))
        return self._gifts[token]

    def _find_held(self, tokens: frozenset[str]) -> frozenset[str]:
        """Return the privileges that an actor with these tokens has already, whatever the resource."""
        if tokens not in self._held:
            self._held[tokens] = frozenset[str]().union(
                *(
                    statement.privileges
                    for statement in self._snapshot.list_naming_statements(tokens)
                    if statement.effect is Effect.ALLOW
                    and not (statement.resources.criteria or statement.is_actor_specific)
                )
            )
        return self._held[tokens]


@dataclass(frozen=True, slots=True)
class _Gift:
    """The privileges that statements give, those they give on every entity, and the entities they are about.

    Platform privileges are about no entity. `urns` has '' for what is not about named entities.
    """

    privileges: frozenset[str]
    everywhere: frozenset[str]
    urns: frozenset[str]

    @classmethod
    def from_statements(cls, statements: Iterable[Statement]) -> "_Gift":
        """Return the gift of the allows among these statements."""
        privileges, everywhere, urns = set[str](), set[str](), set[str]()
        for statement in statements:
            if statement.effect is not Effect.ALLOW:
                continue
            privileges |= statement.privileges
            if not statement.resources.criteria:
                everywhere |= statement.privileges - _list_platform_privileges()
                continue
            named_urns = [
                item.values
                for item in statement.resources.criteria
                if item.field == URN and item.condition is Condition.EQUALS
            ]
            urns |= named_urns[0] if named_urns else {""}
        return cls(frozenset(privileges), frozenset(everywhere), frozenset(urns))


@cache
def _list_platform_privileges() -> frozenset[str]:
    return frozenset(info.name for info in vocabulary.load_datahub().platform_privileges())
