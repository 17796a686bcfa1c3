"""Responses of middleware and error handlers, in the format of the interface called: too large, too many, not found."""

import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from policies.engine.errors import MAX_DETAIL
from policies.http.api import problem_details
from policies.outages import UNAVAILABLE, find_outage

#: Path prefixes of DataHub's REST clients.
GMS_PREFIXES = ("/aspects", "/auth/signUp", "/entities", "/logIn", "/openapi/", "/runs", "/signUp")

#: Path prefixes of all interfaces for programs; everything else is pages.
API_PREFIXES = ("/access/", "/api/", "/scim/", *GMS_PREFIXES)

#: Titles of error pages, worded for people.
PAGE_TITLES = {
    HTTPStatus.LENGTH_REQUIRED: "The length is missing",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "This is too large",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.SERVICE_UNAVAILABLE: UNAVAILABLE.title,
}

_GMS_EXCEPTION = "com.linkedin.restli.server.RestLiServiceException"
_SCIM_ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


def handle_server_error(request: HttpRequest) -> HttpResponse:
    """Answer an error that no view handled: an outage with its status, in the interface's format, any other with 500.

    Django calls this inside the exception handler, for errors of views and of middleware.
    """
    error = sys.exc_info()[1]
    outage = None if error is None else find_outage(error)
    if outage is not None and request.path.startswith(API_PREFIXES):
        return render_refusal(request, outage.status, outage.detail)
    if outage is None and _has_own_error_format(request):
        return render_refusal(
            request, HTTPStatus.INTERNAL_SERVER_ERROR, "This went wrong on our side and is in the log."
        )
    if outage is None:
        return problem_details.handle_server_error(request)
    # The layout of other pages would need the very facts that are missing.
    return HttpResponse(render_to_string("503.html", {"outage": outage}), status=outage.status)


def render_refusal(
    request: HttpRequest, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return a refusal in the format of clients of this path: HTML for a page that a browser requests."""
    path = request.path
    if not path.startswith(API_PREFIXES) and "text/html" in request.headers.get("Accept", ""):
        context = {"code": status.value, "title": PAGE_TITLES.get(status, status.phrase), "text": detail}
        # The layout of other pages queries the database.
        return HttpResponse(render_to_string("refused.html", context), status=status, headers=headers)
    if path.startswith("/access/"):
        return HttpResponse(detail, status=status, content_type="text/plain; charset=utf-8", headers=headers)
    body: dict[str, Any]
    if path.startswith("/scim/"):
        content_type, body = (
            "application/scim+json",
            {"schemas": [_SCIM_ERROR], "status": str(int(status)), "detail": detail},
        )
    elif path.startswith(("/api/graphql", "/api/v2/graphql")):
        extensions = {"code": int(status), "type": status.name, "classification": "ExecutionAborted"}
        content_type, body = "application/json", {"errors": [{"message": detail, "extensions": extensions}]}
    elif path.startswith(GMS_PREFIXES):
        content_type = "application/json"
        body = {"status": int(status), "message": detail, "exceptionClass": _GMS_EXCEPTION}
    else:
        content_type, title = "application/problem+json", status.phrase
        code = status.name.lower()
        body = {"type": "about:blank", "title": title, "status": int(status), "code": code, "detail": detail}
    return HttpResponse(json.dumps(body), status=status, content_type=content_type, headers=headers)


def handle_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django cannot parse."""
    if not _has_own_error_format(request):
        return problem_details.handle_bad_request(request, exception)
    return render_refusal(request, HTTPStatus.BAD_REQUEST, "The request cannot be read.")


def handle_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer PermissionDenied that no view handled."""
    if not _has_own_error_format(request):
        return problem_details.handle_forbidden(request, exception)
    return render_refusal(request, HTTPStatus.FORBIDDEN, str(exception)[:MAX_DETAIL] or "This is not allowed.")


def handle_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a path without a view."""
    if not _has_own_error_format(request):
        return problem_details.handle_not_found(request, exception)
    return render_refusal(request, HTTPStatus.NOT_FOUND, "There is nothing at this path.")


def _has_own_error_format(request: HttpRequest) -> bool:
    """Whether the path is that of an interface with an error format other than the API's and the pages'."""
    return request.path.startswith(API_PREFIXES) and not request.path.startswith("/api/v1/")
