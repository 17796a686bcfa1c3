"""Sets of entities as ids, with all that are not in one."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Q
from pyroaring import FrozenBitMap64

from catalog.access.coverage_sql import NO_ROWS


@dataclass(frozen=True, slots=True)
class EntrySet:
    """Entities: these, or with `is_complement` all but these."""

    ids: FrozenBitMap64 = field(default_factory=FrozenBitMap64)
    is_complement: bool = False

    def intersect(self, other: "EntrySet") -> "EntrySet":
        """Return the entities in both."""
        if self.is_complement and other.is_complement:
            return EntrySet(self.ids | other.ids, is_complement=True)
        if self.is_complement:
            return EntrySet(other.ids - self.ids)
        return EntrySet(self.ids - other.ids if other.is_complement else self.ids & other.ids)

    def unite(self, other: "EntrySet") -> "EntrySet":
        """Return the entities in either."""
        return self.invert().intersect(other.invert()).invert()

    def invert(self) -> "EntrySet":
        """Return all other entities."""
        return EntrySet(self.ids, is_complement=not self.is_complement)

    def build_condition(self) -> Q:
        """Return the condition that an entity is one of these."""
        condition = Q(pk__among=self.ids) if self.ids else NO_ROWS
        return ~condition if self.is_complement else condition


ALL_ENTRIES = EntrySet(is_complement=True)


def unite_ids(id_sets: Iterable[FrozenBitMap64]) -> FrozenBitMap64:
    """Return the ids in any of the sets."""
    return FrozenBitMap64.union(FrozenBitMap64(), *id_sets)
