"""A change that somebody else made to a policy while it was edited, compared with both versions."""

from typing import Any

from django.urls import reverse

from policies.authoring.pages import presenters, version_diff
from policies.authoring.queries import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.models import Policy
from policies.models.policy import describe_validity


def find_edit_conflict(
    *, urn: str, policy: Policy | None, seen_version: int | None, draft: PolicyInput
) -> dict[str, Any]:
    """Return the change to a policy (None: deleted) since `seen_version` as _overtaken.html shows it; empty without."""
    events = policies.list_versions(urn=urn)
    latest_event = events.first()
    if latest_event is None:
        return {}
    authorship = {"by": presenters.load_author_names({latest_event.by})[latest_event.by], "at": latest_event.at}
    if policy is None:
        new_url = reverse(presenters.get_presenter(draft.family).new_url_name)
        return {"is_gone": True, "new_url": new_url, **authorship}
    if seen_version in (None, policy.version):
        return {}
    base_event = events.filter(version=seen_version).first()
    base = base_event.after if base_event is not None else None
    theirs = policy.build_snapshot()
    ours = {**theirs, "document": draft.document} | {
        name: draft.document.get(name) or "" if (value := getattr(draft, name)) is None else value
        for name in ("state", "description")
    }
    if draft.validity is not None:
        ours |= describe_validity(draft.validity)
    changes = [
        presenters.compare_versions(draft.family, *pair) for pair in ((base, theirs), (base, ours), (theirs, ours))
    ]
    return {
        **authorship,
        "version": policy.version,
        "seen": seen_version,
        **dict(zip(("they", "you", "between"), version_diff.build_change_rows(changes), strict=True)),
        "again_url": presenters.edit_url(policy),
    }
