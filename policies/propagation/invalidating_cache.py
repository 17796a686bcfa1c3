"""What this process keeps of tokens, actors and entities, so that a question it has met before costs no query.

Every write has a number (`PolicyVersion.change_seq`) and says which facts it touched. `heard` drops those; it drops
everything when a number is missing in between. `compared` drops everything when the number in the database moved
without a word, so what is kept is never older than the last comparison. What was loaded while something was dropped is
not kept: it may have been read before the write and would outlive its word.

Nothing here asks the database, and no clock of the day counts. Shelves are bounded: a full one lets go of what has been
there longest.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

#: How much of a full shelf is cleared at once, so that a full shelf does not cost every newcomer a search.
_EVICTION_DIVISOR = 8


class Invalidation(NamedTuple):
    """What the write with this number touched; `previous_number` is the number that was the last one when it began.

    `urns` are whose facts changed; `dependency_urns` what they may be known through: a group of an actor, a domain
    above an entity. `urns` None: nobody knows what was touched.
    """

    previous_number: int
    number: int
    urns: Collection[str] | None
    dependency_urns: Collection[str] = ()


class CacheRegion(Generic[Value]):
    """Facts of one kind by URN (tokens by their digest), at most `capacity` of them.

    `names` gives the URNs that a value depends on beside its key; those that begin with `never` are not among them,
    which saves looking.
    """

    def __init__(
        self,
        capacity: int,
        list_dependencies: Callable[[Value], Iterable[Collection[str]]],
        ignored_prefixes: tuple[str, ...],
    ) -> None:
        self.capacity = capacity
        self._list_dependencies = list_dependencies
        self._ignored_prefixes = ignored_prefixes
        self._values: dict[str, Value] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> Value | None:
        """Return what is kept under a key; whether it may be relied upon is the memory's to say."""
        return self._values.get(key)

    def _put(self, entries: Mapping[str, Value]) -> None:
        values = self._values
        values.update(islice(entries.items(), self.capacity))
        if len(values) > self.capacity:
            surplus = len(values) - self.capacity + self.capacity // _EVICTION_DIVISOR
            for key in list(islice(values, surplus)):
                del values[key]

    def _drop(self, urns: Collection[str], dependency_urns: Collection[str]) -> None:
        for urn in urns:
            self._values.pop(urn, None)
        if dropped_dependencies := frozenset(
            urn for urn in dependency_urns if not urn.startswith(self._ignored_prefixes)
        ):
            for key in [key for key, value in self._values.items() if self._is_dependent(value, dropped_dependencies)]:
                del self._values[key]

    def _is_dependent(self, value: Value, dependency_urns: frozenset[str]) -> bool:
        return any(not dependency_urns.isdisjoint(urns) for urns in self._list_dependencies(value))

    def _clear(self) -> None:
        self._values.clear()


class InvalidatingCache:
    """All shelves of a process, and up to which number they follow the database."""

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
        list_dependencies: Callable[[Value], Iterable[Collection[str]]],
        ignored_prefixes: tuple[str, ...] = (),
    ) -> CacheRegion[Value]:
        """Return a new shelf."""
        region = CacheRegion(capacity, list_dependencies, ignored_prefixes)
        self._regions.append(region)  # type: ignore[arg-type]  # what lies on it does not matter here
        return region

    def is_fresh(self, seconds: float) -> bool:
        """Whether what is kept was compared with the database within so many seconds."""
        return time.monotonic() - self._confirmed_at < seconds

    def generation(self) -> int:
        """Return what `put_if_current` wants to see: taken before loading."""
        return self._generation

    def put_if_current(self, region: CacheRegion[Value], entries: Mapping[str, Value], generation: int) -> None:
        """Keep what was loaded since the ticket was taken, unless something was dropped meanwhile."""
        with self._lock:
            if self._number is not None and generation == self._generation:
                region._put(entries)

    def apply(self, invalidation: Invalidation) -> None:
        """Drop what a write touched; everything when it does not say, or when a write before it was not heard of."""
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
        """Take in the number that the database had at this time (monotonic).

        A number that moved may be explained by a word that is on its way, so nothing counts as compared until it is
        heard. If the next comparison finds another number than was heard of again, everything is dropped.
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
        """Forget everything, and the number too: nothing is kept until the next comparison."""
        with self._lock:
            self._generation += 1
            self._number, self._is_awaiting, self._confirmed_at = None, False, float("-inf")
            self._clear_regions()

    def expire(self) -> None:
        """Have the next question compare before it relies on anything."""
        with self._lock:
            self._confirmed_at = float("-inf")

    def _clear_regions(self) -> None:
        for region in self._regions:
            region._clear()


#: The one memory of this process.
process_cache = InvalidatingCache()
