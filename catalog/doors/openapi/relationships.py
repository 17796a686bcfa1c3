"""Relationships of one entity, page by page; a page past the end says that it has none, which ends a client's loop."""

from django.http import HttpRequest, HttpResponse

from catalog import queries
from catalog.doors.gms import answers
from catalog.doors.gms.reading import readable
from catalog.doors.openapi import addresses
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
    start = addresses.whole(request, "start", 0)
    page = queries.related(
        urn=urn.text,
        is_incoming=direction == "INCOMING",
        names=addresses.listed(request, "relationshipTypes"),
        start=start,
        count=min(addresses.whole(request, "count", LONGEST_PAGE), LONGEST_PAGE),
        by=by,
    )
    entities = [{"relationshipType": one.name, "urn": one.urn} for one in page.shown]
    return answers.text(
        answers.encoded({"start": start, "count": len(page.shown), "total": page.total, "entities": entities})
    )
