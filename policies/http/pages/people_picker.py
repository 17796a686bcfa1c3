"""The form picker of users, groups and roles."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from urllib.parse import urlencode

from django.urls import reverse

from policies.http.pages.picker import FormPicker
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names

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
_TYPES = {USER_PREFIX: "corpuser", GROUP_PREFIX: "corpGroup", ROLE_PREFIX: "dataHubRole"}


@dataclass(slots=True)
class PeoplePicker(FormPicker):
    """A picker of users, groups or roles; for users, a pasted line may be a user name.

    `kind` is user (people and services), person, group, role or holder (users and groups). `group` names the group
    whose members are chosen: the right to edit them includes the right to search for people.
    """

    kind: str
    _: KW_ONLY
    group: str = ""

    max_choices = 1_000
    max_named_errors = 5

    @property
    def search_url(self) -> str:
        """The URL that answers a search with options."""
        query = {"kind": self.kind, "name": self.name, **({"group": self.group} if self.group else {})}
        return f"{reverse('people-options')}?{urlencode(query)}"

    def parse_line(self, line: str) -> str:
        """Return the URN that a pasted line stands for, for users also that of a user name."""
        is_name = not line.startswith("urn:") and self.kind in ("user", "person")
        return f"{USER_PREFIX}{line}" if is_name else line

    def validate(self) -> None:
        """Add an error that names URNs of other kinds."""
        wrong_urns = [urn for urn in self.chosen_urns if not urn.startswith(PREFIXES[self.kind])]
        if wrong_urns:
            examples = ", ".join(text[:80] for text in wrong_urns[: self.max_named_errors])
            more_count = len(wrong_urns) - self.max_named_errors
            rest_note = f" and {more_count:,} more" if more_count > 0 else ""
            self.errors.append(
                f"Each must begin with {' or '.join(PREFIXES[self.kind])}, unlike {examples}{rest_note}."
            )

    def build_options(self, urns: Sequence[str]) -> list[dict[str, str]]:
        """Return chosen users, groups and roles as options with their names."""
        names = display_names.load_names(urns=urns)
        return [build_option(urn, names.get(urn, urn)) for urn in urns]


def build_option(urn: str, label: str, hint: str = "") -> dict[str, str]:
    """Return one option as `components/picker_options.html` draws it."""
    type_ = next((name for prefix, name in _TYPES.items() if urn.startswith(prefix)), "")
    return {"urn": urn, "label": label, "hint": hint if hint != label else "", "type": type_}
