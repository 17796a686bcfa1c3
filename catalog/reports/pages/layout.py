"""Shared parts of the pages of reports: guard, tabs, breadcrumbs, and texts about a run."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, TypeVar

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from catalog.models import Report
from catalog.reports.services import reports as service
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Conflict, Invalid
from policies.http.guard import needs
from policies.http.pages.list_and_form_pages import Section
from policies.pdp import authorizer

#: Reports show what every user may do, so viewing them requires the privilege to manage policies.
VIEW_GUARD = needs(service.REQUIRED_PRIVILEGE)

#: The element in which a page that started a report shows it, with scripts.
IN_PLACE_ID = "impact-report"


def is_shown_in_place(request: HttpRequest) -> bool:
    """Whether another page asks for a run, to show it in its place."""
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and htmx.target == IN_PLACE_ID


def render_refusal_in_place(request: HttpRequest, refusal: Invalid | Conflict) -> HttpResponse:
    """Render why a report was not started."""
    details = [problem.detail for problem in refusal.problems] if isinstance(refusal, Invalid) else [refusal.detail]
    context = {"problem": " ".join(details), "url": ""}
    return render(request, "reports/_run_in_place.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)


SECTION = Section("Reports", "reports")

ResultT = TypeVar("ResultT")

#: Lifetime of cached results of finished runs, which never change.
_CACHE_SECONDS = 3600

#: Route of each part of Reports to the label of its tab.
_TABS = {
    "reports": "Reports",
    "findings": "Findings",
    "assertions": "Assertions",
    "warehouse-access": "Warehouse access",
}

_STATUS_BADGES = {
    Report.Status.QUEUED: ("info", ""),
    Report.Status.RUNNING: ("info", ""),
    Report.Status.READY: ("success", "check"),
    Report.Status.FAILED: ("danger", "close"),
    Report.Status.CANCELLED: ("neutral", ""),
}


def tabs(current: str) -> list[dict[str, Any]]:
    """Return the tabs of Reports."""
    return [{"label": label, "url": reverse(route), "is_current": route == current} for route, label in _TABS.items()]


def status_badge(run: Report) -> dict[str, str]:
    """Return the status of a run for components/badge.html."""
    kind, icon = _STATUS_BADGES[Report.Status(run.status)]
    return {"label": Report.Status(run.status).label, "kind": kind, "icon": icon}


def relative_time(moment: datetime) -> str:
    """Return the time since a moment, in its largest unit."""
    is_new = timezone.now() - moment < timedelta(minutes=1)
    return "just now" if is_new else f"{timesince(moment, depth=1)} ago"


def duration(run: Report) -> str:
    """Return the duration of a run, until now while it runs; '' before it started."""
    if run.started_at is None:
        return ""
    seconds = max(((run.finished_at or timezone.now()) - run.started_at).total_seconds(), 0)
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, remaining_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {remaining_seconds} s"


def load_people_links(urns: Collection[str], viewer: AnswerViewer) -> dict[str, dict[str, str]]:
    """Return name and link of each of these users; the number of queries does not depend on them."""
    names = authorizer.load_names(urns=set(urns)) | {SYSTEM_ACTOR: "the system"}
    return {
        urn: {
            "name": names.get(urn, urn),
            "url": viewer.account_url(urn) if urn != SYSTEM_ACTOR else "",
            "urn": urn,
        }
        for urn in urns
    }


def cache_report_result(key: str, compute: Callable[[], ResultT]) -> ResultT:
    """Return the cached result for a key, computed on a miss; only for results of finished runs."""
    result: ResultT | None = cache.get(key)
    if result is None:
        result = compute()
        cache.set(key, result, _CACHE_SECONDS)
    return result
