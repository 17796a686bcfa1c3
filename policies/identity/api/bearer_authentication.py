"""Authentication by bearer token, for protocols of programs, which do not accept the session of the pages."""

from django.http import HttpRequest

from policies.engine.model import Actor
from policies.errors import PolicyAppError
from policies.identity.services import access_tokens
from policies.pdp import fact_cache

REJECTED_MESSAGE = "This token is not valid: it is unknown, expired or revoked, or its user may not act."

_REALM = 'Bearer realm="authzsite"'


class UnauthenticatedError(PolicyAppError):
    """The caller is not authenticated; `is_sent` says whether an invalid Authorization header was sent."""

    code = "unauthenticated"
    status = 401

    def __init__(self, *, is_sent: bool) -> None:
        self.headers = {"WWW-Authenticate": build_challenge(is_sent=is_sent)}
        super().__init__(REJECTED_MESSAGE if is_sent else "Send Authorization: Bearer with a token.")


def build_challenge(*, is_sent: bool) -> str:
    """Return the challenge of a 401 (RFC 6750), with an error only if a token was sent."""
    return f'{_REALM}, error="invalid_token"' if is_sent else _REALM


def read_token(request: HttpRequest) -> str | None:
    """Return the token in `Authorization: Bearer <token>`; None without the header or with another scheme."""
    # Not `headers`: it is made of all of them.
    return parse_token(request.META.get("HTTP_AUTHORIZATION", ""))


def parse_token(header: str) -> str | None:
    """Return the token in a header `Bearer <token>`; None for another scheme."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def authenticate_caller(request: HttpRequest) -> Actor:
    """Return the caller, with groups and roles. Raises UnauthenticatedError."""
    token = read_token(request)
    user = None if token is None else access_tokens.authenticate(text=token)
    if user is None:
        raise UnauthenticatedError(is_sent=bool(request.headers.get("Authorization")))
    # The token's user is the actor and the viewer of the whole request.
    request.user = user
    return fact_cache.get_actor(urn=user.urn)
