"""The draft of one step of an approval rule, and the parts that it shares with the rest of the form."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from django.http import QueryDict

from policies.authoring.pages.datahub_draft import DataHubDraft
from policies.requests.durations import format_duration, parse_duration
from policies.requests.pages.rule_wording import UNITS, split_duration
from policies.requests.rules.terms import NEXT

_APPROVER_LISTS = ("users", "groups", "roles")

_UNIT_SIZES = {unit: size for unit, size, _ in UNITS}


@dataclass(slots=True)
class DurationField:
    """A duration in a form: a number as it was typed, empty for none, and its unit."""

    number: str = ""
    unit: str = UNITS[0][0]

    @classmethod
    def show(cls, text: Any) -> Self:
        """Return the field of a duration as a document states it; an empty one for a text that is none."""
        try:
            number, unit = split_duration(parse_duration(text))
        except (TypeError, ValueError):
            return cls()
        return cls(str(number), unit)

    def read(self, data: QueryDict, name: str) -> None:
        """Take over what was typed."""
        self.number = data.get(name, "").strip()
        unit = data.get(f"{name}_unit", "")
        self.unit = unit if unit in _UNIT_SIZES else UNITS[0][0]

    def compose(self) -> str | None:
        """Return the duration as a document states it: None for an empty field, what is no number as it was typed."""
        if not self.number:
            return None
        try:
            return format_duration(int(self.number) * _UNIT_SIZES[self.unit])
        except (ValueError, OverflowError):
            return self.number[:20]


class RulePart(DataHubDraft):
    """A part of a rule in the form of a policy, of which only some fields are shown."""

    def apply_external_roles(self, data: QueryDict) -> None:
        """Merge the picker of roles in warehouses."""
        before = self.document.get("external_roles") or []
        urns = self._read_values(before, "external_roles", "/actors/external_roles", data)
        self.document["external_roles"] = urns


@dataclass(slots=True)
class StepDraft:
    """A step being edited; `part` has the approvers that pickers choose."""

    part: RulePart = field(default_factory=lambda: RulePart({"actors": {"resourceOwners": True}}))
    name: str = "Owner"
    is_domain: bool = False
    privilege: str = ""
    needs: str = "1"
    is_all: bool = False
    within: DurationField = field(default_factory=DurationField)
    then: str = NEXT

    @classmethod
    def show(cls, document: Mapping[str, Any]) -> Self:
        """Return the draft of a step as it is stored."""
        approvers = document.get("approvers") or {}
        actors: dict[str, Any] = {key: list(approvers[key]) for key in _APPROVER_LISTS if approvers.get(key)}
        if approvers.get("resourceOwners"):
            actors["resourceOwners"] = True
        if approvers.get("resourceOwnersTypes"):
            actors["resourceOwnersTypes"] = list(approvers["resourceOwnersTypes"])
        needs = document.get("needs", 1)
        return cls(
            RulePart({"actors": actors}),
            str(document.get("name") or ""),
            bool(approvers.get("domainOwners")),
            str(approvers.get("privilege") or ""),
            "1" if needs == "all" else str(needs),
            needs == "all",
            DurationField.show(document.get("within")),
            str(document.get("then") or NEXT),
        )

    def read(self, data: QueryDict, prefix: str) -> None:
        """Merge the fields of the step; nothing where the form did not show it."""
        if f"{prefix}at" not in data:
            return
        self.part.apply_actors(select_fields(data, prefix))
        self.name, self.privilege = data.get(f"{prefix}name", "").strip(), data.get(f"{prefix}privilege", "").strip()
        self.is_domain, self.is_all = f"{prefix}domainOwners" in data, f"{prefix}all" in data
        self.needs, self.then = data.get(f"{prefix}needs", "").strip(), data.get(f"{prefix}then", NEXT)
        self.within.read(data, f"{prefix}within")

    def compose(self) -> dict[str, Any]:
        """Return the step as a rule states it, complete or not."""
        actors = self.part.document["actors"]
        approvers: dict[str, Any] = {key: actors[key] for key in _APPROVER_LISTS if actors.get(key)}
        if actors.get("resourceOwners"):
            approvers["resourceOwners"] = True
        if self.is_domain:
            approvers["domainOwners"] = True
        if actors.get("resourceOwnersTypes") and (actors.get("resourceOwners") or self.is_domain):
            approvers["resourceOwnersTypes"] = actors["resourceOwnersTypes"]
        if self.privilege:
            approvers["privilege"] = self.privilege
        step: dict[str, Any] = {"name": self.name, "approvers": approvers}
        step["needs"] = "all" if self.is_all else parse_number(self.needs)
        within = self.within.compose()
        return step | ({"within": within} if within else {}) | ({"then": self.then} if self.then != NEXT else {})

    def dump(self) -> list[Any]:
        """Return the step as the signed text of the form carries it."""
        return [
            self.part.document,
            self.name,
            self.is_domain,
            self.privilege,
            self.needs,
            self.is_all,
            asdict(self.within),
            self.then,
        ]

    @classmethod
    def load(cls, values: list[Any]) -> Self:
        """Return a step that `dump` wrote."""
        document, name, is_domain, privilege, needs, is_all, within, then = values
        return cls(RulePart(document), name, is_domain, privilege, needs, is_all, DurationField(**within), then)


def select_fields(data: QueryDict, prefix: str) -> QueryDict:
    """Return the fields of one part under the names that they have in a policy."""
    fields = QueryDict(mutable=True)
    for name in data:
        if name.startswith(prefix):
            fields.setlist(name.removeprefix(prefix), data.getlist(name))
    return fields


def parse_number(text: str) -> int | str:
    """Return the number that was typed, what is no number as it was typed."""
    return int(text) if text.isdecimal() and len(text) < 10 else text[:20]
