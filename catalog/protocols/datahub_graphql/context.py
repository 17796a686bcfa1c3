"""What resolvers share during one call: who is calling, and what was looked up for all entities of a list at once.

A list notes the URNs it answers with. The first field that needs more of one of them looks it up for all those noted,
so that the number of queries follows from the document and not from the length of its lists.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphql import GraphQLResolveInfo

from policies.engine.model import Actor
from policies.pdp import actor_resolution

Found = TypeVar("Found")

#: Looks something up for entities of any type, by URN; those that have nothing are left out.
Load = Callable[[Collection[str]], Mapping[str, Found]]


@dataclass(slots=True)
class Context:
    """One call: its caller, whether it wrote a policy, and what was looked up for it."""

    by: Actor
    is_policy_written: bool = False
    _noted: dict[str, None] = field(default_factory=dict)
    _found: dict[Hashable, dict[str, Any]] = field(default_factory=dict)

    def note(self, urns: Collection[str]) -> None:
        """Say which entities are answered with."""
        self._noted.update(dict.fromkeys(urns))

    def look_up(self, urn: str, what: Hashable, load: Load[Found]) -> Found | None:
        """Return what is known of an entity, looking it up for every noted one; `what` names what that is."""
        known = self._found.setdefault(what, {})
        if urn not in known:
            asked = self.unknown(urn, what)
            known.update({**dict.fromkeys(asked), **load(asked)})
        found: Found | None = known[urn]
        return found

    def unknown(self, urn: str, what: Hashable) -> list[str]:
        """Return for which entities the next look at this one would look something up."""
        known = self._found.get(what, {})
        return [] if urn in known else [one for one in {**self._noted, urn: None} if one not in known]

    def begin_write(self) -> None:
        """Forget what was looked up, since it may not be true any more: what the caller may do included."""
        self._noted.clear()
        self._found.clear()
        self.by = actor_resolution.actor(urn=self.by.urn)


#: What a resolver is told of its field.
Info = GraphQLResolveInfo[Context]
