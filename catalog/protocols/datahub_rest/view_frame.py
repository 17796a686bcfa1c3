"""Frame of the views: authentication, errors as JSON, and the entity types open to every caller."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog.protocols.authentication import authenticate_caller
from catalog.protocols.datahub_rest import responses
from catalog.urns import GUARDED_TYPES
from policies.engine.model import Actor
from policies.http import guard
from policies.http.protocol_view import protocol_view

#: Name of this channel in the change log and the decision log.
CHANNEL = "gms"

ViewParameters = ParamSpec("ViewParameters")


def authenticated_view(
    *methods: str, channel: str = CHANNEL
) -> Callable[[Callable[Concatenate[HttpRequest, Actor, ViewParameters], HttpResponse]], Callable[..., HttpResponse]]:
    """Return a decorator for views that take the request and the caller; other methods are answered with 405."""
    return protocol_view(
        *methods,
        guard=guard.signed_in.with_channel(channel),
        authenticate=authenticate_caller,
        render_refusal=responses.render_refusal,
    )


def is_open(type_: str) -> bool:
    """Whether every caller may use entities of this type: REST_API_AUTHORIZATION is off and the type not guarded."""
    return not settings.REST_API_AUTHORIZATION and type_ not in GUARDED_TYPES
