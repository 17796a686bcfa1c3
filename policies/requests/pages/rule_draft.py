"""The draft of an approval rule: what its form holds, merged with what it came with, and composed to its terms."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from django.core import signing
from django.http import QueryDict

from policies.authoring.pages.form_values import merge_values, parse_index, split_lines
from policies.engine.families import vocabulary
from policies.models import ApprovalRule
from policies.requests.pages.step_draft import DurationField, RulePart, StepDraft, parse_number, select_fields
from policies.requests.rules.terms import MAX_CONDITIONS, MAX_STEPS

_SALT = "policies.approval_rule"

#: The prefix of the fields of what a rule is for, and of those of a step.
FOR_PREFIX, STEP_PREFIX = "for-", "s{}-"

_ENDS = {"any": None, "permanent": True, "timed": False}


@dataclass(slots=True)
class RuleDraft:
    """An approval rule being edited. `conditions` are pairs of id and text."""

    name: str = ""
    order: str = ""
    state: str = ApprovalRule.State.ACTIVE.value
    scope: RulePart = field(default_factory=lambda: RulePart({"privileges": [], "actors": {}}))
    ends: str = "any"
    steps: list[StepDraft] = field(default_factory=lambda: [StepDraft()])
    is_auto: bool = False
    auto_longest: DurationField = field(default_factory=DurationField)
    longest: DurationField = field(default_factory=DurationField)
    allows_permanent: bool = False
    ticket: str = "none"
    conditions: list[tuple[str, str]] = field(default_factory=list)
    is_requestable: bool = True

    @classmethod
    def show(cls, rule: ApprovalRule) -> Self:
        """Return the draft of a rule as it is stored."""
        terms = rule.terms
        scope = terms.get("for") or {}
        return cls(
            rule.name,
            str(rule.order),
            rule.state,
            _show_scope(scope),
            next(name for name, value in _ENDS.items() if value is scope.get("permanent")),
            [StepDraft.show(step) for step in terms.get("steps") or ()],
            bool(terms.get("auto_approve")),
            DurationField.show(terms.get("auto_approve_longest")),
            DurationField.show(terms.get("longest")),
            bool(terms.get("allows_permanent")),
            terms.get("ticket") or "none",
            [(condition["id"], condition["text"]) for condition in terms.get("conditions") or ()],
            terms.get("requestable", True) is not False,
        )

    @classmethod
    def from_post(cls, data: QueryDict) -> Self | None:
        """Return the draft that a form sent back, with its fields; None without a valid signature."""
        try:
            payload = signing.loads(data.get("draft", ""), salt=_SALT)
        except signing.BadSignature:
            return None
        draft = cls(scope=RulePart(*payload["scope"]), steps=[StepDraft.load(step) for step in payload["steps"]])
        draft._read(data, condition_count=payload["conditions"])
        return draft

    def to_signed_text(self) -> str:
        """Return what the form does not show of the draft, as the signed text that it carries."""
        payload = {
            "scope": (self.scope.document, self.scope.disabled_resources),
            "steps": [step.dump() for step in self.steps],
            "conditions": len(self.conditions),
        }
        return signing.dumps(payload, salt=_SALT, compress=True)

    def compose_terms(self) -> dict[str, Any]:
        """Return the terms that the form states, complete or not."""
        terms: dict[str, Any] = {"for": self._compose_scope(), "steps": [step.compose() for step in self.steps]}
        longest, auto_longest = self.longest.compose(), self.auto_longest.compose()
        flags: tuple[tuple[str, Any], ...] = (
            ("auto_approve", self.is_auto),
            ("auto_approve_longest", self.is_auto and auto_longest),
            ("longest", longest),
            ("allows_permanent", self.allows_permanent),
            ("ticket", self.ticket != "none" and self.ticket),
            ("conditions", [{"id": name, "text": text} for name, text in self.conditions]),
        )
        terms |= {name: value for name, value in flags if value}
        return terms if self.is_requestable else terms | {"requestable": False}

    @property
    def is_closed(self) -> bool:
        """Whether nobody may ask for what the rule is for."""
        return not self.is_requestable

    def parse_order(self) -> int | str | None:
        """Return the order as a number, None for an empty field, what is no number as it was typed."""
        return None if not self.order else parse_number(self.order)

    # -- buttons --------------------------------------------------------------------------------------------------

    def add_step(self) -> None:
        """Add an empty step at the end; nothing where there are as many as there may be."""
        if len(self.steps) < MAX_STEPS:
            self.steps.append(StepDraft(RulePart({"actors": {}}), name=""))

    def remove_step(self, index: str) -> None:
        """Remove a step; an invalid index removes nothing."""
        if (position := parse_index(index, len(self.steps))) is not None:
            del self.steps[position]

    def raise_step(self, index: str) -> None:
        """Let a step come one earlier; the first one, and an invalid index, change nothing."""
        if position := parse_index(index, len(self.steps)):
            self.steps[position - 1 : position + 1] = reversed(self.steps[position - 1 : position + 1])

    def add_condition(self) -> None:
        """Add an empty condition under an id that is free; nothing where there are as many as there may be."""
        if len(self.conditions) < MAX_CONDITIONS:
            taken_names = {name for name, _ in self.conditions}
            names = (f"condition-{number}" for number in range(1, MAX_CONDITIONS + 1))
            self.conditions.append((next(name for name in names if name not in taken_names), ""))

    def remove_condition(self, index: str) -> None:
        """Remove a condition; an invalid index removes nothing."""
        if (position := parse_index(index, len(self.conditions))) is not None:
            del self.conditions[position]

    # -- parts ----------------------------------------------------------------------------------------------------

    def _read(self, data: QueryDict, *, condition_count: int) -> None:
        self.name, self.order = data.get("name", "").strip(), data.get("order", "").strip()
        self.state = data.get("state", self.state)
        fields = select_fields(data, FOR_PREFIX)
        self.scope.apply_resources(fields)
        others = split_lines(fields.get("others", ""))
        self.scope.document["privileges"] = merge_values(
            self.scope.document["privileges"], [*fields.getlist("privileges"), *others]
        )
        self.scope.apply_actors(fields)
        self.scope.apply_external_roles(fields)
        self.ends = fields.get("ends", "any") if fields.get("ends") in _ENDS else "any"
        for number, step in enumerate(self.steps):
            step.read(data, STEP_PREFIX.format(number))
        self.is_auto, self.allows_permanent = "auto_approve" in data, "allows_permanent" in data
        self.auto_longest.read(data, "auto_approve_longest")
        self.longest.read(data, "longest")
        self.ticket, self.is_requestable = data.get("ticket", "none"), data.get("requestable") != "no"
        self.conditions = [
            (data.get(f"condition{number}_id", "").strip(), _read_text(data, f"condition{number}_text"))
            for number in range(condition_count)
        ]

    def _compose_scope(self) -> dict[str, Any]:
        document = self.scope.document
        actors = document.get("actors") or {}
        scope: dict[str, Any] = {"privileges": document["privileges"]} if document.get("privileges") else {}
        if self.scope.block is not None:
            scope["resources"] = self.scope.block
        scope |= {key: actors[key] for key in ("roles", "groups") if actors.get(key)}
        if document.get("external_roles"):
            scope["external_roles"] = document["external_roles"]
        permanent = _ENDS[self.ends]
        return scope if permanent is None else scope | {"permanent": permanent}


def list_other_privileges(names: list[str]) -> list[str]:
    """Return the privileges of other families than DataHub's, which are written by name."""
    registry = vocabulary.load_datahub()
    return [name for name in names if registry.get(name) is None]


def _show_scope(scope: Mapping[str, Any]) -> RulePart:
    """Return what a rule is for as a draft; its filter is shown with the fields that policies have today."""
    document: dict[str, Any] = {
        "privileges": list(scope.get("privileges") or ()),
        "actors": {key: list(scope[key]) for key in ("roles", "groups") if scope.get(key)},
        "external_roles": list(scope.get("external_roles") or ()),
    }
    resources = scope.get("resources")
    if resources:
        document["resources"] = deepcopy({"filter": resources} if "criteria" in resources else resources)
    part = RulePart(document)
    part.convert_deprecated()
    return part


def _read_text(data: QueryDict, name: str) -> str:
    # Browsers send line ends as CRLF.
    return data.get(name, "").replace("\r\n", "\n").strip()
