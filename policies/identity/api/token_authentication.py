"""REST framework authentication: bearer tokens, and the session of the pages."""

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from policies.identity.api.bearer_authentication import REJECTED_MESSAGE, build_challenge, read_token
from policies.identity.services import access_tokens
from policies.models import User


class InvalidToken(AuthenticationFailed):
    """An unknown, expired or revoked token, or one of an inactive user; the answer does not say which."""

    default_detail = REJECTED_MESSAGE
    default_code = "invalid_token"


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer <token>`. Other schemes are ignored; an invalid token is refused."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """Return the token's user and the token, or None without a bearer token. Raises InvalidToken."""
        # Direct access: on DRF's Request each attribute of the HttpRequest costs a failed lookup first.
        token = read_token(request._request)
        if token is None:
            return None
        user = access_tokens.authenticate(text=token)
        if user is None:
            raise InvalidToken
        return user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401 (RFC 6750), with an error only if a token was sent."""
        return build_challenge(is_sent=read_token(request) is not None)


class PageSession(SessionAuthentication):
    """The session of the pages; unsafe methods need its CSRF token. A suspended user has no session."""
