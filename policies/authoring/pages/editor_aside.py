"""What every editor draws around its fields: what the policy says and means, and what somebody else did to it."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from policies.authoring.pages import presenters, version_diff
from policies.authoring.pages.editor_base import Edit
from policies.authoring.pages.policy_list import crumbs, makers
from policies.authoring.queries import policies
from policies.authoring.services import change_impact, import_export, lints, policy_storage
from policies.authoring.services.policies import Draft
from policies.http.pages.impact_rows import meaning
from policies.models import Policy


def aside(draft: Draft, stored: Policy | None, *, is_sound: bool) -> dict[str, Any]:
    """Return what a draft says, what is worth a look in it, and what saving it would change for people and entities."""
    found = lints.lints(draft=draft, urn=stored.urn if stored else None) if is_sound else ()
    before = change_impact.draft_of(stored) if stored else None
    measured = change_impact.measured(before=before, after=draft) if is_sound else None
    return {
        "sentence": presenters.of(draft.family).sentence(draft.document),
        "lints": found,
        **meaning(measured),
        "exact": import_export.write_proposal(draft=draft, urn=stored.urn if stored else "") if is_sound else "",
        "is_new": stored is None,
    }


def frame(work: Edit, draft: Draft, *, starters: Sequence[Any]) -> dict[str, Any]:
    """Return what `policies/editor.html` needs beside the fields and the aside.

    `starters` are what a new policy can begin with; they are offered until something was posted.
    """
    presenter, urn, stored = presenters.of(draft.family), work.urn, work.stored
    is_posted = work.request.method == "POST"
    above = [(stored.name, reverse("policy", args=[stored.urn]))] if stored else []
    return {
        "work": work,
        "conflict": _overtaken(work, draft) if is_posted else {},
        "heading": f"Edit {stored.name}" if stored else "Edit policy" if urn else presenter.making,
        "is_dirty": is_posted and (stored is None or stored.document != draft.document),
        "action": reverse(presenter.editor, args=[urn]) if urn else reverse(presenter.maker),
        "maker_url": reverse(presenter.maker),
        "cancel_url": reverse("policy", args=[stored.urn]) if stored else reverse("policies"),
        "starters": starters if urn is None and not is_posted else [],
        "breadcrumbs": crumbs(*above, "Edit" if urn else "Create"),
    }


def _overtaken(work: Edit, draft: Draft) -> dict[str, Any]:
    """Return what somebody else did to the policy that is being edited, with both versions; nothing when nobody did."""
    latest = policies.versions(urn=work.urn).first() if work.urn is not None else None
    if latest is None:
        return {}
    stored, began_with = work.stored, work.version
    who: dict[str, Any] = {"by": makers({latest.by})[latest.by], "at": latest.at}
    if stored is None:
        return {"is_gone": True, "new_url": reverse(presenters.of(draft.family).maker), **who}
    if began_with is None or stored.version == began_with:
        return {}
    base = policies.versions(urn=stored.urn).filter(version=began_with).first()
    began = base.after if base is not None else None
    theirs = policy_storage.snapshot_of(stored)
    mine = {"document": draft.document, "state": _column(draft, "state"), "description": _column(draft, "description")}
    pairs = [(began, theirs), (began, mine), (theirs, mine)]
    they, you, between = version_diff.worded([presenters.changes(draft.family, one, other) for one, other in pairs])
    return {
        **who,
        "version": stored.version,
        "seen": began_with,
        "they": they,
        "you": you,
        "between": between,
        "again_url": presenters.edit_url(stored),
    }


def _column(draft: Draft, name: str) -> str:
    """Return what stands beside a document, or in one that holds it itself."""
    beside = getattr(draft, name)
    return (draft.document.get(name) or "") if beside is None else beside
