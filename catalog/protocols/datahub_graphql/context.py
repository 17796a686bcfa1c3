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

ValueT = TypeVar("ValueT")

#: Looks something up for entities of any type, by URN; those that have nothing are left out.
BatchLoader = Callable[[Collection[str]], Mapping[str, ValueT]]


@dataclass(slots=True)
class Context:
    """One call: its caller, whether it wrote a policy, and what was looked up for it."""

    by: Actor
    is_policy_written: bool = False
    _batch_urns: dict[str, None] = field(default_factory=dict)
    _cache: dict[Hashable, dict[str, Any]] = field(default_factory=dict)

    def add_to_batch(self, urns: Collection[str]) -> None:
        """Say which entities are answered with."""
        self._batch_urns.update(dict.fromkeys(urns))

    def load_batched(self, urn: str, cache_key: Hashable, load: BatchLoader[ValueT]) -> ValueT | None:
        """Return what is known of an entity, looking it up for every noted one; `cache_key` names what that is."""
        cache = self._cache.setdefault(cache_key, {})
        if urn not in cache:
            urns = self.list_missing_urns(urn, cache_key)
            cache.update({**dict.fromkeys(urns), **load(urns)})
        value: ValueT | None = cache[urn]
        return value

    def list_missing_urns(self, urn: str, cache_key: Hashable) -> list[str]:
        """Return for which entities the next look at this one would look something up."""
        cache = self._cache.get(cache_key, {})
        return (
            []
            if urn in cache
            else [candidate for candidate in {**self._batch_urns, urn: None} if candidate not in cache]
        )

    def begin_write(self) -> None:
        """Forget what was looked up, since it may not be true any more: what the caller may do included."""
        self._batch_urns.clear()
        self._cache.clear()
        self.by = actor_resolution.load_actor(urn=self.by.urn)


#: What a resolver is told of its field.
Info = GraphQLResolveInfo[Context]
