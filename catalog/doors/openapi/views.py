"""What each path and method leads to."""

from django.http import HttpRequest, HttpResponse

from catalog.doors.gms import answers
from catalog.doors.gms.callers import for_callers
from catalog.doors.openapi import addresses, reading, scrolling, tracing, writing
from catalog.doors.openapi import relationships as related
from policies.engine.model import Actor

#: What records call this interface.
CHANNEL = "openapi"


@for_callers("GET", "HEAD", "POST", "PATCH", channel=CHANNEL)
def entities(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Write entities of one type, or scroll through them."""
    if request.method in ("POST", "PATCH"):
        return writing.write(request, by, type_)
    return scrolling.of_type(request, by, type_)


@for_callers("GET", "HEAD", "POST", "PATCH", "DELETE", channel=CHANNEL)
def entity(request: HttpRequest, by: Actor, type_: str, rest: str) -> HttpResponse:
    """Read or delete an entity, or read, write and delete one of its aspects."""
    is_writing = request.method in ("POST", "PATCH")
    urn, name = addresses.entity(type_, rest, needs_aspect=is_writing)
    if is_writing:
        if not name:
            response = answers.refusal(405, "Name the aspect in the path, or post to the path of the type.")
            response.headers["Allow"] = "GET, HEAD, DELETE"
            return response
        return writing.write_aspect(request, by, urn, name)
    if request.method == "DELETE":
        return writing.delete_aspects(request, by, urn, [name]) if name else writing.delete(request, by, urn)
    return reading.aspect(request, by, urn, name) if name else reading.entity(request, by, urn)


batch_get = for_callers("POST", channel=CHANNEL)(reading.batch_get)
scroll = for_callers("POST", channel=CHANNEL)(scrolling.of_types)
relationships = for_callers("GET", "HEAD", channel=CHANNEL)(related.relationships)
trace = for_callers("POST", channel=CHANNEL)(tracing.write)
