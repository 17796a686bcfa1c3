"""Settings > Status: who answers from which policies, and what the guide says makes search and pages slow."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.decisions.pages.explore_common import Asker
from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.models import PolicyVersion
from policies.models.people import USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import process_registry, self_checks
from policies.pdp.process_registry import Process
from policies.pdp.self_checks import Check, Finding

SEES = needs("MANAGE_POLICIES")

_COLUMNS = [{"label": "Process"}, {"label": "Policy version"}, {"label": "Compared"}]


@require_GET
@never_cache
@SEES
def status(request: HttpRequest) -> HttpResponse:
    """The version of the policies, the web processes and the checklist. Workers take time, so they are asked apart."""
    asker = Asker.of(actor_of(request))
    stored = PolicyVersion.current()
    checks = self_checks.run()
    context = {
        "facts": [
            {"label": "Policy version", "value": stored},
            {"label": "Active policies", "value": f"{checks[0].count:,}", "url": f"{reverse('policies')}?state=ACTIVE"},
            {"label": "Workers compare", "value": f"every {settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS} seconds"},
            {"label": "View authorization", "value": "on" if settings.VIEW_AUTHORIZATION_ENABLED else "off"},
        ],
        "rows": _rows(process_registry.web(), stored),
        "columns": _COLUMNS,
        "checks": [_check(one, asker) for one in checks],
        "workers_url": reverse("status-workers"),
        "breadcrumbs": list_and_form_pages.crumbs("Installation", ("Status", "")),
    }
    return render(request, "status/page.html", context)


@require_GET
@never_cache
@SEES
def workers(request: HttpRequest) -> HttpResponse:
    """What broker and workers say: the part of the status page for htmx, else a page of its own."""
    queue = process_registry.queue()
    silent = sorted(queue.answers.keys() - {one.name for one in queue.processes})
    context = {
        "kind": queue.kind,
        "silent": silent,
        "rows": _rows(queue.processes, PolicyVersion.current()),
        "columns": _COLUMNS,
        "breadcrumbs": [
            *list_and_form_pages.crumbs("Installation", ("Status", reverse("status"))),
            {"label": "Workers"},
        ],
    }
    return list_and_form_pages.listed(
        request, whole="status/workers.html", part="status/_workers.html", context=context
    )


def _rows(found: tuple[Process, ...], stored: int) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "version": one.version,
            "is_behind": one.version < stored,
            "age": "never" if one.age is None else f"{one.age:.1f} s ago",
        }
        for one in found
    ]


def _check(check: Check, asker: Asker) -> dict[str, Any]:
    return {
        "check": check,
        "findings": [{"finding": one, "url": _url(one, asker)} for one in check.findings],
        "more": max(check.count - len(check.findings), 0) if check.findings and check.name != "domain_depth" else 0,
    }


def _url(finding: Finding, asker: Asker) -> str:
    if finding.urn.startswith(POLICY_PREFIX):
        return asker.policy_url(finding.urn)
    if finding.urn.startswith((USER_PREFIX, ROLE_PREFIX)):
        return asker.holder_url(finding.urn)
    return reverse("entity", args=[finding.urn])
