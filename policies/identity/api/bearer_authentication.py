"""Authentication by bearer token, for protocols of programs, which do not accept the session of the pages."""

from django.http import HttpRequest

from policies.engine.model import Actor
from policies.errors import PolicyAppError
from policies.identity.services import access_tokens
from policies.pdp import actor_resolution

_REALM = 'Bearer realm="authzsite"'


class UnauthenticatedError(PolicyAppError):
    """The caller is not authenticated; `is_sent` says whether an invalid Authorization header was sent."""

    code = "unauthenticated"
    status = 401

    def __init__(self, *, is_sent: bool) -> None:
        self.challenge = f'{_REALM}, error="invalid_token"' if is_sent else _REALM
        super().__init__(
            "This token is not valid: it is unknown, expired or revoked, or its user may not act."
            if is_sent
            else "Send Authorization: Bearer with a token."
        )


def authenticate_caller(request: HttpRequest) -> Actor:
    """Return the caller, with groups and roles. Raises UnauthenticatedError."""
    header = request.headers.get("Authorization", "")
    scheme, _, credentials = header.partition(" ")
    user = access_tokens.authenticate(text=credentials.strip()) if scheme.lower() == "bearer" else None
    if user is None:
        raise UnauthenticatedError(is_sent=bool(header))
    # The token's user is the actor and the viewer of the whole request.
    request.user = user
    return actor_resolution.load_actor(urn=user.urn)
