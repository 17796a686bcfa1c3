"""Every refusal of the API as application/problem+json (RFC 9457), whichever code raised it."""

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
from policies.engine.model import MissingPrivilege
from policies.errors import Forbidden, GuardrailBroken, Invalid, PolicyAppError
from policies.outages import find_outage

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

#: The `type` of a refusal by a guardrail.
GUARDRAIL_TYPE = "/problems/guardrail"

ProblemBody = dict[str, Any]


def problem_body(status: int, detail: str, **members: Any) -> ProblemBody:
    """Return the members that every problem has, and `members` over them."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **members,
    }


def invalid_body(problems: Sequence[Problem]) -> ProblemBody:
    """Return the body of a 400 that lists problems with their pointers, the first MAX_PROBLEMS of them."""
    limited_problems = limit_problems(problems)
    count = len(limited_problems)
    detail = "1 problem." if count == 1 else f"{count} problems."
    if any(problem.code == MORE_PROBLEMS for problem in limited_problems):
        detail = f"More than {MAX_PROBLEMS} problems; the first are listed."
    errors = [
        {"code": problem.code, "pointer": problem.pointer, "detail": problem.detail} for problem in limited_problems
    ]
    return problem_body(HTTPStatus.BAD_REQUEST, detail, title="Invalid input", errors=errors)


def refusal_body(error: PolicyAppError | ValidationError) -> ProblemBody:
    """Return the problem body of an anticipated error, also for one question of a batch."""
    if isinstance(error, ValidationError):
        return invalid_body(list(islice(iterate_problems(error.detail), MAX_PROBLEMS + 1)))
    if isinstance(error, Invalid):
        return {**invalid_body(error.problems), **error.members}
    if isinstance(error, Forbidden):
        alternatives = [_missing_entries(alternative) for alternative in error.missing_any]
        return problem_body(
            error.status,
            error.detail,
            code=error.code,
            missing=_missing_entries(error.missing),
            missing_any=alternatives,
        )
    if isinstance(error, GuardrailBroken):
        members = {"type": GUARDRAIL_TYPE, "guardrail": error.guardrail, "example": error.example}
        return problem_body(error.status, error.detail, code=error.code, **members)
    return problem_body(error.status, error.detail, **{"code": error.code, **error.members})


def _missing_entries(missing: Iterable[MissingPrivilege]) -> list[ProblemBody]:
    return [
        {"entity": missing_privilege.entity, "privilege": missing_privilege.privilege} for missing_privilege in missing
    ]


def handle_exception(error: Exception, _context: Mapping[str, Any]) -> Response | None:
    """Return the response to an exception of a view or of DRF; None for an unanticipated one (logged, 500)."""
    body = _build_body(error)
    if body is None:
        return None
    headers = dict(error.headers) if isinstance(error, PolicyAppError) else {}
    if isinstance(error, APIException):
        if challenge := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = challenge
        if wait_seconds := getattr(error, "wait", None):
            headers["Retry-After"] = str(int(wait_seconds))
    return Response(body, status=body["status"], headers=headers, content_type=MEDIA_TYPE)


def iterate_problems(detail: Any, pointer: str = "") -> Iterator[Problem]:
    """Yield the nested errors of a serializer as problems with JSON pointers."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            is_object_error = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from iterate_problems(inner, pointer if is_object_error else f"{pointer}/{escape(str(name))}")
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            is_nested = isinstance(inner, Mapping | list)
            yield from iterate_problems(inner, f"{pointer}/{index}" if is_nested else pointer)
    else:
        yield Problem(getattr(detail, "code", "invalid"), pointer, str(detail))


# -- errors outside of any view ---------------------------------------------------------------------------------------


def handle_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django itself cannot read (400)."""
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    return _build_response(
        _build_body(exception) or problem_body(HTTPStatus.BAD_REQUEST, "The request cannot be read.")
    )


def handle_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a refusal outside of the API's views (403)."""
    if not _is_api(request):
        return defaults.permission_denied(request, exception)
    return _build_response(
        problem_body(HTTPStatus.FORBIDDEN, str(exception), code="forbidden", missing=[], missing_any=[])
    )


def handle_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a path without a view (404)."""
    if not _is_api(request):
        return defaults.page_not_found(request, exception)
    return _build_response(problem_body(HTTPStatus.NOT_FOUND, "There is nothing at this path.", code="not_found"))


def handle_server_error(request: HttpRequest) -> HttpResponse:
    """Answer an unanticipated error (500); the details are in the log only."""
    if not _is_api(request):
        return defaults.server_error(request)
    return _build_response(
        problem_body(HTTPStatus.INTERNAL_SERVER_ERROR, "An error occurred on our side; it is in the log.")
    )


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _build_response(body: ProblemBody) -> HttpResponse:
    return JsonResponse(body, status=body["status"], content_type=MEDIA_TYPE)


def _build_body(error: Exception) -> ProblemBody | None:
    match error:
        case PolicyAppError() | ValidationError():
            return refusal_body(error)
        case UnknownOperation():
            return invalid_body([Problem(error.code, "/operation", str(error))])
        case APIException():
            return _build_framework_body(error)
        case _:
            return _report_outage(error) or _build_django_body(error)


def _report_outage(error: Exception) -> ProblemBody | None:
    outage = find_outage(error)
    if outage is None:
        return None
    log.error(outage.event, exc_info=error)
    return problem_body(outage.status, outage.detail, code=outage.code)


def _build_django_body(error: Exception) -> ProblemBody | None:
    match error:
        case Http404():
            return problem_body(HTTPStatus.NOT_FOUND, "There is nothing at this path.", code="not_found")
        case PermissionDenied():
            return problem_body(
                HTTPStatus.FORBIDDEN, str(error) or "This is not allowed.", code="forbidden", missing=[], missing_any=[]
            )
        case RequestDataTooBig():
            return problem_body(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large.")
        case SuspiciousOperation() | MultiPartParserError() | UnreadablePostError():
            return problem_body(HTTPStatus.BAD_REQUEST, "The request cannot be read.")
        case _:
            return None


def _build_framework_body(error: APIException) -> ProblemBody:
    codes = error.get_codes()
    members: ProblemBody = {"code": codes} if isinstance(codes, str) else {}
    if error.status_code == HTTPStatus.FORBIDDEN:
        members |= {"missing": [], "missing_any": []}
    return problem_body(error.status_code, str(error.detail), **members)
