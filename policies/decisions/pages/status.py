"""Settings > Status: policy versions of the processes, and a checklist of what slows down search and pages."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.decisions.pages.explore_common import AnswerViewer
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import Section, page_view
from policies.models import PolicyVersion
from policies.pdp import process_registry, self_checks
from policies.pdp.process_registry import Process
from policies.pdp.self_checks import Check

VIEW_GUARD = needs("MANAGE_POLICIES")

SECTION = Section("Status", "status", ("Settings", "Installation"))

_PROCESS_COLUMNS = list_and_form_pages.build_columns("Process", "Policy version", "Compared")


@page_view(VIEW_GUARD)
def show_status(request: HttpRequest) -> HttpResponse:
    """Page of the policy version, web processes and checklist. Workers answer slowly and are loaded separately."""
    viewer = AnswerViewer.from_actor(get_actor(request))
    stored_version = PolicyVersion.load_version()
    checks = self_checks.run()
    context = {
        "facts": [
            {"label": "Policy version", "value": stored_version},
            {"label": "Active policies", "value": f"{checks[0].count:,}", "url": f"{reverse('policies')}?state=ACTIVE"},
            {"label": "Policies refresh", "value": f"every {settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS} seconds"},
            {"label": "View authorization", "value": "on" if settings.VIEW_AUTHORIZATION_ENABLED else "off"},
        ],
        "rows": _process_rows(process_registry.list_web_processes(), stored_version),
        "columns": _PROCESS_COLUMNS,
        "checks": [_check_context(check, viewer) for check in checks],
        "workers_url": reverse("status-workers"),
        "breadcrumbs": SECTION.breadcrumbs(),
    }
    return render(request, "status/page.html", context)


@page_view(VIEW_GUARD)
def show_workers(request: HttpRequest) -> HttpResponse:
    """State of the broker and the workers: a fragment of the status page for htmx, else a page of its own."""
    queue = process_registry.inspect_queue()
    silent_workers = sorted(queue.answers.keys() - {process.name for process in queue.processes})
    context = {
        "kind": queue.kind,
        "silent": silent_workers,
        "rows": _process_rows(queue.processes, PolicyVersion.load_version()),
        "columns": _PROCESS_COLUMNS,
        "breadcrumbs": SECTION.breadcrumbs("Workers"),
    }
    return list_and_form_pages.render_list(
        request, page_template="status/workers.html", fragment_template="status/_workers.html", context=context
    )


def _process_rows(process_list: tuple[Process, ...], stored_version: int) -> list[dict[str, Any]]:
    return [
        {
            "name": process.name,
            "version": process.version,
            "is_behind": process.version < stored_version,
            "age": "never" if process.age is None else f"{process.age:.1f} s ago",
        }
        for process in process_list
    ]


def _check_context(check: Check, viewer: AnswerViewer) -> dict[str, Any]:
    return {
        "check": check,
        "findings": [{"finding": finding, "url": viewer.entity_url(finding.urn)} for finding in check.findings],
        "more": max(check.count - len(check.findings), 0) if check.findings and check.name != "domain_depth" else 0,
    }
