"""The statement editor: a Datazone policy as a form and as JSON, kept in step with each other.

Every button posts the whole form, so nothing is lost by adding or moving statements, by errors, or by a concurrent
change. It works without scripts; with them only the changed part is rendered again.
"""

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.authoring.pages import editor_aside, editor_base
from policies.authoring.pages.builder_fields import FieldNotes
from policies.authoring.pages.datazone_draft import MAX_VISIBLE_STATEMENTS, DatazoneDraft
from policies.authoring.pages.datazone_fields import build_statement_cards, search_objects
from policies.authoring.pages.datazone_templates import BLANK_DOCUMENT, TEMPLATES
from policies.authoring.pages.editor_base import EditorRequest
from policies.authoring.pages.policy_actions import parse_version
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.engine.errors import Problem
from policies.engine.families import datazone
from policies.engine.families.datazone_resource_patterns import list_types
from policies.errors import Invalid, NotFound
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.people_picker import PeoplePicker
from policies.models import Policy

_STATE_CHOICES = ((Policy.State.ACTIVE, "Active"), (Policy.State.INACTIVE, "Inactive"))


@dataclass(slots=True, kw_only=True)
class DatazoneEditorRequest(EditorRequest):
    """One request: the draft, whether saving was tried, and problems found only while saving."""

    datazone_draft: DatazoneDraft
    is_tried: bool = False
    save_problems: list[Problem] = field(default_factory=list)

    @property
    def policy_input(self) -> service.PolicyInput:
        """The draft as the input of services."""
        draft = self.datazone_draft
        return service.PolicyInput(datazone.NAME, draft.document, state=draft.state, description=draft.description)

    def find_problems(self) -> tuple[Problem, ...]:
        """Return every problem that keeps the policy from being stored."""
        try:
            service.validate_draft(self.policy_input)
        except Invalid as refusal:
            return refusal.problems
        return ()


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def create(request: HttpRequest) -> HttpResponse:
    """Page for a new policy: blank, from an example, another policy, or a version of one."""
    if request.method == "POST":
        return _handle_post(request, None, None)
    return _render_page(DatazoneEditorRequest(request=request, datazone_draft=_load_initial_draft(request)))


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Page to change a policy; it also reports a concurrent change by somebody else."""
    if request.method == "POST":
        return _handle_post(request, urn, policies.find_policies(urns=[urn]).first())
    policy = editor_base.open_policy(urn=urn, family=datazone.NAME)
    draft = DatazoneDraft.from_document(policy.document, state=policy.state, description=policy.description)
    return _render_page(
        DatazoneEditorRequest(request=request, urn=urn, policy=policy, version=policy.version, datazone_draft=draft)
    )


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def search_ids(request: HttpRequest) -> HttpResponse:
    """Entities of a type that the text in an id field may mean."""
    kind, index, part = (request.GET.get(key, "") for key in ("kind", "place", "part"))
    if kind not in list_types() or not index.isdecimal() or part not in ("project", "id"):
        raise NotFound("There is no such search.")
    text = request.GET.get(f"s{index}_{part}", "")[:200]
    options = search_objects(kind, text) if text.strip() else []
    return render(request, "policies/_found_ids.html", {"options": options, "place": index, "part": part})


def _load_initial_draft(request: HttpRequest) -> DatazoneDraft:
    """Return a draft from a copy (inactive until somebody reviews it), from an example, or blank."""
    if copy := editor_base.load_copy(request, family=datazone.NAME):
        document, description = copy
        return DatazoneDraft.from_document(document, state=Policy.State.INACTIVE, description=description)
    template = TEMPLATES.get(request.GET.get("template", ""))
    return DatazoneDraft.from_document(template.document if template else BLANK_DOCUMENT)


def _handle_post(request: HttpRequest, urn: str | None, policy: Policy | None) -> HttpResponse:
    """Read the posted draft and run the action of the pressed button."""
    verb, _, argument = request.POST.get("go", "").partition(":")
    draft = DatazoneDraft.from_post(request.POST, preferred_side=verb)
    if draft is None:
        raise Invalid.from_problem(
            code="draft.unreadable", pointer="", detail="This form was not created by this site, or it is damaged."
        )
    version = parse_version(request.POST.get("version"))
    editor = DatazoneEditorRequest(request=request, urn=urn, policy=policy, version=version, datazone_draft=draft)
    editor.is_tried = request.POST.get("tried") == "1" or verb == "apply"
    if draft.has_conflict or draft.problems:
        editor.status = list_and_form_pages.UNPROCESSABLE_STATUS
        return _render_page(editor)
    if verb in ("save", "takeover"):
        if verb == "takeover":
            editor.version = parse_version(request.POST.get("newest"))
        return _save(editor)
    if verb in ("add", "copy", "remove", "up", "down", "find", "use"):
        index, _, field_argument = argument.partition(":")
        name, _, value = field_argument.partition(":")
        draft.handle_button(verb, index, name, value)
    return _render_page(editor)


def _save(editor: DatazoneEditorRequest) -> HttpResponse:
    """Store the policy, or show its problems with all input."""
    editor.is_tried = True
    response = None
    try:
        response = editor.save(editor.policy_input)
    except Invalid as refusal:
        editor.save_problems, editor.status = list(refusal.problems), list_and_form_pages.UNPROCESSABLE_STATUS
    return response or _render_page(editor)


def _render_page(editor: DatazoneEditorRequest) -> HttpResponse:
    draft = editor.datazone_draft
    problems = editor.find_problems()
    context = editor_aside.build_aside(editor.policy_input, editor.policy, is_sound=not problems)
    htmx = getattr(editor.request, "htmx", None)
    has_unapplied_text = draft.has_conflict or bool(draft.problems)
    if htmx and htmx.target == "builder-aside":
        return render(
            editor.request, "policies/_statements_aside.html", {**context, "writing": draft, "kept": has_unapplied_text}
        )
    errors = (
        (*problems, *(problem for problem in editor.save_problems if problem not in problems))
        if editor.is_tried
        else ()
    )
    notes = FieldNotes(errors, context["lints"])
    context |= editor_aside.build_editor_context(editor, editor.policy_input, templates=list(TEMPLATES.values()))
    context |= {
        "writing": draft,
        "enter": "refresh",
        "cards": build_statement_cards(draft, notes),
        "hidden": max(len(draft.statement_forms) - MAX_VISIBLE_STATEMENTS, 0),
        "roles": _build_roles_picker(draft, notes),
        "name": draft.document.get("name", ""),
        "states": [(*state, draft.state == state[0]) for state in _STATE_CHOICES],
        "notes": {name: notes.find(f"/{name}") for name in ("name", "state", "description")},
        "general": _general_errors(notes),
        "unapplied": [(problem.pointer, problem.detail) for problem in draft.problems],
        "is_wrong": bool(errors),
    }
    return render(editor.request, "policies/statements.html", context, status=editor.status)


def _build_roles_picker(draft: DatazoneDraft, notes: FieldNotes) -> dict[str, Any]:
    role_notes = notes.find("/roles")
    picker = PeoplePicker("roles", "Roles", "role", help="Anyone who holds one of them, directly or through a group.")
    picker.chosen_urns = tuple(dict.fromkeys(draft.document.get("roles") or ()))
    picker.errors = role_notes["errors"]
    return {**picker.build_context(), "lints": role_notes["lints"]}


def _general_errors(notes: FieldNotes) -> list[str]:
    """Return the first ten errors without a field in the form: of the document, unknown keys, statements not shown."""
    fields = [
        "/name",
        "/roles",
        "/state",
        "/description",
        *(f"/statements/{index}" for index in range(MAX_VISIBLE_STATEMENTS)),
    ]
    other_errors = [
        problem
        for problem in notes.errors
        if not any(f"{problem.pointer}/".startswith(f"{pointer}/") for pointer in fields)
    ]
    return [
        f"{problem.pointer}: {problem.detail}" if problem.pointer else problem.detail for problem in other_errors[:10]
    ]
