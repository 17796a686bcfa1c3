"""Inverse pages of Why: privileges of an actor on a resource, actors of a privilege, entities an actor can reach."""

from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse

from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import AnswerViewer
from policies.decisions.pages.explore_forms import ActorPrivilegesForm, AllowedActorsForm, AllowedEntitiesForm
from policies.engine import families, wording
from policies.engine.families import datazone_resource_patterns as patterns
from policies.engine.model import DecisionCode
from policies.http.guard import Guard, signed_in
from policies.http.pages.filter_forms import WhyForm
from policies.http.pages.list_and_form_pages import page_view
from policies.pdp import actor_resolution, authorizer, explanations, inverse_queries, privileges_held
from policies.pdp.access_requests import ResourceRef
from policies.pdp.inverse_queries import ActorUrns, AllowedActors
from policies.pdp.privileges_held import EffectivePrivilege

#: Rows per page.
_PAGE_SIZE = 25

#: Up to this number the reached entities are counted.
MAX_COUNTED_ENTITIES = 10_000

#: Most exceptions that the answer names in its sentence; a list has them all.
_MAX_NAMED_EXCEPTIONS = 5

_ACTOR_KINDS = (("person", "User"), ("group", "Group"), ("role", "Role"))


@page_view(signed_in)
def show_privileges(request: HttpRequest) -> HttpResponse:
    """Page of every privilege that an actor has on a resource, with the policies that give each."""
    form = ActorPrivilegesForm.from_query(request.GET)
    return explore_common.render_question_page(
        request, route="why-can", form=form, template="why/can.html", build_answer=_build_privileges_answer
    )


@page_view(Guard(any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES))
def show_actors(request: HttpRequest) -> HttpResponse:
    """Page of every actor that has a privilege on a resource, as policies name them; always a question about others."""
    form = AllowedActorsForm.from_query(request.GET)
    return explore_common.render_question_page(
        request, route="why-who", form=form, template="why/who.html", build_answer=_build_actors_answer
    )


@page_view(signed_in)
def show_entities(request: HttpRequest) -> HttpResponse:
    """Page of every entity on which an actor may use a privilege: in the catalog, people and policies."""
    form = AllowedEntitiesForm.from_query(request.GET)
    return explore_common.render_question_page(
        request, route="why-what", form=form, template="why/what.html", build_answer=_build_entities_answer
    )


def _build_privileges_answer(form: WhyForm, viewer: AnswerViewer, request: HttpRequest) -> dict[str, Any]:
    if (choices := explore_common.find_choices(form, request)) is not None:
        return {"choices": choices}
    urn, resource = form.cleaned_data["actor"] or viewer.actor.urn, form.cleaned_data["resource"]
    effective_privileges = privileges_held.list_effective_privileges(
        actor=actor_resolution.load_actor(urn=urn), resource=ResourceRef(resource) if resource else None
    )
    names = authorizer.load_names(urns={urn, resource} - {""})
    section_keys = (
        (effective_privilege.family, effective_privilege.privilege.category)
        for effective_privilege in effective_privileges.privileges
    )
    answer = {
        "actor": {"urn": urn, "name": names.get(urn, urn)},
        "resource": explore_common.resource_context(resource, names),
        "sentence": explanations.SENTENCES[effective_privileges.code]
        if effective_privileges.code in _CODES_WITHOUT_POLICY
        else "",
        "count": len(effective_privileges.privileges),
        "sections": [
            _build_section(*section_key, effective_privileges.privileges, viewer)
            for section_key in dict.fromkeys(section_keys)
        ],
        "version": effective_privileges.version,
    }
    return {"answer": answer}


#: Codes of answers that are not based on any policy.
_CODES_WITHOUT_POLICY = frozenset(
    {
        DecisionCode.POLICIES_DISABLED,
        DecisionCode.SYSTEM_ACTOR,
        DecisionCode.ACTOR_SUSPENDED,
        DecisionCode.ACTOR_REMOVED,
    }
)


def _build_section(
    family: str, category: str, effective_privileges: tuple[EffectivePrivilege, ...], viewer: AnswerViewer
) -> dict[str, Any]:
    label = families.FAMILIES[family].label if family in families.FAMILIES else family.upper()
    return {
        "label": f"{label}: {category}" if category else label,
        "rows": [
            {
                "privilege": effective_privilege.privilege,
                "policies": [
                    {"name": name, "url": viewer.policy_url(urn)} for urn, name in effective_privilege.policies
                ],
            }
            for effective_privilege in effective_privileges
            if (effective_privilege.family, effective_privilege.privilege.category) == (family, category)
        ],
    }


