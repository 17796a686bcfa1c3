"""Endpoints of the Access Request and Approval Profile; every refusal is a problem (RFC 9457)."""

from collections.abc import Callable
from functools import update_wrapper
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse

from catalog.protocols.authentication import authenticate_caller
from catalog.protocols.authzen import request_models
from catalog.protocols.authzen.access_requests import handing_in, schemas, tasks
from catalog.protocols.authzen.access_requests.approvals import find_retry_seconds
from catalog.protocols.authzen.access_requests.problems import InvalidTaskState, render_refusal
from catalog.protocols.authzen.access_requests.tasks import PENDING
from catalog.protocols.authzen.request_models import MalformedRequest
from policies.engine.model import Actor
from policies.http import guard, public_address
from policies.http.protocol_view import protocol_view
from policies.models import RequestTask
from policies.models.fields import is_storable
from policies.models.request import MAX_NOTE_LENGTH
from policies.pdp import database_clock
from policies.requests.errors import RequestConflict
from policies.requests.services import own_requests

TaskView = Callable[..., HttpResponse]


def _profile_view(*methods: str) -> Callable[[TaskView], Callable[..., HttpResponse]]:
    """Return a decorator for views of the profile: authenticate, and let them write absolute addresses."""

    def decorate(view: TaskView) -> Callable[..., HttpResponse]:
        def handle(request: HttpRequest, by: Actor, /, **parts: str) -> HttpResponse:
            with public_address.bind_request(lambda: request):
                return view(request, by, **parts)

        frame = protocol_view(
            *methods,
            guard=guard.signed_in.with_channel(handing_in.CHANNEL),
            authenticate=authenticate_caller,
            render_refusal=render_refusal,
        )
        update_wrapper(handle, view)
        return frame(handle)

    return decorate


@_profile_view("POST")
def submit_request(request: HttpRequest, by: Actor) -> HttpResponse:
    """Hand a request in: 202 with its task, or 201 if it is decided."""
    members = request_models.parse_body(request)
    task = handing_in.hand_in(members, key=request.headers.get("Idempotency-Key", ""), by=by)
    is_pending = tasks.find_status(task) == PENDING
    response = _respond(task, by, status=HTTPStatus.ACCEPTED if is_pending else HTTPStatus.CREATED)
    response.headers["Location"] = tasks.get_address(task)
    return response


@_profile_view("GET")
def get_task(_request: HttpRequest, by: Actor, token: str) -> HttpResponse:
    """Return the status of a task, with the result of what was approved."""
    return _respond(tasks.get_task(token=token, by=by), by)


@_profile_view("POST")
def cancel_task(request: HttpRequest, by: Actor, token: str) -> HttpResponse:
    """Withdraw what is pending of a task, for the account that asked and for the subject."""
    task = tasks.get_task(token=token, by=by)
    note = _read_note(request)
    try:
        own_requests.withdraw(urn=task.request.urn, by=by, channel=handing_in.CHANNEL, note=note)
    except RequestConflict as error:
        raise InvalidTaskState(error.detail) from error
    return _respond(tasks.get_task(token=token, by=by), by)


@_profile_view("GET")
def get_schema(request: HttpRequest, _by: Actor) -> HttpResponse:
    """Return the JSON Schema of what a submission adds, under a rule."""
    return JsonResponse(schemas.build_schema(request.GET.get("template", "")), content_type=schemas.MEDIA_TYPE)


def _read_note(request: HttpRequest) -> str:
    """Return the comment of a cancellation, or its reason; '' without a body. Raises MalformedRequest."""
    members = request_models.parse_body(request) if request.body else {}
    note = members.get("comment") or members.get("reason") or ""
    if not isinstance(note, str) or len(note) > MAX_NOTE_LENGTH or not is_storable(note):
        raise MalformedRequest(f"comment must be storable text of at most {MAX_NOTE_LENGTH} characters")
    return note


def _respond(task: RequestTask, by: Actor, *, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
    response = JsonResponse(tasks.render_task(task, reader=by), status=status)
    if tasks.find_status(task) == PENDING:
        age = database_clock.get_now() - task.created_at
        response.headers["Retry-After"] = str(find_retry_seconds(age))
    return response
