"""Counts of aspects, and series of them in time, of which none are kept apart."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from catalog.access import view_permissions
from catalog.models import Aspect, Entity, prefix_range
from catalog.protocols.datahub_rest import reads, request_bodies, responses
from catalog.urns import PEOPLE_TYPES
from policies.aspects import services as people_aspects
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models.fields import is_storable

_ANY = "%"
_OF_PEOPLE = frozenset(name for type_, name in people_aspects.OWNED if type_ in PEOPLE_TYPES) - {"status", "origin"}


def count(request: HttpRequest, by: Actor) -> HttpResponse:
    """Count the entities that have an aspect and that the caller may view; `urnLike` is the beginning of their URNs."""
    body = request_bodies.read(request)
    name = request_bodies.text(body, "aspect")
    if name in _OF_PEOPLE:
        detail = "Aspects of users, groups, roles and policies are not counted; list their URNs."
        raise Invalid.one(code="unsupported", pointer="/aspect", detail=detail)
    rows = Entity.objects.all()
    like = request_bodies.text(body, "urnLike", _ANY)
    beginning = like.removesuffix(_ANY)
    if _ANY in beginning:
        raise Invalid.one(code="unsupported", pointer="/urnLike", detail="Only the end may be a %.")
    if not (is_storable(name) and is_storable(beginning)):
        return responses.value(0)
    if like == beginning:
        rows = rows.filter(urn=like)
    elif beginning:
        rows = rows.filter(prefix_range("urn", [beginning]))
    found = Aspect.objects.filter(name=name, version=0, entity__in=view_permissions.viewable(rows, by=by).order_by())
    return responses.value(found.count())


def series(request: HttpRequest, by: Actor) -> HttpResponse:
    """Answer the values of an aspect in time: none, since such aspects are kept in versions like all others."""
    body: dict[str, Any] = request_bodies.read(request)
    urn = reads.readable(request_bodies.text(body, "urn"), by)
    limit = request_bodies.whole(body, "limit", 10_000)
    name = request_bodies.text(body, "aspect")
    return responses.value({"entityName": urn.type, "aspectName": name, "limit": limit, "values": []})
