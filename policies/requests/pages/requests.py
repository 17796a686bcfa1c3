"""Requests: one's own, those to decide, and one request with everything that can be done with it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.model import Actor
from policies.errors import Busy, Conflict, Forbidden, Invalid
from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    Section,
    ask_and_act,
    build_columns,
    form_view,
    page_view,
    redirect_with_message,
)
from policies.http.pages.ways import build_way
from policies.models import RequestItem, RequestStep, RequestTrail, SubmittedRequest
from policies.models.request import MAX_NOTE_LENGTH, RequestState
from policies.pdp import authorizer, database_clock
from policies.requests import chosen_ways
from policies.requests.items import load_item
from policies.requests.pages import wording
from policies.requests.queries import requests
from policies.requests.services import deciding, own_requests

SECTION = Section("Requests", "requests")

#: Ways that a page with one item offers beside the chosen one.
_MAX_WAYS = 10


class _StateForm(forms.Form):
    state = forms.ChoiceField(
        label="State",
        required=False,
        choices=[("", "Any"), *((state, label) for state, (label, _) in wording.STATES.items())],
        error_messages={"invalid_choice": "There is no such state."},
    )


class ActionForm(forms.Form):
    """What somebody adds to a decision: a note, another way, a shorter end, others who decide."""

    note = forms.CharField(
        label="Note", required=False, max_length=MAX_NOTE_LENGTH, widget=forms.Textarea(attrs={"rows": 2})
    )
    until = forms.DateField(label="End earlier (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    to = forms.CharField(label="Hand over to", required=False, max_length=512, help_text="User name or URN.")


@page_view(signed_in)
def list_requests(request: HttpRequest) -> HttpResponse:
    """Page with one's own requests: asked for by the reader, or for it."""
    return _render_list(request, is_to_decide=False)


@page_view(signed_in)
def list_to_decide(request: HttpRequest) -> HttpResponse:
    """Page with the requests that wait for the reader, by the time they are due."""
    return _render_list(request, is_to_decide=True)


def _render_list(request: HttpRequest, *, is_to_decide: bool) -> HttpResponse:
    actor = get_actor(request)
    form = _StateForm({} if is_to_decide else request.GET)
    query = partial(requests.list_requests, by=actor, mine=not is_to_decide, to_decide=is_to_decide)
    tabs = [
        {"label": "My requests", "url": reverse("requests"), "is_current": not is_to_decide},
        {"label": "To decide", "url": reverse("requests-to-decide"), "is_current": is_to_decide},
    ]
    return list_and_form_pages.render_filtered_list(
        request,
        "requests/list.html",
        "requests/_list.html",
        form=form,
        query=query,
        build_rows=partial(build_rows, reader=actor),
        columns=build_columns("Request", "For", "State", "Waits for"),
        tabs=tabs,
        is_to_decide=is_to_decide,
        breadcrumbs=SECTION.breadcrumbs(),
    )


def build_rows(rows: Sequence[SubmittedRequest], *, reader: Actor) -> list[dict[str, Any]]:
    """Return the rows of a list of requests for its reader; the number of queries does not grow with them."""
    urns = {urn for row in rows for urn in (row.actor, row.by)}
    for row in rows:
        urns.update(wording.list_item_urns(item.document for item in row.items.all()))
        urns.update(urn for step in row.steps.all() for urn in step.urns)
    names = authorizer.load_names(urns=urns)
    return [wording.build_request_row(row, names, reader=reader.urn) for row in rows]


