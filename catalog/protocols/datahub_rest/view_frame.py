"""Frame of the views: authentication, errors as JSON, and the entity types open to every caller."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from catalog.protocols.authentication import UnauthenticatedError, authenticate_caller
from catalog.protocols.datahub_rest import responses
from catalog.urns import GUARDED_TYPES
from policies.engine.model import Actor
from policies.errors import PolicyAppError
from policies.http import guard
from policies.outages import find_outage

#: Name of this channel in the change log and the decision log.
CHANNEL = "gms"


ViewParameters = ParamSpec("ViewParameters")


def authenticated_view(
    *methods: str,
    channel: str = CHANNEL,
) -> Callable[[Callable[Concatenate[HttpRequest, Actor, ViewParameters], HttpResponse]], Callable[..., HttpResponse]]:
    """Return a decorator for views that take the request and the caller; other methods are answered with 405."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, Actor, ViewParameters], HttpResponse],
    ) -> Callable[..., HttpResponse]:
        @wraps(view)
        def handle(request: HttpRequest, *args: ViewParameters.args, **kwargs: ViewParameters.kwargs) -> HttpResponse:
            if request.method not in methods:
                response = responses.error_response(405, f"This path knows {' and '.join(methods)} only.")
                response.headers["Allow"] = ", ".join(methods)
                return response
            try:
                return view(request, authenticate_caller(request), *args, **kwargs)
            except PolicyAppError as error:
                return _render_error(error)
            except (DatabaseError, OSError) as error:
                outage = find_outage(error)
                if outage is None:
                    raise
                return responses.error_response(outage.status, outage.detail)

        handle.guard = guard.signed_in.with_channel(channel)  # type: ignore[attr-defined]
        return csrf_exempt(never_cache(handle))

    return decorate


def is_open(type_: str) -> bool:
    """Whether every caller may use entities of this type: REST_API_AUTHORIZATION is off and the type not guarded."""
    return not settings.REST_API_AUTHORIZATION and type_ not in GUARDED_TYPES


def _render_error(error: PolicyAppError) -> HttpResponse:
    response = responses.error_response(error.status, error.detail)
    if isinstance(error, UnauthenticatedError):
        response.headers["WWW-Authenticate"] = error.challenge
    return response
