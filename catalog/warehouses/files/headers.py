"""Published headers of files: a file has the columns of one of them, or is refused by name."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.warehouses.warehouse import BadExports, Export

#: Headers that a sentence about a file of none names at most.
_MAX_NAMED_HEADERS = 3


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a published layout.

    All `columns` have to be there, and `further` may be: a file with any column besides has another layout. None takes
    any. `name` is the layout for people.
    """

    columns: tuple[str, ...]
    name: str = ""
    further: tuple[str, ...] | None = ()

    def find_misfit(self, columns: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return which columns of the layout a file lacks, and which it has that the layout does not."""
        lacking = [name for name in self.columns if name not in columns]
        known_columns = (*self.columns, *(columns if self.further is None else self.further))
        return lacking, [name for name in columns if name not in known_columns]


def choose_header(columns: Sequence[str], export: Export, pattern: str, headers: Sequence[Header]) -> Header:
    """Return the first header that has the columns of a file. Raises BadExports, naming those that come close."""
    misfits = {header: header.find_misfit(columns) for header in headers}
    near_headers = sorted(headers, key=lambda header: _measure_misfit(header, *misfits[header]))
    header = near_headers[0]
    lacking, strange = misfits[header]
    if not lacking and not strange:
        return header
    files = f"The files {pattern} of the export {export.name}"
    if lacking and not strange:
        raise BadExports(f"{files} lack the column {lacking[0]}.")
    nearest = (_describe_misfit(header, *misfits[header]) for header in near_headers[:_MAX_NAMED_HEADERS])
    raise BadExports(f"{files} have the columns of no known layout. The nearest ones: {'; '.join(nearest)}.")


def _measure_misfit(header: Header, lacking: Sequence[str], strange: Sequence[str]) -> float:
    return (len(lacking) + len(strange)) / len(header.columns)


def _describe_misfit(header: Header, lacking: Sequence[str], strange: Sequence[str]) -> str:
    """Return the name of a layout, or its columns, and how a file differs from it."""
    name = header.name or ", ".join(header.columns)
    words = [f"{words} {', '.join(names)}" for words, names in (("lacking", lacking), ("not with", strange)) if names]
    return f"{name} ({', '.join(words)})"
