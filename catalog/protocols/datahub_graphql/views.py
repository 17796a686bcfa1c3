"""The GraphQL view: authenticate, parse, execute, respond."""

from django.http import HttpRequest, HttpResponse, JsonResponse

from catalog.protocols.datahub_graphql import errors, executor, request_bodies
from catalog.protocols.datahub_graphql.authentication import CHANNEL, authenticate_caller
from catalog.protocols.datahub_graphql.context import Context
from policies.engine.model import Actor
from policies.errors import Invalid, NotFound, PolicyAppError
from policies.http.guard import signed_in
from policies.http.protocol_view import protocol_view
from policies.models import PolicyVersion


def _render_refusal(error: PolicyAppError) -> HttpResponse:
    """Return a refusal with an HTTP status of its own; that of a query which was read is in the body of a 200."""
    is_read = isinstance(error, Invalid | NotFound) and not isinstance(error, request_bodies.UnreadableBody)
    return JsonResponse({"errors": [errors.render_refusal(error)]}, status=200 if is_read else error.status)


@protocol_view(
    "POST",
    guard=signed_in.with_channel(CHANNEL),
    authenticate=authenticate_caller,
    render_refusal=_render_refusal,
)
def handle_graphql(request: HttpRequest, by: Actor) -> HttpResponse:
    """Answer a query or a mutation."""
    graphql_request, context = request_bodies.read(request), Context(by)
    body = executor.execute(graphql_request, context=context, request_id=request.META["HTTP_X_REQUEST_ID"])
    response = JsonResponse(body)
    if context.is_policy_written:
        response.headers["Policy-Version"] = str(PolicyVersion.load_version())
    return response
