"""The builder: a DataHub policy in three steps, with its wording and impact beside the fields.

A step is a page. The whole draft travels in the form, so nothing is lost between steps, by errors, or by a concurrent
change.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.authoring.pages import datahub_draft, editor_base
from policies.authoring.pages.builder_page import STEPS, BuilderRequest, render_page, step_number
from policies.authoring.pages.datahub_templates import BLANK_DOCUMENT, TEMPLATES
from policies.authoring.pages.policy_actions import parse_version
from policies.authoring.queries import policies
from policies.engine.errors import Problem
from policies.engine.families import datahub
from policies.errors import Invalid
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.models import Policy


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def create(request: HttpRequest) -> HttpResponse:
    """Page for a new policy: blank, from a template of the guide, or from another policy or a version of one."""
    if request.method == "GET":
        return render_page(
            BuilderRequest(
                request=request, draft=datahub_draft.DataHubDraft.from_document(_load_initial_document(request))
            )
        )
    return _handle_post(request, None, None)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Page to change a policy; it also reports a concurrent change by somebody else."""
    if request.method == "POST":
        return _handle_post(request, urn, policies.find_policies(urns=[urn]).first())
    policy = editor_base.open_policy(urn=urn, family=datahub.NAME)
    draft = datahub_draft.DataHubDraft.from_document(policy.document)
    return render_page(BuilderRequest(request=request, urn=urn, policy=policy, version=policy.version, draft=draft))


def _load_initial_document(request: HttpRequest) -> Mapping[str, Any]:
    if copy := editor_base.load_copy(request, family=datahub.NAME):
        return copy[0]
    template = TEMPLATES.get(request.GET.get("template", ""))
    return template.document if template else BLANK_DOCUMENT


def _handle_post(request: HttpRequest, urn: str | None, policy: Policy | None) -> HttpResponse:
    """Apply the posted form to the draft and run the action of the pressed button."""
    draft = datahub_draft.DataHubDraft.from_signed_text(request.POST.get("draft", ""))
    if draft is None:
        raise Invalid.from_problem(
            code="draft.unreadable", pointer="", detail="This form was not created by this site, or it is damaged."
        )
    version = parse_version(request.POST.get("version"))
    editor = BuilderRequest(request=request, urn=urn, policy=policy, version=version, draft=draft)
    draft.apply_form(request.POST)
    step = request.POST.get("step", "1")
    editor.step = int(step) if step in ("1", "2", "3") else 1
    if request.POST.get("is_shown"):
        _refresh_errors(editor)
    return _dispatch_button(editor, *request.POST.get("go", "next").partition(":")[::2])


def _dispatch_button(editor: BuilderRequest, verb: str, argument: str) -> HttpResponse:
    """Run the action of a button; `argument` is its parameter."""
    match verb:
        case "save":
            return _save(editor)
        case "takeover":
            editor.take_over()
            return _save(editor)
        case "add":
            editor.draft.add_criterion(argument, editor.request.POST.get(f"{argument}_new", ""))
        case "remove":
            editor.draft.remove_criterion(*argument.partition(":")[::2])
        case "drop":
            editor.draft.remove_unknown_field(argument)
        case "convert":
            editor.draft.convert_deprecated()
        case "previous" | "next" | "1" | "2" | "3":
            _change_step(editor, verb)
        case _:
            pass
    return render_page(editor)


def _change_step(editor: BuilderRequest, verb: str) -> None:
    """Show another step; moving forward requires that this step has no problems."""
    target_step = {"previous": editor.step - 1, "next": editor.step + 1}.get(verb) or int(
        verb if verb.isdecimal() else 1
    )
    target_step = min(max(target_step, 1), len(STEPS))
    step_problems = [problem for problem in editor.find_problems() if step_number(problem) == editor.step]
    if target_step > editor.step and step_problems:
        editor.errors, editor.status, editor.shows_errors = (
            tuple(step_problems),
            list_and_form_pages.UNPROCESSABLE_STATUS,
            True,
        )
        return
    editor.step, editor.errors, editor.shows_errors = target_step, (), False


def _save(editor: BuilderRequest) -> HttpResponse:
    """Store the draft, or show its problems with all input."""
    if problems := editor.find_problems():
        _show_problems(editor, problems)
        return render_page(editor)
    try:
        response = editor.save(editor.policy_input)
    except Invalid as refusal:
        _show_problems(editor, refusal.problems)
        return render_page(editor)
    return response or render_page(editor)


def _refresh_errors(editor: BuilderRequest) -> None:
    """Show the current problems of this step."""
    editor.errors = tuple(problem for problem in editor.find_problems() if step_number(problem) == editor.step)
    editor.shows_errors = bool(editor.errors)


def _show_problems(editor: BuilderRequest, problems: tuple[Problem, ...]) -> None:
    editor.errors, editor.status, editor.shows_errors = problems, list_and_form_pages.UNPROCESSABLE_STATUS, True
    steps = [step_number(problem) for problem in problems]
    if editor.step not in steps:
        editor.step = min(steps)
