"""Shared code of the pages of Why: the viewer and their rights, resolution of names to resources, tabs and URLs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.decisions.pages import unknown_names
from policies.decisions.pages.unknown_names import UnknownName
from policies.engine import families
from policies.engine.families import vocabulary
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.http.guard import get_actor
from policies.http.pages.filter_forms import WhyForm
from policies.identity.pages import groups, users
from policies.models.guardrail import GUARDRAIL_PREFIX
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest
from policies.pdp.inverse_queries import ASK_ABOUT_OTHERS_PRIVILEGES

_ASK_ABOUT_OTHERS_REFUSAL = (
    "To ask about somebody else you need Check Access (CHECK_ACCESS) or Manage Policies (MANAGE_POLICIES)."
)

#: Most entities offered for an ambiguous name.
_MAX_CHOICES = 10

#: The questions: route, label of the tab, and fields that are carried over to the tab.
_TABS = (
    ("why", "Why?", ("actor", "privilege", "resource", "sub_resources")),
    ("why-can", "What can somebody do here?", ("actor", "resource")),
    ("why-who", "Who can do this here?", ("privilege", "resource")),
    ("why-what", "What can somebody use it on?", ("actor", "privilege")),
)


@dataclass(frozen=True, slots=True)
class AnswerViewer:
    """The viewer of an answer: whether they may ask about others, and the pages they may open, by kind."""

    actor: Actor
    may_ask_about_others: bool
    openable_pages: frozenset[str]

    @classmethod
    def from_actor(cls, actor: Actor) -> "AnswerViewer":
        """Return the viewer for an actor; all privileges are decided in one batch."""
        pages = {
            "policy": (("MANAGE_POLICIES",),),
            "guardrail": (("MANAGE_GUARDRAILS",),),
            "user": users.VIEW_GUARD.any_of,
            "group": groups.VIEW_GUARD.any_of,
        }
        privilege_lists = [ASK_ABOUT_OTHERS_PRIVILEGES, *pages.values()]
        others_decision, *page_decisions = authorizer.answer_many(
            requests=[(actor, AccessRequest(any_of_requirement(any_of))) for any_of in privilege_lists]
        )
        openable_pages = {name for name, decision in zip(pages, page_decisions, strict=True) if decision.is_allowed}
        if not settings.AUTH_POLICIES_ENABLED:
            openable_pages -= {"policy", "guardrail"}
        return cls(actor, others_decision.is_allowed, frozenset(openable_pages))

    def may_view_fact(self, urn: str) -> bool:
        """Whether facts about this entity may be shown: the viewer may view the entity."""
        return not authorizer.directory().find_hidden_urns(urns=[urn])

    def policy_url(self, urn: str) -> str:
        """Return the page of a stored policy, '' for an implicit policy or where the viewer may not open it."""
        is_stored = urn not in {policy for policy, _ in families.implicit_policies()} | {families.grant_origin().policy}
        return reverse("policy", args=[urn]) if is_stored and "policy" in self.openable_pages else ""

    def guardrail_url(self, urn: str) -> str:
        """Return the page of a guardrail, '' where the viewer may not open it."""
        return reverse("guardrail", args=[urn]) if "guardrail" in self.openable_pages else ""

    def account_url(self, urn: str) -> str:
        """Return the page of a user, group or role, '' where the viewer may not open it."""
        for prefix, route, page_name in (
            (USER_PREFIX, "user", "user"),
            (GROUP_PREFIX, "group", "group"),
            (ROLE_PREFIX, "role", "policy"),
        ):
            if urn.startswith(prefix):
                return reverse(route, args=[urn]) if page_name in self.openable_pages else ""
        return ""

    def entity_url(self, urn: str) -> str:
        """Return the page of a policy, guardrail, account or entity, '' where the viewer may not open it."""
        if urn.startswith(GUARDRAIL_PREFIX):
            return self.guardrail_url(urn)
        if urn.startswith(POLICY_PREFIX):
            return self.policy_url(urn)
        is_account = urn.startswith((USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX))
        return self.account_url(urn) if is_account else reverse("entity", args=[urn])


AnswerBuilder = Callable[[Any, AnswerViewer, HttpRequest], dict[str, Any]]


def render_question_page(
    request: HttpRequest, *, route: str, form: WhyForm, template: str, build_answer: AnswerBuilder
) -> HttpResponse:
    """Render one of the pages: the form, and the answer of `build_answer` when a question was asked.

    A question about another actor by a viewer who may not ask it is 403, with the reason at the field. One that names
    what nobody knows is not answered; similar names are offered.
    """
    viewer = AnswerViewer.from_actor(get_actor(request))
    context: dict[str, Any] = {
        "form": form,
        "route": reverse(route),
        "tabs": _question_tabs(route, form, viewer),
        "privileges": list(vocabulary.load_datahub().privileges.values()),
        "breadcrumbs": [{"label": "Why"}],
    }
    status = 200
    if form.is_bound and form.is_valid():
        if form.cleaned_data.get("actor", "") not in ("", viewer.actor.urn) and not viewer.may_ask_about_others:
            form.add_error("actor", _ASK_ABOUT_OTHERS_REFUSAL)
            status = 403
        elif names := unknown_names.find_unknown_names(form, viewer.actor.urn):
            for unknown_name in names:
                form.add_error(unknown_name.field_name, unknown_name.error)
            context["hints"] = [_hint_context(unknown_name, request) for unknown_name in names]
            context["choices"] = find_choices(form, request)
        else:
            context |= build_answer(form, viewer, request)
    return render(request, template, context, status=status)


def _hint_context(unknown_name: UnknownName, request: HttpRequest) -> dict[str, Any]:
    """Return the links to the same question with each of the similar names."""
    return {
        "sentence": unknown_name.sentence,
        "suggestions": [
            {
                "label": suggestion.removeprefix(USER_PREFIX),
                "url": question_url(request, **{unknown_name.field_name: suggestion}),
            }
            for suggestion in unknown_name.suggestions
        ],
    }


def find_choices(form: WhyForm, request: HttpRequest) -> list[dict[str, str]] | None:
    """Return the entities a typed name may mean, adding a form error; None where the form has a URN or nothing."""
    text = form.cleaned_data.get("resource", "")
    if not text or text.startswith("urn:"):
        return None
    entries = authorizer.directory().search(text=text, types=(), limit=_MAX_CHOICES)
    form.add_error(
        "resource",
        "Several things may be meant; choose one."
        if entries
        else f"Nothing in the catalog is called {text}. Give a URN.",
    )
    return [
        {"name": entry.name, "urn": entry.urn, "type": entry.type, "url": question_url(request, resource=entry.urn)}
        for entry in entries
    ]


def resource_context(urn: str, names: Mapping[str, str]) -> dict[str, str] | None:
    """Return the context of a resource in an answer, None for the platform."""
    return {"urn": urn, "name": names.get(urn, "")} if urn else None


def privilege_context(name: str) -> dict[str, str]:
    """Return the context of a privilege of any family in an answer."""
    infos = (info for family in families.load_vocabularies().values() if (info := family.get(name)))
    return {"name": name, "display": next((info.display for info in infos), "")}


def question_url(request: HttpRequest, **changes: str) -> str:
    """Return the URL of the same question with some parameters changed, on its first page."""
    query = request.GET.copy()
    query.pop("page", None)
    for name, value in changes.items():
        query[name] = value
    return f"{request.path}?{query.urlencode()}"


def _question_tabs(current_route: str, form: WhyForm, viewer: AnswerViewer) -> list[dict[str, Any]]:
    """Return the tabs, with shared fields carried over; why-who only for viewers who may ask about others."""
    form_values = form.data if form.is_bound else form.initial
    return [
        {"label": label, "url": _tab_url(route, shared_fields, form_values), "is_current": route == current_route}
        for route, label, shared_fields in _TABS
        if route != "why-who" or viewer.may_ask_about_others
    ]


def _tab_url(route: str, shared_fields: tuple[str, ...], form_values: Mapping[str, Any]) -> str:
    query = {name: form_values[name] for name in shared_fields if form_values.get(name)}
    return reverse(route, query=query or None)
