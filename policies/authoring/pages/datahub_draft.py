"""A DataHub document in the builder: the fields posted by one step are merged into it.

Parts that a step does not show stay unchanged: unknown keys, the order of keys and values, and the difference between
an absent, null and empty field. The draft travels with the form, signed, so that nothing is lost between steps.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from django.core import signing
from django.http import QueryDict

from policies.authoring.pages.datahub_wording import (
    ACTOR_FLAGS,
    ACTOR_LISTS,
    DEPRECATED_KEYS,
    EXCLUDED_ACTOR_LISTS,
    EXCLUDED_OWNER_TYPES,
    effective_criteria,
)
from policies.authoring.pages.form_values import merge_values, parse_index, split_lines
from policies.authoring.pages.validity_fields import format_field, parse_field
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import wording
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.engine.selectors import Condition

#: Most lines of one paste.
MAX_PASTED_LINES = 5_000

#: Most conditions of one list that the form shows; further ones stay unchanged.
MAX_VISIBLE_CRITERIA = 60

#: The two lists of criteria: prefix of the names of their form fields → key in the block of resources.
CRITERIA_LISTS = {"c": "filter", "s": datahub_fields.CONSTRAINTS}
#: Prefixes of the lists whose criteria may test properties.
_PROPERTY_LISTS = ("c",)

_SALT = "policies.builder"


@dataclass(slots=True)
class DataHubDraft:
    """A document being edited.

    `disabled_resources` is a block of resources that was switched off and may be switched on again. `rejected_texts`
    are texts that could not be applied, by the name of their form field; `problems` has the reasons.
    """

    document: dict[str, Any]
    disabled_resources: dict[str, Any] | None = None
    rejected_texts: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def from_input(cls, policy_input: PolicyInput) -> Self:
        """Return a draft of a copy of a policy; its document contains everything."""
        return cls(deepcopy(dict(policy_input.document)))

    @classmethod
    def from_post(cls, data: QueryDict) -> Self | None:
        """Return the draft that a form sent back, with the fields of its step; None without a valid signature."""
        try:
            payload = signing.loads(data.get("draft", ""), salt=_SALT)
        except signing.BadSignature:
            return None
        draft = cls(payload["document"], payload["aside"])
        steps = {"1": draft._apply_head, "2": draft.apply_resources, "3": draft.apply_actors}
        apply_step = steps.get(data.get("step", ""))
        if apply_step is not None:
            apply_step(data)
        return draft

    @property
    def policy_input(self) -> PolicyInput:
        """The draft as the input of services."""
        return PolicyInput(datahub.NAME, self.document)

    def to_signed_text(self) -> str:
        """Return the draft as the signed text that a form carries."""
        return signing.dumps({"document": self.document, "aside": self.disabled_resources}, salt=_SALT, compress=True)

    @property
    def block(self) -> dict[str, Any] | None:
        """The block `resources` of the document, None where it has none."""
        resources: dict[str, Any] | None = self.document.get("resources")
        return resources

    @property
    def is_deprecated(self) -> bool:
        """Whether deprecated fields and no filter define the resources of the policy."""
        block = self.block
        return (
            block is not None
            and block.get("filter") is None
            and any(block.get(key) is not None for key in DEPRECATED_KEYS)
        )

    def criteria(self, prefix: str) -> list[dict[str, Any]]:
        """Return the criteria of one of the two lists."""
        return list(((self.block or {}).get(CRITERIA_LISTS[prefix]) or {}).get("criteria") or ())

    def add_criterion(self, prefix: str, name: str) -> None:
        """Add an empty condition on a field; an unknown field adds nothing."""
        is_property = name in wording.PARTIES and prefix in _PROPERTY_LISTS
        if not (name in datahub.FIELDS or is_property) or prefix not in CRITERIA_LISTS:
            return
        if self.block is None:
            self.document["resources"] = {}
        block: dict[str, Any] = self.document["resources"]
        if block.get(CRITERIA_LISTS[prefix]) is None:
            block[CRITERIA_LISTS[prefix]] = {}
        criteria_block = block[CRITERIA_LISTS[prefix]]
        criterion = {"field": name, "condition": Condition.EQUALS.value, "values": []}
        criteria_block["criteria"] = [*(criteria_block.get("criteria") or ()), criterion]

    def remove_criterion(self, prefix: str, index: str) -> None:
        """Remove a condition; an invalid index removes nothing."""
        criteria = self.criteria(prefix) if prefix in CRITERIA_LISTS else []
        position = parse_index(index, len(criteria))
        if position is not None:
            del criteria[position]
            self.document["resources"][CRITERIA_LISTS[prefix]]["criteria"] = criteria

    def remove_unknown_field(self, pointer: str) -> None:
        """Remove a field that is unknown here; a pointer to any other field, or to nothing, changes nothing."""
        if pointer not in {problem.pointer for problem in datahub_fields.list_unknown_fields(self.document)}:
            return
        *steps, name = pointer[1:].split("/")
        container: Any = self.document
        for step in steps:
            container = container[int(step)] if isinstance(container, list) else container[step]
        container.pop(name.replace("~1", "/").replace("~0", "~"), None)

    def convert_deprecated(self) -> None:
        """Replace the deprecated fields by an equivalent filter."""
        if not self.is_deprecated or self.block is None:
            return
        criteria = [
            {**criterion, "condition": Condition.EQUALS.value} for criterion in effective_criteria(self.document)
        ]
        other_keys = {key: value for key, value in self.block.items() if key not in (*DEPRECATED_KEYS, "filter")}
        self.document["resources"] = {"filter": {"criteria": criteria}, **other_keys}

    def _apply_head(self, data: QueryDict) -> None:
        for key, name in (("displayName", "name"), ("description", "description")):
            _put_text(self.document, key, data.get(name, ""))
        for key in ("type", "state"):
            if data.get(key):
                self.document[key] = data[key]
        # An absent effect means the same as ALLOW, so ticking it again is no change.
        effect = data.get("effect")
        if effect and effect != (self.document.get(datahub_fields.EFFECT) or datahub.ALLOW):
            self.document[datahub_fields.EFFECT] = effect
        for key in (datahub_fields.VALID_FROM, datahub_fields.VALID_UNTIL):
            self._apply_time(key, data.get(key))
        _put_flag(self.document, "editable", is_on="editable" in data, default=True)

    def _apply_time(self, key: str, text: str | None) -> None:
        """Take over a time unless the field shows the stored one, which may be written in other ways."""
        if text is None or text.strip() == format_field(self.document.get(key)):
            return
        if text.strip():
            self.document[key] = parse_field(text.strip())
        else:
            self.document.pop(key, None)

    def apply_resources(self, data: QueryDict) -> None:
        """Merge the fields of resources and privileges into the document."""
        privileges = self.document.get("privileges") or []
        self.document["privileges"] = merge_values(privileges, data.getlist("privileges"))
        self._apply_scope(data)
        if self.block is not None:
            for prefix in CRITERIA_LISTS:
                for index, criterion in enumerate(self.criteria(prefix)[:MAX_VISIBLE_CRITERIA]):
                    self._apply_criterion(
                        criterion, f"{prefix}{index}", f"/resources/{CRITERIA_LISTS[prefix]}/criteria/{index}", data
                    )
            self._apply_constraints(data)

    def _apply_scope(self, data: QueryDict) -> None:
        match data.get("scope"):
            case "some" if self.block is None:
                self.document["resources"] = self.disabled_resources or {"filter": {"criteria": []}}
                self.disabled_resources = None
            case "any" if self.block is not None:
                self.disabled_resources = self.document.pop("resources")

    def _apply_constraints(self, data: QueryDict) -> None:
        block: dict[str, Any] = self.document["resources"]
        match data.get("s_scope"):
            case "some" if block.get(datahub_fields.CONSTRAINTS) is None:
                block[datahub_fields.CONSTRAINTS] = {"criteria": []}
            case "any" if block.get(datahub_fields.CONSTRAINTS) is not None:
                del block[datahub_fields.CONSTRAINTS]

    def _apply_criterion(self, criterion: dict[str, Any], name: str, pointer: str, data: QueryDict) -> None:
        if f"{name}_at" not in data:
            return
        condition = data.get(f"{name}_condition", "")
        if condition in tuple(Condition) and condition != (criterion.get("condition") or Condition.EQUALS):
            criterion["condition"] = condition
        start, _ = wording.split_property(criterion["field"])
        if start and f"{name}_name" in data:
            criterion["field"] = f"{start}{data.get(f'{name}_name', '').strip()}"
        criterion["values"] = self._read_values(
            criterion.get("values") or [], f"{name}_values", f"{pointer}/values", data
        )

    def apply_actors(self, data: QueryDict) -> None:
        """Merge the fields of actors into the document."""
        actors: dict[str, Any] = self.document.setdefault("actors", {})
        for key, _ in ACTOR_FLAGS:
            _put_flag(actors, key, is_on=key in data, default=False)
        for key in (*(key for key, _, _ in (*ACTOR_LISTS, *EXCLUDED_ACTOR_LISTS)), EXCLUDED_OWNER_TYPES[0]):
            urns = self._read_values(actors.get(key) or [], key, f"/actors/{key}", data)
            if urns or key in actors:
                actors[key] = urns if urns or actors.get(key) is not None else None
        types = actors.get("resourceOwnersTypes")
        if data.get("owner_types") == "some":
            pointer = "/actors/resourceOwnersTypes"
            actors["resourceOwnersTypes"] = self._read_values(types or [], "resourceOwnersTypes", pointer, data)
        elif types is not None:
            actors["resourceOwnersTypes"] = None

    def _read_values(self, before: list[str], name: str, pointer: str, data: QueryDict) -> list[str]:
        """Return the values of a picker: ticked ones, retained ones (by index) and pasted lines."""
        text = data.get(f"{name}_pasted", "")
        lines = split_lines(text)
        if len(lines) > max(MAX_PASTED_LINES, len(before)):
            self.rejected_texts[name] = text
            detail = (
                f"At most {MAX_PASTED_LINES:,} lines at once, not {len(lines):,}. Nothing of them was taken over yet."
            )
            self.problems.append(Problem("values.many", pointer, detail))
            pasted_lines = set(lines)
            lines = [value for value in before if value in pasted_lines]
        retained_values = [
            before[index]
            for number in data.getlist(f"{name}_kept")
            if (index := parse_index(number, len(before))) is not None
        ]
        return merge_values(before, [*data.getlist(name), *retained_values, *lines])


def _put_text(document: dict[str, Any], key: str, text: str) -> None:
    # Browsers send line ends as CRLF; that is no change.
    text = text.replace("\r\n", "\n")
    before = document.get(key)
    if text != (before or "").replace("\r\n", "\n"):
        document[key] = text


def _put_flag(document: dict[str, Any], key: str, *, is_on: bool, default: bool) -> None:
    before = document.get(key)
    if is_on != (default if before is None else before):
        document[key] = is_on
