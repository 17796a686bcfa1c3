"""Relationships of one entity, by page; a page past the end is empty, which ends a client's loop."""

from django.http import HttpRequest, HttpResponse

from catalog.access import relationships as access_relationships
from catalog.access.relationships import RelationshipPage
from catalog.protocols.datahub_openapi import paths
from catalog.protocols.datahub_rest import responses
from catalog.protocols.datahub_rest.reads import is_hidden, parse_readable_urn
from policies.engine.model import Actor
from policies.errors import Invalid

#: Longest page; a longer one is cut, and the response has the actual length.
MAX_PAGE_SIZE = 1000

_DIRECTIONS = ("INCOMING", "OUTGOING")


def list_relationships(request: HttpRequest, by: Actor) -> HttpResponse:
    """Return a page of the relationships of an entity, without related entities that the caller may not view."""
    urn = parse_readable_urn(request.GET.get("urn", ""), by)
    direction = request.GET.get("direction", "").upper()
    if direction not in _DIRECTIONS:
        detail = f"This is one of {', '.join(_DIRECTIONS)}."
        raise Invalid.from_problem(code="choice", pointer="/direction", detail=detail)
    start = paths.read_integer(request, "start", 0)
    names, count = paths.read_list(request, "relationshipTypes"), paths.read_integer(request, "count", MAX_PAGE_SIZE)
    if is_hidden(urn, by=by):
        page = RelationshipPage(0, ())
    else:
        is_incoming, count = direction == "INCOMING", min(count, MAX_PAGE_SIZE)
        page = access_relationships.list_related(
            urn=urn.text, is_incoming=is_incoming, names=names, start=start, count=count, by=by
        )
    entities = [{"relationshipType": relationship.name, "urn": relationship.urn} for relationship in page.related]
    return responses.json_response(
        responses.encode_json({"start": start, "count": len(page.related), "total": page.total, "entities": entities})
    )
