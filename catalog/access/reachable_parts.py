"""Parts of a list of reachable resources: each reads and counts the rows of one table, as far as they are asked for."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from pyroaring import FrozenBitMap64

from catalog.models import Entity

#: Numbers of entities at the head of a list among which the rows of a page are looked for one by one.
HEAD_SIZES = (200, 1_500)

#: Maximum number of entities that are all tested for a page: of more, the count and the page need only some.
MAX_SHORT = 10_000


@dataclass(frozen=True, slots=True)
class ReachableRow:
    """An entity, user, group, role or policy in a list of reachable resources."""

    urn: str
    type: str
    name: str
    object_id: str | None = None
    project: str | None = None
    parent: str | None = None


@dataclass(frozen=True)
class ReachablePart:
    """One list: its ordered rows, and the type of all of them ('' when each row has its own).

    A condition of hundreds of allows takes longer to write than to test, so the rows are built when they are asked for.
    """

    build_rows: Callable[[], QuerySet[Any]]
    type: str = ""

    @cached_property
    def rows(self) -> QuerySet[Any]:
        """The rows, in the order of the list."""
        return self.build_rows()

    def count(self, limit: int | None = None) -> int:
        """Return the number of rows, at most `limit`."""
        count = self.rows.order_by()[:limit].count()
        if not count:
            # Nor are there any to read.
            self.rows.query.set_empty()
        return count

    def read_rows(self, start: int, stop: int) -> list[ReachableRow]:
        """Return the rows from `start` up to `stop`, in the order of the list."""
        return [self._to_row(row) for row in self.rows[start:stop]]

    def list_urns_after(self, urn: str, count: int) -> list[str]:
        """Return the first `count` URNs after this one, ordered by URN."""
        return list(self.rows.order_by("urn").filter(urn__gt=urn).values_list("urn", flat=True)[:count])

    def read_named_rows(self, urns: Collection[str]) -> list[ReachableRow]:
        """Return those of the rows that have these URNs."""
        return [self._to_row(row) for row in self.rows.filter(urn__in=urns)]

    def _to_row(self, row: Any) -> ReachableRow:
        if not self.type:
            return ReachableRow(row.urn, row.type, row.name, row.object_id, row.project, row.parent)
        return ReachableRow(row.urn, self.type, row.name, getattr(row, "object_id", None))


@dataclass(frozen=True)
class ShortPart(ReachablePart):
    """A list of few entities: all of them are tested once, for the count and for the page."""

    def count(self, limit: int | None = None) -> int:
        return len(self._ids if limit is None else self._ids[:limit])

    def read_rows(self, start: int, stop: int) -> list[ReachableRow]:
        ids = self._ids[start:stop]
        rows_by_id = Entity.objects.order_by().in_bulk(ids)
        return [self._to_row(rows_by_id[number]) for number in ids if number in rows_by_id]

    def list_urns_after(self, urn: str, count: int) -> list[str]:
        rows = Entity.objects.filter(pk__among=self._ids, urn__gt=urn).order_by("urn")
        return list(rows.values_list("urn", flat=True)[:count])

    @cached_property
    def _ids(self) -> list[int]:
        return list(self.rows.values_list("pk", flat=True))


@dataclass(frozen=True)
class LongPart(ReachablePart):
    """A list of entities that may be many: if they turn out to be few, they are not tested again for the page."""

    def count(self, limit: int | None = None) -> int:
        known_count = len(self._first_ids)
        if known_count <= MAX_SHORT or (limit is not None and limit <= known_count):
            return known_count if limit is None else min(known_count, limit)
        return super().count(limit)

    def read_rows(self, start: int, stop: int) -> list[ReachableRow]:
        return [self._to_row(row) for row in self._tested_rows[start:stop]]

    def list_urns_after(self, urn: str, count: int) -> list[str]:
        rows = self._tested_rows.filter(urn__gt=urn).order_by("urn")
        return list(rows.values_list("urn", flat=True)[:count])

    @property
    def _tested_rows(self) -> QuerySet[Any]:
        is_whole = len(self._first_ids) <= MAX_SHORT
        return Entity.objects.filter(pk__among=self._first_ids) if is_whole else self.rows

    @cached_property
    def _first_ids(self) -> list[int]:
        return list(self.rows.order_by().values_list("pk", flat=True)[: MAX_SHORT + 1])


@dataclass(frozen=True)
class KnownPart(ReachablePart):
    """A list of entities that are known before any is tested; the rows of a page are tested all the same."""

    ids: FrozenBitMap64 = field(default_factory=FrozenBitMap64)

    def count(self, limit: int | None = None) -> int:
        return len(self.ids) if limit is None else min(len(self.ids), limit)

    def read_rows(self, start: int, stop: int) -> list[ReachableRow]:
        return super().read_rows(start, stop) if start < len(self.ids) else []


@dataclass(frozen=True)
class DensePart(ReachablePart):
    """A list of so many entities that few rows tell of a page and of the count.

    `certain_rows` are some of the rows, cheaper to count; `entities` all that are tested, in the order of the list;
    `build_probed_rows` returns the rows by a test that is cheaper for few entities.
    """

    certain_rows: QuerySet[Any] = field(default_factory=Entity.objects.none)
    entities: QuerySet[Any] = field(default_factory=Entity.objects.none)
    build_probed_rows: Callable[[], QuerySet[Any]] = Entity.objects.none

    def count(self, limit: int | None = None) -> int:
        if limit is not None and self.certain_rows.order_by()[:limit].count() == limit:
            return limit
        return super().count(limit)

    def read_rows(self, start: int, stop: int) -> list[ReachableRow]:
        for head in (size for size in HEAD_SIZES if stop <= size):
            first_ids = list(self.entities.values_list("pk", flat=True)[:head])
            rows = [self._to_row(row) for row in self._probed_rows.filter(pk__among=first_ids)[start:stop]]
            if len(rows) == stop - start:
                return rows
        return super().read_rows(start, stop)

    @cached_property
    def _probed_rows(self) -> QuerySet[Any]:
        return self.build_probed_rows()
