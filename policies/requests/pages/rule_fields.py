"""Template context of the fields of an approval rule: what it is for, its steps and its limits, with their notes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from policies.authoring.pages.builder_fields import BuilderFields
from policies.authoring.pages.form_values import FieldNotes
from policies.engine import property_conditions, wording
from policies.engine.errors import Problem
from policies.engine.families import datahub, vocabulary
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.requests.pages.rule_draft import FOR_PREFIX, STEP_PREFIX, RuleDraft, list_other_privileges
from policies.requests.pages.rule_wording import THEN_LABELS, UNITS
from policies.requests.pages.step_draft import DurationField
from policies.requests.rules.terms import MAX_CONDITIONS, MAX_STEPS

_SCOPES = (("any", "Everything, and the platform"), ("some", "What meets all conditions below"))
_ENDS = (
    ("any", "All requests"),
    ("timed", "Requests with an end"),
    ("permanent", "Requests for good"),
)
TICKET_LABELS = {"none": "No ticket", "optional": "A ticket may be named", "required": "A ticket is required"}

#: Lists of things that a rule is for, as the form calls them.
_FOR_LABELS = {"roles": "Roles", "groups": "Groups to be joined", "external_roles": "Roles in warehouses"}


@dataclass(frozen=True, slots=True)
class _PartFields(BuilderFields):
    """The fields of one part of a rule, whose privileges are those of entities and of the platform."""

    def list_offered_privileges(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges on entities, and those on the platform unless the rule is about some entities."""
        entity_privileges = BuilderFields.list_offered_privileges(self)
        if self.draft.block is not None:
            return entity_privileges
        return (*entity_privileges, *vocabulary.load_datahub().platform_privileges())

    def build_external_role_picker(self) -> dict[str, Any]:
        """Return the picker of roles in warehouses."""
        urns = list(self.draft.document.get("external_roles") or ())
        return self._build_picker(
            "external_roles",
            _FOR_LABELS["external_roles"],
            "external_roles",
            urns,
            self._load_names(urns),
            pointer="/actors/external_roles",
        )


def build_fields_context(draft: RuleDraft, errors: Sequence[Problem], data: QueryDict) -> dict[str, Any]:
    """Return the context of all fields; `pointers` are the places of problems that they show."""
    notes = FieldNotes(errors, ())
    names = ("name", "order", "state", "longest", "ticket", "auto_approve_longest")
    return {
        "scope": _build_scope_context(draft, errors, data),
        "steps": [_build_step_context(draft, number, errors, data) for number in range(len(draft.steps))],
        "steps_notes": notes.find_exactly("/steps"),
        "can_add_step": len(draft.steps) < MAX_STEPS,
        "durations": {
            "longest": _build_duration("longest", draft.longest),
            "auto_longest": _build_duration("auto_approve_longest", draft.auto_longest),
        },
        "tickets": [(value, label, value == draft.ticket) for value, label in TICKET_LABELS.items()],
        "conditions": [
            {"number_text": str(number), "id": name, "text": text, "notes": notes.find(f"/conditions/{number}")}
            for number, (name, text) in enumerate(draft.conditions)
        ],
        "can_add_condition": len(draft.conditions) < MAX_CONDITIONS,
        "addable": [(name, wording.FIELDS[name].label) for name in datahub.FIELDS if name != "GROUP_MEMBERSHIP"],
        "addable_properties": [(property_conditions.RESOURCE, wording.PARTIES[property_conditions.RESOURCE])],
        "notes": {name: notes.find(f"/{name}") for name in names},
        "pointers": (
            *(f"/{name}" for name in names),
            *("/for/privileges", "/for/resources", "/for/roles", "/for/groups", "/for/external_roles", "/steps"),
            *(f"/conditions/{number}" for number in range(len(draft.conditions))),
        ),
    }


def _build_scope_context(draft: RuleDraft, errors: Sequence[Problem], data: QueryDict) -> dict[str, Any]:
    moved = {"/for/roles": "/actors/roles", "/for/groups": "/actors/groups"}
    moved |= {"/for/external_roles": "/actors/external_roles", "/for/privileges": "/privileges"}
    part_notes = _collect_notes(errors, {**moved, "/for/resources": "/resources"}, draft.scope.problems)
    fields = _PartFields(draft.scope, part_notes, data, FOR_PREFIX)
    pickers = fields.build_actor_pickers()
    for key in ("roles", "groups"):
        pickers[key]["label"] = _FOR_LABELS[key]
    search_text = data.get(f"{FOR_PREFIX}find", "")[:100]
    others = list_other_privileges(list(draft.scope.document.get("privileges") or ()))
    groups = fields.group_privileges(search_text)
    known_groups = [
        {**group, "members": members}
        for group in groups
        if (members := [member for member in group["members"] if member["name"] not in others])
    ]
    scope = "any" if draft.scope.block is None else "some"
    return {
        "prefix": f"{FOR_PREFIX}c",
        "pickers": [pickers["roles"], pickers["groups"], fields.build_external_role_picker()],
        "find": search_text,
        "privileges": known_groups,
        "others": "\n".join(others),
        "privilege_notes": part_notes.find("/privileges"),
        "choices": [(value, label, value == scope) for value, label in _SCOPES],
        "is_limited": scope == "some",
        "cards": fields.build_criterion_cards("c"),
        "hidden": fields.count_hidden_criteria("c"),
        "notes": part_notes.find_exactly("/resources"),
        "ends": [(value, label, value == draft.ends) for value, label in _ENDS],
    }


def _build_step_context(draft: RuleDraft, number: int, errors: Sequence[Problem], data: QueryDict) -> dict[str, Any]:
    step, prefix, pointer = draft.steps[number], STEP_PREFIX.format(number), f"/steps/{number}"
    notes = FieldNotes(errors, ())
    part_notes = _collect_notes(errors, {f"{pointer}/approvers": "/actors"}, step.part.problems)
    pickers = _PartFields(step.part, part_notes, data, prefix).build_actor_pickers()
    types = step.part.document["actors"].get("resourceOwnersTypes")
    return {
        "step": step,
        "number": number,
        "number_text": str(number),
        "place": number + 1,
        "place_text": str(number + 1),
        "prefix": prefix,
        "is_owner": bool(step.part.document["actors"].get("resourceOwners")),
        "is_some_types": types is not None,
        "pickers": [pickers[key] for key in ("users", "groups", "roles")],
        "types_picker": pickers["resourceOwnersTypes"],
        "within": _build_duration(f"{prefix}within", step.within),
        "thens": [(value, label[:1].upper() + label[1:], value == step.then) for value, label in THEN_LABELS.items()],
        "approver_notes": part_notes.find_exactly("/actors"),
        **{f"{name}_notes": notes.find(f"{pointer}/{name}") for name in ("name", "needs", "within", "then")},
        "privilege_notes": notes.find(f"{pointer}/approvers/privilege"),
    }


def _build_duration(name: str, duration: DurationField) -> dict[str, Any]:
    units = [(unit, plural, unit == duration.unit) for unit, _, plural in UNITS]
    return {"name": name, "number": duration.number, "units": units}


def _collect_notes(errors: Iterable[Problem], places: dict[str, str], own_problems: Iterable[Problem]) -> FieldNotes:
    """Return the problems of one part, at the places where a policy has them."""
    problems = list(own_problems)
    for problem in errors:
        start = next((start for start in places if f"{problem.pointer}/".startswith(f"{start}/")), None)
        if start is not None:
            pointer = f"{places[start]}{problem.pointer.removeprefix(start)}"
            problems.append(Problem(problem.code, pointer, problem.detail))
    return FieldNotes(problems, ())
