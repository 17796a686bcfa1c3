"""Base of lists that the database counts and cuts, for paginators."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

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
