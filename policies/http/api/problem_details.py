"""Every refusal as application/problem+json (RFC 9457), whoever raised it."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.views import defaults
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.response import Response
from rest_framework.settings import api_settings

from policies.engine.errors import (
    MAX_PROBLEMS,
    MORE_PROBLEMS,
    Problem,
    UnknownOperation,
    limit_problems,
)
from policies.engine.families.document_reader import escape
from policies.engine.model import Missing
from policies.errors import Forbidden, Invalid, PolicyAppError
from policies.outages import find_outage

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

Body = dict[str, Any]


def body_of(status: int, detail: str, **members: Any) -> Body:
    """Return the members that every problem has, and those given."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **members,
    }


def invalid_body(problems: Sequence[Problem]) -> Body:
    """Return the body of a 400 that lists problems with their places, the first MAX_PROBLEMS of them."""
    found = limit_problems(problems)
    count = len(found)
    detail = "1 problem." if count == 1 else f"{count} problems."
    if any(one.code == MORE_PROBLEMS for one in found):
        detail = f"More than {MAX_PROBLEMS} problems; the first are listed."
    listed = [{"code": one.code, "pointer": one.pointer, "detail": one.detail} for one in found]
    return body_of(HTTPStatus.BAD_REQUEST, detail, title="Invalid input", errors=listed)


def refusal_body(error: PolicyAppError | ValidationError) -> Body:
    """Return the body of an anticipated refusal, also for one question of a batch."""
    if isinstance(error, ValidationError):
        return invalid_body(list(islice(places(error.detail), MAX_PROBLEMS + 1)))
    if isinstance(error, Invalid):
        return invalid_body(error.problems)
    if isinstance(error, Forbidden):
        lists = [_lacking(one) for one in error.missing_any]
        return body_of(error.status, error.detail, code=error.code, missing=_lacking(error.missing), missing_any=lists)
    return body_of(error.status, error.detail, code=error.code)


def _lacking(missing: Iterable[Missing]) -> list[Body]:
    return [{"entity": one.entity, "privilege": one.privilege} for one in missing]


def exception_handler(error: Exception, _context: Mapping[str, Any]) -> Response | None:
    """Answer what a view or the framework raised; None for what nobody anticipated, which ends in the log and a 500."""
    body = _body(error)
    if body is None:
        return None
    headers: dict[str, str] = {}
    if isinstance(error, APIException):
        if challenge := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = challenge
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(int(wait))
    return Response(body, status=body["status"], headers=headers, content_type=MEDIA_TYPE)


def places(detail: Any, pointer: str = "") -> Iterator[Problem]:
    """Turn the nested errors of a serializer into problems with JSON pointers."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            is_whole = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from places(inner, pointer if is_whole else f"{pointer}/{escape(str(name))}")
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            is_place = isinstance(inner, Mapping | list)
            yield from places(inner, f"{pointer}/{index}" if is_place else pointer)
    else:
        yield Problem(getattr(detail, "code", "invalid"), pointer, str(detail))


# -- outside of any view ----------------------------------------------------------------------------------------------


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django itself cannot read."""
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    return _plain(_body(exception) or body_of(HTTPStatus.BAD_REQUEST, "The request cannot be read."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a refusal outside of the API's views."""
    if not _is_api(request):
        return defaults.permission_denied(request, exception)
    return _plain(body_of(HTTPStatus.FORBIDDEN, str(exception), code="forbidden", missing=[], missing_any=[]))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a path that nothing is at."""
    if not _is_api(request):
        return defaults.page_not_found(request, exception)
    return _plain(body_of(HTTPStatus.NOT_FOUND, "There is nothing at this path.", code="not_found"))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what nobody anticipated; the log has the rest."""
    if not _is_api(request):
        return defaults.server_error(request)
    return _plain(body_of(HTTPStatus.INTERNAL_SERVER_ERROR, "An error occurred on our side; it is in the log."))


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _plain(body: Body) -> HttpResponse:
    return JsonResponse(body, status=body["status"], content_type=MEDIA_TYPE)


def _body(error: Exception) -> Body | None:
    match error:
        case PolicyAppError() | ValidationError():
            return refusal_body(error)
        case UnknownOperation():
            return invalid_body([Problem(error.code, "/operation", str(error))])
        case APIException():
            return _framework_body(error)
        case _:
            return _outage_body(error) or _django_body(error)


def _outage_body(error: Exception) -> Body | None:
    outage = find_outage(error)
    if outage is None:
        return None
    log.error(outage.event, exc_info=error)
    return body_of(outage.status, outage.detail, code=outage.code)


def _django_body(error: Exception) -> Body | None:
    match error:
        case Http404():
            return body_of(HTTPStatus.NOT_FOUND, "There is nothing at this path.", code="not_found")
        case PermissionDenied():
            return body_of(
                HTTPStatus.FORBIDDEN, str(error) or "This is not allowed.", code="forbidden", missing=[], missing_any=[]
            )
        case RequestDataTooBig():
            return body_of(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large.")
        case SuspiciousOperation() | MultiPartParserError() | UnreadablePostError():
            return body_of(HTTPStatus.BAD_REQUEST, "The request cannot be read.")
        case _:
            return None


def _framework_body(error: APIException) -> Body:
    codes = error.get_codes()
    members: Body = {"code": codes} if isinstance(codes, str) else {}
    if error.status_code == HTTPStatus.FORBIDDEN:
        members |= {"missing": [], "missing_any": []}
    return body_of(error.status_code, str(error.detail), **members)
