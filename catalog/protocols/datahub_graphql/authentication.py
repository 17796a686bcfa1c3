"""Who is calling: a bearer token, or the session of somebody who signed in.

A session comes with every request that a browser makes, whoever made it do so. It counts here only where no other site
can have: the body is JSON, which a form cannot send, and the browser names no other origin; or the request has the CSRF
token of the pages.
"""

from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import CSRFCheck

from catalog.protocols import authentication
from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.pdp import actor_resolution

#: What the record of changes calls this door.
CHANNEL = "graphql"

_JSON_CONTENT_TYPE = "application/json"


def authenticate_caller(request: HttpRequest) -> Actor:
    """Return who is calling, with groups and roles. Raises Unauthenticated, Forbidden."""
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
    # It returns why the request is refused, None where it is not.
    return check.process_view(request, _empty_response, (), {}) is None


def _empty_response(_request: HttpRequest) -> HttpResponse:
    return HttpResponse()
