"""Where the newest change of a policy is in force by now: one line on its page, which htmx asks again for a while."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.authoring.queries import policies
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.models import PolicyEvent
from policies.pdp import process_registry
from policies.pdp.process_registry import Process

#: How often the page asks, twice a second; a process that ended meanwhile is never heard of again.
_TRIES = 40


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def live(request: HttpRequest, urn: str) -> HttpResponse:
    """The line for htmx, else a page of its own."""
    policy = policies.policy(urn=urn)
    tried = request.GET.get("tried", "")
    context = {
        "policy": policy,
        **reached(policies.versions(urn=urn).first(), tried=int(tried) if tried in map(str, range(_TRIES)) else _TRIES),
        "breadcrumbs": list_and_form_pages.crumbs(
            "Permissions",
            ("Policies", reverse("policies")),
            (policy.name, reverse("policy", args=[urn])),
            ("Where it is live", ""),
        ),
    }
    return list_and_form_pages.listed(request, whole="policies/live.html", part="policies/_live.html", context=context)


def reached(event: PolicyEvent | None, *, tried: int = 0) -> dict[str, Any]:
    """Return what `policies/_live.html` shows of the newest change; it is empty where none is recorded."""
    if event is None:
        return {}
    found = process_registry.web()
    there = [one for one in found if one.version >= event.policy_version]
    is_everywhere = len(there) == len(found)
    again = f"{reverse('policy-live', args=[event.policy_urn])}?tried={tried + 1}"
    return {
        "live": {
            "sentence": _sentence(event, found, there),
            "again": "" if is_everywhere or tried >= _TRIES else again,
        }
    }


def _sentence(event: PolicyEvent, found: Sequence[Process], there: Sequence[Process]) -> str:
    number = "1 process" if len(found) == 1 else f"{len(there)} of {len(found)} processes"
    taken = _seconds(event, there) if len(there) == len(found) else None
    after = "" if taken is None else f" after {taken:.1f} s"
    return f"The newest change is live on {number}{after}."


def _seconds(event: PolicyEvent, there: Sequence[Process]) -> float | None:
    """Return how long the last of them took; None when some are further by now, or began with this version."""
    moments = [one.since for one in there if one.since is not None and one.version == event.policy_version]
    if not moments or any(one.version > event.policy_version for one in there):
        return None
    return max(max(moments) - event.at.timestamp(), 0.0)
