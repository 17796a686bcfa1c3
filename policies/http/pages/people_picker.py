"""The form picker of users, groups and roles."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from policies.engine.errors import MAX_PROBLEMS, Problem
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names

#: Most URNs chosen at once.
MAX_CHOICES = 1_000
#: Most wrong lines of a paste that an error names.
_MAX_NAMED_LINES = 5

#: Kind of a picker → prefixes of the URNs that it accepts.
PREFIXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "user": (USER_PREFIX,),
        "person": (USER_PREFIX,),
        "group": (GROUP_PREFIX,),
        "role": (ROLE_PREFIX,),
        "holder": (USER_PREFIX, GROUP_PREFIX),
    }
)


@dataclass(slots=True)
class PeoplePicker:
    """One picker of a form: chosen URNs, pasted text, and errors.

    `kind` is user (people and services), person, group, role or holder (users and groups). `group` names the group
    whose members are chosen: the right to edit them includes the right to search for people.
    """

    name: str
    label: str
    kind: str
    help: str = ""
    group: str = ""
    is_required: bool = False
    chosen_urns: tuple[str, ...] = ()
    pasted_text: str = ""
    errors: list[str] = field(default_factory=list)

    def read(self, data: QueryDict) -> "PeoplePicker":
        """Read posted checkboxes and pasted lines (URNs or, for users, names), add errors, and return the picker."""
        self.chosen_urns = tuple(dict.fromkeys(data.getlist(self.name)))
        self.pasted_text = data.get(f"{self.name}_pasted", "")
        if len(self.urns) > MAX_CHOICES:
            self.errors.append(f"At most {MAX_CHOICES:,} at once, not {len(self.urns):,}.")
        self._report_wrong_urns([urn for urn in self.urns if not urn.startswith(PREFIXES[self.kind])])
        return self

    def is_complete(self) -> bool:
        """Whether the choice can be saved; adds an error where nothing is chosen and something must be."""
        if self.is_required and not self.urns:
            self.errors.append("Choose at least one.")
        return self.is_sound

    @property
    def urns(self) -> tuple[str, ...]:
        """All chosen URNs without duplicates: the ticked ones, then the pasted ones."""
        lines = (line.strip() for line in self.pasted_text.splitlines())
        return tuple(dict.fromkeys((*self.chosen_urns, *(self._parse_line(line) for line in lines if line))))

    @property
    def is_sound(self) -> bool:
        """Whether the picker has no errors."""
        return not self.errors

    def add_problems(self, problems: Iterable[Problem]) -> None:
        """Add the problems that a service found with the choice; the first few are named."""
        details = list(dict.fromkeys(problem.detail for problem in problems))
        self.errors += details[:_MAX_NAMED_LINES]
        if len(details) > _MAX_NAMED_LINES:
            # Validation stops after MAX_PROBLEMS problems.
            prefix = "at least " if len(details) >= MAX_PROBLEMS else ""
            self.errors.append(f"And {prefix}{len(details) - _MAX_NAMED_LINES:,} more like these.")

    def build_context(self) -> dict[str, Any]:
        """Return the context of components/picker.html."""
        names = display_names.load_names(urns=self.chosen_urns)
        query = {"kind": self.kind, "name": self.name, **({"group": self.group} if self.group else {})}
        return {
            "name": self.name,
            "label": self.label,
            "help": self.help,
            "chosen": [build_option(urn, names.get(urn, urn)) for urn in self.chosen_urns],
            "search_url": f"{reverse('people-options')}?{urlencode(query)}",
            "pasted": self.pasted_text,
            "errors": self.errors,
        }

    def _parse_line(self, line: str) -> str:
        is_name = not line.startswith("urn:") and self.kind in ("user", "person")
        return f"{USER_PREFIX}{line}" if is_name else line

    def _report_wrong_urns(self, wrong_urns: Sequence[str]) -> None:
        if wrong_urns:
            examples = ", ".join(text[:80] for text in wrong_urns[:_MAX_NAMED_LINES])
            rest_note = (
                f" and {len(wrong_urns) - _MAX_NAMED_LINES:,} more" if len(wrong_urns) > _MAX_NAMED_LINES else ""
            )
            self.errors.append(
                f"Each must begin with {' or '.join(PREFIXES[self.kind])}, unlike {examples}{rest_note}."
            )


def build_option(urn: str, label: str, hint: str = "") -> dict[str, str]:
    """Return one option as `components/picker_options.html` draws it."""
    types = {USER_PREFIX: "corpuser", GROUP_PREFIX: "corpGroup", ROLE_PREFIX: "dataHubRole"}
    type_ = next((name for prefix, name in types.items() if urn.startswith(prefix)), "")
    return {"urn": urn, "label": label, "hint": hint if hint != label else "", "type": type_}
