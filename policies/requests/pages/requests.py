"""Lists of requests: one's own, and those that wait for the reader's decision."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.model import Actor
from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import UserUrnField
from policies.http.pages.list_and_form_pages import Section, build_columns, page_view
from policies.models import SubmittedRequest
from policies.pdp import authorizer, database_clock
from policies.requests.pages import wording
from policies.requests.queries import requests
from policies.requests.together import MAX_TOGETHER, build_equality_key

SECTION = Section("Requests", "requests")


class _StateForm(forms.Form):
    state = forms.ChoiceField(
        label="State",
        required=False,
        choices=[("", "Any"), *((state, label) for state, (label, _) in wording.STATES.items())],
        error_messages={"invalid_choice": "There is no such state."},
    )


class _WaitingForm(forms.Form):
    """Filters of what waits for the reader: for whom, about what, and how soon."""

    actor = UserUrnField(
        label="For",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"placeholder": "User name or URN", "autocomplete": "off"}),
    )
    entity = forms.CharField(
        label="On",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"placeholder": "URN of an entity", "autocomplete": "off"}),
    )
    due_days = forms.ChoiceField(
        label="Due",
        required=False,
        choices=[("", "Any time"), ("0", "Already"), ("1", "Within a day"), ("7", "Within a week")],
        error_messages={"invalid_choice": "There is no such time."},
    )


@page_view(signed_in)
def list_requests(request: HttpRequest) -> HttpResponse:
    """Page with one's own requests: asked for by the reader, or for it."""
    actor = get_actor(request)
    query = partial(requests.list_requests, by=actor, mine=True)
    return list_and_form_pages.render_filtered_list(
        request,
        "requests/list.html",
        "requests/_list.html",
        form=_StateForm(request.GET),
        query=query,
        build_rows=partial(build_rows, reader=actor),
        columns=build_columns("Request", "For", "State", "Waits for"),
        tabs=_build_tabs(is_to_decide=False),
        breadcrumbs=SECTION.breadcrumbs(),
    )


@page_view(signed_in)
def list_to_decide(request: HttpRequest) -> HttpResponse:
    """Page with the requests that wait for the reader, by the time they are due; equal ones can be decided together."""
    actor = get_actor(request)
    return list_and_form_pages.render_filtered_list(
        request,
        "requests/to_decide.html",
        "requests/_to_decide.html",
        form=_WaitingForm(request.GET),
        query=partial(_list_waiting, by=actor),
        build_rows=partial(_build_waiting_rows, reader=actor),
        columns=build_columns("Select", "Request", "Due", "For", "Equal"),
        tabs=_build_tabs(is_to_decide=True),
        breadcrumbs=SECTION.breadcrumbs(),
    )


def _list_waiting(*, by: Actor, due_days: str = "", **filters: str) -> QuerySet[SubmittedRequest]:
    """Return what waits for somebody, in so many days at the latest if any are given."""
    rows = requests.list_requests(
        by=by, to_decide=True, actor=filters.get("actor", ""), entity=filters.get("entity", "")
    )
    limit = database_clock.get_now() + timedelta(days=int(due_days or 0))
    return rows.filter(due_at__lte=limit) if due_days else rows


def _build_tabs(*, is_to_decide: bool) -> list[dict[str, Any]]:
    return [
        {"label": "My requests", "url": reverse("requests"), "is_current": not is_to_decide},
        {"label": "To decide", "url": reverse("requests-to-decide"), "is_current": is_to_decide},
    ]


def build_rows(rows: Sequence[SubmittedRequest], *, reader: Actor) -> list[dict[str, Any]]:
    """Return the rows of a list of requests for its reader; the number of queries does not grow with them."""
    urns = {urn for row in rows for urn in (row.actor, row.by)}
    for row in rows:
        urns.update(wording.list_item_urns(item.document for item in row.items.all()))
        urns.update(urn for step in row.steps.all() for urn in step.urns)
    names = authorizer.load_names(urns=urns)
    return [wording.build_request_row(row, names, reader=reader.urn) for row in rows]


def _build_waiting_rows(rows: Sequence[SubmittedRequest], *, reader: Actor) -> list[dict[str, Any]]:
    """Return the rows of what waits, each with the equal ones of the page that can be decided with it."""
    keys = [build_equality_key(row) for row in rows]
    counts = Counter(keys)
    urns_by_key: dict[str, list[str]] = {}
    for row, key in zip(rows, keys, strict=True):
        urns_by_key.setdefault(key, []).append(row.urn)
    now = database_clock.get_now()
    return [
        {
            **request_row,
            "reason": row.reason,
            "is_late": row.due_at is not None and row.due_at < now,
            "equal_count": counts[key] - 1,
            "together_url": _build_together_url(urns_by_key[key]),
        }
        for row, request_row, key in zip(rows, build_rows(rows, reader=reader), keys, strict=True)
    ]


def _build_together_url(urns: Sequence[str]) -> str:
    return f"{reverse('requests-together')}?{urlencode({'urn': urns[:MAX_TOGETHER]}, doseq=True)}"
