"""The frame of every view: a caller first, then an answer, or a refusal in JSON."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from catalog.protocols.authentication import Unauthenticated, caller
from catalog.protocols.datahub_rest import responses
from catalog.urns import PEOPLE_TYPES
from policies.engine.model import Actor
from policies.errors import PolicyAppError
from policies.http import guard
from policies.outages import find_outage

#: What the record of changes calls this door.
DOOR = "gms"

#: Types that REST_API_AUTHORIZATION, switched off, does not open: people, what gives power, and what holds a secret.
GUARDED = PEOPLE_TYPES | {"dataHubAccessToken", "dataHubSecret", "inviteToken"}


More = ParamSpec("More")


def for_callers(
    *methods: str,
    channel: str = DOOR,
) -> Callable[[Callable[Concatenate[HttpRequest, Actor, More], HttpResponse]], Callable[..., HttpResponse]]:
    """Make a view of a function that takes the request and its caller; other methods than these are answered 405."""

    def framed(view: Callable[Concatenate[HttpRequest, Actor, More], HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def answer(request: HttpRequest, *args: More.args, **kwargs: More.kwargs) -> HttpResponse:
            if request.method not in methods:
                response = responses.refusal(405, f"This path knows {' and '.join(methods)} only.")
                response.headers["Allow"] = ", ".join(methods)
                return response
            try:
                return view(request, caller(request), *args, **kwargs)
            except PolicyAppError as error:
                return _refused(error)
            except (DatabaseError, OSError) as error:
                outage = find_outage(error)
                if outage is None:
                    raise
                return responses.refusal(outage.status, outage.detail)

        answer.guard = guard.signed_in.with_channel(channel)  # type: ignore[attr-defined]
        return csrf_exempt(never_cache(answer))

    return framed


def is_open(type_: str) -> bool:
    """Whether every caller may read and write entities of this type, since REST_API_AUTHORIZATION is off."""
    return not settings.REST_API_AUTHORIZATION and type_ not in GUARDED


def _refused(error: PolicyAppError) -> HttpResponse:
    response = responses.refusal(error.status, error.detail)
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = error.challenge
    return response
