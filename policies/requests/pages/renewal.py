"""More time for what a request gave: one form, from the lists of what ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import form_view, redirect_with_message
from policies.http.pages.ways import word_until
from policies.models import SubmittedRequest
from policies.models.request import MAX_NOTE_LENGTH
from policies.requests.pages import wording
from policies.requests.pages.requests import SECTION
from policies.requests.queries import requests
from policies.requests.services import own_requests

_DURATIONS = {"14": "2 weeks more", "90": "90 days more", "date": "Until a date"}


class RenewalForm(forms.Form):
    """How much longer, and why; `until` is what both fields of the end come to."""

    duration = forms.ChoiceField(
        label="How long", choices=list(_DURATIONS.items()), widget=forms.RadioSelect, initial="14"
    )
    until = forms.DateField(label="Until (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    reason = forms.CharField(
        label="Reason",
        max_length=MAX_NOTE_LENGTH,
        help_text="Those who decide read it.",
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": MAX_NOTE_LENGTH}),
        error_messages={"required": "Say why: those who decide read it."},
    )

    def clean(self) -> dict[str, Any]:
        """Require the date where that is how the end is given."""
        data = super().clean() or {}
        if data.get("duration") == "date" and data.get("until") is None and "until" not in self.errors:
            self.add_error("until", "Give the date.")
        return data


@form_view(signed_in)
def renew_request(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that asks for a later end of what a request gave; the new request is shown then."""
    actor = get_actor(request)
    renewed = requests.get_request(urn=urn, by=actor)
    if actor.urn not in (renewed.actor, renewed.by) or renewed.until is None:
        raise NotFound(f"There is no request {urn} that could be renewed.")
    end = renewed.until

    def save(*, duration: str, until: Any, reason: str, by: Actor, **_: str) -> SubmittedRequest:
        return own_requests.renew(urn=urn, by=by, until=_find_until(end, duration, until), reason=reason)

    page = FormPage(
        request,
        RenewalForm,
        title="Ask for more time",
        label="Send the request",
        section=SECTION,
        subtitle=f"{wording.load_title(renewed)}, now {word_until(end, timezone.now())}.",
        cancel_url=reverse("request", args=[urn]),
        template="requests/renew.html",
    )
    return page.run(
        save, lambda renewal: redirect_with_message(request, "You asked for more time.", "request", renewal.urn)
    )


def _find_until(end: datetime, duration: str, date: Any) -> datetime:
    """Return the later end: so long after the present one, or the beginning of a day."""
    if duration == "date":
        return datetime(date.year, date.month, date.day, tzinfo=UTC)
    return max(end, timezone.now()) + timedelta(days=int(duration))
