"""Relationships of one entity, page by page; a page past the end says that it has none, which ends a client's loop."""

from django.http import HttpRequest, HttpResponse

from catalog.access import relationships as access_relationships
from catalog.access.relationships import Page
from catalog.protocols.datahub_openapi import paths
from catalog.protocols.datahub_rest import responses
from catalog.protocols.datahub_rest.reads import is_hidden, readable
from policies.engine.model import Actor
from policies.errors import Invalid

#: Longest page; a longer one is cut, and the answer says how long it is.
LONGEST_PAGE = 1000

_DIRECTIONS = ("INCOMING", "OUTGOING")


def relationships(request: HttpRequest, by: Actor) -> HttpResponse:
    """Answer what an entity is related to; what the caller may not view is neither named nor counted."""
    urn = readable(request.GET.get("urn", ""), by)
    direction = request.GET.get("direction", "").upper()
    if direction not in _DIRECTIONS:
        detail = f"This is one of {', '.join(_DIRECTIONS)}."
        raise Invalid.one(code="choice", pointer="/direction", detail=detail)
    start = paths.whole(request, "start", 0)
    names, count = paths.listed(request, "relationshipTypes"), paths.whole(request, "count", LONGEST_PAGE)
    if is_hidden(urn, by=by):
        page = Page(0, ())
    else:
        is_incoming, count = direction == "INCOMING", min(count, LONGEST_PAGE)
        page = access_relationships.related(
            urn=urn.text, is_incoming=is_incoming, names=names, start=start, count=count, by=by
        )
    entities = [{"relationshipType": one.name, "urn": one.urn} for one in page.shown]
    return responses.text(
        responses.encoded({"start": start, "count": len(page.shown), "total": page.total, "entities": entities})
    )
