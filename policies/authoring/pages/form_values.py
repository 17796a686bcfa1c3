"""Values and notes of the fields of an editor's form."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from policies.engine.errors import Problem

#: Most notes of one kind at a field.
_MAX_NOTES = 5


def merge_values(before: Sequence[str], requested: Iterable[str]) -> list[str]:
    """Return the requested values: first those already in `before`, in its order, then the new ones."""
    requested = dict.fromkeys(requested)
    present_values = set(before)
    return [value for value in before if value in requested] + [
        value for value in requested if value not in present_values
    ]


def split_lines(text: str) -> list[str]:
    """Return the lines of a text box without blanks around them and without blank lines."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def is_line(value: str) -> bool:
    """Whether a value survives a round trip as a line of a text box."""
    return bool(value) and value == value.strip() and value.splitlines() == [value]


def parse_index(text: str, length: int) -> int | None:
    """Return the index that a form names in a list of this length, None for any other text."""
    index = int(text) if text.isdecimal() and len(text) < 10 else length
    return index if index < length else None


def is_within(problem: Problem, pointers: Iterable[str]) -> bool:
    """Whether a problem is at one of these pointers or below it."""
    return f"{problem.pointer}/".startswith(tuple(f"{pointer}/" for pointer in pointers))


@dataclass(frozen=True, slots=True)
class FieldNotes:
    """The errors and lints of a document, selected by JSON pointer: the first few of each."""

    errors: Sequence[Problem]
    lints: Sequence[Problem]

    def find(self, *pointers: str, without: Sequence[str] = ()) -> dict[str, list[str]]:
        """Return the notes at these pointers or below them, without those at or below the pointers of other fields."""
        return self._select(lambda problem: is_within(problem, pointers) and not is_within(problem, without))

    def find_exactly(self, pointer: str) -> dict[str, list[str]]:
        """Return the notes at exactly this pointer, without those below it."""
        return self._select(lambda problem: problem.pointer == pointer)

    def _select(self, is_selected: Callable[[Problem], bool]) -> dict[str, list[str]]:
        return {
            "errors": _limit_details(filter(is_selected, self.errors)),
            "lints": _limit_details(filter(is_selected, self.lints)),
        }


def _limit_details(problems: Iterable[Problem]) -> list[str]:
    details = list(dict.fromkeys(problem.detail for problem in problems))
    overflow_note = [f"And {len(details) - _MAX_NOTES:,} more like these."] if len(details) > _MAX_NOTES else []
    return details[:_MAX_NOTES] + overflow_note
