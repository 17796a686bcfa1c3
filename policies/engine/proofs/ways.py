"""Ways to use a privilege: what interfaces accept in its place, by its umbrella and `datahub_acceptances.toml`."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import DecisionCode, Question
from policies.engine.selectors import TYPE, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot


class _Acceptance(NamedTuple):
    privilege: str
    types: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Way:
    """A privilege by which somebody uses the asked one: that one itself, or one that is accepted in its place.

    `types` are those of the entities on which it is; None: every type, and the platform. With `is_umbrella` a deny of
    the asked privilege refuses it, too, as it does where an interface asks for either.
    """

    asked_privilege: str
    privilege: str
    types: frozenset[str] | None = None
    is_umbrella: bool = False

    @property
    def is_platform(self) -> bool:
        """Whether the asked privilege is one of the platform."""
        info = vocabulary.load_datahub().get(self.asked_privilege)
        return self.types is None and info is not None and info.scope == vocabulary.PLATFORM

    @property
    def denied(self) -> frozenset[str]:
        """The privileges whose denies close this way."""
        return frozenset({self.privilege, self.asked_privilege}) if self.is_umbrella else frozenset({self.privilege})

    def narrow(self, resources: Selector) -> Selector:
        """Return the resources among these that the way is about."""
        if self.types is None:
            return resources
        criterion = Criterion(TYPE, Condition.EQUALS, self.types)
        return Selector((*resources.criteria, criterion), needs_resource=True)

    def is_open(self, snapshot: Snapshot, question: Question) -> bool:
        """Whether a question about the privilege of this way is allowed, as an interface would ask it."""
        return decide(snapshot, question).is_allowed and not (
            self.is_umbrella
            and decide(snapshot, question._replace(privilege=self.asked_privilege)).code is DecisionCode.EXPLICIT_DENY
        )


@lru_cache(maxsize=1024)
def list_ways(privilege: str) -> tuple[Way, ...]:
    """Return the ways to use a privilege, the privilege itself first.

    Privileges that imply it are none of them: their holders have the privilege, too.
    """
    ways = {_Acceptance(privilege, None): Way(privilege, privilege)}
    info = vocabulary.load_datahub().get(privilege)
    if info is not None and info.umbrella:
        ways[_Acceptance(info.umbrella, info.resource_types)] = Way(
            privilege, info.umbrella, info.resource_types, is_umbrella=True
        )
    for acceptance in _load_acceptances().get(privilege, ()):
        ways.setdefault(acceptance, Way(privilege, *acceptance))
    return tuple(ways.values())


def list_accepted(privilege: str, types: Collection[str] = ()) -> Iterator[str]:
    """Yield the other privileges that are accepted in place of this one, or that imply it, each once.

    With `types` on entities of these types.
    """
    ways = list_ways(privilege)[1:]
    accepted = [way.privilege for way in ways if not types or way.types is None or not way.types.isdisjoint(types)]
    yield from dict.fromkeys([*accepted, *sorted(vocabulary.load_datahub().implying_privileges(privilege))])


@cache
def _load_acceptances() -> dict[str, list[_Acceptance]]:
    acceptances: dict[str, list[_Acceptance]] = {}
    names = vocabulary.load_datahub().names
    for entry in vocabulary.read_table("datahub_acceptances")["acceptance"]:
        types = frozenset(entry["types"]) if "types" in entry else None
        if unknown_names := {entry["privilege"], *entry["by"]} - names:
            raise ValueError(f"Acceptances name unknown privileges: {', '.join(sorted(unknown_names))}")
        acceptances.setdefault(entry["privilege"], []).extend(_Acceptance(name, types) for name in entry["by"])
    return acceptances
