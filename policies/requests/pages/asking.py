"""Request access and Give access: one panel for what, for whom, until when and why, with the ways and who decides.

An owner of everything in a request gives it by asking for somebody else: there is one procedure for both.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.engine.families import vocabulary
from policies.errors import Busy, Conflict, Forbidden, Invalid
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    form_view,
    is_fragment_request,
    redirect_with_message,
)
from policies.models.request import RequestState
from policies.pdp import authorizer
from policies.requests.asked import read_asked
from policies.requests.items import URN_PREFIX
from policies.requests.pages.asked_form import KINDS, SUBJECT_FIELDS, LinkedItems, RequestForm
from policies.requests.pages.outlook import present_outlook
from policies.requests.pages.wording import list_item_urns, word_stored_item
from policies.requests.plan import make_plan
from policies.requests.services import asking

_Refusal = Invalid | Conflict | Forbidden | Busy

#: Quick ends that a page tries when it opens: a rule may allow less than the usual one.
_FIRST_DURATIONS = ("14", "1")

#: Most things offered for a name.
_MAX_CHOICES = 10

_MESSAGES = {
    RequestState.DONE: "Access is given.",
    RequestState.WAITING_FOR_SOURCE: "This is approved, and asked of the system that owns it.",
}


@form_view(signed_in)
def request_access(request: HttpRequest) -> HttpResponse:
    """Page of a request for oneself or others; a look shows ways, steps and what is refused, sending it stores it."""
    return _Panel(request, is_giving=False).respond()


@form_view(signed_in)
def ask_for_others(request: HttpRequest) -> HttpResponse:
    """Page on which an owner gives access: the request is the owner's, who counts as the approver."""
    return _Panel(request, is_giving=True).respond()


