"""Types of entities by id, learned as they are needed and kept: the type of an entity is part of its URN, which stays.

A list of ten thousand ids is then counted by type without going to the entities. A million entities take a megabyte.
"""

from collections import defaultdict
from collections.abc import Collection
from threading import Lock

from django.db import transaction
from pyroaring import BitMap64, FrozenBitMap64

from catalog.models import Entity


class EntityTypes:
    """Sets of ids by type, as far as they are known."""

    def __init__(self) -> None:
        self._ids_by_type: defaultdict[str, BitMap64] = defaultdict(BitMap64)
        self._known_ids = BitMap64()
        self._lock = Lock()

    def load(self, ids: FrozenBitMap64) -> None:
        """Learn the types of these entities; one query, none when all are known."""
        with self._lock:
            unknown_ids = ids - self._known_ids
        if not unknown_ids:
            return
        found_ids: defaultdict[str, list[int]] = defaultdict(list)
        rows = Entity.objects.filter(pk__among=unknown_ids).order_by()
        for number, type_ in rows.values_list("pk", "type"):
            found_ids[type_].append(number)
        with self._lock:
            for type_, numbers in found_ids.items():
                self._ids_by_type[type_].update(numbers)
                self._known_ids.update(numbers)

    def select(self, ids: FrozenBitMap64, types: Collection[str]) -> FrozenBitMap64:
        """Return those of the ids, which were loaded, that are stored with one of the types (none: with any)."""
        with self._lock:
            if not types:
                return FrozenBitMap64(ids & self._known_ids)
            return FrozenBitMap64.union(
                FrozenBitMap64(), *(FrozenBitMap64(ids & self._ids_by_type.get(type_, BitMap64())) for type_ in types)
            )


#: Maximum number of removed entities that are read: with more, entities are counted one by one.
_MAX_REMOVED = 10_000

_known_types = EntityTypes()


def load_types(ids: FrozenBitMap64) -> EntityTypes:
    """Return the types of these entities, and maybe of others; what a transaction wrote is not kept."""
    types = EntityTypes() if transaction.get_connection().in_atomic_block else _known_types
    types.load(ids)
    return types


def find_present(ids: FrozenBitMap64) -> FrozenBitMap64 | None:
    """Return those of the ids whose entities are not removed; None when so many are removed that they are not read."""
    rows = Entity.objects.filter(is_removed=True).order_by().values_list("pk", flat=True)
    removed_ids = list(rows[: _MAX_REMOVED + 1])
    return None if len(removed_ids) > _MAX_REMOVED else ids - FrozenBitMap64(removed_ids)
