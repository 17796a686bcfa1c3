"""Criteria of many statements on one field under one condition, as bit sets of statements per value.

A criterion index holds at most one criterion of each statement. `retain_matching` keeps the candidates without a
criterion here and those whose criterion holds for the values.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, Self

from policies.engine.selectors import Condition

#: A value of a resource -> the statements that list it (under NOT_EQUALS: that exclude it), None or 0 if none does.
ValueLookup = Callable[[str], int | None]


class CriterionIndex(Protocol):
    """An index of criteria, as the snapshot uses it.

    `mentions` are the statements with a criterion here.
    """

    field: str
    mentions: int

    def copy(self) -> "CriterionIndex":
        """Return a copy that can be changed independently."""

    def put(self, bit: int, values: Iterable[str]) -> None:
        """Add a statement's criterion."""

    def drop(self, bit: int, values: Iterable[str]) -> None:
        """Remove a statement's criterion."""

    def seal(self, everything: int) -> None:
        """Prepare for lookups after changes; `everything` holds the bit of every statement of the snapshot."""

    def retain_matching(self, candidates: int, values: Collection[str]) -> int:
        """Return the candidates that a resource with these values does not rule out."""

    def get_lookup(self) -> ValueLookup:
        """Return a function from a value of a resource to the statements that list it; valid until the next change."""


class _ValueIndex:
    """Statements per value of their criterion (`bits_by_value`), and those without one here (`unconstrained_bits`)."""

    __slots__ = ("bits_by_value", "field", "mentions", "unconstrained_bits")

    def __init__(self, field: str) -> None:
        self.field = field
        self.mentions = 0
        self.unconstrained_bits = 0
        self.bits_by_value: dict[str, int] = {}

    def copy(self) -> Self:
        clone = type(self)(self.field)
        clone.mentions, clone.unconstrained_bits, clone.bits_by_value = (
            self.mentions,
            self.unconstrained_bits,
            self.bits_by_value.copy(),
        )
        return clone

    def put(self, bit: int, values: Iterable[str]) -> None:
        self.mentions |= bit
        bits_by_value = self.bits_by_value
        for value in values:
            bits_by_value[value] = bits_by_value.get(value, 0) | bit

    def drop(self, bit: int, values: Iterable[str]) -> None:
        self.mentions &= ~bit
        for value in values:
            remaining_bits = self.bits_by_value[value] & ~bit
            if remaining_bits:
                self.bits_by_value[value] = remaining_bits
            else:
                del self.bits_by_value[value]

    def seal(self, everything: int) -> None:
        self.unconstrained_bits = everything ^ self.mentions

    def get_lookup(self) -> ValueLookup:
        return self.bits_by_value.get


class _EqualsIndex(_ValueIndex):
    __slots__ = ()

    def retain_matching(self, candidates: int, values: Collection[str]) -> int:
        matching_bits = 0
        for value in values:
            matching_bits |= self.bits_by_value.get(value, 0)
        # No statement is in both, so the XOR is their union; on integers it costs half of an OR.
        return candidates & (self.unconstrained_bits ^ matching_bits)


class _NotEqualsIndex(_ValueIndex):
    __slots__ = ()

    def retain_matching(self, candidates: int, values: Collection[str]) -> int:
        for value in values:
            candidates ^= candidates & self.bits_by_value.get(value, 0)
        return candidates


class _PrefixIndex(_ValueIndex):
    """The prefixes of the criteria in sorted order, and for each the statements that list it or a shorter prefix of it.

    All listed prefixes of a value are on one chain that ends at the last prefix not after the value, or at one of that
    prefix's own prefixes, so one binary search finds them all. Prefixes of URNs begin alike: `_ranges` maps the first
    `_key_length` characters (the length of the shortest prefix) to the range of indexes to search.
    """

    __slots__ = ("_chain_bits", "_key_length", "_parents", "_prefixes", "_ranges")

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self._prefixes: list[str] = []
        self._parents: list[int] = []
        self._chain_bits: list[int] | None = None
        self._key_length = 0
        self._ranges: dict[str, tuple[int, int]] = {}

    def copy(self) -> Self:
        clone = super().copy()
        clone._prefixes, clone._parents, clone._chain_bits = self._prefixes, self._parents, self._chain_bits
        clone._key_length, clone._ranges = self._key_length, self._ranges
        return clone

    def put(self, bit: int, values: Iterable[str]) -> None:
        super().put(bit, values)
        self._chain_bits = None

    def drop(self, bit: int, values: Iterable[str]) -> None:
        super().drop(bit, values)
        self._chain_bits = None

    def seal(self, everything: int) -> None:
        """Sort the prefixes and link each to the longest other one that it begins with (-1: none)."""
        super().seal(everything)
        if self._chain_bits is not None:
            return
        prefixes, parents, chain_bits = sorted(self.bits_by_value), list[int](), list[int]()
        key_length = min(map(len, prefixes), default=0)
        ranges: dict[str, tuple[int, int]] = {}
        for index, prefix in enumerate(prefixes):
            parent = index - 1
            while parent >= 0 and not prefix.startswith(prefixes[parent]):
                parent = parents[parent]
            parents.append(parent)
            chain_bits.append(self.bits_by_value[prefix] | (chain_bits[parent] if parent >= 0 else 0))
            ranges[prefix[:key_length]] = (ranges.get(prefix[:key_length], (index,))[0], index + 1)
        self._prefixes, self._parents, self._chain_bits = prefixes, parents, chain_bits
        self._key_length, self._ranges = key_length, ranges

    def get_lookup(self) -> ValueLookup:
        return self._find_bits

    def _find_bits(self, value: str) -> int:
        search_range = self._ranges.get(value[: self._key_length])
        if search_range is None:
            return 0
        prefixes, parents, chain_bits = self._prefixes, self._parents, self._chain_bits or ()
        index = bisect_right(prefixes, value, *search_range) - 1
        while index >= 0 and not value.startswith(prefixes[index]):
            index = parents[index]
        return chain_bits[index] if index >= 0 else 0

    def retain_matching(self, candidates: int, values: Collection[str]) -> int:
        matching_bits = 0
        for value in values:
            matching_bits |= self._find_bits(value)
        return candidates & (self.unconstrained_bits ^ matching_bits)


def create_criterion_index(field: str, condition: Condition) -> CriterionIndex:
    """Return an empty index for the criteria on a field under a condition."""
    match condition:
        case Condition.EQUALS:
            return _EqualsIndex(field)
        case Condition.STARTS_WITH:
            return _PrefixIndex(field)
        case Condition.NOT_EQUALS:
            return _NotEqualsIndex(field)
