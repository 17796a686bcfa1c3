"""What the pages of reports share: who may see them, their tabs, and how a run is told in words."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.services import reports as service
from catalog.reports.spec import ReportSpec
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine.model import SYSTEM_ACTOR
from policies.http.guard import needs
from policies.pdp import authorizer

#: A report tells what everybody may do, so who sees one is whom the policies are open to.
VIEW_GUARD = needs(service.REQUIRED_PRIVILEGE)

ResultT = TypeVar("ResultT")

#: For how long is kept what was worked out of finished runs, which never change.
_CACHE_SECONDS = 3600

#: Part of Reports → what its tab says.
_TABS = {"reports": "Reports", "findings": "Findings", "assertions": "Assertions"}

_STATUS_BADGES = {
    Report.Status.QUEUED: ("info", ""),
    Report.Status.RUNNING: ("info", ""),
    Report.Status.READY: ("success", "check"),
    Report.Status.FAILED: ("danger", "close"),
    Report.Status.CANCELLED: ("neutral", ""),
}


def tabs(current: str) -> list[dict[str, Any]]:
    """Return the parts of Reports."""
    return [{"label": label, "url": reverse(route), "is_current": route == current} for route, label in _TABS.items()]


def breadcrumbs(*items: tuple[str, str]) -> list[dict[str, str]]:
    """Return the breadcrumbs of a page below Reports; each item is a label and an address, '' for the page itself."""
    links = [{"label": "Reports", "url": reverse("reports")} if items else {"label": "Reports"}]
    return links + [{"label": label, "url": url} if url else {"label": label} for label, url in items]


def get_spec(run: Report) -> ReportSpec:
    """Return the kind of a run; of a kind that is no longer made, one that knows its name alone."""
    spec = KINDS.get(run.kind)
    return spec or ReportSpec(name=run.kind, title=run.kind, description="", module="", tables=())


def status_badge(run: Report) -> dict[str, str]:
    """Return the status as components/badge.html draws it."""
    kind, icon = _STATUS_BADGES[Report.Status(run.status)]
    return {"label": Report.Status(run.status).label, "kind": kind, "icon": icon}


def relative_time(moment: datetime) -> str:
    """Return how long ago something was, in its largest unit."""
    is_new = timezone.now() - moment < timedelta(minutes=1)
    return "just now" if is_new else f"{timesince(moment, depth=1)} ago"


def duration(run: Report) -> str:
    """Return for how long a run was worked on, until now while it still is; '' before it began."""
    if run.started_at is None:
        return ""
    seconds = max(((run.finished_at or timezone.now()) - run.started_at).total_seconds(), 0)
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, remaining_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {remaining_seconds} s"


def load_people_links(urns: Collection[str], viewer: AnswerViewer) -> dict[str, dict[str, str]]:
    """Return how to name and link each of these users, in queries that do not grow with them."""
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
    """Return what was worked out of finished runs under this key, or work it out."""
    result: ResultT | None = cache.get(key)
    if result is None:
        result = compute()
        cache.set(key, result, _CACHE_SECONDS)
    return result
