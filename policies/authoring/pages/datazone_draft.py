"""A Datazone document in the statement editor: the posted form and JSON text are merged into it.

The document as it was rendered travels with the form, so that the server can tell which of the two was changed. Parts
that the form does not show stay unchanged, and a text that cannot be applied stays in its box.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.http import QueryDict
from pydantic import BaseModel, ValidationError

from policies.authoring.pages.datahub_presenter import format_json
from policies.authoring.pages.form_values import is_line, merge_values, parse_index, split_lines
from policies.authoring.pages.validity_fields import PostedTimes
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.errors import Problem
from policies.engine.families import datazone
from policies.engine.families.datazone import COLUMNS, PATHS, ROWS
from policies.engine.families.datazone_resource_patterns import PatternScope, list_types
from policies.engine.families.validity import UNLIMITED
from policies.errors import Invalid
from policies.http.pages.people_picker import PeoplePicker
from policies.writes import strict_json

#: Most statements that the form shows; further ones stay unchanged and are edited as JSON.
MAX_VISIBLE_STATEMENTS = 60

#: Most statements of a policy that opens with the fields of all; of a longer one each is a sentence that can be opened.
MAX_OPENED_STATEMENTS = 3

#: The choice beside the scopes: a resource pattern typed as text.
TYPED_SCOPE = "typed"

#: Scope → format of its resource pattern.
PATTERN_FORMATS: Mapping[str, str] = {
    PatternScope.EVERYTHING: "*",
    PatternScope.CREATION: "{type}",
    PatternScope.INSTANCES: "{type}:*",
    PatternScope.ONE: "{type}:{id}",
    PatternScope.CHILDREN: "project:{project}:*",
    PatternScope.TYPED_CHILDREN: "project:{project}:{type}:*",
    PatternScope.ONE_CHILD: "project:{project}:{type}:{id}",
}

#: The constraints that are lists; the form shows them line by line.
LIST_CONSTRAINTS = (ROWS, COLUMNS)

_BLANK_STATEMENT = {"resource": "dataset:*", "actions": [], "effect": "allow"}


@dataclass(slots=True)
class StatementForm:
    """One statement, and the parts of its resource pattern: `scope` is a PatternScope, or TYPED_SCOPE for `text`.

    `is_open` says that the page shows its fields, not only its sentence.
    """

    item: dict[str, Any]
    scope: str = TYPED_SCOPE
    type: str = ""
    project: str = ""
    id: str = ""
    text: str = ""
    is_open: bool = False

    @classmethod
    def from_statement(cls, item: dict[str, Any]) -> Self:
        """Return a statement with its pattern split at the colons, whether or not its parts are valid."""
        text = item.get("resource", "")
        match text.split(":"):
            case ["*"]:
                return cls(item, PatternScope.EVERYTHING, text=text)
            case [kind] if kind in list_types():
                return cls(item, PatternScope.CREATION, kind, text=text)
            case [kind, "*"] if kind in list_types():
                return cls(item, PatternScope.INSTANCES, kind, text=text)
            case [kind, identifier] if kind in list_types():
                return cls(item, PatternScope.ONE, kind, id=identifier, text=text)
            case ["project", project, "*"]:
                return cls(item, PatternScope.CHILDREN, project=project, text=text)
            case ["project", project, kind, "*"] if kind in list_types():
                return cls(item, PatternScope.TYPED_CHILDREN, kind, project, text=text)
            case ["project", project, kind, identifier] if kind in list_types():
                return cls(item, PatternScope.ONE_CHILD, kind, project, identifier, text)
            case _:
                return cls(item, text=text)

    @property
    def resource(self) -> str:
        """The resource pattern built from the parts."""
        if self.scope == TYPED_SCOPE:
            return self.text
        return PATTERN_FORMATS[self.scope].format(type=self.type, project=self.project, id=self.id)

    def apply_form(self, data: QueryDict, key: str) -> None:
        """Apply the fields that a form posted for this statement."""
        if f"{key}_at" not in data:
            return
        self._apply_resource(data, key)
        before = self.item.get("actions") or []
        actions = merge_values(before, data.getlist(f"{key}_actions"))
        if actions != before:
            self.item["actions"] = actions
        if data.get(f"{key}_effect"):
            self.item["effect"] = data[f"{key}_effect"]
        branch = data.get(f"{key}_branch", "")
        if branch != (self.item.get("branch") or ""):
            if branch:
                self.item["branch"] = branch
            else:
                del self.item["branch"]
        self._apply_constraints(data, key)

    def _apply_resource(self, data: QueryDict, key: str) -> None:
        scope, kind = data.get(f"{key}_scope", ""), data.get(f"{key}_type", "")
        was_typed = self.scope == TYPED_SCOPE
        if scope in PATTERN_FORMATS or scope == TYPED_SCOPE:
            self.scope = scope
        if self.scope == TYPED_SCOPE:
            # Switching from the parts to text keeps the pattern that the parts made.
            self.text = data.get(f"{key}_text", self.text).strip() if was_typed else self.text
        self.type = kind if kind in list_types() else self.type or list_types()[0]
        self.project = data.get(f"{key}_project", self.project).strip()
        self.id = data.get(f"{key}_id", self.id).strip()
        if self.resource != self.item.get("resource", ""):
            self.item["resource"] = self.resource

    def _apply_constraints(self, data: QueryDict, key: str) -> None:
        before = self.item.get("extra_constraints") or {}
        after = dict(before)
        for name in LIST_CONSTRAINTS:
            if f"{key}_{name}" in data:
                _put_value(after, name, split_lines(data.get(f"{key}_{name}", "")), list(before.get(name) or ()))
        _put_value(after, PATHS, data.get(f"{key}_{PATHS}", ""), before.get(PATHS) or "")
        _put_value(self.item, "extra_constraints", after, before)


@dataclass(slots=True)
class DatazoneDraft:
    """A policy being edited.

    `base` is the document that the page was rendered from, `document` its current state, `json` the text in the box.
    `times` are those of the form, which stand beside the document; None for those that are stored.
    `problems` are those that keep the text from being applied, and `has_conflict` is set when form and text were both
    changed. `is_from_text` says that the text was applied, which the fields on the page do not show yet.
    `search_field` names the statement and part whose text is to be searched.
    """

    base: dict[str, Any]
    document: dict[str, Any]
    statement_forms: list[StatementForm]
    json: str
    state: str = "ACTIVE"
    description: str = ""
    times: PostedTimes | None = None
    problems: list[Problem] = field(default_factory=list)
    has_conflict: bool = False
    is_from_text: bool = False
    search_field: tuple[int, str] | None = None

    @classmethod
    def from_input(cls, policy_input: PolicyInput) -> Self:
        """Return a draft of a copy of a policy whose document has the right shape."""
        base, document = deepcopy(dict(policy_input.document)), deepcopy(dict(policy_input.document))
        forms = [StatementForm.from_statement(item) for item in document["statements"]]
        for form in forms:
            form.is_open = len(forms) <= MAX_OPENED_STATEMENTS
        state = "ACTIVE" if policy_input.state is None else policy_input.state
        times = PostedTimes.from_validity(policy_input.validity or UNLIMITED)
        return cls(base, document, forms, format_json(document), state, policy_input.description or "", times)

    @classmethod
    def from_post(cls, data: QueryDict) -> Self | None:
        """Return the posted draft; None when `base` is not JSON in the shape of a document.

        The button decides when both sides may have been changed: "apply" for the text, "form" for the form, any other
        for the one that was changed.
        """
        preferred_side = data.get("go", "")
        try:
            base = strict_json.loads(data.get("base", "").encode())
        except (Invalid, UnicodeEncodeError):
            return None
        if list_shape_problems(base):
            return None
        description = data.get("description", "").replace("\r\n", "\n")
        draft = cls.from_input(PolicyInput(datazone.NAME, base, data.get("state", ""), description))
        draft.times = PostedTimes.from_post(data)
        draft._apply_form(data)
        text = data.get("json", "").replace("\r\n", "\n")
        is_json_changed = text.strip() != format_json(base).strip()
        is_form_changed = draft.document != base
        if preferred_side == "form" or not (is_json_changed or preferred_side == "apply"):
            return draft.reset_base()
        if is_form_changed and preferred_side != "apply":
            draft.json, draft.has_conflict = text, True
            return draft
        return draft._apply_json(text)

    def reset_base(self) -> Self:
        """Set base and text to the current document, and return the draft."""
        self.document["statements"] = [form.item for form in self.statement_forms]
        self.base, self.json = deepcopy(self.document), format_json(self.document)
        return self

    @property
    def policy_input(self) -> PolicyInput:
        """The draft as the input of services."""
        validity = None if self.times is None else self.times.validity
        return PolicyInput(datazone.NAME, self.document, self.state, self.description, validity=validity)

    @property
    def has_unapplied_text(self) -> bool:
        """Whether the text in the box cannot be applied to the form, or not without losing changes there."""
        return self.has_conflict or bool(self.problems)

    @property
    def base_json(self) -> str:
        """The base as the form carries it: JSON without line ends, which browsers change."""
        return json.dumps(self.base)

    def handle_button(self, verb: str, position: str, name: str = "", value: str = "") -> None:
        """Run a button of a statement: add, copy, remove, up, down, open, close, find or use.

        Invalid arguments change nothing.
        """
        index = parse_index(position, len(self.statement_forms))
        if verb == "add":
            form = StatementForm.from_statement(deepcopy(_BLANK_STATEMENT))
            form.is_open = True
            self.statement_forms.append(form)
        elif index is not None:
            self._change_statement(verb, index, name, value)
        self.reset_base()

    def _change_statement(self, verb: str, index: int, name: str, value: str) -> None:
        match verb:
            case "copy":
                self.statement_forms.insert(index + 1, deepcopy(self.statement_forms[index]))
            case "open" | "close":
                self.statement_forms[index].is_open = verb == "open"
            case "remove":
                del self.statement_forms[index]
            case "up" | "down":
                new_index = max(index - 1, 0) if verb == "up" else index + 1
                self.statement_forms.insert(new_index, self.statement_forms.pop(index))
            case "find" if name in ("project", "id"):
                self.search_field = (index, name)
            case "use" if name in ("project", "id"):
                form = self.statement_forms[index]
                setattr(form, name, value)
                form.item["resource"] = form.resource
            case _:
                pass

    def _apply_form(self, data: QueryDict) -> None:
        if data.get("name", "") != self.document.get("name", ""):
            self.document["name"] = data.get("name", "")
        before = self.document.get("roles") or []
        roles = merge_values(before, PeoplePicker("roles", "Roles", "role").read(data).chosen_urns)
        _put_value(self.document, "roles", roles, before)
        for index, form in enumerate(self.statement_forms[:MAX_VISIBLE_STATEMENTS]):
            form.is_open = f"s{index}_at" in data
            form.apply_form(data, f"s{index}")

    def _apply_json(self, text: str) -> Self:
        """Return a draft of the text, or this draft with the text and its problems."""
        document: Any = None
        try:
            document = strict_json.loads(text.encode(), label="The text")
            self.problems = list_shape_problems(document)
        except UnicodeEncodeError:
            self.problems = [Problem("text.invalid", "", "The text holds a character that cannot be stored.")]
        except Invalid as refusal:
            self.problems = list(refusal.problems)
        if self.problems:
            self.json = text
            return self
        draft = type(self).from_input(replace(self.policy_input, document=document))
        draft.times, draft.is_from_text = self.times, True
        return draft


class _ConstraintsShape(BaseModel):
    row_level_restrictions: list[str] | None = None
    column_level_restrictions: list[str] | None = None
    path_prefix: str = ""


class _StatementShape(BaseModel):
    resource: str = ""
    effect: str = ""
    branch: str | None = None
    actions: list[str] | None = None
    extra_constraints: _ConstraintsShape | None = None


class _DocumentShape(BaseModel):
    """A document that can be shown as a form; what it lacks or means is no matter of its shape."""

    name: str = ""
    roles: list[str] | None = None
    statements: list[_StatementShape]


_TYPE_LABELS = {"string_type": "a text", "list_type": "a list", "model_type": "an object"}


def list_shape_problems(document: Any) -> list[Problem]:
    """Return the problems that keep a document from being shown as a form: values of the wrong JSON type."""
    if not isinstance(document, dict):
        return [Problem("document.invalid", "", "A policy is an object with a name and statements.")]
    try:
        _DocumentShape.model_validate(document, strict=True)
    except ValidationError as error:
        return [
            Problem("policy.no_statements", "/statements", "A policy needs at least one statement.")
            if detail["type"] == "missing"
            else Problem(
                "document.invalid",
                "".join(f"/{step}" for step in detail["loc"]),
                f"This must be {_TYPE_LABELS[detail['type']]}.",
            )
            for detail in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    return []


def join_lines(values: Any) -> str | None:
    """Return a list as the lines of a text box, or None when a value is no line and can be edited only as JSON."""
    lines = list(values or ())
    return "\n".join(lines) if all(is_line(line) for line in lines) else None


def _put_value(target: dict[str, Any], name: str, value: Any, before: Any) -> None:
    """Set a changed value; an empty one removes the key."""
    if value == before:
        return
    if value:
        target[name] = value
    else:
        target.pop(name, None)
