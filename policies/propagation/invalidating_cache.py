"""The cache of this process for tokens, actors and entities, so that a repeated question costs no query.

Every write has a number (`PolicyVersion.change_seq`) and an invalidation that names the facts it touched. `apply` drops
those, or everything when a number is missing in between. `confirm_sequence` drops everything when the number in the
database moved and no invalidation came, so cached values are never older than the last confirmation. Values loaded
while an invalidation was applied are not cached: they may have been read before the write and would never be dropped.

The module makes no query and uses monotonic time only. Regions are bounded: a full one evicts its oldest entries.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

#: Share of a full region that is evicted at once (one eighth), so that not every new entry causes an eviction.
_EVICTION_DIVISOR = 8


class Invalidation(NamedTuple):
    """The facts touched by write `number`; `previous_number` is the number before that write.

    `urns` are the entities whose facts changed, `dependency_urns` the URNs through which other facts follow from them:
    a group of an actor, a domain above an entity. `urns` None: it is not known which facts changed.
    """

    previous_number: int
    number: int
    urns: Collection[str] | None
    dependency_urns: Collection[str] = ()


class CacheRegion(Generic[Value]):
    """Values of one kind by URN (tokens by their digest), at most `capacity` of them.

    `list_dependencies` gives the URNs that a value depends on beside its key; None: any write may change any value.
    Dependencies with an `ignored_prefixes` prefix never occur there and are not searched for.
    """

    def __init__(
        self,
        capacity: int,
        list_dependencies: Callable[[Value], Iterable[Collection[str]]] | None,
        ignored_prefixes: tuple[str, ...],
    ) -> None:
        self.capacity = capacity
        self._list_dependencies = list_dependencies
        self._ignored_prefixes = ignored_prefixes
        self._values: dict[str, Value] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> Value | None:
        """Return the value of a key, or None; the caller must check `InvalidatingCache.is_fresh`."""
        return self._values.get(key)

    def find_all(self, keys: Iterable[str]) -> dict[str, Value] | None:
        """Return key → value, None if one of them is missing; the caller must check `InvalidatingCache.is_fresh`."""
        values_by_key: dict[str, Value] = {}
        for key in keys:
            value = self._values.get(key)
            if value is None:
                return None
            values_by_key[key] = value
        return values_by_key

    def _put(self, entries: Mapping[str, Value]) -> None:
        values = self._values
        values.update(islice(entries.items(), self.capacity))
        if len(values) > self.capacity:
            surplus = len(values) - self.capacity + self.capacity // _EVICTION_DIVISOR
            for key in list(islice(values, surplus)):
                del values[key]

    def _drop(self, urns: Collection[str], dependency_urns: Collection[str]) -> None:
        if self._list_dependencies is None:
            self._clear()
            return
        for urn in urns:
            self._values.pop(urn, None)
        if dropped_dependencies := frozenset(
            urn for urn in dependency_urns if not urn.startswith(self._ignored_prefixes)
        ):
            list_dependencies = self._list_dependencies
            dependent_keys = [
                key
                for key, value in self._values.items()
                if any(not dropped_dependencies.isdisjoint(urns) for urns in list_dependencies(value))
            ]
            for key in dependent_keys:
                del self._values[key]

    def _clear(self) -> None:
        self._values.clear()


class InvalidatingCache:
    """All regions of a process, and the number of the last write that they reflect."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._regions: list[CacheRegion[object]] = []
        self._number: int | None = None
        self._confirmed_at = float("-inf")
        self._is_awaiting = False
        self._generation = 0

    def add_region(
        self,
        capacity: int,
        list_dependencies: Callable[[Value], Iterable[Collection[str]]] | None,
        ignored_prefixes: tuple[str, ...] = (),
    ) -> CacheRegion[Value]:
        """Return a new region."""
        region = CacheRegion(capacity, list_dependencies, ignored_prefixes)
        self._regions.append(region)  # type: ignore[arg-type]  # the type of its values does not matter here
        return region

    def is_fresh(self, seconds: float) -> bool:
        """Whether the cache was confirmed against the database within this many seconds."""
        return time.monotonic() - self._confirmed_at < seconds

    def generation(self) -> int:
        """Return the generation to pass to `put_if_current`; take it before loading."""
        return self._generation

    def put_if_current(self, region: CacheRegion[Value], entries: Mapping[str, Value], generation: int) -> None:
        """Store values loaded since `generation` was taken, unless an invalidation was applied meanwhile."""
        with self._lock:
            if self._number is not None and generation == self._generation:
                region._put(entries)

    def apply(self, invalidation: Invalidation) -> None:
        """Drop the values a write touched; everything if it names no URNs or an earlier number is missing."""
        with self._lock:
            if self._number is not None and invalidation.number <= self._number:
                return
            self._generation += 1
            self._is_awaiting = False
            if self._number != invalidation.previous_number or invalidation.urns is None:
                self._clear_regions()
            else:
                for region in self._regions:
                    region._drop(invalidation.urns, invalidation.dependency_urns)
            if self._number is not None:
                self._number = invalidation.number

    def confirm_sequence(self, number: int, at: float) -> None:
        """Compare with the number that the database had at this time (monotonic, seconds).

        After a higher number the cache is unconfirmed until the invalidation on its way is applied. If the next
        comparison finds a number other than the applied one again, everything is dropped.
        """
        with self._lock:
            if self._number is not None and number > self._number and not self._is_awaiting:
                self._is_awaiting = True
                return
            if number != self._number:
                self._generation += 1
                self._number = number
                self._clear_regions()
            self._is_awaiting = False
            self._confirmed_at = max(self._confirmed_at, at)

    def clear(self) -> None:
        """Drop everything and forget the number; nothing is cached until the next comparison."""
        with self._lock:
            self._generation += 1
            self._number, self._is_awaiting, self._confirmed_at = None, False, float("-inf")
            self._clear_regions()

    def expire(self) -> None:
        """Require a comparison before the cache is used again."""
        with self._lock:
            self._confirmed_at = float("-inf")

    def _clear_regions(self) -> None:
        for region in self._regions:
            region._clear()


#: The cache of this process.
process_cache = InvalidatingCache()
