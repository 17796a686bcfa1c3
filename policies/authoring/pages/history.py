"""History of a policy: its changes with author and time, differences between versions, and restoring one."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.authoring.pages import datahub_presenter, presenters, version_diff
from policies.authoring.pages.impact_wording import OTHER_POLICIES, describe_change
from policies.authoring.pages.policy_actions import parse_version, refusal_text
from policies.authoring.pages.policy_list import load_author_names, policy_breadcrumbs
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.authoring.services import policy_storage
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.http.guard import get_actor, needs
from policies.http.pages import channel_names, list_and_form_pages
from policies.models import Policy, PolicyEvent

_PAGE_SIZE = 20


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def show_history(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of every change of a policy, newest first, as sentences; also of a deleted policy."""
    policy = _find_policy(urn)
    page = list_and_form_pages.get_page(request, policies.list_versions(urn=urn), _PAGE_SIZE)
    events = list(page)
    if not events:
        raise NotFound(f"There is no policy {urn!r}.")
    names = load_author_names({event.by for event in events})
    change_groups = version_diff.build_change_rows(
        presenters.compare_versions(event.family, event.before, event.after) for event in events
    )
    context = {
        "urn": urn,
        "name": policy.name if policy else events[0].name,
        "policy": policy,
        "page": page,
        "rows": [
            {
                "event": event,
                "channel": channel_names.name_channel(event.door),
                "by": names[event.by],
                "changes": changes,
                "version_url": _version_url(event),
            }
            for event, changes in zip(events, change_groups, strict=True)
        ],
        "breadcrumbs": _history_breadcrumbs(urn, policy, "History"),
    }
    return list_and_form_pages.render_list(
        request, page_template="policies/history.html", fragment_template="policies/_history.html", context=context
    )


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def show_version(request: HttpRequest, urn: str, number: int) -> HttpResponse:
    """Page of one version: its changes, and the changes that restoring it would make now."""
    event, policy = _load_event(urn, number), _find_policy(urn)
    current_snapshot = policy_storage.policy_snapshot(policy) if policy else None
    changes_since = presenters.compare_versions(event.family, current_snapshot, event.after)
    made_rows, restored_rows = version_diff.build_change_rows(
        [presenters.compare_versions(event.family, event.before, event.after), changes_since]
    )
    context = {
        "urn": urn,
        "policy": policy,
        "event": event,
        "by": load_author_names({event.by})[event.by],
        "sentence": presenters.get_presenter(event.family).describe_policy(event.after["document"])
        if event.after
        else "",
        "made": made_rows,
        "again": restored_rows,
        **version_diff.diff_documents(*_event_documents(event)),
        "document": datahub_presenter.format_json(event.after["document"]) if event.after else "",
        "can_restore": bool(policy and policy.is_editable and changes_since),
        "breadcrumbs": _history_breadcrumbs(
            urn, policy, ("History", reverse("policy-history", args=[urn])), f"Version {number}"
        ),
    }
    return render(request, "policies/version.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def restore(request: HttpRequest, urn: str, number: int) -> HttpResponse:
    """Confirmation of restoring a version, with the changes it makes (GET); the restore itself (POST)."""
    event, policy = _load_event(urn, number), policies.get_policy(urn=urn)
    if event.after is None:
        raise NotFound(f"Version {number} of {policy.name} is its deletion, and cannot be restored.")
    if request.method == "POST":
        expected_version = parse_version(request.GET.get("version"))
        try:
            result = service.restore(
                urn=urn,
                version=number,
                by=get_actor(request),
                channel=list_and_form_pages.CHANNEL,
                if_version=expected_version,
            )
        except (Conflict, Forbidden, Invalid, Stale) as refusal:
            messages.error(request, refusal_text(refusal))
        else:
            sentence = f"Version {number} of {result.policy.name} was restored."
            messages.success(request, f"{sentence} Decisions follow it from now on.")
        return redirect("policy", urn)
    changes = presenters.compare_versions(event.family, policy_storage.policy_snapshot(policy), event.after)
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Restore version {number} of {policy.name}?",
        text=f"The policy says again what it said in version {number}. What it says now stays in its history. "
        f"{OTHER_POLICIES}",
        losses=[
            *version_diff.describe_changes(changes),
            *describe_change(policy=policy, after=service.version_draft(event)),
        ],
        label="Restore this version",
        kind="primary",
        cancel_url=reverse("policy-history", args=[urn]),
    )


def _load_event(urn: str, number: int) -> PolicyEvent:
    event = policies.list_versions(urn=urn).filter(version=number).first() if number < 2**31 else None
    if event is None:
        raise NotFound(f"There is no version {number} of {urn!r}.")
    return event


def _find_policy(urn: str) -> Policy | None:
    return policies.find_policies(urns=[urn]).first()


def _event_documents(event: PolicyEvent) -> tuple[Any, Any]:
    before, after = ((snapshot or {}).get("document") for snapshot in (event.before, event.after))
    return before, after


def _version_url(event: PolicyEvent) -> str:
    return reverse("policy-version", args=[event.version, event.policy_urn])


def _history_breadcrumbs(urn: str, stored_policy: Policy | None, *items: str | tuple[str, str]) -> list[dict[str, str]]:
    policy_crumbs = [(stored_policy.name, reverse("policy", args=[urn]))] if stored_policy else []
    return policy_breadcrumbs(*policy_crumbs, *items)
