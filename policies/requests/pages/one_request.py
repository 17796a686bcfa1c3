"""One request with everything that can be done with it: decided, commented, handed over, withdrawn, renewed."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from policies.authoring.pages.policy_actions import parse_version
from policies.engine.model import Actor
from policies.errors import Busy, Conflict, Forbidden, Invalid, Stale
from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    ask_and_act,
    form_view,
    redirect_with_message,
)
from policies.models.request import MAX_NOTE_LENGTH
from policies.requests.pages.decision_page import build_context
from policies.requests.queries import requests
from policies.requests.services import deciding, own_requests

#: The buttons of the page, each of a form of its own, but for asking for more time.
_FORMS = {"approve": "approve", "deny": "deny", "hand_over": "hand_over", "comment": "comment", "renew": "renew"}


class ActionForm(forms.Form):
    """The form of an action: a note, a shorter end, others who decide."""

    note = forms.CharField(
        label="Note", required=False, max_length=MAX_NOTE_LENGTH, widget=forms.Textarea(attrs={"rows": 2})
    )
    until = forms.DateField(label="End earlier (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    to = forms.CharField(label="Hand over to", required=False, max_length=512, help_text="User name or URN.")


@form_view(signed_in)
def show_request(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one request (GET), and what is done with it (POST); a refusal keeps what was typed."""
    actor = get_actor(request)
    pressed = request.POST.get("go", "") if request.POST.get("go", "") in _FORMS else "comment"
    shown_forms = {
        name: ActionForm(request.POST if request.method == "POST" and name == pressed else None, auto_id=f"{name}_%s")
        for name in _FORMS
    }
    form, status = shown_forms[pressed], 200
    if request.method == "POST":
        if form.is_valid():
            try:
                message = _run_action(pressed, urn, form.cleaned_data, request.POST, actor)
            except (Invalid, Conflict, Forbidden, Busy, Stale) as refusal:
                status = refusal.status
                form.add_error(None, word_refusal(refusal))
            else:
                return redirect_with_message(request, message, "request", urn)
        else:
            status = UNPROCESSABLE_STATUS
    context = build_context(requests.get_request(urn=urn, by=actor), actor)
    return list_and_form_pages.render_list(
        request,
        page_template="requests/detail.html",
        fragment_template="requests/detail.html",
        context={**context, "forms": shown_forms, "form": form},
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


def _run_action(pressed: str, urn: str, data: Mapping[str, Any], fields: QueryDict, by: Actor) -> str:
    """Do what the pressed button says, at the version that the page showed; return the message for the next page."""
    note, until, if_version = data["note"], build_instant(data["until"]), parse_version(fields.get("version"))
    actions: dict[str, tuple[Callable[[], Any], str]] = {
        "approve": (
            lambda: deciding.approve(
                urn=urn,
                by=by,
                channel=CHANNEL,
                ways=fields.getlist("way")[:1],
                until=until,
                note=note,
                if_version=if_version,
            ),
            "You agreed.",
        ),
        "deny": (
            lambda: deciding.deny(urn=urn, by=by, note=require_note(note), channel=CHANNEL, if_version=if_version),
            "You denied it.",
        ),
        "comment": (
            lambda: own_requests.comment(urn=urn, by=by, text=require_note(note)),
            "The comment is added.",
        ),
        "hand_over": (
            lambda: deciding.hand_over(
                urn=urn, by=by, to=[user_urn(data["to"])], note=require_note(note), if_version=if_version
            ),
            "The decision is handed over.",
        ),
        "renew": (
            lambda: own_requests.renew(urn=urn, by=by, until=until, reason=require_note(note)),
            "You asked for more time.",
        ),
    }
    act, message = actions[pressed]
    act()
    return message


def require_note(note: str) -> str:
    """Return a note without blanks around it; raises Invalid without any."""
    if not note.strip():
        raise Invalid.from_problem(
            code="note.missing", pointer="/note", detail="Write a note: it is read by the others."
        )
    return note.strip()


def build_instant(day: Any) -> datetime | None:
    """Return the beginning of a day, None for none."""
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


def word_refusal(refusal: Exception) -> str:
    """Return a refusal as sentences."""
    if isinstance(refusal, Invalid):
        return " ".join(problem.detail for problem in refusal.problems)
    return str(getattr(refusal, "detail", refusal))
