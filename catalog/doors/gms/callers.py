"""Who is calling, and the frame of every view: a caller first, then an answer, or a refusal in JSON.

Only a bearer token says who is calling. The session of the pages opens nothing here, which is why these paths need no
CSRF token. With METADATA_SERVICE_AUTH_ENABLED off (loopback only, settings see to it) a call without a token is the
root user's; a browser that another site made call is refused then, since nothing else would tell it apart.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlsplit

from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from catalog.doors.gms import answers
from catalog.urns import PEOPLE_TYPES
from policies import guard, queries
from policies.engine.model import Actor
from policies.errors import Forbidden, PolicyAppError
from policies.services import tokens

#: What the record of changes calls this door.
DOOR = "gms"

#: Types that REST_API_AUTHORIZATION, switched off, does not open: people, what gives power, and what holds a secret.
GUARDED = PEOPLE_TYPES | {"dataHubAccessToken", "dataHubSecret", "inviteToken"}

_ROOT = "urn:li:corpuser:datahub"
_REALM = 'Bearer realm="authzsite"'
_FOREIGN = frozenset({"cross-site", "same-site"})

More = ParamSpec("More")


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


def for_callers(
    *methods: str,
) -> Callable[[Callable[Concatenate[HttpRequest, Actor, More], HttpResponse]], Callable[..., HttpResponse]]:
    """Make a view of a function that takes the request and its caller; other methods than these are answered 405."""

    def framed(view: Callable[Concatenate[HttpRequest, Actor, More], HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def answer(request: HttpRequest, *args: More.args, **kwargs: More.kwargs) -> HttpResponse:
            if request.method not in methods:
                response = answers.refusal(405, f"This path knows {' and '.join(methods)} only.")
                response.headers["Allow"] = ", ".join(methods)
                return response
            try:
                return view(request, caller(request), *args, **kwargs)
            except PolicyAppError as error:
                return _refused(error)
            except OperationalError:
                # Another write holds the database; asking again is the right thing to do, and clients do it.
                return answers.refusal(503, "The database is busy.")

        answer.guard = guard.signed_in  # type: ignore[attr-defined]
        return csrf_exempt(never_cache(answer))

    return framed


def caller(request: HttpRequest) -> Actor:
    """Return who is calling, with groups and roles. Raises Unauthenticated."""
    header = request.headers.get("Authorization", "")
    scheme, _, credentials = header.partition(" ")
    if scheme.lower() == "bearer":
        user = tokens.authenticate(text=credentials.strip())
        if user is None:
            raise Unauthenticated(is_sent=True)
        return queries.actor(urn=user.urn)
    if header or settings.METADATA_SERVICE_AUTH_ENABLED:
        raise Unauthenticated(is_sent=bool(header))
    if _is_foreign(request):
        raise Forbidden((), "Calls without a token are not for pages of other sites.")
    return queries.actor(urn=_ROOT)


def is_open(type_: str) -> bool:
    """Whether every caller may read and write entities of this type, since REST_API_AUTHORIZATION is off."""
    return not settings.REST_API_AUTHORIZATION and type_ not in GUARDED


def _is_foreign(request: HttpRequest) -> bool:
    origin = request.headers.get("Origin")
    is_elsewhere = origin is not None and urlsplit(origin).netloc != request.get_host()
    return is_elsewhere or request.headers.get("Sec-Fetch-Site") in _FOREIGN


def _refused(error: PolicyAppError) -> HttpResponse:
    response = answers.refusal(error.status, error.detail)
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = error.challenge
    return response
