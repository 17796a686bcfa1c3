"""Editing the profile of a person, group, role or service account: one page for all of them.

If another editor saved in the meantime, the page shows both versions beside the original. The typed values are kept,
and saving again replaces the other editor's changes.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Stale
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, FormPage
from policies.models import ChangeEvent
from policies.pdp import display_names
from policies.writes import change_log_queries
from policies.writes.unit_of_work import fingerprint

#: Maximum number of recent change events searched for the facts that an edit began with.
_MAX_RECENT_EVENTS = 50

#: Facts without a form field → label in the comparison.
_EXTRA_LABELS = {"state": "State", "origin": "Origin"}


class NamedRecord(Protocol):
    """A stored record with a name."""

    @property
    def name(self) -> str:
        """The display name."""


def handle_form(
    request: HttpRequest,
    *,
    page: FormPage,
    urn: str,
    current_facts: Mapping[str, Any] | None,
    save: Callable[..., NamedRecord],
    success_message: str = "",
) -> HttpResponse:
    """Render the form that edits these facts (None if the record was removed) and save it by calling `save`."""
    if request.method == "POST":
        result = page.save_or_report(lambda cleaned_data: _save(save, urn, cleaned_data, request))
        if result is not None:
            messages.success(request, success_message or f"Saved {result.name}.")
            return redirect(page.cancel_url)
        if page.status == Stale.status and current_facts is not None:
            page.edit_conflict = _build_edit_conflict(page.form, urn, current_facts)
        list_and_form_pages.update_fingerprint(page.form, current_facts)
    return page.render(request)


def _save(
    save: Callable[..., NamedRecord], urn: str, cleaned_data: Mapping[str, Any], request: HttpRequest
) -> NamedRecord:
    fields = {name: value for name, value in cleaned_data.items() if name != "seen"}
    fingerprint = cleaned_data["seen"]
    return save(urn=urn, **fields, expected_fingerprint=fingerprint, by=get_actor(request), channel=CHANNEL)


def _build_edit_conflict(form: forms.Form, urn: str, current_facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of an edit conflict: editor, time, and each field whose three versions are not all equal."""
    events = list(change_log_queries.list_change_events(urn=urn)[:_MAX_RECENT_EVENTS])
    before = _find_original_facts(events, form.cleaned_data["seen"], current_facts)
    latest_event = next((event for event in events if _select_facts(event.after, current_facts) == current_facts), None)
    names = (
        {} if latest_event is None else display_names.load_names(urns=[latest_event.by]) | {SYSTEM_ACTOR: "The system"}
    )
    by = "Somebody" if latest_event is None else names.get(latest_event.by, latest_event.by)
    labels = {name: str(field.label) for name, field in form.fields.items() if name in current_facts}
    rows = [
        _conflict_row(label, before, name, current_facts, form.cleaned_data[name]) for name, label in labels.items()
    ]
    rows += [
        _conflict_row(label, before, name, current_facts, None)
        for name, label in _EXTRA_LABELS.items()
        if name in current_facts
    ]
    return {
        "by": by,
        "at": None if latest_event is None else latest_event.at,
        "knows_before": before is not None,
        "rows": [row for row in rows if len({row["before"], row["theirs"], row["yours"]} - {None}) > 1],
    }


def _find_original_facts(
    events: Iterable[ChangeEvent], expected_fingerprint: str, current_facts: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the facts that an edit began with, found in change events by their fingerprint; None if there are none."""
    sides = (_select_facts(side, current_facts) for event in events for side in (event.before, event.after))
    return next((facts for facts in sides if facts is not None and fingerprint(facts) == expected_fingerprint), None)


def _select_facts(side: Any, current_facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return only the facts from one side of a change event; None if the side does not contain all of them."""
    is_whole = isinstance(side, dict) and current_facts.keys() <= side.keys()
    return {name: side[name] for name in current_facts} if is_whole else None


def _conflict_row(
    label: str, before: Mapping[str, Any] | None, name: str, current_facts: Mapping[str, Any], new_value: str | None
) -> dict[str, Any]:
    return {
        "label": label,
        "before": None if before is None else before[name],
        "theirs": current_facts[name],
        "yours": new_value,
    }
