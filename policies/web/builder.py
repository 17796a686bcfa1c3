"""The builder: a DataHub policy in three steps, with what it says and what it means beside the fields.

A step is a page. The whole draft travels in the form, so nothing is lost between steps, by errors, or because somebody
else was faster.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies import queries
from policies.engine.errors import Problem
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.guard import actor_of, needs
from policies.models import Policy
from policies.services import policies as service
from policies.services.policies import Written
from policies.web import drafts, pages, presenters
from policies.web.builder_page import STEPS, Work, page, step_of
from policies.web.policy_actions import seen
from policies.web.starters import BLANK, STARTERS, copied

#: The route of the page that edits a policy here.
ROUTE = "policy-edit"


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def new(request: HttpRequest) -> HttpResponse:
    """Write a new policy: from nothing, from a pattern of the guide, or from another policy or a version of one."""
    if request.method == "GET":
        return page(Work(request, drafts.Draft.of(_beginning(request)), None, None, None))
    return _go_on(request, None, None)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change a policy, or learn that somebody else did meanwhile."""
    if request.method == "POST":
        return _go_on(request, urn, queries.policies_among(urns=[urn]).first())
    policy = queries.policy(urn=urn)
    _refuse_strangers(policy.family, policy.name)
    if not policy.is_editable:
        raise Forbidden((), f"{policy.name} cannot be changed.")
    return page(Work(request, drafts.Draft.of(policy.document), policy, urn, policy.version))


def _beginning(request: HttpRequest) -> Mapping[str, Any]:
    like, number = request.GET.get("like", ""), seen(request.GET.get("version"))
    if like and number is not None:
        event = queries.versions(urn=like).filter(version=number, after__isnull=False).first()
        if event is None:
            raise NotFound(f"There is no version {number} of {like!r}.")
        _refuse_strangers(event.family, event.name)
        return copied(event.after["document"])
    if like:
        policy = queries.policy(urn=like)
        _refuse_strangers(policy.family, policy.name)
        return copied(policy.document)
    starter = STARTERS.get(request.GET.get("template", ""))
    return starter.document if starter else BLANK


def _refuse_strangers(family: str, name: str) -> None:
    """Raise NotFound for a policy that is written elsewhere."""
    if presenters.of(family).editor != ROUTE:
        raise NotFound(f"{name} is not written in this builder.")


def _go_on(request: HttpRequest, urn: str | None, stored: Policy | None) -> HttpResponse:
    """Take over what was posted and do what the pressed button says."""
    draft = drafts.Draft.signed(request.POST.get("draft", ""))
    if draft is None:
        raise Invalid.one(code="draft.unreadable", pointer="", detail="This form was not made here, or it is damaged.")
    work = Work(request, draft, stored, urn, seen(request.POST.get("version")))
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
            work.version = seen(work.request.POST.get("newest"))
            return _save(work)
        case "add":
            work.draft.add(rest, work.request.POST.get(f"{rest}_new", ""))
        case "remove":
            work.draft.remove(*rest.partition(":")[::2])
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
        work.errors, work.status, work.is_shown = tuple(mine), pages.UNPROCESSABLE, True
        return
    work.step, work.errors, work.is_shown = wanted, (), False


def _save(work: Work) -> HttpResponse:
    """Store the draft, or show what is in the way with everything that was typed."""
    if problems := work.problems():
        _show(work, problems)
        return page(work)
    try:
        written = _written(work)
    except Invalid as refusal:
        _show(work, refusal.problems)
    except (Conflict, Forbidden) as refusal:
        if isinstance(refusal, Forbidden) and refusal.missing:
            raise
        work.refusal, work.status = refusal.detail, refusal.status
    except (Stale, NotFound) as refusal:
        work.status = refusal.status
    else:
        messages.success(work.request, f"Saved as version {written.policy_version}. Decisions follow it from now on.")
        return redirect("policy", written.policy.urn)
    return page(work)


def _written(work: Work) -> Written:
    by = actor_of(work.request)
    if work.urn is None:
        return service.create(draft=work.checked, by=by, door=pages.DOOR)
    return service.update(urn=work.urn, draft=work.checked, by=by, door=pages.DOOR, if_version=work.version)


def _show_here(work: Work) -> None:
    """Go on showing what is wrong with this step, as it is by now."""
    work.errors = tuple(one for one in work.problems() if step_of(one) == work.step)
    work.is_shown = bool(work.errors)


def _show(work: Work, problems: tuple[Problem, ...]) -> None:
    work.errors, work.status, work.is_shown = problems, pages.UNPROCESSABLE, True
    steps = [step_of(one) for one in problems]
    if work.step not in steps:
        work.step = min(steps)
