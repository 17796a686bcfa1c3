"""Request access: one form for what is asked for, for whom, until when and why, with the ways and who decides."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from policies.errors import Busy, Conflict, Forbidden, Invalid
from policies.http.guard import get_actor, signed_in
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.list_and_form_pages import CHANNEL, UNPROCESSABLE_STATUS, form_view, redirect_with_message
from policies.models.request import MAX_NOTE_LENGTH
from policies.pdp import authorizer
from policies.requests.asked import read_asked
from policies.requests.items import ItemKind
from policies.requests.pages import wording
from policies.requests.plan import RequestPlan, make_plan
from policies.requests.services import asking

_DURATIONS = {"1": "1 day", "14": "2 weeks", "90": "90 days", "date": "Until a date"}
#: Parameters of the address that name a thing itself.
_TARGETS = (ItemKind.ROLE, ItemKind.GROUP, ItemKind.EXTERNAL_ROLE, ItemKind.POLICY)
#: Field of a problem, by the first part of its pointer.
_FIELD_BY_POINTER = {"actor": "actor", "until": "date", "reason": "reason", "ticket": "ticket", "items": "privilege"}


class RequestForm(forms.Form):
    """What is asked for, for whom, until when, and why."""

    privilege = forms.CharField(
        label="Privilege",
        required=False,
        max_length=200,
        help_text="The name of a privilege, such as EDIT_ENTITY_TAGS.",
        widget=forms.TextInput(attrs={"list": "privileges", "autocomplete": "off"}),
    )
    resource = forms.CharField(
        label="On",
        required=False,
        max_length=512,
        help_text="The URN of an entity. If empty: the platform itself.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    actor = forms.CharField(
        label="For",
        required=False,
        max_length=512,
        help_text="User name or URN. If empty: yourself.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    duration = forms.ChoiceField(label="How long", choices=list(_DURATIONS.items()), widget=forms.RadioSelect)
    date = forms.DateField(label="Until (UTC)", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    reason = forms.CharField(
        label="Reason",
        max_length=MAX_NOTE_LENGTH,
        help_text="Those who decide read it.",
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": MAX_NOTE_LENGTH}),
        required=False,
    )
    ticket = forms.CharField(label="Ticket", required=False, help_text="The address of a ticket, if there is one.")

    def clean_actor(self) -> str:
        """Return the URN; a plain name is taken as a user name."""
        return user_urn(self.cleaned_data["actor"])


@form_view(signed_in)
def request_access(request: HttpRequest) -> HttpResponse:
    """Page with the form; a look shows ways, steps and what is missing, and sending it stores the request."""
    targets = {kind.value: request.GET[kind] for kind in _TARGETS if request.GET.get(kind)}
    data = request.POST if request.method == "POST" else None
    initial = {name: request.GET.get(name, "") for name in ("privilege", "resource", "actor")} | {"duration": "14"}
    form = RequestForm(data, initial=initial)
    context: dict[str, Any] = {"form": form, "targets": targets, "cancel_url": reverse("requests")}
    status = 200
    if data is None:
        body = _build_body(initial | {"reason": "", "ticket": ""}, targets)
        if body["items"]:
            context |= _look(request, body, form, is_first=True)
    elif form.is_valid():
        body = _build_body(form.cleaned_data, targets) | {"confirmed": request.POST.getlist("confirmed")}
        if request.POST.get("way"):
            body["way"] = request.POST["way"]
        if request.POST.get("go") != "look":
            try:
                stored_request = asking.ask(asked_body=read_asked(body), by=get_actor(request), channel=CHANNEL)
            except (Invalid, Conflict, Forbidden) as refusal:
                status = refusal.status if not isinstance(refusal, Invalid) else UNPROCESSABLE_STATUS
                _add_problems(form, refusal)
            else:
                return redirect_with_message(request, "The request is sent.", "request", stored_request.urn)
        context |= _look(request, body, form)
    else:
        status = UNPROCESSABLE_STATUS
    return render(request, "requests/ask.html", context, status=status)


def _build_body(data: Mapping[str, Any], targets: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the API that the form states."""
    items: list[dict[str, Any]] = [{kind: urn} for kind, urn in targets.items()]
    if not items and data["privilege"]:
        resource = {"urn": data["resource"]} if data["resource"] else None
        items = [{"privilege": data["privilege"].strip(), "resource": resource}]
    body: dict[str, Any] = {"items": items, "reason": data["reason"], "ticket": data["ticket"]}
    if data["actor"]:
        body["actor"] = user_urn(data["actor"])
    until = _find_until(data)
    return body | ({"until": until.isoformat()} if until is not None else {})


def _find_until(data: Mapping[str, Any]) -> datetime | None:
    """Return the end that the form states; None for a date that was left out."""
    if data["duration"] == "date":
        date = data.get("date")
        return (
            None if date is None else datetime(date.year, date.month, date.day, tzinfo=timezone.get_default_timezone())
        )
    return timezone.now() + timedelta(days=int(data["duration"]))


def _look(
    request: HttpRequest, body: Mapping[str, Any], form: RequestForm, *, is_first: bool = False
) -> dict[str, Any]:
    """Return what the page shows of the request that this would be; refusals stand at their fields."""
    try:
        plan = make_plan(read_asked(body), by=get_actor(request), is_preview=True)
    except (Invalid, Conflict, Forbidden, Busy) as refusal:
        if is_first:
            open_urn = refusal.members.get("urn", "")
            return {"refusal": refusal.detail, "open_url": reverse("request", args=[open_urn]) if open_urn else ""}
        if form.is_bound and not form.errors:
            _add_problems(form, refusal)
        return {}
    return {"plan": _present_plan(plan, str(body.get("way", "")))}


def _present_plan(plan: RequestPlan, chosen: str) -> dict[str, Any]:
    urns = {plan.actor.urn, *wording.list_item_urns(item.document for item in plan.asked_body.items)}
    for item_ways in plan.ways:
        urns.update(wording.list_way_urns(item_ways))
    for step in plan.steps:
        urns.update(step.urns)
    names = authorizer.load_names(urns=urns)
    ways = [wording.word_way(way, names) for way in plan.ways[0]] if len(plan.ways) == 1 else []
    first = next((way["id"] for way in ways if way["is_selectable"]), "")
    return {
        "title": "; ".join(wording.word_item(item, names) for item in plan.asked_body.items),
        "is_blind": plan.is_blind,
        "end": wording.word_end(plan.until),
        "ways": [{**way, "is_chosen": way["id"] == (chosen or first)} for way in ways],
        "conditions": [] if plan.is_blind else list(plan.rule.terms.conditions.items()),
        "rule": "" if plan.is_blind else plan.rule.name,
        "confirmed": plan.asked_body.confirmed,
        "needs_ticket": plan.rule.terms.ticket == "required" and not plan.is_blind,
        "steps": []
        if plan.is_blind
        else [
            {"name": step.name, "people": [names.get(urn, urn) for urn in step.urns], "needs": step.needs}
            for step in plan.steps
        ],
    }


def _add_problems(form: RequestForm, refusal: Invalid | Conflict | Forbidden | Busy) -> None:
    if not isinstance(refusal, Invalid):
        form.add_error(None, refusal.detail)
        return
    for problem in refusal.problems:
        name = _FIELD_BY_POINTER.get(problem.pointer.strip("/").split("/")[0])
        form.add_error(name, problem.detail)
