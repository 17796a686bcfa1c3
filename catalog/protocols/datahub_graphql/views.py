"""The GraphQL view: authenticate, parse, execute, respond."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from catalog.protocols.authentication import UnauthenticatedError
from catalog.protocols.datahub_graphql import errors, executor, request_bodies
from catalog.protocols.datahub_graphql.authentication import authenticate_caller
from catalog.protocols.datahub_graphql.context import Context
from policies.engine.model import Actor
from policies.errors import Forbidden, PolicyAppError
from policies.models import PolicyVersion
from policies.outages import UNAVAILABLE, find_outage

#: Errors with an HTTP status of their own; every other error is in the body of a 200.
_HTTP_ERRORS = (UnauthenticatedError, Forbidden, request_bodies.UnreadableBody)


@never_cache
def handle_graphql(request: HttpRequest) -> HttpResponse:
    """Answer a query or a mutation."""
    if request.method != "POST":
        response = _error_response(405, {"message": "This path knows POST only."})
        response.headers["Allow"] = "POST"
        return response
    try:
        by = authenticate_caller(request)
        graphql_request = request_bodies.read(request)
    except _HTTP_ERRORS as error:
        response = _error_response(error.status, errors.render_refusal(error))
        if isinstance(error, UnauthenticatedError):
            response.headers["WWW-Authenticate"] = error.challenge
        return response
    except PolicyAppError as error:
        return _error_response(200, errors.render_refusal(error))
    except DatabaseError as error:
        outage = find_outage(error) or UNAVAILABLE
        return _error_response(outage.status, errors.render_outage(outage))
    return _execute_request(graphql_request, by=by, request=request)


def _execute_request(
    graphql_request: request_bodies.GraphQLRequest, *, by: Actor, request: HttpRequest
) -> HttpResponse:
    context = Context(by)
    try:
        body = executor.execute(graphql_request, context=context, request_id=request.META["HTTP_X_REQUEST_ID"])
    except PolicyAppError as error:
        return _error_response(200, errors.render_refusal(error))
    response = JsonResponse(body)
    if context.is_policy_written:
        response.headers["Policy-Version"] = str(PolicyVersion.load_version())
    return response


def _error_response(status: int, error: dict[str, Any]) -> HttpResponse:
    return JsonResponse({"errors": [error]}, status=status)
