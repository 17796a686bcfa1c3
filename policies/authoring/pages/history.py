"""History of a policy: its changes with author and time, differences between versions, and restoring one."""

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.authoring.changes import PutPolicy
from policies.authoring.pages import datahub_presenter, presenters, version_diff
from policies.authoring.pages.policy_actions import ask_and_change, parse_version
from policies.authoring.pages.presenters import MANAGE_GUARD, SECTION
from policies.authoring.queries import policies
from policies.authoring.services import policies as service
from policies.authoring.services import policy_drafts
from policies.changes.pages.verdict_wording import describe_policy_changes
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages import channel_names
from policies.http.pages.list_and_form_pages import form_view, get_page, page_view, render_list
from policies.models import Policy, PolicyEvent

_PAGE_SIZE = 20


@page_view(MANAGE_GUARD)
def show_history(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of every change of a policy, newest first, as sentences; also of a deleted policy."""
    policy = _find_policy(urn)
    page = get_page(request, policies.list_versions(urn=urn), _PAGE_SIZE)
    events = list(page)
    if not events:
        raise NotFound(f"There is no policy {urn!r}.")
    names = presenters.load_author_names({event.by for event in events})
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
                "version_url": reverse("policy-version", args=[event.version, event.policy_urn]),
            }
            for event, changes in zip(events, change_groups, strict=True)
        ],
        "breadcrumbs": _build_breadcrumbs(urn, policy, "History"),
    }
    return render_list(
        request, page_template="policies/history.html", fragment_template="policies/_history.html", context=context
    )


@page_view(MANAGE_GUARD)
def show_version(request: HttpRequest, urn: str, number: int) -> HttpResponse:
    """Page of one version: its changes, and the changes that restoring it would make now."""
    event, policy = _load_event(urn, number), _find_policy(urn)
    current_snapshot = policy.build_snapshot() if policy else None
    changes_since = presenters.compare_versions(event.family, current_snapshot, event.after)
    made_rows, restored_rows = version_diff.build_change_rows(
        [presenters.compare_versions(event.family, event.before, event.after), changes_since]
    )
    context = {
        "urn": urn,
        "policy": policy,
        "event": event,
        "by": presenters.load_author_names({event.by})[event.by],
        "sentence": presenters.get_presenter(event.family).describe_policy(event.after["document"])
        if event.after
        else "",
        "made": made_rows,
        "again": restored_rows,
        **version_diff.diff_documents(*((snapshot or {}).get("document") for snapshot in (event.before, event.after))),
        "document": datahub_presenter.format_json(event.after["document"]) if event.after else "",
        "can_restore": bool(policy and policy.is_editable and changes_since),
        "breadcrumbs": _build_breadcrumbs(
            urn, policy, ("History", reverse("policy-history", args=[urn])), f"Version {number}"
        ),
    }
    return render(request, "policies/version.html", context)


@form_view(MANAGE_GUARD)
def restore(request: HttpRequest, urn: str, number: int) -> HttpResponse:
    """Confirmation of restoring a version, with the changes it makes (GET); the restore itself (POST)."""
    event, policy = _load_event(urn, number), policies.get_policy(urn=urn)
    if event.after is None:
        raise NotFound(f"Version {number} of {policy.name} is its deletion, and cannot be restored.")
    draft = policy_drafts.version_draft(event)
    changes = presenters.compare_versions(event.family, policy.build_snapshot(), event.after)
    return ask_and_change(
        request,
        partial(service.restore, urn=urn, version=number, if_version=parse_version(request.GET.get("version"))),
        f"Version {number} of {event.name} was restored. Decisions follow it from now on.",
        reverse("policy", args=[urn]),
        losses=lambda: version_diff.describe_changes(changes),
        effect=lambda: describe_policy_changes(changes=[PutPolicy(urn, draft)], by=get_actor(request)),
        title=f"Restore version {number} of {policy.name}?",
        text=f"The policy says again what it said in version {number}. Its present text stays in its history.",
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


def _build_breadcrumbs(urn: str, policy: Policy | None, *items: str | tuple[str, str]) -> list[dict[str, str]]:
    return SECTION.breadcrumbs(*([(policy.name, reverse("policy", args=[urn]))] if policy else []), *items)
