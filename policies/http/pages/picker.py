"""The common part of pickers: read ticked boxes and pasted lines, keep them after an error, and name errors."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

from django.http import QueryDict

from policies.engine.errors import MAX_PROBLEMS, Problem


@dataclass(slots=True)
class FormPicker(ABC):
    """One picker of a form: all chosen URNs, what of them was pasted, and errors. components/picker.html draws it."""

    name: str
    label: str
    _: KW_ONLY
    help: str = ""
    is_required: bool = False
    requirement: str = "Choose at least one."
    chosen_urns: tuple[str, ...] = ()
    pasted_text: str = ""
    errors: list[str] = field(default_factory=list)

    #: Most URNs chosen at once, and most errors that are named.
    max_choices: ClassVar[int]
    max_named_errors: ClassVar[int]

    @property
    @abstractmethod
    def search_url(self) -> str:
        """The URL that answers a search with options."""

    @abstractmethod
    def validate(self) -> None:
        """Add the errors of what was read."""

    @abstractmethod
    def build_options(self, urns: Sequence[str]) -> list[dict[str, str]]:
        """Return chosen URNs as options with their names."""

    def parse_line(self, line: str) -> str:
        """Return the URN that a pasted line stands for."""
        return line

    def read(self, data: QueryDict) -> Self:
        """Read posted checkboxes and pasted lines, add errors, and return the picker."""
        self.pasted_text = data.get(f"{self.name}_pasted", "")
        self.chosen_urns = tuple(dict.fromkeys([*data.getlist(self.name), *self._list_pasted_urns()]))
        if len(self.chosen_urns) > self.max_choices:
            self.errors.append(f"At most {self.max_choices:,} at once, not {len(self.chosen_urns):,}.")
        else:
            self.validate()
        return self

    def is_complete(self) -> bool:
        """Whether the choice can be saved; adds an error where nothing is chosen and something must be."""
        if self.is_required and not self.chosen_urns:
            self.errors.append(self.requirement)
        return self.is_sound

    @property
    def is_sound(self) -> bool:
        """Whether the picker has no errors."""
        return not self.errors

    def add_errors(self, details: Collection[str], *, is_cut: bool = False) -> None:
        """Add errors; the first few are named. `is_cut` says that there may be more than these."""
        distinct = list(dict.fromkeys(details))
        self.errors += distinct[: self.max_named_errors]
        if len(distinct) > self.max_named_errors:
            prefix = "at least " if is_cut else ""
            self.errors.append(f"And {prefix}{len(distinct) - self.max_named_errors:,} more like these.")

    def add_problems(self, problems: Iterable[Problem]) -> None:
        """Add the problems that a service found with the choice."""
        details = [problem.detail for problem in problems]
        # Validation stops after MAX_PROBLEMS problems.
        self.add_errors(details, is_cut=len(set(details)) >= MAX_PROBLEMS)

    def build_context(self) -> dict[str, Any]:
        """Return the context of components/picker.html; pasted lines become chips once nothing is wrong with them."""
        pasted_urns = frozenset(self._list_pasted_urns()) if self.errors else frozenset()
        return {
            "name": self.name,
            "label": self.label,
            "help": self.help,
            "search_url": self.search_url,
            "chosen": self.build_options([urn for urn in self.chosen_urns if urn not in pasted_urns]),
            "pasted": self.pasted_text if self.errors else "",
            "errors": self.errors,
        }

    def _list_pasted_urns(self) -> list[str]:
        lines = (line.strip() for line in self.pasted_text.splitlines())
        return [self.parse_line(line) for line in lines if line]
