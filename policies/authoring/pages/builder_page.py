"""What the builder draws: its steps, each with its fields and what is to be said beside them."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from policies.authoring.pages import datahub_draft, editor_aside, property_wording
from policies.authoring.pages.builder_fields import Fields, Notes
from policies.authoring.pages.datahub_presenter import FIELDS
from policies.authoring.pages.datahub_templates import STARTERS
from policies.authoring.pages.editor_base import Edit
from policies.authoring.services import policies as service
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.errors import Invalid

#: The steps, each with the places in the document that it edits.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Policy", ("/displayName", "/description", "/type", "/state", "/editable", "/lastUpdatedTimestamp")),
    ("Resources and privileges", ("/resources", "/privileges")),
    ("Actors", ("/actors",)),
)

_STATES = (("ACTIVE", "Active"), ("INACTIVE", "Inactive"), ("DRAFT", "Draft"))
_SCOPES = (
    ("any", "Everything, and questions without a resource"),
    ("some", "Resources that meet all conditions below"),
)
_TAG_SCOPES = (("any", "Any"), ("some", "Only tags that meet all conditions below"))
_KINDS = (
    (datahub.METADATA, "Metadata", "Privileges on entities of the catalog, or on some of them."),
    (datahub.PLATFORM, "Platform", "Privileges on the platform itself; it applies to no resource."),
)


@dataclass(slots=True, kw_only=True)
class Work(Edit):
    """One request of the builder: the draft, which step is shown, and what is wrong with it."""

    draft: datahub_draft.Draft
    step: int = 1
    is_shown: bool = False
    errors: tuple[Problem, ...] = ()

    @property
    def checked(self) -> service.Draft:
        """The draft as services take it."""
        return service.Draft(datahub.NAME, self.draft.document)

    def problems(self) -> tuple[Problem, ...]:
        """Return everything that is wrong with the document, and with what was posted."""
        try:
            service.checked(self.checked)
        except Invalid as refusal:
            return (*self.draft.problems, *refusal.problems)
        return tuple(self.draft.problems)


def step_of(problem: Problem) -> int:
    for number, (_, places) in enumerate(STEPS, start=1):
        if any(f"{problem.pointer}/".startswith(f"{place}/") for place in places):
            return number
    return 1


def page(work: Work) -> HttpResponse:
    htmx = getattr(work.request, "htmx", None)
    aside = editor_aside.aside(work.checked, work.stored, is_sound=not work.problems())
    notes = Notes((*work.errors, *work.draft.problems), aside["lints"])
    fields = Fields(work.draft, notes, work.request.POST)
    step = _STEP_CONTEXT[work.step](work, fields, notes)
    if htmx and htmx.target == "builder-aside":
        return render(work.request, "policies/_aside_live.html", {**aside, "live": step["live"]})
    is_last = work.step == len(STEPS)
    general = notes.at("")["errors"] if any(not one.pointer for one in work.errors) else []
    context = {
        **aside,
        **editor_aside.frame(work, work.checked, starters=list(STARTERS.values())),
        "steps": _steps(work),
        "is_last": is_last,
        "enter": "save" if is_last else "next",
        "template": f"policies/_step_{work.step}.html",
        "draft": work.draft.sealed(),
        "unknown": datahub_fields.list_unknown(work.draft.document),
        "document": work.draft.document,
        "general": general,
        "is_wrong": work.is_shown or bool(general),
        **step,
    }
    return render(work.request, "policies/builder.html", context, status=work.status)


def _head(work: Work, _fields: Fields, notes: Notes) -> dict[str, Any]:
    document = work.draft.document
    shown = {name: notes.at(f"/{name}") for name in ("displayName", "description", "type", "state", "editable")}
    return {
        "notes": shown,
        "live": shown,
        "kinds": [(*kind, document.get("type") == kind[0]) for kind in _KINDS],
        "states": [(*state, document.get("state") == state[0]) for state in _STATES],
        "is_editable": document.get("editable") is not False,
    }


def _resources(work: Work, fields: Fields, notes: Notes) -> dict[str, Any]:
    find = work.request.POST.get("find", "")[:100]
    block = work.draft.block
    addable = [(name, FIELDS[name]) for name in datahub.FIELDS]
    properties = list(property_wording.PARTIES.items())
    criteria, constraints = fields.criteria("c"), fields.criteria("s")
    scope = "any" if block is None else "some"
    tag_scope = "any" if (block or {}).get(datahub_fields.CONSTRAINTS) is None else "some"
    shown = {"resources": _own(notes, "/resources"), "privileges": notes.at("/privileges")}
    return {
        "notes": shown,
        "live": shown | {card["key"]: card["notes"] for card in (*criteria, *constraints)},
        "is_platform": work.draft.document.get("type") == datahub.PLATFORM,
        "scope": scope,
        "scopes": [(*one, scope == one[0]) for one in _SCOPES],
        "s_scope": tag_scope,
        "s_scopes": [(*one, tag_scope == one[0]) for one in _TAG_SCOPES],
        "deprecated": fields.deprecated(),
        "criteria": criteria,
        "criteria_hidden": fields.hidden("c"),
        "constraints": constraints,
        "constraints_hidden": fields.hidden("s"),
        "addable": addable,
        "addable_properties": properties,
        "find": find,
        "privileges": fields.privileges(find),
    }


def _actors(work: Work, fields: Fields, notes: Notes) -> dict[str, Any]:
    actors = work.draft.document.get("actors") or {}
    pickers = fields.actors()
    shown = {"actors": _own(notes, "/actors"), "resourceOwners": notes.at("/actors/resourceOwners")}
    return {
        "notes": shown,
        "live": shown | {name: {"lints": picker["notes"]["lints"]} for name, picker in pickers.items()},
        "is_platform": work.draft.document.get("type") == datahub.PLATFORM,
        "actors": actors,
        "pickers": pickers,
        "owner_types": "any" if actors.get("resourceOwnersTypes") is None else "some",
    }


_STEP_CONTEXT = {1: _head, 2: _resources, 3: _actors}


def _own(notes: Notes, pointer: str) -> dict[str, list[str]]:
    """Return the notes on a place itself, without those on what is in it."""
    return {
        "errors": [one.detail for one in notes.errors if one.pointer == pointer],
        "lints": [one.detail for one in notes.lints if one.pointer == pointer],
    }


def _steps(work: Work) -> list[dict[str, Any]]:
    wrong = {step_of(one) for one in work.errors}
    return [
        {"number": number, "label": label, "is_current": number == work.step, "is_wrong": number in wrong}
        for number, (label, _) in enumerate(STEPS, start=1)
    ]
