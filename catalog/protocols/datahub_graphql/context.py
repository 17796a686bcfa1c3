"""Context of one call: the caller, and values loaded for all entities of a list at once.

A list adds the URNs of its entities to the batch. The first field that needs more of one of them loads it for the whole
batch, so that the number of queries depends on the document and not on the length of its lists.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from graphql import GraphQLResolveInfo

from policies.engine.model import Actor
from policies.models.fields import filter_storable
from policies.pdp import actor_resolution

ValueT = TypeVar("ValueT")
RowT = TypeVar("RowT", bound=Model)

#: Loader of values for entities of any type, by URN; entities without a value are left out.
BatchLoader = Callable[[Collection[str]], Mapping[str, ValueT]]


@dataclass(slots=True)
class Context:
    """The context of one call: its caller, whether it wrote a policy, the batch and the loaded values."""

    by: Actor
    is_policy_written: bool = False
    _batch_urns: dict[str, None] = field(default_factory=dict)
    _cache: dict[Hashable, dict[str, Any]] = field(default_factory=dict)

    def add_to_batch(self, urns: Collection[str]) -> None:
        """Add the URNs of entities in the response to the batch."""
        self._batch_urns.update(dict.fromkeys(urns))

    def load_batched(self, urn: str, cache_key: Hashable, load: BatchLoader[ValueT]) -> ValueT | None:
        """Return the value of an entity or None, loaded for the whole batch and cached under `cache_key`."""
        cache = self._cache.setdefault(cache_key, {})
        if urn not in cache:
            urns = self.list_missing_urns(urn, cache_key)
            cache.update({**dict.fromkeys(urns), **load(urns)})
        value: ValueT | None = cache[urn]
        return value

    def list_missing_urns(self, urn: str, cache_key: Hashable) -> list[str]:
        """Return the URNs for which `load_batched` would call its loader."""
        cache = self._cache.get(cache_key, {})
        return (
            []
            if urn in cache
            else [candidate for candidate in {**self._batch_urns, urn: None} if candidate not in cache]
        )

    def begin_write(self) -> None:
        """Clear batch and cache and reload the caller, since the write may change any of them."""
        self._batch_urns.clear()
        self._cache.clear()
        self.by = actor_resolution.load_actor(urn=self.by.urn)


def load_rows(urns: Collection[str], prefix: str, list_rows: Callable[[], QuerySet[RowT]]) -> dict[str, RowT]:
    """Return URN → row for the URNs with a prefix; at most one query."""
    row_urns = [urn for urn in filter_storable(urns) if urn.startswith(prefix)]
    return {row.urn: row for row in list_rows().filter(urn__among=row_urns)} if row_urns else {}  # type: ignore[attr-defined]


#: Second argument of a resolver: its field, the schema and the context.
Info = GraphQLResolveInfo[Context]
