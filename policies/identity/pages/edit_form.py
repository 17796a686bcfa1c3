"""Editing the profile of a person, group, role or service account: one page for all of them.

If another editor saved in the meantime, the page shows both versions beside the original. The typed values are kept,
and saving again replaces the other editor's changes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from django import forms
from django.http import HttpRequest, HttpResponse

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Stale
from policies.http.guard import get_actor
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import CHANNEL, Section, redirect_with_message
from policies.models import ChangeEvent
from policies.pdp import display_names
from policies.writes import change_log_queries, unit_of_work

#: Maximum number of recent change events searched for the facts that an edit began with.
_MAX_RECENT_EVENTS = 50

_REMOVED = "It was removed in the meantime. Your text is shown below."

#: Facts without a form field → label in the comparison.
_EXTRA_LABELS = {"state": "State", "origin": "Origin"}


class NamedRecord(Protocol):
    """A stored record with a name."""

    @property
    def name(self) -> str:
        """The display name."""


Record = TypeVar("Record", bound=NamedRecord)


def handle_edit(
    request: HttpRequest,
    form_class: type[forms.Form],
    *,
    section: Section,
    url: str,
    urn: str,
    record: Record | None,
    load_facts: Callable[[Record], dict[str, Any]],
    save: Callable[..., NamedRecord],
    editable: Collection[str] | None = None,
    **texts: str,
) -> HttpResponse:
    """Show the form that edits a record (None if it was removed) and save it by calling `save`.

    `url` is the page of the record, `editable` are the fields that the caller may change: others are neither shown nor
    saved (None: all are shown). `texts` may replace the title and the last breadcrumb (`crumb`), the message of
    success, and add a subtitle.
    """
    current_facts = None if record is None else load_facts(record)
    name = urn if record is None else record.name
    page = FormPage(
        request,
        form_class,
        title=texts.get("title", f"Edit {name}"),
        subtitle=texts.get("subtitle", ""),
        label="Save",
        section=section,
        crumb=texts.get("crumb", name),
        cancel_url=url,
        keeps_draft=True,
        initial=None if current_facts is None else {**current_facts, "seen": unit_of_work.fingerprint(current_facts)},
    )
    hidden_fields = frozenset[str]() if editable is None else page.form.fields.keys() - {*editable, "seen"}
    for field in hidden_fields:
        del page.form.fields[field]
    # Who does not see all of the form does not see the rest of the record either.
    extra_labels = {} if hidden_fields else _EXTRA_LABELS
    if request.method == "POST":
        result = page.save_or_report(partial(_save, save, request, urn))
        if result is not None:
            return redirect_with_message(request, texts.get("message", f"Saved {result.name}."), url)
        if current_facts is not None:
            if page.status == Stale.status:
                page.edit_conflict = _build_edit_conflict(page.form, urn, current_facts, extra_labels)
            _update_fingerprint(page.form, current_facts)
    elif page.shows_draft:
        _compare_draft(page, urn, current_facts, extra_labels)
    return page.render()


def _compare_draft(
    page: FormPage, urn: str, current_facts: dict[str, Any] | None, extra_labels: Mapping[str, str]
) -> None:
    """Show in a draft what happened to the record since it was begun."""
    if current_facts is None:
        if not page.form.errors:
            page.form.add_error(None, _REMOVED)
        return
    if page.form.cleaned_data.get("seen") != unit_of_work.fingerprint(current_facts):
        page.edit_conflict = _build_edit_conflict(page.form, urn, current_facts, extra_labels)
    _update_fingerprint(page.form, current_facts)


def _save(save: Callable[..., NamedRecord], request: HttpRequest, urn: str, **fields: Any) -> NamedRecord:
    fingerprint = fields.pop("seen")
    return save(urn=urn, **fields, expected_fingerprint=fingerprint, by=get_actor(request), channel=CHANNEL)


def _update_fingerprint(form: forms.Form, facts: Mapping[str, Any]) -> None:
    """Give a refused form the fingerprint of the current facts, so that saving it again succeeds."""
    form.data = {**form.data.dict(), "seen": unit_of_work.fingerprint(facts)}  # type: ignore[attr-defined]  # a QueryDict


def _build_edit_conflict(
    form: forms.Form, urn: str, current_facts: Mapping[str, Any], extra_labels: Mapping[str, str]
) -> dict[str, Any]:
    """Return the context of an edit conflict: editor, time, and each field whose three versions are not all equal."""
    events = list(change_log_queries.list_change_events(urn=urn)[:_MAX_RECENT_EVENTS])
    before = _find_original_facts(events, form.cleaned_data.get("seen", ""), current_facts)
    latest_event = next((event for event in events if _select_facts(event.after, current_facts) == current_facts), None)
    names = (
        {} if latest_event is None else display_names.load_names(urns=[latest_event.by]) | {SYSTEM_ACTOR: "The system"}
    )
    by = "Somebody" if latest_event is None else names.get(latest_event.by, latest_event.by)
    labels = {name: str(field.label) for name, field in form.fields.items() if name in current_facts}
    rows = [
        _conflict_row(label, before, name, current_facts, form.cleaned_data.get(name, ""))
        for name, label in labels.items()
    ]
    rows += [
        _conflict_row(label, before, name, current_facts, None)
        for name, label in extra_labels.items()
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
    return next(
        (facts for facts in sides if facts is not None and unit_of_work.fingerprint(facts) == expected_fingerprint),
        None,
    )


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
