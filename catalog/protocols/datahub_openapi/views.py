"""Views of DataHub's OpenAPI, which dispatch by path and method."""

from django.http import HttpRequest, HttpResponse

from catalog.protocols.datahub_openapi import logical_models, paths, reads, relationships, write_trace, writes
from catalog.protocols.datahub_openapi import scroll as datahub_openapi_scroll
from catalog.protocols.datahub_openapi.writes import CHANNEL
from catalog.protocols.datahub_rest import responses
from catalog.protocols.datahub_rest.view_frame import authenticated_view
from policies.engine.model import Actor


@authenticated_view("GET", "HEAD", "POST", "PATCH", channel=CHANNEL)
def handle_entities(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Write entities of one type, or scroll through them."""
    if request.method in ("POST", "PATCH"):
        return writes.write_entities(request, by, type_)
    return datahub_openapi_scroll.scroll_type(request, by, type_)


@authenticated_view("GET", "HEAD", "POST", "PATCH", "DELETE", channel=CHANNEL)
def handle_entity(request: HttpRequest, by: Actor, type_: str, rest: str) -> HttpResponse:
    """Read or delete an entity, or read, write and delete one of its aspects."""
    is_writing = request.method in ("POST", "PATCH")
    urn, name = paths.parse_entity(type_, rest, needs_aspect=is_writing)
    if is_writing:
        if not name:
            response = responses.error_response(405, "Name the aspect in the path, or post to the path of the type.")
            response.headers["Allow"] = "GET, HEAD, DELETE"
            return response
        return writes.write_aspect(request, by, urn, name)
    if request.method == "DELETE":
        return writes.delete_aspects(request, by, urn, [name]) if name else writes.delete_entity(request, by, urn)
    if request.method == "HEAD" and not name:
        return reads.check_existence(request, by, urn)
    return reads.get_aspect(request, by, urn, name) if name else reads.get_entity(request, by, urn)


@authenticated_view("POST", channel=CHANNEL)
def link_logical_model(request: HttpRequest, by: Actor, child: str, parent: str) -> HttpResponse:
    """Link a dataset and its columns to a logical model."""
    return logical_models.link_models(request, by, child, parent)


@authenticated_view("DELETE", channel=CHANNEL)
def unlink_logical_model(request: HttpRequest, by: Actor, child: str) -> HttpResponse:
    """Take the link of a dataset and its columns to a logical model away."""
    return logical_models.unlink_models(request, by, child)


get_entities = authenticated_view("POST", channel=CHANNEL)(reads.get_entities)
scroll_entities = authenticated_view("POST", channel=CHANNEL)(datahub_openapi_scroll.scroll_types)
list_relationships = authenticated_view("GET", "HEAD", channel=CHANNEL)(relationships.list_relationships)
get_write_status = authenticated_view("POST", channel=CHANNEL)(write_trace.get_write_status)
