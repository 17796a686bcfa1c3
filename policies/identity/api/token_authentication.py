"""REST framework authentication: bearer tokens, and the session of the pages."""

from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from policies.identity.services import access_tokens
from policies.models import User

_SCHEME = b"bearer"
_REALM = 'Bearer realm="authzsite"'


class InvalidToken(AuthenticationFailed):
    """An unknown, expired or revoked token, or one of an inactive user; the answer does not say which."""

    default_detail = "This token is not valid: it is unknown, expired or revoked, or its user may not act."
    default_code = "invalid_token"


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer <token>`. Other schemes are ignored; an invalid token is refused."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """Return the token's user and the token, or None without a bearer token. Raises InvalidToken."""
        scheme, _, text = get_authorization_header(request).partition(b" ")
        if scheme.lower() != _SCHEME:
            return None
        token = text.strip().decode("ascii", errors="replace")
        user = access_tokens.authenticate(text=token)
        if user is None:
            raise InvalidToken
        return user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401 (RFC 6750), with an error only if a token was sent."""
        is_sent = get_authorization_header(request).partition(b" ")[0].lower() == _SCHEME
        return f'{_REALM}, error="invalid_token"' if is_sent else _REALM


class PageSession(SessionAuthentication):
    """The session of the pages; unsafe methods need its CSRF token. A suspended user has no session."""
