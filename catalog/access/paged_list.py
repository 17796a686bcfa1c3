"""Base of lists that the database counts and cuts, for paginators."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from django.db.models import QuerySet

RowT = TypeVar("RowT")


class PagedList(Sequence[RowT]):
    """A sequence that reads only the rows of a slice; as for a queryset, slices count from its start."""

    @abstractmethod
    def read_rows(self, start: int, stop: int) -> list[RowT]:
        """Return the rows from `start` to `stop`, fewer at the end."""

    @overload
    def __getitem__(self, index: int) -> RowT: ...
    @overload
    def __getitem__(self, index: slice) -> list[RowT]: ...
    def __getitem__(self, index: int | slice) -> RowT | list[RowT]:
        if isinstance(index, int):
            return self[index : index + 1][0]
        start, stop = index.start or 0, len(self) if index.stop is None else index.stop
        if start < 0 or stop < 0 or index.step not in (None, 1):
            raise ValueError("A list of rows is cut from its start, row by row.")
        return self.read_rows(start, max(start, stop))


@dataclass(frozen=True, slots=True, eq=False)
class CountedList(PagedList[Any]):
    """Rows of which the number is known, so that nobody counts them again."""

    rows: QuerySet[Any]
    row_count: int

    def __len__(self) -> int:
        return self.row_count

    def read_rows(self, start: int, stop: int) -> list[Any]:
        """Return the rows from `start` to `stop`."""
        return list(self.rows[start:stop])
