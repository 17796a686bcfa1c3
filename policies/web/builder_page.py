"""What the builder draws: the step, what the policy says and means, and what somebody else did to it."""

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies import queries
from policies.engine.errors import Problem
from policies.engine.families import datahub
from policies.errors import Invalid
from policies.models import Policy
from policies.services import impact, lints
from policies.services import policies as service
from policies.web import differences, drafts, presenters, sentences
from policies.web.builder_fields import Fields, Notes
from policies.web.policies import crumbs, makers
from policies.web.policy_actions import counted
from policies.web.presenting import FIELDS
from policies.web.starters import STARTERS

#: The steps, each with the places in the document that it edits.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Policy", ("/displayName", "/description", "/type", "/state", "/editable", "/lastUpdatedTimestamp")),
    ("Resources and privileges", ("/resources", "/privileges")),
    ("Actors", ("/actors",)),
)

_STATES = (("ACTIVE", "Active"), ("INACTIVE", "Inactive"), ("DRAFT", "Draft"))
_KINDS = (
    (datahub.METADATA, "Metadata", "Privileges on entities of the catalog, or on some of them."),
    (datahub.PLATFORM, "Platform", "Privileges on the platform itself; it is about no resource."),
)


@dataclass(slots=True)
class Work:
    """One request of the builder: the draft, which step is shown, and what came of trying to go on or to save."""

    request: HttpRequest
    draft: drafts.Draft
    stored: Policy | None
    urn: str | None
    version: int | None
    step: int = 1
    is_shown: bool = False
    errors: tuple[Problem, ...] = ()
    refusal: str = ""
    conflict: dict[str, Any] = field(default_factory=dict)
    status: int = 200

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
    aside = _aside(work)
    notes = Notes((*work.errors, *work.draft.problems), aside["lints"])
    fields = Fields(work.draft, notes, work.request.POST)
    step = _STEP_CONTEXT[work.step](work, fields, notes)
    if htmx and htmx.target == "builder-aside":
        return render(work.request, "policies/_aside_live.html", {**aside, "live": step["live"]})
    _note_overtaken(work)
    heading = f"Edit {work.stored.name}" if work.stored else "Edit policy" if work.urn else "Create policy"
    above = [(work.stored.name, reverse("policy", args=[work.stored.urn]))] if work.stored else []
    context = {
        **aside,
        "work": work,
        "heading": heading,
        "steps": _steps(work),
        "is_last": work.step == len(STEPS),
        "template": f"policies/_step_{work.step}.html",
        "draft": work.draft.sealed(),
        "document": work.draft.document,
        "general": notes.at("")["errors"] if any(not one.pointer for one in work.errors) else [],
        "is_dirty": work.request.method == "POST"
        and (work.stored is None or work.stored.document != work.draft.document),
        "action": reverse("policy-edit", args=[work.urn]) if work.urn else reverse("policy-new"),
        "cancel_url": reverse("policy", args=[work.stored.urn]) if work.stored else reverse("policies"),
        "starters": list(STARTERS.values()) if work.urn is None and work.request.method == "GET" else [],
        "breadcrumbs": crumbs(*above, "Edit" if work.urn else "Create"),
        **step,
    }
    return render(work.request, "policies/builder.html", context, status=work.status)


def _head(work: Work, _fields: Fields, notes: Notes) -> dict[str, Any]:
    document = work.draft.document
    beside = {name: notes.at(f"/{name}") for name in ("displayName", "description", "type", "state", "editable")}
    return {
        "notes": beside,
        "live": beside,
        "kinds": [(*kind, document.get("type") == kind[0]) for kind in _KINDS],
        "states": [(*state, document.get("state") == state[0]) for state in _STATES],
        "is_editable": document.get("editable") is not False,
    }


def _resources(work: Work, fields: Fields, notes: Notes) -> dict[str, Any]:
    find = work.request.POST.get("find", "")[:100]
    block = work.draft.block
    addable = [(name, FIELDS[name]) for name in datahub.FIELDS]
    criteria, constraints = fields.criteria("c"), fields.criteria("s")
    beside = {"resources": _own(notes, "/resources"), "privileges": notes.at("/privileges")}
    return {
        "notes": beside,
        "live": beside | {card["key"]: card["notes"] for card in (*criteria, *constraints)},
        "is_platform": work.draft.document.get("type") == datahub.PLATFORM,
        "scope": "any" if block is None else "some",
        "s_scope": "any" if (block or {}).get(datahub.CONSTRAINTS) is None else "some",
        "deprecated": fields.deprecated(),
        "criteria": criteria,
        "criteria_hidden": fields.hidden("c"),
        "constraints": constraints,
        "constraints_hidden": fields.hidden("s"),
        "addable": addable,
        "find": find,
        "privileges": fields.privileges(find),
    }


def _actors(work: Work, fields: Fields, notes: Notes) -> dict[str, Any]:
    actors = work.draft.document.get("actors") or {}
    pickers = fields.actors()
    beside = {"actors": _own(notes, "/actors"), "resourceOwners": notes.at("/actors/resourceOwners")}
    return {
        "notes": beside,
        "live": beside | {name: {"lints": picker["notes"]["lints"]} for name, picker in pickers.items()},
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


def _aside(work: Work) -> dict[str, Any]:
    """Return what stands beside the fields: the sentence, what is worth a look, and the impact of saving."""
    is_sound = not work.problems()
    found = lints.lints(draft=work.checked) if is_sound else ()
    before = impact.draft_of(work.stored) if work.stored else None
    measured = impact.measured(before=before, after=work.checked) if is_sound else None
    return {
        "sentence": sentences.sentence(work.draft.document),
        "lints": found,
        "is_sound": is_sound,
        "impact": [_counted("People", measured.people)] if measured else [],
        "impact_entities": _counted("Entities", measured.entities) if measured and measured.entities else None,
        "is_new": work.stored is None,
    }


def _counted(label: str, count: impact.Count) -> dict[str, Any]:
    return {
        "label": label,
        "now": counted(count.now),
        "then": counted(count.then),
        "gained": [name or urn for urn, name in count.gained.items()],
        "lost": [name or urn for urn, name in count.lost.items()],
    }


def _note_overtaken(work: Work) -> None:
    """Say so when the policy was changed or deleted while it was being edited, and show both versions."""
    if work.urn is None or work.request.method == "GET":
        return
    latest = queries.versions(urn=work.urn).first()
    if latest is None:
        return
    by = makers({latest.by})[latest.by]
    if work.stored is None:
        work.conflict = {"is_gone": True, "by": by, "at": latest.at}
        return
    if work.version is None or work.stored.version == work.version:
        return
    base = queries.versions(urn=work.urn).filter(version=work.version).first()
    began = base.after if base is not None else None
    theirs = service.snapshot_of(work.stored)
    mine = {**theirs, **_columns(work)}
    pairs = [(began, theirs), (began, mine), (theirs, mine)]
    changes = [presenters.changes(work.stored.family, one, other) for one, other in pairs]
    they, you, between = differences.worded(changes)
    work.conflict = {
        "by": by,
        "at": latest.at,
        "version": work.stored.version,
        "seen": work.version,
        "they": they,
        "you": you,
        "between": between,
        "again_url": reverse("policy-edit", args=[work.urn]),
    }


def _columns(work: Work) -> dict[str, Any]:
    document = work.draft.document
    return {
        "document": document,
        "state": document.get("state") or "",
        "description": document.get("description") or "",
    }
