"""Why, turned round: what can somebody do here, who can do this here, what can somebody use it on."""

from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.decisions.pages import explore_common
from policies.decisions.pages.explore_common import ABOUT_OTHERS, Asker
from policies.decisions.pages.explore_forms import CanForm, WhatForm, WhoForm
from policies.engine import families
from policies.engine.model import Code
from policies.http.guard import Guard, signed_in
from policies.http.pages.filter_forms import WhyForm
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, authorizer, explanations, inverse_queries, privileges_held
from policies.pdp.authorizer import Asked
from policies.pdp.privileges_held import Holding

#: Rows of a page.
_PAGE_SIZE = 25

#: How far what somebody reaches is counted.
MOST = 10_000

_KINDS = (("users", "person", "User"), ("groups", "group", "Group"), ("roles", "role", "Role"))


@require_GET
@never_cache
@signed_in
def can(request: HttpRequest) -> HttpResponse:
    """Every privilege that somebody has on something, with the policies that give each."""
    form = CanForm.asked(request.GET)
    return explore_common.page(request, route="why-can", form=form, template="why/can.html", answer=_can)


@require_GET
@never_cache
@Guard(any_of=ABOUT_OTHERS)
def who(request: HttpRequest) -> HttpResponse:
    """Everybody who has a privilege on something, as policies name them; always a question about others."""
    form = WhoForm.asked(request.GET)
    return explore_common.page(request, route="why-who", form=form, template="why/who.html", answer=_who)


@require_GET
@never_cache
@signed_in
def what(request: HttpRequest) -> HttpResponse:
    """Everything that somebody may use a privilege on: in the catalog, people and policies."""
    form = WhatForm.asked(request.GET)
    return explore_common.page(request, route="why-what", form=form, template="why/what.html", answer=_what)


def _can(form: WhyForm, asker: Asker, request: HttpRequest) -> dict[str, Any]:
    if (choices := explore_common.choices(form, request)) is not None:
        return {"choices": choices}
    urn, resource = form.cleaned_data["actor"] or asker.actor.urn, form.cleaned_data["resource"]
    found = privileges_held.held(actor=actor_resolution.actor(urn=urn), asked=Asked(resource) if resource else None)
    names = authorizer.names(urns={urn, resource} - {""})
    ways = ((one.family, one.privilege.category) for one in found.holdings)
    answer = {
        "actor": {"urn": urn, "name": names.get(urn, urn), "is_unknown": urn not in names},
        "resource": explore_common.resource_of(resource, names),
        "sentence": explanations.SENTENCES[found.code] if found.code in _APART else "",
        "count": len(found.holdings),
        "sections": [_section(*way, found.holdings, asker) for way in dict.fromkeys(ways)],
        "version": found.version,
    }
    return {"answer": answer}


#: Codes of answers that rest on no policy.
_APART = frozenset({Code.POLICIES_DISABLED, Code.SYSTEM_ACTOR, Code.ACTOR_SUSPENDED})


def _section(family: str, category: str, held: tuple[Holding, ...], asker: Asker) -> dict[str, Any]:
    label = families.FAMILIES[family].label if family in families.FAMILIES else family.upper()
    return {
        "label": f"{label}: {category}" if category else label,
        "rows": [
            {
                "privilege": one.privilege,
                "policies": [{"name": name, "url": asker.policy_url(urn)} for urn, name in one.policies],
            }
            for one in held
            if (one.family, one.privilege.category) == (family, category)
        ],
    }


def _who(form: WhyForm, asker: Asker, request: HttpRequest) -> dict[str, Any]:
    if (choices := explore_common.choices(form, request)) is not None:
        return {"choices": choices}
    privilege, resource = form.cleaned_data["privilege"], form.cleaned_data["resource"]
    found = inverse_queries.who(privilege=privilege, asked=Asked(resource) if resource else None)
    listed = [(kind, label, urn) for name, kind, label in _KINDS for urn in getattr(found, name)]
    page = Paginator(listed, _PAGE_SIZE).get_page(request.GET.get("page"))
    names = authorizer.names(urns={urn for _, _, urn in page} | ({resource} - {""}))
    answer = {
        "privilege": explore_common.privilege_of(privilege),
        "resource": explore_common.resource_of(resource, names),
        "is_all_users": found.is_all_users,
        "is_all_groups": found.is_all_groups,
        "is_conditional": found.is_conditional,
        "version": found.version,
    }
    rows = [
        {"kind": kind, "label": label, "urn": urn, "name": names.get(urn, urn), "url": asker.holder_url(urn)}
        for kind, label, urn in page
    ]
    return {"answer": answer, "page": page, "rows": rows, "columns": [{"label": "Who"}, {"label": "What they are"}]}


def _what(form: WhyForm, asker: Asker, request: HttpRequest) -> dict[str, Any]:
    data = form.cleaned_data
    urn = data["actor"] or asker.actor.urn
    coverage = authorizer.visible(actor=actor_resolution.actor(urn=urn), privilege=data["privilege"])
    number = _whole(request.GET.get("page"))
    start = (number - 1) * _PAGE_SIZE
    found = authorizer.directory().covered(
        coverage=coverage,
        viewer=None if asker.may_ask_about_others else asker.actor,
        text=data["q"],
        types=[data["type"]] if data["type"] else (),
        start=start,
        limit=_PAGE_SIZE,
        most=MOST,
    )
    names = authorizer.names(urns={urn})
    answer = {
        "actor": {"urn": urn, "name": names.get(urn, urn), "is_unknown": urn not in names},
        "privilege": explore_common.privilege_of(data["privilege"]),
        "count": f"{MOST:,}+" if found.count > MOST else f"{found.count:,}",
        "first": start + 1,
        "last": start + len(found.rows),
        "previous_url": explore_common.same(request, page=str(number - 1)) if number > 1 else "",
        "next_url": explore_common.same(request, page=str(number + 1)) if found.count > start + _PAGE_SIZE else "",
        "is_everything": asker.may_ask_about_others,
        "is_off": not settings.AUTH_POLICIES_ENABLED,
        "version": coverage.version,
    }
    hidden = authorizer.directory().hidden(urns=[named.urn for named in found.rows])
    rows = [{"named": named, "url": "" if named.urn in hidden else _page_of(named.urn, asker)} for named in found.rows]
    return {"answer": answer, "rows": rows, "columns": [{"label": "Name"}, {"label": "Type"}]}


def _page_of(urn: str, asker: Asker) -> str:
    """Return the page of what somebody reaches, nothing where the reader may not open it."""
    if urn.startswith(POLICY_PREFIX):
        return asker.policy_url(urn)
    is_holder = urn.startswith((USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX))
    return asker.holder_url(urn) if is_holder else reverse("entity", args=[urn])


def _whole(text: str | None) -> int:
    """Return the number of a page; one that is none is the first, and none is beyond what is counted."""
    number = int(text) if text and text.isdecimal() and len(text) < 6 else 1
    return min(max(number, 1), MOST // _PAGE_SIZE)
