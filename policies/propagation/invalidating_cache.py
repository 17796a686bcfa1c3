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
_SHARE = 8


class Word(NamedTuple):
    """What the write with this number touched; `before` is the number that was the last one when it began.

    `urns` are whose facts changed; `through` what they may be known through: a group of an actor, a domain above an
    entity. `urns` None: nobody knows what was touched.
    """

    before: int
    number: int
    urns: Collection[str] | None
    through: Collection[str] = ()


class Shelf(Generic[Value]):
    """Facts of one kind by URN (tokens by their digest), at most `capacity` of them.

    `names` gives the URNs that a value depends on beside its key; those that begin with `never` are not among them,
    which saves looking.
    """

    def __init__(
        self, capacity: int, names: Callable[[Value], Iterable[Collection[str]]], never: tuple[str, ...]
    ) -> None:
        self.capacity = capacity
        self._names = names
        self._never = never
        self._values: dict[str, Value] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> Value | None:
        """Return what is kept under a key; whether it may be relied upon is the memory's to say."""
        return self._values.get(key)

    def _put(self, found: Mapping[str, Value]) -> None:
        values = self._values
        values.update(islice(found.items(), self.capacity))
        if len(values) > self.capacity:
            surplus = len(values) - self.capacity + self.capacity // _SHARE
            for key in list(islice(values, surplus)):
                del values[key]

    def _drop(self, urns: Collection[str], through: Collection[str]) -> None:
        for urn in urns:
            self._values.pop(urn, None)
        if wanted := frozenset(urn for urn in through if not urn.startswith(self._never)):
            for key in [key for key, value in self._values.items() if self._is_through(value, wanted)]:
                del self._values[key]

    def _is_through(self, value: Value, through: frozenset[str]) -> bool:
        return any(not through.isdisjoint(names) for names in self._names(value))

    def _clear(self) -> None:
        self._values.clear()


class Memory:
    """All shelves of a process, and up to which number they follow the database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shelves: list[Shelf[object]] = []
        self._number: int | None = None
        self._compared_at = float("-inf")
        self._awaited = False
        self._drops = 0

    def shelf(
        self, capacity: int, names: Callable[[Value], Iterable[Collection[str]]], never: tuple[str, ...] = ()
    ) -> Shelf[Value]:
        """Return a new shelf."""
        made = Shelf(capacity, names, never)
        self._shelves.append(made)  # type: ignore[arg-type]  # what lies on it does not matter here
        return made

    def is_true(self, seconds: float) -> bool:
        """Whether what is kept was compared with the database within so many seconds."""
        return time.monotonic() - self._compared_at < seconds

    def ticket(self) -> int:
        """Return what `keep` wants to see: taken before loading."""
        return self._drops

    def keep(self, shelf: Shelf[Value], found: Mapping[str, Value], ticket: int) -> None:
        """Keep what was loaded since the ticket was taken, unless something was dropped meanwhile."""
        with self._lock:
            if self._number is not None and ticket == self._drops:
                shelf._put(found)

    def heard(self, word: Word) -> None:
        """Drop what a write touched; everything when it does not say, or when a write before it was not heard of."""
        with self._lock:
            if self._number is not None and word.number <= self._number:
                return
            self._drops += 1
            self._awaited = False
            if self._number != word.before or word.urns is None:
                self._clear()
            else:
                for shelf in self._shelves:
                    shelf._drop(word.urns, word.through)
            if self._number is not None:
                self._number = word.number

    def compared(self, number: int, at: float) -> None:
        """Take in the number that the database had at this time (monotonic).

        A number that moved may be explained by a word that is on its way, so nothing counts as compared until it is
        heard. If the next comparison finds another number than was heard of again, everything is dropped.
        """
        with self._lock:
            if self._number is not None and number > self._number and not self._awaited:
                self._awaited = True
                return
            if number != self._number:
                self._drops += 1
                self._number = number
                self._clear()
            self._awaited = False
            self._compared_at = max(self._compared_at, at)

    def reset(self) -> None:
        """Forget everything, and the number too: nothing is kept until the next comparison."""
        with self._lock:
            self._drops += 1
            self._number, self._awaited, self._compared_at = None, False, float("-inf")
            self._clear()

    def doubt(self) -> None:
        """Have the next question compare before it relies on anything."""
        with self._lock:
            self._compared_at = float("-inf")

    def _clear(self) -> None:
        for shelf in self._shelves:
            shelf._clear()


#: The one memory of this process.
memory = Memory()
