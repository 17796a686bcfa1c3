"""The criteria of many statements on one field under one condition, as bit sets of statements per wanted value.

A column rules statements out: it holds at most one criterion of each statement, and keeps of the statements that are
still in play those without a criterion here and those whose criterion the values pass.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, Self

from policies.engine.selectors import Condition

#: A value of a resource → the statements that want it (under NOT_EQUALS: that exclude it), None or 0 when none does.
Find = Callable[[str], int | None]


class Column(Protocol):
    """What the snapshot needs of a column.

    `mentions` are the statements with a criterion here.
    """

    field: str
    mentions: int

    def copy(self) -> "Column":
        """Return a column that can be changed without changing this one."""

    def put(self, bit: int, values: Iterable[str]) -> None:
        """Add a statement's criterion."""

    def drop(self, bit: int, values: Iterable[str]) -> None:
        """Take a statement's criterion out."""

    def seal(self, everything: int) -> None:
        """Make ready for questions after changes; `everything` holds the bit of every statement of the snapshot."""

    def keep(self, live: int, values: Collection[str]) -> int:
        """Return those of the live statements that a resource with these values is not ruled out of."""

    def finder(self) -> Find:
        """Return what gives the statements that one value of a resource speaks to; good until the next change."""


class _Answers:
    """`answers` are the statements per wanted value, `others` those without a criterion here."""

    __slots__ = ("answers", "field", "mentions", "others")

    def __init__(self, field: str) -> None:
        self.field = field
        self.mentions = 0
        self.others = 0
        self.answers: dict[str, int] = {}

    def copy(self) -> Self:
        twin = type(self)(self.field)
        twin.mentions, twin.others, twin.answers = self.mentions, self.others, self.answers.copy()
        return twin

    def put(self, bit: int, values: Iterable[str]) -> None:
        self.mentions |= bit
        answers = self.answers
        for value in values:
            answers[value] = answers.get(value, 0) | bit

    def drop(self, bit: int, values: Iterable[str]) -> None:
        self.mentions &= ~bit
        for value in values:
            left = self.answers[value] & ~bit
            if left:
                self.answers[value] = left
            else:
                del self.answers[value]

    def seal(self, everything: int) -> None:
        self.others = everything ^ self.mentions

    def finder(self) -> Find:
        return self.answers.get


class _Equals(_Answers):
    __slots__ = ()

    def keep(self, live: int, values: Collection[str]) -> int:
        found = 0
        for value in values:
            found |= self.answers.get(value, 0)
        # No statement is in both, so the XOR is their union; of integers it costs half an OR.
        return live & (self.others ^ found)


class _NotEquals(_Answers):
    __slots__ = ()

    def keep(self, live: int, values: Collection[str]) -> int:
        for value in values:
            live ^= live & self.answers.get(value, 0)
        return live


class _StartsWith(_Answers):
    """The wanted prefixes in order, and for each the statements that want it or a shorter prefix of it.

    All wanted prefixes of a value lie on one chain that ends at the last prefix not after the value, or at one of the
    prefixes of that prefix, so one search finds them all. They begin alike, in URNs above all: `_ranges` says between
    which places to search for a value that begins with so many characters as the shortest of them has.
    """

    __slots__ = ("_length", "_order", "_ranges", "_shorter", "_whole")

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self._order: list[str] = []
        self._shorter: list[int] = []
        self._whole: list[int] | None = None
        self._length = 0
        self._ranges: dict[str, tuple[int, int]] = {}

    def copy(self) -> Self:
        twin = super().copy()
        twin._order, twin._shorter, twin._whole = self._order, self._shorter, self._whole
        twin._length, twin._ranges = self._length, self._ranges
        return twin

    def put(self, bit: int, values: Iterable[str]) -> None:
        super().put(bit, values)
        self._whole = None

    def drop(self, bit: int, values: Iterable[str]) -> None:
        super().drop(bit, values)
        self._whole = None

    def seal(self, everything: int) -> None:
        """Sort the prefixes and link each to the longest one that begins it (-1: none does)."""
        super().seal(everything)
        if self._whole is not None:
            return
        order, shorter, whole = sorted(self.answers), list[int](), list[int]()
        length = min(map(len, order), default=0)
        ranges: dict[str, tuple[int, int]] = {}
        for index, prefix in enumerate(order):
            link = index - 1
            while link >= 0 and not prefix.startswith(order[link]):
                link = shorter[link]
            shorter.append(link)
            whole.append(self.answers[prefix] | (whole[link] if link >= 0 else 0))
            ranges[prefix[:length]] = (ranges.get(prefix[:length], (index,))[0], index + 1)
        self._order, self._shorter, self._whole = order, shorter, whole
        self._length, self._ranges = length, ranges

    def finder(self) -> Find:
        return self._begun

    def _begun(self, value: str) -> int:
        among = self._ranges.get(value[: self._length])
        if among is None:
            return 0
        order, shorter, whole = self._order, self._shorter, self._whole or ()
        index = bisect_right(order, value, *among) - 1
        while index >= 0 and not value.startswith(order[index]):
            index = shorter[index]
        return whole[index] if index >= 0 else 0

    def keep(self, live: int, values: Collection[str]) -> int:
        found = 0
        for value in values:
            found |= self._begun(value)
        return live & (self.others ^ found)


def column(field: str, condition: Condition) -> Column:
    """Return an empty column for the criteria of a field under a condition."""
    match condition:
        case Condition.EQUALS:
            return _Equals(field)
        case Condition.STARTS_WITH:
            return _StartsWith(field)
        case Condition.NOT_EQUALS:
            return _NotEquals(field)
