"""Template context around the fields of every editor: wording, lints and impact of the draft, and edit conflicts."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from policies.authoring.pages import presenters, version_diff
from policies.authoring.pages.editor_base import EditorRequest
from policies.authoring.pages.policy_list import load_author_names, policy_breadcrumbs
from policies.authoring.queries import policies
from policies.authoring.services import change_impact, import_export, lints, policy_storage
from policies.authoring.services.policies import PolicyInput
from policies.http.pages.impact_rows import impact_context
from policies.models import Policy


def build_aside(draft: PolicyInput, policy: Policy | None, *, is_sound: bool) -> dict[str, Any]:
    """Return the sentence and lints of a draft, and the impact of saving it; an invalid draft has the sentence only."""
    lint_problems = lints.find_lints(draft=draft, urn=policy.urn if policy else None) if is_sound else ()
    before = change_impact.policy_draft(policy) if policy else None
    draft_impact = change_impact.measure_impact(before=before, after=draft) if is_sound else None
    return {
        "sentence": presenters.get_presenter(draft.family).describe_policy(draft.document),
        "lints": lint_problems,
        **impact_context(draft_impact),
        "exact": import_export.format_proposal(draft=draft, urn=policy.urn if policy else "") if is_sound else "",
        "is_new": policy is None,
    }


def build_editor_context(editor: EditorRequest, draft: PolicyInput, *, templates: Sequence[Any]) -> dict[str, Any]:
    """Return the context of `policies/editor.html` beside the fields and the aside.

    `templates` are documents that a new policy can start from; they are offered until something was posted.
    """
    presenter, urn, policy = presenters.get_presenter(draft.family), editor.urn, editor.policy
    is_posted = editor.request.method == "POST"
    parent_crumbs = [(policy.name, reverse("policy", args=[policy.urn]))] if policy else []
    return {
        "work": editor,
        "conflict": _find_edit_conflict(editor, draft) if is_posted else {},
        "heading": f"Edit {policy.name}" if policy else "Edit policy" if urn else presenter.new_label,
        "is_dirty": is_posted and (policy is None or policy.document != draft.document),
        "action": reverse(presenter.edit_url_name, args=[urn]) if urn else reverse(presenter.new_url_name),
        "maker_url": reverse(presenter.new_url_name),
        "cancel_url": reverse("policy", args=[policy.urn]) if policy else reverse("policies"),
        "starters": templates if urn is None and not is_posted else [],
        "breadcrumbs": policy_breadcrumbs(*parent_crumbs, "Edit" if urn else "Create"),
    }


def _find_edit_conflict(editor: EditorRequest, draft: PolicyInput) -> dict[str, Any]:
    """Return the change somebody else made to the edited policy, compared with both versions; empty without one."""
    latest_event = policies.list_versions(urn=editor.urn).first() if editor.urn is not None else None
    if latest_event is None:
        return {}
    policy, base_version = editor.policy, editor.version
    authorship: dict[str, Any] = {"by": load_author_names({latest_event.by})[latest_event.by], "at": latest_event.at}
    if policy is None:
        return {"is_gone": True, "new_url": reverse(presenters.get_presenter(draft.family).new_url_name), **authorship}
    if base_version is None or policy.version == base_version:
        return {}
    base_event = policies.list_versions(urn=policy.urn).filter(version=base_version).first()
    base_snapshot = base_event.after if base_event is not None else None
    policy_snapshot = policy_storage.policy_snapshot(policy)
    draft_snapshot = {
        "document": draft.document,
        "state": _column_value(draft, "state"),
        "description": _column_value(draft, "description"),
    }
    pairs = [(base_snapshot, policy_snapshot), (base_snapshot, draft_snapshot), (policy_snapshot, draft_snapshot)]
    their_changes, draft_changes, remaining_changes = version_diff.build_change_rows(
        [presenters.compare_versions(draft.family, before, after) for before, after in pairs]
    )
    return {
        **authorship,
        "version": policy.version,
        "seen": base_version,
        "they": their_changes,
        "you": draft_changes,
        "between": remaining_changes,
        "again_url": presenters.edit_url(policy),
    }


def _column_value(draft: PolicyInput, name: str) -> str:
    """Return a column of a draft, from beside the document or from within it."""
    value = getattr(draft, name)
    return (draft.document.get(name) or "") if value is None else value
