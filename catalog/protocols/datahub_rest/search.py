"""Searches and lists of URNs. A page past the end is empty, and what a caller may not view is not found."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from catalog.access import entity_lists, view_permissions
from catalog.access.people_records import build_visible_users
from catalog.protocols.datahub_rest import filters, request_bodies, responses
from catalog.protocols.datahub_rest.filters import Filter
from catalog.urns import PEOPLE_TYPES
from policies.authoring.queries import policies
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer
from policies.pdp.authorizer import Asked

#: Longest page; a longer one is cut, and the answer says how long it is.
LONGEST_PAGE = 10_000


def search(request: HttpRequest, by: Actor) -> HttpResponse:
    """Find entities of one type by the words of their names, best first."""
    body = request_bodies.read(request)
    text = request_bodies.text(body, "input", "*")
    asked = filters.read(body.get("filter"), "/filter", by=by)
    urns, facts = _page(body, found(request_bodies.text(body, "entity"), text, asked, by))
    return responses.value(
        {
            "from": facts["start"],
            "pageSize": facts["count"],
            "numEntities": facts["total"],
            "entities": [{"entity": urn} for urn in urns],
        }
    )


def list_urns(request: HttpRequest, by: Actor) -> HttpResponse:
    """List every entity of one type, removed ones included, in a stable order."""
    body = request_bodies.read(request)
    entity = request_bodies.text(body, "entity")
    rows: QuerySet[Any]
    if entity in PEOPLE_TYPES:
        rows = _people(entity, "*", by)
    else:
        rows = view_permissions.viewable(entity_lists.entities(types=[entity], with_removed=True), by=by)
    urns, facts = _page(body, rows.order_by("urn"))
    return responses.value({**facts, "count": len(urns), "entities": urns})


def _page(body: dict[str, Any], rows: QuerySet[Any]) -> tuple[list[str], dict[str, int]]:
    start = request_bodies.whole(body, "start", 0)
    count = min(request_bodies.whole(body, "count", 10), LONGEST_PAGE)
    urns = list(rows.values_list("urn", flat=True)[start : start + count])
    return urns, {"start": start, "count": count, "total": rows.count()}


def found(entity: str, text: str, asked: Filter | None, by: Actor) -> QuerySet[Any]:
    """Return what a search of one type finds and the caller may view; removed ones if the filter speaks of them."""
    if entity in PEOPLE_TYPES:
        if asked is not None:
            raise Invalid.one(code="filter.type", pointer="/filter", detail=f"A search of {entity} takes no filter.")
        return _people(entity, text, by)
    with_removed = asked is not None and asked.asks_removed
    rows = entity_lists.search(text=text, types=[entity], with_removed=with_removed)
    return view_permissions.viewable(rows if asked is None else rows.filter(asked.condition), by=by)


def _people(entity: str, text: str, by: Actor) -> QuerySet[Any]:
    """Return users, groups, roles or policies, for whoever may read entities of that type in general."""
    authorizer.require(by=by, requirement=datahub.groups()["entity.read"], resource=Asked("", entity))
    words = "" if text.strip() == "*" else text.strip()
    lists: dict[str, QuerySet[Any]] = {
        "corpuser": users_groups_roles.users(q=words, seen=build_visible_users(by=by)).prefetch_related(None),
        "corpGroup": users_groups_roles.groups(q=words).prefetch_related(None),
        "dataHubRole": users_groups_roles.roles(q=words),
        "dataHubPolicy": policies.policies(q=words),
    }
    return lists[entity]