class _Panel:
    """One form of a request, as it was opened or sent."""

    def __init__(self, request: HttpRequest, *, is_giving: bool) -> None:
        self.request = request
        self.is_giving = is_giving
        self.linked = LinkedItems.read(request.GET)
        self.initial = {name: request.GET.get(name, "") for name in ("actor", "reason", "ticket")} | {"duration": "14"}
        self.form = self._build_form(request.POST if request.method == "POST" else None)
        self.status = 200
        self.context: dict[str, Any] = {}

    def respond(self) -> HttpResponse:
        """Return the page, its part with ways and steps, or the redirect to what was stored."""
        if not self.form.is_bound:
            self._open()
        elif not self.form.is_valid() or not self._resolve_resource():
            self.status = UNPROCESSABLE_STATUS
        elif self.request.POST.get("go") == "look":
            self._look(self._build_body())
        elif (redirect := self._send()) is not None:
            return redirect
        return self._render()

    def _build_form(self, data: Any) -> RequestForm:
        return RequestForm(data, linked=self.linked, is_giving=self.is_giving, initial=self.initial)

    def _open(self) -> None:
        """Look at what the address names, with the first quick end that its rule allows."""
        refusal: _Refusal | None = None
        for duration in _FIRST_DURATIONS:
            self.initial["duration"] = duration
            body = self.form.build_body(self.initial)
            if not body["items"] or (self.is_giving and not self.initial["actor"]):
                return
            refusal = self._find_outlook(body)
            self.form.initial["duration"] = duration
            if refusal is None or not (isinstance(refusal, Invalid) and refusal.code == "until.too_long"):
                break
        if refusal is not None:
            open_urn = refusal.members.get("urn", "")
            open_url = reverse("request", args=[open_urn]) if open_urn else ""
            self.context |= {"refusal": _word_refusal(refusal), "open_url": open_url}

    def _resolve_resource(self) -> bool:
        """Take the only thing of a name that was typed; else offer those that may be meant, and return False."""
        text = self.form.cleaned_data.get("resource", "").strip()
        if not text or text.startswith("urn:"):
            return True
        entries = authorizer.directory().search(text=text, types=(), limit=_MAX_CHOICES)
        if len(entries) == 1:
            self.form.cleaned_data["resource"] = entries[0].urn
            return True
        detail = "Several things may be meant; choose one." if entries else "Nothing of that name is in the catalog."
        self.form.add_error("resource", detail)
        privilege = self.form.cleaned_data.get("privilege", "")
        self.context["choices"] = [
            {"label": entry.name, "hint": entry.urn, "url": self._build_url(resource=entry.urn, privilege=privilege)}
            for entry in entries
        ]
        return False

    def _build_url(self, **query: str) -> str:
        query |= {"actor": self.form.cleaned_data.get("actor", "")}
        return reverse(self._route, query={name: value for name, value in query.items() if value})

    def _build_body(self) -> dict[str, Any]:
        body = self.form.build_body(self.form.cleaned_data)
        body["confirmed"] = self.request.POST.getlist("confirmed")
        if self.request.POST.get("way"):
            body["way"] = self.request.POST["way"]
        return body

    def _look(self, body: Mapping[str, Any]) -> None:
        if self._refuse_lacking_receiver(body):
            return
        refusal = self._find_outlook(body)
        if refusal is not None:
            self._add_problems(refusal)

    def _send(self) -> HttpResponse | None:
        """Store the request and return the redirect to it; None after a refusal, which stands at the fields."""
        body = self._build_body()
        if self._refuse_lacking_receiver(body):
            self.status = UNPROCESSABLE_STATUS
            return None
        try:
            stored_request = asking.ask(asked_body=read_asked(body), by=get_actor(self.request), channel=CHANNEL)
        except (Invalid, Conflict, Forbidden, Busy) as refusal:
            self.status = UNPROCESSABLE_STATUS if isinstance(refusal, Invalid) else refusal.status
            self._add_problems(refusal)
            self._find_outlook(body)
            return None
        message = _MESSAGES.get(RequestState(stored_request.state), "The request is sent.")
        return redirect_with_message(self.request, message, "request", stored_request.urn)

    def _refuse_lacking_receiver(self, body: Mapping[str, Any]) -> bool:
        """Return whether somebody gives without saying to whom, which is said at the field."""
        is_lacking = self.is_giving and not body.get("actor")
        if is_lacking:
            self.form.add_error("actor", "Say who gets it.")
        return is_lacking

    def _find_outlook(self, body: Mapping[str, Any]) -> _Refusal | None:
        """Put what the request would be into the context; return the refusal of one that could not be.

        The chosen way may be one of what was asked for before, so it is no part of the question.
        """
        question = {name: value for name, value in body.items() if name != "way"}
        try:
            plan = make_plan(read_asked(question), by=get_actor(self.request), is_preview=True)
        except (Invalid, Conflict, Forbidden, Busy) as refusal:
            return refusal
        self.context["plan"] = present_outlook(plan, str(body.get("way", "")))
        return None

    def _add_problems(self, refusal: _Refusal) -> None:
        if not isinstance(refusal, Invalid):
            self.form.add_error(None, refusal.detail)
            return
        for problem in refusal.problems:
            self.form.add_error(self.form.name_field(problem.pointer), problem.detail)

    @property
    def _route(self) -> str:
        return "access-give" if self.is_giving else "request-new"

    def _render(self) -> HttpResponse:
        context = {
            **self.context,
            "form": self.form,
            "is_giving": self.is_giving,
            "privileges": list(vocabulary.load_datahub().privileges.values()),
            "asked": self._describe_asked(),
            "subject_fields": SUBJECT_FIELDS,
            "tabs": self._list_tabs(),
            "cancel_url": _find_return_url(self.linked.resource),
            "breadcrumbs": [{"label": "Requests", "url": reverse("requests")}, {"label": self._title}],
            "title": self._title,
        }
        is_part = self.request.POST.get("go") == "look" and is_fragment_request(self.request)
        template = "requests/_outlook.html" if is_part else "requests/ask.html"
        # A script puts the part into the page, whatever is wrong with what was typed.
        return render(self.request, template, context, status=200 if is_part else self.status)

    @property
    def _title(self) -> str:
        return "Give access" if self.is_giving else "Request access"

    def _describe_asked(self) -> dict[str, Any]:
        """Return what is fixed, as sentences: items, or the thing whose privilege is chosen."""
        urns = [*list_item_urns(self.linked.items), *([self.linked.resource] if self.linked.resource else [])]
        names = authorizer.load_names(urns=urns)
        return {
            "sentences": [word_stored_item(item, names) for item in self.linked.items],
            "resource": names.get(self.linked.resource, self.linked.resource),
            "urns": urns,
        }

    def _list_tabs(self) -> list[dict[str, Any]]:
        """Return the kinds of what can be asked for; none where the address names it."""
        if self.linked.items or self.linked.resource or self.is_giving:
            return []
        return [
            {
                "label": label,
                "url": reverse("request-new", query={"what": kind}),
                "is_current": kind == self.linked.kind,
            }
            for kind, label in KINDS.items()
        ]


def _word_refusal(refusal: _Refusal) -> str:
    if isinstance(refusal, Invalid):
        return " ".join(problem.detail for problem in refusal.problems)
    return refusal.detail


def _find_return_url(resource: str) -> str:
    """Return the page that cancelling leads to: that of the thing, else the requests."""
    is_urn = resource.startswith(URN_PREFIX) and resource.isprintable()
    return reverse("entity", args=[resource]) if is_urn else reverse("requests")
