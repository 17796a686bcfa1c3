"""The one view of the door: a caller first, then the call, then its answer."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from catalog.protocols.authentication import Unauthenticated
from catalog.protocols.datahub_graphql import errors, executor, request_bodies
from catalog.protocols.datahub_graphql.authentication import caller
from catalog.protocols.datahub_graphql.context import Context
from policies.engine.model import Actor
from policies.errors import Forbidden, PolicyAppError
from policies.models import PolicyVersion
from policies.outages import UNAVAILABLE, find_outage

#: Statuses of the answer itself; every other refusal stands in the body of a 200.
_REFUSED = (Unauthenticated, Forbidden, request_bodies.Unread)


@never_cache
def graphql(request: HttpRequest) -> HttpResponse:
    """Answer a query or a mutation."""
    if request.method != "POST":
        response = _errors(405, {"message": "This path knows POST only."})
        response.headers["Allow"] = "POST"
        return response
    try:
        by = caller(request)
        call = request_bodies.read(request)
    except _REFUSED as error:
        response = _errors(error.status, errors.refusal(error))
        if isinstance(error, Unauthenticated):
            response.headers["WWW-Authenticate"] = error.challenge
        return response
    except PolicyAppError as error:
        return _errors(200, errors.refusal(error))
    except DatabaseError as error:
        met = find_outage(error) or UNAVAILABLE
        return _errors(met.status, errors.outage(met))
    return _answered(call, by=by, request=request)


def _answered(call: request_bodies.Call, *, by: Actor, request: HttpRequest) -> HttpResponse:
    context = Context(by)
    try:
        answer = executor.answer(call, here=context, request_id=request.META["HTTP_X_REQUEST_ID"])
    except PolicyAppError as error:
        return _errors(200, errors.refusal(error))
    response = JsonResponse(answer)
    if context.is_policy_written:
        response.headers["Policy-Version"] = str(PolicyVersion.current())
    return response


def _errors(status: int, error: dict[str, Any]) -> HttpResponse:
    return JsonResponse({"errors": [error]}, status=status)
