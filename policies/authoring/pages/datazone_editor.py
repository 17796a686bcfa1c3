"""The statement editor: a Datazone policy as a form and as JSON, each keeping the other in step.

Every button posts the whole form, so nothing is lost by adding or moving statements, by errors, or because somebody
else was faster. Works without scripts; with them only the part that changed is drawn anew.
"""

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.authoring.pages import editor_aside, editor_base
from policies.authoring.pages.builder_fields import Notes
from policies.authoring.pages.datazone_draft import SHOWN, Writing
from policies.authoring.pages.datazone_fields import cards, objects
from policies.authoring.pages.datazone_templates import BLANK, STARTERS
from policies.authoring.pages.editor_base import Edit
from policies.authoring.pages.policy_actions import seen
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.engine.errors import Problem
from policies.engine.families import datazone
from policies.engine.families.datazone_resource_patterns import types
from policies.errors import Invalid, NotFound
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.people_picker import Picker
from policies.models import Policy

_STATES = ((Policy.State.ACTIVE, "Active"), (Policy.State.INACTIVE, "Inactive"))


@dataclass(slots=True, kw_only=True)
class Work(Edit):
    """One request: what is being written, whether it was tried to be saved, and what was found wrong only then."""

    writing: Writing
    is_tried: bool = False
    late: list[Problem] = field(default_factory=list)

    @property
    def draft(self) -> service.Draft:
        """What is being written as services take it."""
        writing = self.writing
        return service.Draft(datazone.NAME, writing.document, state=writing.state, description=writing.description)

    def problems(self) -> tuple[Problem, ...]:
        """Return everything that keeps the policy from being stored."""
        try:
            service.checked(self.draft)
        except Invalid as refusal:
            return refusal.problems
        return ()


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def new(request: HttpRequest) -> HttpResponse:
    """Write a new policy: from nothing, an example, another policy, or a version of one."""
    if request.method == "POST":
        return _go_on(request, None, None)
    return _page(Work(request=request, writing=_beginning(request)))


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change a policy, or learn that somebody else did meanwhile."""
    if request.method == "POST":
        return _go_on(request, urn, policies.policies_among(urns=[urn]).first())
    policy = editor_base.opened(urn=urn, family=datazone.NAME)
    writing = Writing.of(policy.document, state=policy.state, description=policy.description)
    return _page(Work(request=request, urn=urn, stored=policy, version=policy.version, writing=writing))


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def ids(request: HttpRequest) -> HttpResponse:
    """Answer with the things of a type that a text in a field for an id may mean."""
    kind, place, name = (request.GET.get(key, "") for key in ("kind", "place", "part"))
    if kind not in types() or not place.isdecimal() or name not in ("project", "id"):
        raise NotFound("There is no such search.")
    text = request.GET.get(f"s{place}_{name}", "")[:200]
    options = objects(kind, text) if text.strip() else []
    return render(request, "policies/_found_ids.html", {"options": options, "place": place, "part": name})


def _beginning(request: HttpRequest) -> Writing:
    """Begin with a copy, which is not active before somebody looked at it, with an example, or with nothing."""
    if copy := editor_base.copied(request, family=datazone.NAME):
        document, description = copy
        return Writing.of(document, state=Policy.State.INACTIVE, description=description)
    starter = STARTERS.get(request.GET.get("template", ""))
    return Writing.of(starter.document if starter else BLANK)


def _go_on(request: HttpRequest, urn: str | None, stored: Policy | None) -> HttpResponse:
    """Take over what was posted and do what the pressed button says."""
    verb, _, rest = request.POST.get("go", "").partition(":")
    writing = Writing.posted(request.POST, wants=verb)
    if writing is None:
        raise Invalid.one(
            code="draft.unreadable", pointer="", detail="This form was not created by this site, or it is damaged."
        )
    version = seen(request.POST.get("version"))
    work = Work(request=request, urn=urn, stored=stored, version=version, writing=writing)
    work.is_tried = request.POST.get("tried") == "1" or verb == "apply"
    if writing.is_torn or writing.problems:
        work.status = list_and_form_pages.UNPROCESSABLE
        return _page(work)
    if verb in ("save", "takeover"):
        if verb == "takeover":
            work.version = seen(request.POST.get("newest"))
        return _save(work)
    if verb in ("add", "copy", "remove", "up", "down", "find", "use"):
        place, _, more = rest.partition(":")
        name, _, value = more.partition(":")
        writing.change(verb, place, name, value)
    return _page(work)


def _save(work: Work) -> HttpResponse:
    """Store the policy, or show what is in the way with everything that was typed."""
    work.is_tried = True
    saved = None
    try:
        saved = work.save(work.draft)
    except Invalid as refusal:
        work.late, work.status = list(refusal.problems), list_and_form_pages.UNPROCESSABLE
    return saved or _page(work)


def _page(work: Work) -> HttpResponse:
    writing = work.writing
    problems = work.problems()
    context = editor_aside.aside(work.draft, work.stored, is_sound=not problems)
    htmx = getattr(work.request, "htmx", None)
    is_kept = writing.is_torn or bool(writing.problems)
    if htmx and htmx.target == "builder-aside":
        return render(work.request, "policies/_statements_aside.html", {**context, "writing": writing, "kept": is_kept})
    errors = (*problems, *(one for one in work.late if one not in problems)) if work.is_tried else ()
    notes = Notes(errors, context["lints"])
    context |= editor_aside.frame(work, work.draft, starters=list(STARTERS.values()))
    context |= {
        "writing": writing,
        "enter": "refresh",
        "cards": cards(writing, notes),
        "hidden": max(len(writing.rows) - SHOWN, 0),
        "roles": _roles(writing, notes),
        "name": writing.document.get("name", ""),
        "states": [(*state, writing.state == state[0]) for state in _STATES],
        "notes": {name: notes.at(f"/{name}") for name in ("name", "state", "description")},
        "general": _general(notes),
        "unapplied": [(one.pointer, one.detail) for one in writing.problems],
        "is_wrong": bool(errors),
    }
    return render(work.request, "policies/statements.html", context, status=work.status)


def _roles(writing: Writing, notes: Notes) -> dict[str, Any]:
    found = notes.at("/roles")
    picker = Picker("roles", "Roles", "role", help="Anyone who holds one of them, directly or through a group.")
    picker.chosen = tuple(dict.fromkeys(writing.document.get("roles") or ()))
    picker.errors = found["errors"]
    return {**picker.drawn(), "lints": found["lints"]}


def _general(notes: Notes) -> list[str]:
    """Return what is wrong where the form has no field: with the whole, unknown keys, statements not shown."""
    fields = ["/name", "/roles", "/state", "/description", *(f"/statements/{place}" for place in range(SHOWN))]
    rest = [one for one in notes.errors if not any(f"{one.pointer}/".startswith(f"{at}/") for at in fields)]
    return [f"{one.pointer}: {one.detail}" if one.pointer else one.detail for one in rest[:10]]
