"""Sets of facts in as little memory as they can have: an empty one takes 216 bytes, one of five URNs 472 or 728.

Sets that many actors or entities have are held once: one role, one tag, nothing, a domain with those above it.
"""

from collections.abc import Collection
from typing import TypeVar

Item = TypeVar("Item")

#: Most sets that are held; about 100 bytes each beside the set itself.
MAX_SETS = 4096

_sets: dict[frozenset[object], frozenset[object]] = {}


def deduplicate(values: frozenset[Item]) -> frozenset[Item]:
    """Return the equal set that was passed here before, if it is still held, else this one."""
    if len(_sets) >= MAX_SETS:
        _sets.clear()
    return _sets.setdefault(values, values)  # type: ignore[return-value]  # an equal set has items of the same type


def make_set(values: Collection[Item]) -> frozenset[Item]:
    """Return the values as a set; one of at most one value is held once."""
    if len(values) <= 1:
        return deduplicate(frozenset(values))
    # Made of a set it has room for twice as many; made of a list, to which values are added singly, for four times.
    return frozenset(set(values))
