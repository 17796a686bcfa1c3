"""Searches and lists of URNs. A page past the end is empty; entities that the caller may not view are not found."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from catalog.access import entity_lists, view_permissions
from catalog.access.people_records import build_user_condition
from catalog.protocols.datahub_rest import filters, request_bodies, responses
from catalog.protocols.datahub_rest.filters import Filter
from catalog.urns import PEOPLE_TYPES
from policies.aspects.schemas import POLICY
from policies.authoring.queries import policies
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.engine.requirements import Requirement, privilege_requirement
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer
from policies.pdp.access_requests import ResourceRef

#: Longest page; a longer one is cut, and the response has the actual length.
MAX_PAGE_SIZE = 10_000


def search_entities(request: HttpRequest, by: Actor) -> HttpResponse:
    """Return a page of the entities of one type whose name or URN matches the words of `input`, best first."""
    body = request_bodies.read(request)
    text = request_bodies.read_text(body, "input", "*")
    entity_type = request_bodies.read_text(body, "entity")
    entity_filter = filters.parse(body.get("filter"), "/filter", by=by, types=[entity_type])
    urns, page_info = _load_page(body, find_entities(entity_type, text, entity_filter, by))
    return responses.action_response(
        {
            "from": page_info["start"],
            "pageSize": page_info["count"],
            "numEntities": page_info["total"],
            "entities": [{"entity": urn} for urn in urns],
        }
    )


def list_urns(request: HttpRequest, by: Actor) -> HttpResponse:
    """Return a page of all URNs of one type, in a stable order, including removed entities of the catalog."""
    body = request_bodies.read(request)
    entity_type = request_bodies.read_text(body, "entity")
    rows: QuerySet[Any]
    if entity_type in PEOPLE_TYPES:
        rows = _find_people(entity_type, "*", by)
    else:
        rows = view_permissions.filter_viewable(
            entity_lists.list_entities(types=[entity_type], with_removed=True), by=by
        )
    urns, page_info = _load_page(body, rows.order_by("urn"))
    return responses.action_response({**page_info, "count": len(urns), "entities": urns})


def _load_page(body: dict[str, Any], rows: QuerySet[Any]) -> tuple[list[str], dict[str, int]]:
    start = request_bodies.read_integer(body, "start", 0)
    count = min(request_bodies.read_integer(body, "count", 10), MAX_PAGE_SIZE)
    urns = list(rows.values_list("urn", flat=True)[start : start + count])
    return urns, {"start": start, "count": count, "total": rows.count()}


def find_entities(entity_type: str, text: str, entity_filter: Filter | None, by: Actor) -> QuerySet[Any]:
    """Return the viewable matches of a search of one type; removed ones only if the filter tests `removed`."""
    if entity_type in PEOPLE_TYPES:
        if entity_filter is not None and entity_type != POLICY:
            raise Invalid.from_problem(
                code="filter.type", pointer="/filter", detail=f"A search of {entity_type} takes no filter."
            )
        rows = _find_people(entity_type, text, by)
        return rows if entity_filter is None else rows.filter(entity_filter.condition)
    with_removed = entity_filter is not None and entity_filter.includes_removed
    rows = entity_lists.search(text=text, types=[entity_type], with_removed=with_removed)
    return view_permissions.filter_viewable(
        rows if entity_filter is None else rows.filter(entity_filter.condition), by=by
    )


def _find_people(entity_type: str, text: str, by: Actor) -> QuerySet[Any]:
    """Return users, groups, roles or policies.

    Raises Forbidden unless the caller may read that type in general, or search at all.
    """
    requirement = Requirement(
        datahub.load_operation_groups()["entity.read"].any_of + privilege_requirement("SEARCH_PRIVILEGE").any_of
    )
    authorizer.require(by=by, requirement=requirement, resource=ResourceRef("", entity_type))
    words = "" if text.strip() == "*" else text.strip()
    rows_by_type: dict[str, QuerySet[Any]] = {
        "corpuser": users_groups_roles.list_users(
            q=words, address_condition=build_user_condition(by=by)
        ).prefetch_related(None),
        "corpGroup": users_groups_roles.list_groups(q=words).prefetch_related(None),
        "dataHubRole": users_groups_roles.list_roles(q=words),
        "dataHubPolicy": policies.list_policies(q=words),
    }
    return rows_by_type[entity_type]
