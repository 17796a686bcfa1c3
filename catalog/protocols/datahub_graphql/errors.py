"""Refusals as these clients read them: a message, where, and a code, over HTTP 200 (clients.md 2.2)."""

import logging
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError
from graphql import GraphQLError, GraphQLSyntaxError

from policies.engine.errors import MAX_DETAIL
from policies.errors import Invalid, PolicyAppError
from policies.outages import UNAVAILABLE, Outage, find_outage

_log = logging.getLogger(__name__)

#: Status of a refusal → what clients know it by.
_TYPES: Mapping[int, str] = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "UNAUTHORIZED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    503: "SERVICE_UNAVAILABLE",
    507: "INSUFFICIENT_STORAGE",
}
_OTHER = "SERVER_ERROR"

_FETCHING, _VALIDATING, _READING = "DataFetchingException", "ValidationError", "InvalidSyntax"


def formatted(error: GraphQLError, *, request_id: str) -> dict[str, Any]:
    """Return one entry of `errors`; what nobody anticipated is logged, and named by the id of the request only."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    shown: dict[str, Any] = {"message": error.message[:MAX_DETAIL]}
    if error.locations:
        shown["locations"] = [location.formatted for location in error.locations]
    if error.path is not None:
        shown["path"] = error.path
    kind = _READING if isinstance(error, GraphQLSyntaxError) else _FETCHING if error.path else _VALIDATING
    code = 400
    if isinstance(cause, PolicyAppError):
        code, shown["message"] = code_of(cause), cause.detail
    elif isinstance(cause, DatabaseError):
        met = find_outage(cause) or UNAVAILABLE
        code, shown["message"] = int(met.status), met.detail
        _log.warning("The database failed a GraphQL call %s.", request_id, exc_info=cause)
    elif cause is not None:
        code, shown["message"] = 500, f"This failed; the log has it under {request_id}."
        _log.error("A GraphQL call failed at %s: %s.", error.path, request_id, exc_info=cause)
    return shown | {"extensions": extensions(code, kind)}


def refusal(error: PolicyAppError, *, kind: str = _VALIDATING) -> dict[str, Any]:
    """Return the entry for a call that is refused before any field of it is answered."""
    return {"message": error.detail, "extensions": extensions(code_of(error), kind)}


def outage(found: Outage) -> dict[str, Any]:
    """Return the entry for a call that met an outage before any field of it was answered."""
    return {"message": found.detail, "extensions": extensions(int(found.status), _VALIDATING)}


def code_of(error: PolicyAppError) -> int:
    """Return the code of a refusal: that of what is not found also for input that only names what nobody knows."""
    problems = error.problems if isinstance(error, Invalid) else ()
    return 404 if problems and all(problem.code == "unknown" for problem in problems) else error.status


def extensions(code: int, kind: str) -> dict[str, Any]:
    """Return what programs read of a refusal."""
    return {"code": code, "type": _TYPES.get(code, _OTHER), "classification": kind}
