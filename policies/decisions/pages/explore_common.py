"""What the pages of Why share: who asks, what may be told to them, and how a word becomes a resource."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.engine import families
from policies.engine.families import vocabulary
from policies.engine.model import Actor
from policies.engine.requirements import alternatives
from policies.http.guard import actor_of
from policies.http.pages.filter_forms import WhyForm
from policies.identity.pages import groups, users
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, inverse_queries
from policies.pdp.authorizer import Ask

#: Who may ask about others (api.md section 1).
ABOUT_OTHERS = inverse_queries.ABOUT_OTHERS

_OTHERS_REFUSED = (
    "To ask about somebody else you need Check Access (CHECK_ACCESS) or Manage Policies (MANAGE_POLICIES)."
)

#: How many entities a word may be taken for.
_CHOICES = 10

#: The questions: route, what the tab says, and which fields it shares with the others.
_TABS = (
    ("why", "Why?", ("actor", "privilege", "resource", "sub_resources")),
    ("why-can", "What can somebody do here?", ("actor", "resource")),
    ("why-who", "Who can do this here?", ("privilege", "resource")),
    ("why-what", "What can somebody use it on?", ("actor", "privilege")),
)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who reads the answer, and what of it may be shown to them."""

    actor: Actor
    may_ask_about_others: bool
    may_open: frozenset[str]

    @classmethod
    def of(cls, actor: Actor) -> "Asker":
        """Return somebody with what they may know."""
        pages = {"policy": (("MANAGE_POLICIES",),), "user": users.SEES.any_of, "group": groups.SEES.any_of}
        wanted = [ABOUT_OTHERS, *pages.values()]
        others, *opened = authorizer.answer_many(asks=[(actor, Ask(alternatives(any_of))) for any_of in wanted])
        may_open = {name for name, decision in zip(pages, opened, strict=True) if decision.is_allowed}
        if not settings.AUTH_POLICIES_ENABLED:
            may_open -= {"policy"}
        return cls(actor, others.is_allowed, frozenset(may_open))

    def may_know(self, urn: str) -> bool:
        """Whether facts about this entity may be told: those that the asker could look up."""
        return not authorizer.directory().hidden(urns=[urn])

    def policy_url(self, urn: str) -> str:
        """Return the page of a stored policy for who may open it; the implicit ones have none."""
        is_stored = urn not in {policy for policy, _ in families.implicit()} | {families.grant_origin().policy}
        return reverse("policy", args=[urn]) if is_stored and "policy" in self.may_open else ""

    def holder_url(self, urn: str) -> str:
        """Return the page of a user, group or role for who may open it."""
        for prefix, route, needed in (
            (USER_PREFIX, "user", "user"),
            (GROUP_PREFIX, "group", "group"),
            (ROLE_PREFIX, "role", "policy"),
        ):
            if urn.startswith(prefix):
                return reverse(route, args=[urn]) if needed in self.may_open else ""
        return ""


Answer = Callable[[Any, Asker, HttpRequest], dict[str, Any]]


def page(request: HttpRequest, *, route: str, form: WhyForm, template: str, answer: Answer) -> HttpResponse:
    """Answer one of the pages: the form, and beside it the answer when a question was asked.

    A question about somebody else by who may not ask it is 403, with the reason beside the field.
    """
    asker = Asker.of(actor_of(request))
    context: dict[str, Any] = {
        "form": form,
        "route": reverse(route),
        "tabs": _tabs(route, form, asker),
        "privileges": list(vocabulary.datahub().privileges.values()),
        "breadcrumbs": [{"label": "Why"}],
    }
    status = 200
    if form.is_bound and form.is_valid():
        if form.cleaned_data.get("actor", "") not in ("", asker.actor.urn) and not asker.may_ask_about_others:
            form.add_error("actor", _OTHERS_REFUSED)
            status = 403
        else:
            context |= answer(form, asker, request)
    return render(request, template, context, status=status)


def choices(form: WhyForm, request: HttpRequest) -> list[dict[str, str]] | None:
    """Return what the word in the form may mean, with an error beside it; None when the form holds a URN or nothing."""
    text = form.cleaned_data["resource"]
    if not text or text.startswith("urn:"):
        return None
    found = authorizer.directory().search(text=text, types=(), limit=_CHOICES)
    form.add_error(
        "resource",
        "Several things may be meant; choose one."
        if found
        else f"Nothing in the catalog is called {text}. Give a URN.",
    )
    return [
        {"name": named.name, "urn": named.urn, "type": named.type, "url": same(request, resource=named.urn)}
        for named in found
    ]


def resource_of(urn: str, names: Mapping[str, str]) -> dict[str, str] | None:
    """Return a resource as an answer shows it, or None for the platform."""
    return {"urn": urn, "name": names.get(urn, "")} if urn else None


def privilege_of(name: str) -> dict[str, str]:
    """Return a privilege of any family as an answer shows it."""
    known = (info for family in families.vocabularies().values() if (info := family.get(name)))
    return {"name": name, "display": next((info.display for info in known), "")}


def same(request: HttpRequest, **changes: str) -> str:
    """Return the address of the same question with some of its words changed."""
    query = request.GET.copy()
    query.pop("page", None)
    for name, value in changes.items():
        query[name] = value
    return f"{request.path}?{query.urlencode()}"


def _tabs(current: str, form: WhyForm, asker: Asker) -> list[dict[str, Any]]:
    """Return the questions that may be asked, each with what was said so far; who may is always about others."""
    typed = form.data if form.is_bound else form.initial
    return [
        {"label": label, "url": _address(route, shared, typed), "is_current": route == current}
        for route, label, shared in _TABS
        if route != "why-who" or asker.may_ask_about_others
    ]


def _address(route: str, shared: tuple[str, ...], typed: Mapping[str, Any]) -> str:
    query = {name: typed[name] for name in shared if typed.get(name)}
    return reverse(route, query=query or None)
