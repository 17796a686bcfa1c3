"""Authentication by a bearer token, or by the session of the pages.

A browser sends the session with every request, also with one that another site caused. A session counts here only if
the body is JSON, which a form cannot send, and the browser names no other origin; or if the request has the CSRF token
of the pages.
"""

from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import CSRFCheck

from catalog.protocols import authentication
from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.pdp import actor_resolution

#: Name of this channel in the change log.
CHANNEL = "graphql"

_JSON_CONTENT_TYPE = "application/json"


def authenticate_caller(request: HttpRequest) -> Actor:
    """Return the caller with groups and roles. Raises UnauthenticatedError, Forbidden."""
    if "Authorization" in request.headers or not request.user.is_authenticated:
        return authentication.authenticate_caller(request)
    is_ours = request.content_type == _JSON_CONTENT_TYPE and not authentication.is_foreign(request)
    if not is_ours and not _has_csrf_token(request):
        detail = "A call with a session sends application/json from this site, or the CSRF token of the pages."
        raise Forbidden((), detail)
    return actor_resolution.load_actor(urn=request.user.urn)


def _has_csrf_token(request: HttpRequest) -> bool:
    check = CSRFCheck(_empty_response)
    check.process_request(request)
    # `process_view` returns a response if the request is refused, else None.
    return check.process_view(request, _empty_response, (), {}) is None


def _empty_response(_request: HttpRequest) -> HttpResponse:
    return HttpResponse()
