"""What a policy has been: who changed what and when, what differs between versions, and taking one up again."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.authoring.pages import datahub_presenter, presenters, version_diff
from policies.authoring.pages.impact_wording import OTHER_POLICIES, describe_change
from policies.authoring.pages.policy_actions import refusal_of, seen
from policies.authoring.pages.policy_list import crumbs, makers
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.authoring.services import policy_storage
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.http.guard import actor_of, needs
from policies.http.pages import channel_names, list_and_form_pages
from policies.models import Policy, PolicyEvent

_PAGE_SIZE = 20


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def history(request: HttpRequest, urn: str) -> HttpResponse:
    """Every change of a policy, newest first, in words; also of a policy that is gone."""
    stored = _stored(urn)
    page = list_and_form_pages.page_of(request, policies.versions(urn=urn), _PAGE_SIZE)
    events = list(page)
    if not events:
        raise NotFound(f"There is no policy {urn!r}.")
    names = makers({event.by for event in events})
    worded = version_diff.worded(presenters.changes(event.family, event.before, event.after) for event in events)
    context = {
        "urn": urn,
        "name": stored.name if stored else events[0].name,
        "policy": stored,
        "page": page,
        "rows": [
            {
                "event": event,
                "channel": channel_names.name_channel(event.door),
                "by": names[event.by],
                "changes": changes,
                "version_url": _version_url(event),
            }
            for event, changes in zip(events, worded, strict=True)
        ],
        "breadcrumbs": _crumbs(urn, stored, "History"),
    }
    return list_and_form_pages.listed(
        request, whole="policies/history.html", part="policies/_history.html", context=context
    )


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def version(request: HttpRequest, urn: str, number: int) -> HttpResponse:
    """One version: what it changed, and what taking it up again would change now."""
    event, stored = _event(urn, number), _stored(urn)
    now = policy_storage.snapshot_of(stored) if stored else None
    since = presenters.changes(event.family, now, event.after)
    made, again = version_diff.worded([presenters.changes(event.family, event.before, event.after), since])
    context = {
        "urn": urn,
        "policy": stored,
        "event": event,
        "by": makers({event.by})[event.by],
        "sentence": presenters.of(event.family).sentence(event.after["document"]) if event.after else "",
        "made": made,
        "again": again,
        "lines": version_diff.lines(*_documents(event)),
        "document": datahub_presenter.pretty(event.after["document"]) if event.after else "",
        "has_editor": presenters.has_editor(event.family),
        "can_restore": bool(stored and stored.is_editable and since),
        "breadcrumbs": _crumbs(urn, stored, ("History", reverse("policy-history", args=[urn])), f"Version {number}"),
    }
    return render(request, "policies/version.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def restore(request: HttpRequest, urn: str, number: int) -> HttpResponse:
    """Ask whether to take a version up again, saying what that changes; then do so."""
    event, policy = _event(urn, number), policies.policy(urn=urn)
    if event.after is None:
        raise NotFound(f"Version {number} of {policy.name} is its deletion, and cannot be restored.")
    if request.method == "POST":
        now = seen(request.GET.get("version"))
        try:
            written = service.restore(
                urn=urn, version=number, by=actor_of(request), door=list_and_form_pages.DOOR, if_version=now
            )
        except (Conflict, Forbidden, Invalid, Stale) as refusal:
            messages.error(request, refusal_of(refusal))
        else:
            sentence = f"Version {number} of {written.policy.name} was restored."
            messages.success(request, f"{sentence} Decisions follow it from now on.")
        return redirect("policy", urn)
    changes = presenters.changes(event.family, policy_storage.snapshot_of(policy), event.after)
    return list_and_form_pages.ask(
        request,
        title=f"Restore version {number} of {policy.name}?",
        text=f"The policy says again what it said in version {number}. What it says now stays in its history. "
        f"{OTHER_POLICIES}",
        losses=[
            *version_diff.describe_changes(changes),
            *describe_change(policy=policy, after=service.draft_of_version(event)),
        ],
        label="Restore this version",
        kind="primary",
        cancel_url=reverse("policy-history", args=[urn]),
    )


def _event(urn: str, number: int) -> PolicyEvent:
    event = policies.versions(urn=urn).filter(version=number).first() if number < 2**31 else None
    if event is None:
        raise NotFound(f"There is no version {number} of {urn!r}.")
    return event


def _stored(urn: str) -> Policy | None:
    return policies.policies_among(urns=[urn]).first()


def _documents(event: PolicyEvent) -> tuple[Any, Any]:
    before, after = ((side or {}).get("document") for side in (event.before, event.after))
    return before, after


def _version_url(event: PolicyEvent) -> str:
    return reverse("policy-version", args=[event.version, event.policy_urn])


def _crumbs(urn: str, stored: Policy | None, *items: str | tuple[str, str]) -> list[dict[str, str]]:
    policy = [(stored.name, reverse("policy", args=[urn]))] if stored else []
    return crumbs(*policy, *items)
