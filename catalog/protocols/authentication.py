"""Authentication of callers of the protocol endpoints, by access token.

The session of the pages is not accepted here, so these paths need no CSRF token. With METADATA_SERVICE_AUTH_ENABLED off
(only on a loopback address, enforced by the settings) a call without a token acts as the root user; such a call is
refused if a browser sent it on behalf of another site, since nothing else distinguishes it.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.api import bearer_authentication
from policies.identity.api.bearer_authentication import UnauthenticatedError
from policies.pdp import actor_resolution

__all__ = ["UnauthenticatedError", "authenticate_caller", "is_foreign"]

_ROOT_URN = "urn:li:corpuser:datahub"
_FOREIGN_FETCH_SITES = frozenset({"cross-site", "same-site"})


def authenticate_caller(request: HttpRequest) -> Actor:
    """Return the caller with groups and roles. Raises UnauthenticatedError, and Forbidden for calls of other sites."""
    if settings.METADATA_SERVICE_AUTH_ENABLED or request.headers.get("Authorization"):
        return bearer_authentication.authenticate_caller(request)
    if is_foreign(request):
        raise Forbidden((), "Calls without a token are not for pages of other sites.")
    return actor_resolution.load_actor(urn=_ROOT_URN)


def is_foreign(request: HttpRequest) -> bool:
    """Whether a browser sent the request on behalf of another site, by `Origin` or `Sec-Fetch-Site`."""
    origin = request.headers.get("Origin")
    is_other_origin = origin is not None and _origin_host(origin) != request.get_host()
    return is_other_origin or request.headers.get("Sec-Fetch-Site") in _FOREIGN_FETCH_SITES


def _origin_host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
