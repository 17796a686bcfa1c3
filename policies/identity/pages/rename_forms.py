"""Changing what a person, group, role or service account is called: one page serves all of them.

The second of two people who edit is told, and shown both versions beside what was there before; nothing typed is lost,
and saving once more puts it in the place of what the first one wrote.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Stale
from policies.http.guard import actor_of
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR, FormPage
from policies.models import ChangeEvent
from policies.pdp import display_names
from policies.writes import change_log_queries
from policies.writes.unit_of_work import fingerprint

#: How many of the last changes are looked through for what an edit began with.
_RECENT = 50

#: Facts that no form shows, and what a page calls them.
_BESIDE = {"state": "State", "origin": "Origin"}


class Named(Protocol):
    """Something that was stored and has a name."""

    @property
    def name(self) -> str:
        """What people call it."""


def answer(
    request: HttpRequest,
    *,
    page: FormPage,
    urn: str,
    now: Mapping[str, Any] | None,
    save: Callable[..., Named],
    done: str = "",
) -> HttpResponse:
    """Answer the page that edits these facts (None: what they were about is gone), and save what was typed."""
    if request.method == "POST":
        saved = page.try_to(lambda typed: save(urn=urn, **typed, by=actor_of(request), door=DOOR))
        if saved is not None:
            messages.success(request, done or f"Saved {saved.name}.")
            return redirect(page.cancel_url)
        if page.status == Stale.status and now is not None:
            page.overtaken = _overtaken(page.form, urn, now)
        list_and_form_pages.renew(page.form, now)
    return page.draw(request)


def _overtaken(form: forms.Form, urn: str, now: Mapping[str, Any]) -> dict[str, Any]:
    """Return who else changed it, when, and every field of which one of the three versions differs from another."""
    recent = list(change_log_queries.change_events(urn=urn)[:_RECENT])
    before = _begun(recent, form.cleaned_data["seen"], now)
    latest = next((event for event in recent if _facts(event.after, now) == now), None)
    names = {} if latest is None else display_names.names(urns=[latest.by]) | {SYSTEM_ACTOR: "The system"}
    by = "Somebody" if latest is None else names.get(latest.by, latest.by)
    labels = {name: str(field.label) for name, field in form.fields.items() if name in now}
    rows = [_row(label, before, name, now, form.cleaned_data[name]) for name, label in labels.items()]
    rows += [_row(label, before, name, now, None) for name, label in _BESIDE.items() if name in now]
    return {
        "by": by,
        "at": None if latest is None else latest.at,
        "knows_before": before is not None,
        "rows": [row for row in rows if len({row["before"], row["theirs"], row["yours"]} - {None}) > 1],
    }


def _begun(recent: Iterable[ChangeEvent], seen: str, now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the facts that an edit began with, as the record of changes keeps them."""
    sides = (_facts(side, now) for event in recent for side in (event.before, event.after))
    return next((facts for facts in sides if facts is not None and fingerprint(facts) == seen), None)


def _facts(side: Any, now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a side of a change without what was recorded beside the facts; None for a change of something else."""
    is_whole = isinstance(side, dict) and now.keys() <= side.keys()
    return {name: side[name] for name in now} if is_whole else None


def _row(
    label: str, before: Mapping[str, Any] | None, name: str, now: Mapping[str, Any], typed: str | None
) -> dict[str, Any]:
    return {"label": label, "before": None if before is None else before[name], "theirs": now[name], "yours": typed}
