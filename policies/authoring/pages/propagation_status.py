"""Propagation of the newest change of a policy: one line on its page, which htmx polls for a while."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.authoring.pages.presenters import MANAGE_GUARD, SECTION
from policies.authoring.queries import policies
from policies.http.pages.list_and_form_pages import page_view, render_list
from policies.models import PolicyEvent
from policies.pdp import process_registry
from policies.pdp.process_registry import Process

#: Most polls of the page, two per second; a process that ended meanwhile never reports again.
_MAX_POLLS = 40


@page_view(MANAGE_GUARD)
def show_propagation(request: HttpRequest, urn: str) -> HttpResponse:
    """The line for htmx, else a page of its own."""
    policy = policies.get_policy(urn=urn)
    polls = request.GET.get("tried", "")
    context = {
        "policy": policy,
        **load_propagation(
            policies.list_versions(urn=urn).first(),
            polls=int(polls) if polls in map(str, range(_MAX_POLLS)) else _MAX_POLLS,
        ),
        "breadcrumbs": SECTION.breadcrumbs((policy.name, reverse("policy", args=[urn])), "Where it is live"),
    }
    return render_list(
        request, page_template="policies/live.html", fragment_template="policies/_live.html", context=context
    )


def load_propagation(event: PolicyEvent | None, *, polls: int = 0) -> dict[str, Any]:
    """Return the context of `policies/_live.html` for the newest change; empty where none is recorded."""
    if event is None:
        return {}
    web_processes = process_registry.list_web_processes()
    updated_processes = [process for process in web_processes if process.version >= event.policy_version]
    is_everywhere = len(updated_processes) == len(web_processes)
    poll_url = f"{reverse('policy-live', args=[event.policy_urn])}?tried={polls + 1}"
    return {
        "live": {
            "sentence": _propagation_sentence(event, web_processes, updated_processes),
            "again": "" if is_everywhere or polls >= _MAX_POLLS else poll_url,
        }
    }


def _propagation_sentence(
    event: PolicyEvent, web_processes: Sequence[Process], updated_processes: Sequence[Process]
) -> str:
    number = "1 process" if len(web_processes) == 1 else f"{len(updated_processes)} of {len(web_processes)} processes"
    seconds = _propagation_seconds(event, updated_processes) if len(updated_processes) == len(web_processes) else None
    duration_text = "" if seconds is None else f" after {seconds:.1f} s"
    return f"The newest change is live on {number}{duration_text}."


def _propagation_seconds(event: PolicyEvent, updated_processes: Sequence[Process]) -> float | None:
    """Return the seconds until the last process had the change; None if one has a later version, or started with it."""
    moments = [
        process.since
        for process in updated_processes
        if process.since is not None and process.version == event.policy_version
    ]
    if not moments or any(process.version > event.policy_version for process in updated_processes):
        return None
    return max(max(moments) - event.at.timestamp(), 0.0)
