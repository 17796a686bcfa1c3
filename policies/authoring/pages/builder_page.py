"""Rendering of the builder: its steps, each with its fields and the notes beside them."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from policies.authoring.pages import datahub_draft, editor_aside, property_wording
from policies.authoring.pages.builder_fields import BuilderFields, FieldNotes
from policies.authoring.pages.datahub_presenter import FIELD_LABELS
from policies.authoring.pages.datahub_templates import TEMPLATES
from policies.authoring.pages.editor_base import EditorRequest
from policies.authoring.services import policies as service
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.errors import Invalid

#: The steps: label, and pointers of the parts of the document that the step edits.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Policy", ("/displayName", "/description", "/type", "/state", "/editable", "/lastUpdatedTimestamp")),
    ("Resources and privileges", ("/resources", "/privileges")),
    ("Actors", ("/actors",)),
)

_STATE_CHOICES = (("ACTIVE", "Active"), ("INACTIVE", "Inactive"), ("DRAFT", "Draft"))
_SCOPE_CHOICES = (
    ("any", "Everything, and questions without a resource"),
    ("some", "Resources that meet all conditions below"),
)
_TAG_SCOPE_CHOICES = (("any", "Any"), ("some", "Only tags that meet all conditions below"))
_TYPE_CHOICES = (
    (datahub.METADATA, "Metadata", "Privileges on entities of the catalog, or on some of them."),
    (datahub.PLATFORM, "Platform", "Privileges on the platform itself; it applies to no resource."),
)


@dataclass(slots=True, kw_only=True)
class BuilderRequest(EditorRequest):
    """One request of the builder: the draft, the shown step, and its errors."""

    draft: datahub_draft.DataHubDraft
    step: int = 1
    shows_errors: bool = False
    errors: tuple[Problem, ...] = ()

    @property
    def policy_input(self) -> service.PolicyInput:
        """The draft as the input of services."""
        return service.PolicyInput(datahub.NAME, self.draft.document)

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem of the document and of the posted fields."""
        try:
            service.validate_draft(self.policy_input)
        except Invalid as refusal:
            return (*self.draft.problems, *refusal.problems)
        return tuple(self.draft.problems)


def step_number(problem: Problem) -> int:
    for number, (_, pointers) in enumerate(STEPS, start=1):
        if any(f"{problem.pointer}/".startswith(f"{pointer}/") for pointer in pointers):
            return number
    return 1


def render_page(editor: BuilderRequest) -> HttpResponse:
    htmx = getattr(editor.request, "htmx", None)
    aside = editor_aside.build_aside(editor.policy_input, editor.policy, is_sound=not editor.find_problems())
    notes = FieldNotes((*editor.errors, *editor.draft.problems), aside["lints"])
    fields = BuilderFields(editor.draft, notes, editor.request.POST)
    step_context = _STEP_CONTEXT_BUILDERS[editor.step](editor, fields, notes)
    if htmx and htmx.target == "builder-aside":
        return render(editor.request, "policies/_aside_live.html", {**aside, "live": step_context["live"]})
    is_last = editor.step == len(STEPS)
    general_errors = notes.find("")["errors"] if any(not problem.pointer for problem in editor.errors) else []
    context = {
        **aside,
        **editor_aside.build_editor_context(editor, editor.policy_input, templates=list(TEMPLATES.values())),
        "steps": _step_rows(editor),
        "is_last": is_last,
        "enter": "save" if is_last else "next",
        "template": f"policies/_step_{editor.step}.html",
        "draft": editor.draft.to_signed_text(),
        "unknown": datahub_fields.list_unknown_fields(editor.draft.document),
        "document": editor.draft.document,
        "general": general_errors,
        "is_wrong": editor.shows_errors or bool(general_errors),
        **step_context,
    }
    return render(editor.request, "policies/builder.html", context, status=editor.status)


def _build_head_context(editor: BuilderRequest, _fields: BuilderFields, notes: FieldNotes) -> dict[str, Any]:
    document = editor.draft.document
    field_notes = {name: notes.find(f"/{name}") for name in ("displayName", "description", "type", "state", "editable")}
    return {
        "notes": field_notes,
        "live": field_notes,
        "kinds": [(*kind, document.get("type") == kind[0]) for kind in _TYPE_CHOICES],
        "states": [(*state, document.get("state") == state[0]) for state in _STATE_CHOICES],
        "is_editable": document.get("editable") is not False,
    }


def _build_resources_context(editor: BuilderRequest, fields: BuilderFields, notes: FieldNotes) -> dict[str, Any]:
    search_text = editor.request.POST.get("find", "")[:100]
    block = editor.draft.block
    addable_fields = [(name, FIELD_LABELS[name]) for name in datahub.FIELDS]
    properties = list(property_wording.PARTIES.items())
    criteria, constraints = fields.build_criterion_cards("c"), fields.build_criterion_cards("s")
    scope = "any" if block is None else "some"
    tag_scope = "any" if (block or {}).get(datahub_fields.CONSTRAINTS) is None else "some"
    field_notes = {"resources": _exact_notes(notes, "/resources"), "privileges": notes.find("/privileges")}
    return {
        "notes": field_notes,
        "live": field_notes | {card["key"]: card["notes"] for card in (*criteria, *constraints)},
        "is_platform": editor.draft.document.get("type") == datahub.PLATFORM,
        "scope": scope,
        "scopes": [(*choice, scope == choice[0]) for choice in _SCOPE_CHOICES],
        "s_scope": tag_scope,
        "s_scopes": [(*choice, tag_scope == choice[0]) for choice in _TAG_SCOPE_CHOICES],
        "deprecated": fields.build_deprecated_rows(),
        "criteria": criteria,
        "criteria_hidden": fields.count_hidden_criteria("c"),
        "constraints": constraints,
        "constraints_hidden": fields.count_hidden_criteria("s"),
        "addable": addable_fields,
        "addable_properties": properties,
        "find": search_text,
        "privileges": fields.group_privileges(search_text),
    }


def _build_actors_context(editor: BuilderRequest, fields: BuilderFields, notes: FieldNotes) -> dict[str, Any]:
    actors = editor.draft.document.get("actors") or {}
    pickers = fields.build_actor_pickers()
    field_notes = {"actors": _exact_notes(notes, "/actors"), "resourceOwners": notes.find("/actors/resourceOwners")}
    return {
        "notes": field_notes,
        "live": field_notes | {name: {"lints": picker["notes"]["lints"]} for name, picker in pickers.items()},
        "is_platform": editor.draft.document.get("type") == datahub.PLATFORM,
        "actors": actors,
        "pickers": pickers,
        "owner_types": "any" if actors.get("resourceOwnersTypes") is None else "some",
    }


_STEP_CONTEXT_BUILDERS = {1: _build_head_context, 2: _build_resources_context, 3: _build_actors_context}


def _exact_notes(notes: FieldNotes, pointer: str) -> dict[str, list[str]]:
    """Return the notes at exactly this pointer, without those below it."""
    return {
        "errors": [problem.detail for problem in notes.errors if problem.pointer == pointer],
        "lints": [problem.detail for problem in notes.lints if problem.pointer == pointer],
    }


def _step_rows(editor: BuilderRequest) -> list[dict[str, Any]]:
    wrong_steps = {step_number(problem) for problem in editor.errors}
    return [
        {"number": number, "label": label, "is_current": number == editor.step, "is_wrong": number in wrong_steps}
        for number, (label, _) in enumerate(STEPS, start=1)
    ]
