"""Counts of entities by aspect, and timeseries values, which are not stored as such."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.access import guarded_documents, view_permissions
from catalog.models import Aspect, Entity, prefix_range
from catalog.protocols.datahub_rest import reads, request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import PEOPLE_TYPES
from policies.aspects import services as people_aspects
from policies.engine.families.privilege_effects import load_effects
from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Forbidden, Invalid
from policies.models.fields import is_storable

_WILDCARD = "%"
_PEOPLE_ASPECTS = frozenset(name for type_, name in people_aspects.OWNED_ASPECTS if type_ in PEOPLE_TYPES) - {
    "status",
    "origin",
}


def count_entities(request: HttpRequest, by: Actor) -> HttpResponse:
    """Count the viewable entities that have an aspect; `urnLike` is a URN, or a prefix followed by %."""
    body = request_bodies.read(request)
    name = request_bodies.read_text(body, "aspect")
    if name in _PEOPLE_ASPECTS:
        detail = "Aspects of users, groups, roles and policies are not counted; list their URNs."
        raise Invalid.from_problem(code="unsupported", pointer="/aspect", detail=detail)
    rows = Entity.objects.all()
    urn_pattern = request_bodies.read_text(body, "urnLike", _WILDCARD)
    urn_prefix = urn_pattern.removesuffix(_WILDCARD)
    if _WILDCARD in urn_prefix:
        raise Invalid.from_problem(code="unsupported", pointer="/urnLike", detail="Only the end may be a %.")
    type_ = urns.entity_type(urn_prefix)
    if settings.REST_API_AUTHORIZATION:
        guarded_documents.require_call(
            "getCount", by=by, type_=type_ if urn_prefix.startswith(f"urn:li:{type_}:") else ""
        )
    if not (is_storable(name) and is_storable(urn_prefix)):
        return responses.action_response(0)
    if urn_pattern == urn_prefix:
        rows = rows.filter(urn=urn_pattern)
    elif urn_prefix:
        rows = rows.filter(prefix_range("urn", [urn_prefix]))
    aspects = Aspect.objects.filter(
        name=name, version=0, entity__in=view_permissions.filter_viewable(rows, by=by).order_by()
    )
    return responses.action_response(aspects.count())


def list_timeseries_values(request: HttpRequest, by: Actor) -> HttpResponse:
    """Return no timeseries values: such aspects are stored in versions like all others.

    Who may make this call need not read the entity, but needs what guards the aspect itself.
    """
    body: dict[str, Any] = request_bodies.read(request)
    urn = request_bodies.parse_urn(request_bodies.read_text(body, "urn"), "/urn")
    limit = request_bodies.read_integer(body, "limit", 10_000)
    name = request_bodies.read_text(body, "aspect")
    if not is_open(urn.type):
        # A hidden entity must not be told from one that is not stored: both are refused without a look at their facts.
        if view_permissions.is_concealed_type(urn.type) and reads.find_aspects(urn, by=by) is None:
            raise Forbidden([MissingPrivilege(urn.text, load_effects().call_privileges["getTimeseriesAspectValues"])])
        guarded_documents.require_call("getTimeseriesAspectValues", by=by, urn=urn.text, type_=urn.type)
        guarded_documents.require_viewing(names_by_urn={urn.text: [name]}, by=by)
    return responses.action_response({"entityName": urn.type, "aspectName": name, "limit": limit, "values": []})
