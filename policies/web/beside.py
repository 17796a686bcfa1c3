"""What stands beside the fields while a policy is written: what it says and means, and what somebody else did to it."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from policies import queries
from policies.models import Policy
from policies.services import impact, lints
from policies.services import policies as service
from policies.services.policies import Draft
from policies.web import differences, presenters
from policies.web.policies import makers
from policies.web.policy_actions import counted


def aside(draft: Draft, stored: Policy | None, *, is_sound: bool) -> dict[str, Any]:
    """Return what a draft says, what is worth a look in it, and what saving it would change for people and entities."""
    found = lints.lints(draft=draft, urn=stored.urn if stored else None) if is_sound else ()
    before = impact.draft_of(stored) if stored else None
    measured = impact.measured(before=before, after=draft) if is_sound else None
    return {
        "sentence": presenters.of(draft.family).sentence(draft.document),
        "lints": found,
        "is_sound": is_sound,
        "impact": [_counted("People", measured.people)] if measured else [],
        "impact_entities": _counted("Entities", measured.entities) if measured and measured.entities else None,
        "is_new": stored is None,
    }


def overtaken(
    *, urn: str | None, stored: Policy | None, seen: int | None, mine: Mapping[str, Any], family: str
) -> dict[str, Any]:
    """Return what somebody else did to the policy that is being edited, with both versions; nothing when nobody did.

    `seen` is the version that the edit began with, `mine` document, state and description as they are typed.
    """
    latest = queries.versions(urn=urn).first() if urn is not None else None
    if latest is None:
        return {}
    who: dict[str, Any] = {"by": makers({latest.by})[latest.by], "at": latest.at}
    if stored is None:
        return {"is_gone": True, "new_url": reverse(presenters.of(family).maker), **who}
    if seen is None or stored.version == seen:
        return {}
    base = queries.versions(urn=stored.urn).filter(version=seen).first()
    began = base.after if base is not None else None
    theirs = service.snapshot_of(stored)
    ours = {**theirs, **mine}
    pairs = [(began, theirs), (began, ours), (theirs, ours)]
    they, you, between = differences.worded([presenters.changes(family, one, other) for one, other in pairs])
    return {
        **who,
        "version": stored.version,
        "seen": seen,
        "they": they,
        "you": you,
        "between": between,
        "again_url": presenters.edit_url(stored),
    }


def _counted(label: str, count: impact.Count) -> dict[str, Any]:
    return {
        "label": label,
        "now": counted(count.now),
        "then": counted(count.then),
        "gained": [name or urn for urn, name in count.gained.items()],
        "lost": [name or urn for urn, name in count.lost.items()],
    }
