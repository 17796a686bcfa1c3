"""The builder: a DataHub policy in three steps, with what it says and what it means beside the fields.

A step is a page. The whole draft travels in the form, so nothing is lost between steps, by errors, or because somebody
else was faster.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.authoring.pages import datahub_draft, editor_base
from policies.authoring.pages.builder_page import STEPS, Work, page, step_of
from policies.authoring.pages.datahub_templates import BLANK, STARTERS
from policies.authoring.pages.policy_actions import seen
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
def new(request: HttpRequest) -> HttpResponse:
    """Write a new policy: from nothing, from a pattern of the guide, or from another policy or a version of one."""
    if request.method == "GET":
        return page(Work(request=request, draft=datahub_draft.Draft.of(_beginning(request))))
    return _go_on(request, None, None)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change a policy, or learn that somebody else did meanwhile."""
    if request.method == "POST":
        return _go_on(request, urn, policies.policies_among(urns=[urn]).first())
    policy = editor_base.opened(urn=urn, family=datahub.NAME)
    draft = datahub_draft.Draft.of(policy.document)
    return page(Work(request=request, urn=urn, stored=policy, version=policy.version, draft=draft))


def _beginning(request: HttpRequest) -> Mapping[str, Any]:
    if copy := editor_base.copied(request, family=datahub.NAME):
        return copy[0]
    starter = STARTERS.get(request.GET.get("template", ""))
    return starter.document if starter else BLANK


def _go_on(request: HttpRequest, urn: str | None, stored: Policy | None) -> HttpResponse:
    """Take over what was posted and do what the pressed button says."""
    draft = datahub_draft.Draft.signed(request.POST.get("draft", ""))
    if draft is None:
        raise Invalid.one(
            code="draft.unreadable", pointer="", detail="This form was not created by this site, or it is damaged."
        )
    version = seen(request.POST.get("version"))
    work = Work(request=request, urn=urn, stored=stored, version=version, draft=draft)
    draft.take(request.POST)
    step = request.POST.get("step", "1")
    work.step = int(step) if step in ("1", "2", "3") else 1
    if request.POST.get("is_shown"):
        _show_here(work)
    return _press(work, *request.POST.get("go", "next").partition(":")[::2])


def _press(work: Work, verb: str, rest: str) -> HttpResponse:
    """Do what a button says; `rest` is what it is about."""
    match verb:
        case "save":
            return _save(work)
        case "takeover":
            work.take_over()
            return _save(work)
        case "add":
            work.draft.add(rest, work.request.POST.get(f"{rest}_new", ""))
        case "remove":
            work.draft.remove(*rest.partition(":")[::2])
        case "drop":
            work.draft.drop(rest)
        case "convert":
            work.draft.convert()
        case "previous" | "next" | "1" | "2" | "3":
            _turn(work, verb)
        case _:
            pass
    return page(work)


def _turn(work: Work, verb: str) -> None:
    """Show another step; forward only when nothing is wrong with this one."""
    wanted = {"previous": work.step - 1, "next": work.step + 1}.get(verb) or int(verb if verb.isdecimal() else 1)
    wanted = min(max(wanted, 1), len(STEPS))
    mine = [one for one in work.problems() if step_of(one) == work.step]
    if wanted > work.step and mine:
        work.errors, work.status, work.is_shown = tuple(mine), list_and_form_pages.UNPROCESSABLE, True
        return
    work.step, work.errors, work.is_shown = wanted, (), False


def _save(work: Work) -> HttpResponse:
    """Store the draft, or show what is in the way with everything that was typed."""
    if problems := work.problems():
        _show(work, problems)
        return page(work)
    try:
        saved = work.save(work.checked)
    except Invalid as refusal:
        _show(work, refusal.problems)
        return page(work)
    return saved or page(work)


def _show_here(work: Work) -> None:
    """Go on showing what is wrong with this step, as it is by now."""
    work.errors = tuple(one for one in work.problems() if step_of(one) == work.step)
    work.is_shown = bool(work.errors)


def _show(work: Work, problems: tuple[Problem, ...]) -> None:
    work.errors, work.status, work.is_shown = problems, list_and_form_pages.UNPROCESSABLE, True
    steps = [step_of(one) for one in problems]
    if work.step not in steps:
        work.step = min(steps)