def _build_actors_answer(form: WhyForm, viewer: AnswerViewer, request: HttpRequest) -> dict[str, Any]:
    if (choices := explore_common.find_choices(form, request)) is not None:
        return {"choices": choices}
    privilege, resource = form.cleaned_data["privilege"], form.cleaned_data["resource"]
    allowed_actors = inverse_queries.find_allowed_actors(
        privilege=privilege, resource=ResourceRef(resource) if resource else None
    )
    exceptions = _list_actor_rows(allowed_actors.exceptions)
    lists_exceptions = bool(exceptions) and request.GET.get("list") == "exceptions"
    actor_rows = exceptions if lists_exceptions else _list_actor_rows(allowed_actors)
    page = Paginator(actor_rows, _PAGE_SIZE).get_page(request.GET.get("page"))
    named_exceptions = [urn for _, _, urn in exceptions[:_MAX_NAMED_EXCEPTIONS]]
    names = authorizer.load_names(urns={*named_exceptions, *(urn for _, _, urn in page), resource} - {""})
    answer = {
        "privilege": explore_common.privilege_context(privilege),
        "resource": explore_common.resource_context(resource, names),
        "is_all_users": allowed_actors.is_all_users,
        "is_all_groups": allowed_actors.is_all_groups,
        "is_conditional": allowed_actors.is_conditional,
        "is_complete": allowed_actors.is_complete,
        "exceptions": wording.join_words(
            [names.get(urn, urn) for urn in named_exceptions], "and", len(exceptions) - len(named_exceptions)
        ),
        "lists_exceptions": lists_exceptions,
        "other_list_url": explore_common.question_url(request, list="" if lists_exceptions else "exceptions"),
        "version": allowed_actors.version,
    }
    rows = [
        {"kind": kind, "label": label, "urn": urn, "name": names.get(urn, urn), "url": viewer.account_url(urn)}
        for kind, label, urn in page
    ]
    columns = [{"label": "Who may not" if lists_exceptions else "Who"}, {"label": "What they are"}]
    return {"answer": answer, "page": page, "rows": rows, "columns": columns}


def _list_actor_rows(actors: AllowedActors | ActorUrns) -> list[tuple[str, str, str]]:
    """Return kind, label and URN of users, groups and roles, in this order."""
    urns_by_kind = zip(_ACTOR_KINDS, (actors.users, actors.groups, actors.roles), strict=True)
    return [(kind, label, urn) for (kind, label), urns in urns_by_kind for urn in urns]


def _build_entities_answer(form: WhyForm, viewer: AnswerViewer, request: HttpRequest) -> dict[str, Any]:
    data = form.cleaned_data
    urn = data["actor"] or viewer.actor.urn
    coverage = authorizer.compute_coverage(actor=actor_resolution.load_actor(urn=urn), privilege=data["privilege"])
    page_number = _parse_page_number(request.GET.get("page"))
    start = (page_number - 1) * _PAGE_SIZE
    directory_page = authorizer.directory().list_covered(
        coverage=coverage,
        viewer=None if viewer.may_ask_about_others else viewer.actor,
        text=data["q"],
        types=[data["type"]] if data["type"] else patterns.list_action_types(data["privilege"]),
        start=start,
        limit=_PAGE_SIZE,
        max_count=MAX_COUNTED_ENTITIES,
    )
    names = authorizer.load_names(urns={urn})
    answer = {
        "actor": {"urn": urn, "name": names.get(urn, urn)},
        "privilege": explore_common.privilege_context(data["privilege"]),
        "count": f"{MAX_COUNTED_ENTITIES:,}+"
        if directory_page.count > MAX_COUNTED_ENTITIES
        else f"{directory_page.count:,}",
        "first": start + 1,
        "last": start + len(directory_page.rows),
        "previous_url": explore_common.question_url(request, page=str(page_number - 1)) if page_number > 1 else "",
        "next_url": explore_common.question_url(request, page=str(page_number + 1))
        if directory_page.count > start + _PAGE_SIZE
        else "",
        "is_everything": viewer.may_ask_about_others,
        "is_off": not settings.AUTH_POLICIES_ENABLED,
        "version": coverage.version,
    }
    hidden_urns = authorizer.directory().find_hidden_urns(urns=[entry.urn for entry in directory_page.rows])
    rows = [
        {"named": entry, "url": "" if entry.urn in hidden_urns else viewer.entity_url(entry.urn)}
        for entry in directory_page.rows
    ]
    return {"answer": answer, "rows": rows, "columns": [{"label": "Name"}, {"label": "Type"}]}


def _parse_page_number(text: str | None) -> int:
    """Return the page number in `text`, 1 if it is none, at most the last page that is counted."""
    number = int(text) if text and text.isdecimal() and len(text) < 6 else 1
    return min(max(number, 1), MAX_COUNTED_ENTITIES // _PAGE_SIZE)
