"""Who is calling, by the bearer token of a request.

Only a token says who is calling. The session of the pages opens nothing here, which is why these paths need no CSRF
token. With METADATA_SERVICE_AUTH_ENABLED off (loopback only, settings see to it) a call without a token is the root
user's; a browser that another site made call is refused then, since nothing else would tell it apart.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from policies import queries
from policies.engine.model import Actor
from policies.errors import Forbidden, PolicyAppError
from policies.services import tokens

_ROOT = "urn:li:corpuser:datahub"
_REALM = 'Bearer realm="authzsite"'
_FOREIGN = frozenset({"cross-site", "same-site"})


class Unauthenticated(PolicyAppError):
    """Nobody knows who is calling; `is_sent` says whether a token came that opens nothing."""

    code = "unauthenticated"
    status = 401

    def __init__(self, *, is_sent: bool) -> None:
        self.challenge = f'{_REALM}, error="invalid_token"' if is_sent else _REALM
        super().__init__(
            "This token opens nothing: it is unknown, expired or revoked, or its user may not act."
            if is_sent
            else "Send Authorization: Bearer with a token."
        )


def caller(request: HttpRequest) -> Actor:
    """Return who is calling, with groups and roles. Raises Unauthenticated."""
    header = request.headers.get("Authorization", "")
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() == "bearer":
        user = tokens.authenticate(text=credentials.strip())
        if user is None:
            raise Unauthenticated(is_sent=True)
        # What is asked in this request is asked by, and answered to, this user.
        request.user = user
        return queries.actor(urn=user.urn)
    if header or settings.METADATA_SERVICE_AUTH_ENABLED:
        raise Unauthenticated(is_sent=bool(header))
    if is_foreign(request):
        raise Forbidden((), "Calls without a token are not for pages of other sites.")
    return queries.actor(urn=_ROOT)


def is_foreign(request: HttpRequest) -> bool:
    """Whether a browser sent this because of a page of another site."""
    origin = request.headers.get("Origin")
    is_elsewhere = origin is not None and _host(origin) != request.get_host()
    return is_elsewhere or request.headers.get("Sec-Fetch-Site") in _FOREIGN


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
