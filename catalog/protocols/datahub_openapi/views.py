"""What each path and method leads to."""

from django.http import HttpRequest, HttpResponse

from catalog.protocols.datahub_openapi import paths, reads, write_trace, writes
from catalog.protocols.datahub_openapi import relationships as related
from catalog.protocols.datahub_openapi import scroll as datahub_openapi_scroll
from catalog.protocols.datahub_rest import responses
from catalog.protocols.datahub_rest.view_frame import for_callers
from policies.engine.model import Actor

#: What records call this interface.
CHANNEL = "openapi"


@for_callers("GET", "HEAD", "POST", "PATCH", channel=CHANNEL)
def entities(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Write entities of one type, or scroll through them."""
    if request.method in ("POST", "PATCH"):
        return writes.write(request, by, type_)
    return datahub_openapi_scroll.of_type(request, by, type_)


@for_callers("GET", "HEAD", "POST", "PATCH", "DELETE", channel=CHANNEL)
def entity(request: HttpRequest, by: Actor, type_: str, rest: str) -> HttpResponse:
    """Read or delete an entity, or read, write and delete one of its aspects."""
    is_writing = request.method in ("POST", "PATCH")
    urn, name = paths.entity(type_, rest, needs_aspect=is_writing)
    if is_writing:
        if not name:
            response = responses.refusal(405, "Name the aspect in the path, or post to the path of the type.")
            response.headers["Allow"] = "GET, HEAD, DELETE"
            return response
        return writes.write_aspect(request, by, urn, name)
    if request.method == "DELETE":
        return writes.delete_aspects(request, by, urn, [name]) if name else writes.delete(request, by, urn)
    return reads.aspect(request, by, urn, name) if name else reads.entity(request, by, urn)


batch_get = for_callers("POST", channel=CHANNEL)(reads.batch_get)
scroll = for_callers("POST", channel=CHANNEL)(datahub_openapi_scroll.of_types)
relationships = for_callers("GET", "HEAD", channel=CHANNEL)(related.relationships)
trace = for_callers("POST", channel=CHANNEL)(write_trace.write)