@form_view(signed_in)
def show_request(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one request (GET), and what is done with it (POST); a refusal keeps what was typed."""
    actor = get_actor(request)
    form = ActionForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        if form.is_valid():
            try:
                message = _run_action(request, urn, form.cleaned_data, actor)
            except (Invalid, Conflict, Forbidden, Busy) as refusal:
                status = refusal.status
                form.add_error(None, _word_refusal(refusal))
            else:
                return redirect_with_message(request, message, "request", urn)
        else:
            status = UNPROCESSABLE_STATUS
    return list_and_form_pages.render_list(
        request,
        page_template="requests/detail.html",
        fragment_template="requests/detail.html",
        context=_build_context(requests.get_request(urn=urn, by=actor), actor, form),
        status=status,
    )


@form_view(signed_in)
def withdraw_request(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page, and the withdrawal of what is not decided yet."""
    requests.get_request(urn=urn, by=get_actor(request))
    return ask_and_act(
        request,
        partial(own_requests.withdraw, urn=urn),
        lambda _: redirect_with_message(request, "The request is withdrawn.", "request", urn),
        title="Withdraw this request?",
        text="Nobody decides it any more. You can ask again.",
        label="Withdraw",
        cancel_url=reverse("request", args=[urn]),
    )


def _run_action(request: HttpRequest, urn: str, data: Mapping[str, Any], by: Actor) -> str:
    """Do what the pressed button says, and return the message for the next page."""
    note, until = data["note"], _build_instant(data["until"])
    actions: dict[str, tuple[Callable[[], Any], str]] = {
        "approve": (
            lambda: deciding.approve(
                urn=urn,
                by=by,
                channel=CHANNEL,
                ways=[request.POST["way"]] if request.POST.get("way") else [],
                until=until,
                note=note,
            ),
            "You agreed.",
        ),
        "deny": (lambda: deciding.deny(urn=urn, by=by, note=_require_note(note), channel=CHANNEL), "You denied it."),
        "comment": (
            lambda: own_requests.comment(urn=urn, by=by, text=_require_note(note)),
            "The comment is added.",
        ),
        "hand_over": (
            lambda: deciding.hand_over(urn=urn, by=by, to=[user_urn(data["to"])], note=_require_note(note)),
            "The decision is handed over.",
        ),
        "renew": (
            lambda: own_requests.renew(urn=urn, by=by, until=until, reason=_require_note(note)),
            "You asked for more time.",
        ),
    }
    act, message = actions.get(request.POST.get("go", ""), actions["comment"])
    act()
    return message


def _require_note(note: str) -> str:
    if not note.strip():
        raise Invalid.from_problem(
            code="note.missing", pointer="/note", detail="Write a note: it is read by the others."
        )
    return note.strip()


def _build_instant(day: Any) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


def _word_refusal(refusal: Invalid | Conflict | Forbidden | Busy) -> str:
    if isinstance(refusal, Invalid):
        return " ".join(problem.detail for problem in refusal.problems)
    return refusal.detail


def _build_context(request: SubmittedRequest, reader: Actor, form: ActionForm) -> dict[str, Any]:
    is_own = reader.urn in (request.actor, request.by)
    is_hidden = request.is_blind and is_own
    items, steps, trail = list(request.items.all()), list(request.steps.all()), list(request.trail.all())
    can_decide = request.state == RequestState.OPEN and deciding.can_decide(request, reader)
    ways = _list_ways(request, items, reader) if can_decide else []
    stored_ways = [] if is_hidden else [item.way for item in items if item.way]
    urns = {request.actor, request.by, *(line.by for line in trail), *(urn for step in steps for urn in step.urns)}
    urns.update(wording.list_item_urns(item.document for item in items), wording.list_way_urns([*ways, *stored_ways]))
    names = authorizer.load_names(urns=urns)
    label, kind = wording.STATES[request.state]
    chosen = {way["id"] for way in stored_ways}
    return {
        "access_request": request,
        "form": form,
        "title": "; ".join(wording.word_stored_item(item.document, names) for item in items),
        "state_label": label,
        "state_kind": kind,
        "facts": [
            {"label": "For", "value": names.get(request.actor, request.actor)},
            {"label": "Asked by", "value": names.get(request.by, request.by)},
            {"label": "How long", "value": wording.word_end(request.until)},
            {"label": "Reason", "value": request.reason},
            {"label": "Ticket", "value": request.ticket, "url": request.ticket},
        ],
        "items": [_build_item(item, names, is_hidden=is_hidden) for item in items],
        "ways": [{**wording.word_way(way, names), "is_chosen": way["id"] in chosen} for way in ways[:_MAX_WAYS]],
        "steps": [] if is_hidden else [_build_step(step, names) for step in steps],
        "trail": [
            {
                "time": line.time,
                "sentence": wording.word_happened(line, names),
                "note": line.note,
                # Nobody types the note of this line: it is the address of a role, or a sentence of ours.
                "is_link": line.what == RequestTrail.What.SOURCE and line.note.startswith(("https://", "http://")),
            }
            for line in trail
            if not is_hidden or line.by in (request.by, request.actor)
        ],
        "can_decide": can_decide,
        "can_withdraw": is_own and request.state in (RequestState.OPEN, RequestState.WAITING_FOR_SOURCE),
        "can_renew": is_own and request.state == RequestState.DONE and request.until is not None,
        "breadcrumbs": SECTION.breadcrumbs("Request"),
    }


def _list_ways(request: SubmittedRequest, items: Sequence[RequestItem], reader: Actor) -> Sequence[chosen_ways.WayJson]:
    """Return the ways among which an approver chooses, worked out now; none of several items: each has its own."""
    if len(items) != 1 or request.renews_id is not None:
        return []
    item = items[0]
    return chosen_ways.list_ways(load_item(item.document), actor=request.actor, until=request.until, by=reader)


def _build_item(item: RequestItem, names: Mapping[str, str], *, is_hidden: bool) -> dict[str, Any]:
    label, kind = wording.STATES[item.state]
    return {
        "title": wording.word_stored_item(item.document, names),
        "way": None if is_hidden or not item.way else wording.word_way(item.way, names),
        "end": wording.word_end(item.ends_at) if item.state in (RequestState.DONE, RequestState.ENDED) else "",
        "times": build_way(now=database_clock.get_now(), until=item.ends_at),
        "state_label": label,
        "state_kind": kind,
    }


_STEP_STATES = {
    RequestStep.State.LATER: ("Later", "neutral"),
    RequestStep.State.WAITING: ("Waiting", "info"),
    RequestStep.State.AGREED: ("Agreed", "success"),
    RequestStep.State.DENIED: ("Denied", "danger"),
    RequestStep.State.EXPIRED: ("Not decided in time", "warning"),
    RequestStep.State.SKIPPED: ("Skipped", "neutral"),
}


def _build_step(step: RequestStep, names: Mapping[str, str]) -> dict[str, Any]:
    label, kind = _STEP_STATES[RequestStep.State(step.state)]
    return {
        "name": step.name,
        "people": [names.get(urn, urn) for urn in step.urns],
        "needs": step.needs,
        "due": step.due,
        "is_late": step.due is not None and step.due < database_clock.get_now(),
        "state_label": label,
        "state_kind": kind,
        "decisions": [
            {
                "by": names.get(decision.by, decision.by),
                "word": "agreed" if decision.is_agreement else "denied",
                "note": decision.note,
            }
            for decision in step.decisions.all()
        ],
    }
