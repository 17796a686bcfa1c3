"""Equal requests decided together: what all of them give in sum (GET), and one decision for each, with its result."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.authoring.pages.policy_actions import parse_version
from policies.engine.model import Actor
from policies.engine.wording import word_count
from policies.errors import Busy, PolicyAppError
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import CHANNEL, UNPROCESSABLE_STATUS, form_view
from policies.models import SubmittedRequest
from policies.models.request import MAX_NOTE_LENGTH, RequestState
from policies.pdp import authorizer
from policies.requests.errors import RequestInvalid
from policies.requests.pages import wording
from policies.requests.pages.one_request import build_instant, word_refusal
from policies.requests.pages.requests import SECTION
from policies.requests.services import deciding
from policies.requests.together import SummedEffect, load_equal, sum_effects

_APPROVE, _DENY = "approve", "deny"


class TogetherForm(forms.Form):
    """One decision about several requests: a note, which a denial needs, and a shorter end."""

    note = forms.CharField(
        label="Note",
        required=False,
        max_length=MAX_NOTE_LENGTH,
        help_text="A denial needs one. All of them get it.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    until = forms.DateField(label="End earlier (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))


@form_view(signed_in)
def decide_together(request: HttpRequest) -> HttpResponse:
    """Page with equal requests and their sum; a decision answers with the result of each request."""
    actor = get_actor(request)
    fields = request.POST if request.method == "POST" else request.GET
    try:
        rows = load_equal(urns=list(dict.fromkeys(fields.getlist("urn"))), by=actor)
    except RequestInvalid as refusal:
        return _render(request, {"refusal": word_refusal(refusal)}, status=UNPROCESSABLE_STATUS)
    form = TogetherForm(request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        is_denial = request.POST.get("go") == _DENY
        if form.is_valid() and is_denial and not form.cleaned_data["note"].strip():
            form.add_error("note", "Write a note: it is read by the others.")
        if form.is_valid():
            results = [_decide(request, row, form, actor, is_denial=is_denial) for row in rows]
            left = len(set(fields.getlist("urn"))) - len(rows)
            return _render(request, {"results": results, "left": left, "title": _word_items(rows)})
        status = UNPROCESSABLE_STATUS
    return _render(request, _build_context(rows, actor) | {"form": form}, status=status)


def _decide(
    request: HttpRequest, row: SubmittedRequest, form: TogetherForm, actor: Actor, *, is_denial: bool
) -> dict[str, Any]:
    """Decide one request by the service that decides every request, at the version that the page showed."""
    note, until = form.cleaned_data["note"].strip(), build_instant(form.cleaned_data["until"])
    if_version = parse_version(request.POST.get(f"version:{row.urn}")) or 0
    try:
        if is_denial:
            decided = deciding.deny(urn=row.urn, by=actor, note=note, channel=CHANNEL, if_version=if_version)
        else:
            decided = deciding.approve(
                urn=row.urn, by=actor, note=note, until=until, channel=CHANNEL, if_version=if_version
            )
    except PolicyAppError as refusal:
        return _build_result(row, "Not decided", "warning", word_refusal(refusal))
    label, kind = wording.STATES[decided.state]
    is_open = decided.state == RequestState.OPEN
    return _build_result(row, label, kind, "You agreed; others have to decide, too." if is_open else "")


def _build_result(row: SubmittedRequest, label: str, kind: str, sentence: str) -> dict[str, Any]:
    names = authorizer.load_names(urns=[row.actor])
    return {
        "name": names.get(row.actor, row.actor),
        "url": reverse("request", args=[row.urn]),
        "label": label,
        "kind": kind,
        "sentence": sentence,
    }


def _build_context(rows: Sequence[SubmittedRequest], actor: Actor) -> dict[str, Any]:
    names = authorizer.load_names(urns=[row.actor for row in rows])
    return {
        "title": _word_items(rows),
        "rows": [
            {
                "urn": row.urn,
                "version": row.version,
                "name": names.get(row.actor, row.actor),
                "end": wording.word_end(row.until),
                "reason": row.reason,
                "url": reverse("request", args=[row.urn]),
            }
            for row in rows
        ],
        **_word_sum(rows, actor),
    }


def _word_items(rows: Sequence[SubmittedRequest]) -> str:
    """Return what all of these requests ask for; '' without any."""
    return wording.load_title(rows[0]) if rows else ""


def _word_sum(rows: Sequence[SubmittedRequest], actor: Actor) -> dict[str, Any]:
    """Return the sentences about what all of the requests give together."""
    if not rows:
        return {}
    try:
        effect = sum_effects(rows, by=actor)
    except Busy as refusal:
        return {"sum": [refusal.detail]}
    except PolicyAppError as refusal:
        return {"sum": [f"What they give together cannot be worked out: {word_refusal(refusal)}"]}
    return {
        "sum": _word_effect(effect),
        "cautions": [
            f"Together they break the guardrail {guardrail.name}: {guardrail.sentence}"
            for guardrail in effect.guardrails
        ],
    }


def _word_effect(effect: SummedEffect) -> list[str]:
    gains, at_least = effect.gains, "" if effect.is_exact else "at least "
    pairs = word_count(gains.pairs, "privilege", "privileges")
    people = word_count(gains.people, "person", "people")
    entities = word_count(gains.entities, "entity", "entities")
    sentences = [f"Together they give {at_least}{pairs} on {entities} to {people} today."]
    if gains.platform:
        sentences.append(f"They give {word_count(gains.platform, 'privilege', 'privileges')} of the platform.")
    if effect.losses.size:
        sentences.append(f"They take {word_count(effect.losses.size, 'privilege', 'privileges')} away.")
    if effect.outside:
        sentences.append(f"{word_count(effect.outside, 'item is', 'items are')} given by another system.")
    if effect.unknown:
        sentences.append(f"{word_count(effect.unknown, 'item is', 'items are')} not in the sum.")
    return sentences


def _render(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    context |= {"breadcrumbs": SECTION.breadcrumbs(("To decide", reverse("requests-to-decide")), "Together")}
    return render(request, "requests/together.html", context, status=status)
