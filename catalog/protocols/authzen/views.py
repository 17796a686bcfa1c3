"""AuthZEN endpoints (clients.md 3.1), and the metadata document with their URLs."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from catalog.protocols.authentication import authenticate_caller
from catalog.protocols.authzen import evaluation as authzen_evaluation
from catalog.protocols.authzen import request_models, search
from catalog.protocols.authzen.request_models import RequestObject
from policies.engine.model import Actor
from policies.errors import PolicyAppError
from policies.http import guard, public_address
from policies.http.protocol_view import protocol_view

#: Name of this channel in the decision log.
CHANNEL = "authzen"

RequestHandler = Callable[[RequestObject, Actor], dict[str, object]]

#: Answers are written without blanks.
_COMPACT = {"separators": (",", ":")}

#: Member of the metadata document → name of the URL.
ENDPOINTS = {
    "access_evaluation_endpoint": "authzen-evaluation",
    "access_evaluations_endpoint": "authzen-evaluations",
    "search_subject_endpoint": "authzen-search-subject",
    "search_resource_endpoint": "authzen-search-resource",
    "search_action_endpoint": "authzen-search-action",
    "access_request_endpoint": "authzen-access-requests",
}

#: What the metadata document says that this decision point can do beside the standard.
CAPABILITIES = ["urn:openid:authzen:capability:access-request"]


def _endpoint_view(handler: RequestHandler) -> Callable[[HttpRequest], HttpResponse]:
    """Return a view for a handler: authenticate, parse the body, answer JSON, or an error as text."""

    @protocol_view(
        "POST",
        guard=guard.signed_in.with_channel(CHANNEL),
        authenticate=authenticate_caller,
        render_refusal=_render_refusal,
    )
    @wraps(handler)
    def handle(request: HttpRequest, by: Actor) -> HttpResponse:
        with public_address.bind_request(lambda: request):
            return JsonResponse(handler(request_models.parse_body(request), by), json_dumps_params=_COMPACT)

    return handle


def _render_refusal(error: PolicyAppError) -> HttpResponse:
    # The text may repeat input with half a surrogate pair, which UTF-8 cannot encode.
    body = error.detail.encode("utf-8", "backslashreplace")
    return HttpResponse(body, status=error.status, content_type="text/plain; charset=utf-8")


evaluate = _endpoint_view(authzen_evaluation.evaluate)
evaluate_batch = _endpoint_view(authzen_evaluation.evaluate_batch)
search_subjects = _endpoint_view(search.find_subjects)
search_resources = _endpoint_view(search.find_resources)
search_actions = _endpoint_view(search.find_actions)


@require_safe
@guard.public.with_channel(CHANNEL)
def get_configuration(request: HttpRequest) -> HttpResponse:
    """Return the metadata document; URLs begin with PUBLIC_URL if set, since a proxy may hide the requested host."""
    base = public_address.find_address(request)
    endpoints = {member: f"{base}{reverse(name)}" for member, name in ENDPOINTS.items()}
    return JsonResponse({"policy_decision_point": base, **endpoints, "capabilities": CAPABILITIES})
