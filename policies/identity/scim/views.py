"""The SCIM view: checks limits and calls the library's handler; all errors are SCIM errors."""

import json
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from scim2_models import (
    Error,
    InvalidFilterException,
    InvalidSyntaxException,
    InvalidValueException,
    SCIMException,
    UniquenessException,
)
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse

from policies.engine.model import Actor
from policies.errors import Conflict, GuardrailBroken, Invalid, PolicyAppError
from policies.http.guard import signed_in
from policies.http.protocol_view import protocol_view
from policies.identity.api.bearer_authentication import authenticate_caller
from policies.identity.scim import member_patches, request_bodies
from policies.identity.scim.handler import ScimRequestHandler
from policies.identity.scim.service import SERVICE
from policies.identity.scim.storage import PeopleStorage
from policies.pdp import authorizer

#: Path of the SCIM root.
ROOT = "/scim/v2"

#: Media types of bodies that the library accepts.
_JSON_MEDIA_TYPES = ("application/scim+json", "application/json")

_REQUIRED_PRIVILEGES = (("MANAGE_USERS_AND_GROUPS",),)


def _render_refusal(error: Exception, method: str = "") -> HttpResponse:
    return _render_response(SERVICE.error_response(_translate_error(error, method)))


@protocol_view(guard=signed_in.with_channel("scim"), authenticate=authenticate_caller, render_refusal=_render_refusal)
def handle_scim(request: HttpRequest, by: Actor, path: str = "") -> HttpResponse:
    """Answer a request below `/scim/v2`; needs MANAGE_USERS_AND_GROUPS."""
    authorizer.require(by=by, any_of=_REQUIRED_PRIVILEGES)
    try:
        body = request_bodies.read(request.body) if request.content_type in _JSON_MEDIA_TYPES else None
        scim_request = _parse_request(request, path)
        if scim_request.method in ("POST", "PUT") and path.strip("/").lower().startswith("groups"):
            member_patches.check_group(body)
        return _render_response(
            ScimRequestHandler(PeopleStorage(by=by, is_writing=_is_writing(scim_request))).handle(scim_request)
        )
    except (SCIMException, Conflict, SuspiciousOperation, RecursionError) as error:
        return _render_refusal(error, request.method or "")


def _build_error(status: int, detail: str) -> SCIMException:
    return SCIMException.from_error(Error(status=status, detail=detail))


def _parse_request(request: HttpRequest, path: str) -> ScimRequest:
    base = settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
    return ScimRequest(
        method=request.method or "",
        base_url=f"{base}{ROOT}",
        path=path,
        query=request.GET.dict(),
        headers=dict(request.headers),
        body=request.body,
    )


def _is_writing(scim_request: ScimRequest) -> bool:
    return scim_request.method not in ("GET", "HEAD") and not scim_request.path.rstrip("/").endswith(".search")


def _translate_error(error: Exception, method: str) -> SCIMException:
    """Return an error of a service or of parsing as a SCIM error."""
    match error:
        case SCIMException():
            return error
        case Invalid():
            return InvalidValueException(detail=error.detail)
        case Conflict() if method == "POST" and not isinstance(error, GuardrailBroken):
            return UniquenessException(detail=error.detail)
        case PolicyAppError():
            return _build_error(error.status, error.detail)
        case RecursionError() if method == "GET":
            return InvalidFilterException(detail="The filter is nested too deeply.")
        case _:
            return InvalidSyntaxException(detail="The request cannot be read.")


def _render_response(response: ScimResponse) -> HttpResponse:
    # Escaped as ASCII, since an error may repeat half a surrogate pair from the request.
    body: Any = b"" if response.body is None else json.dumps(response.body)
    return HttpResponse(body, status=int(response.status), headers=response.headers)
