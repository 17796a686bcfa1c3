"""Errors in the format of these clients: message, path and code, over HTTP 200 (clients.md 2.2)."""

import logging
from collections.abc import Mapping
from typing import Any

from graphql import GraphQLError, GraphQLSyntaxError

from policies.engine.errors import MAX_DETAIL
from policies.errors import GuardrailBroken, Invalid, PolicyAppError
from policies.outages import find_outage

_log = logging.getLogger(__name__)

#: Status of an error → its type for clients.
_ERROR_TYPES: Mapping[int, str] = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "UNAUTHORIZED",
    404: "NOT_FOUND",
    405: "BAD_REQUEST",
    409: "ALREADY_EXISTS",
    503: "SERVICE_UNAVAILABLE",
    507: "INSUFFICIENT_STORAGE",
}
_OTHER_ERROR = "SERVER_ERROR"
#: What DataHub calls a conflict that is not about a name that is taken.
_CONFLICT = "CONFLICT"

_FETCH_ERROR, _VALIDATION_ERROR, _SYNTAX_ERROR = "DataFetchingException", "ValidationError", "InvalidSyntax"


def format_error(error: GraphQLError, *, request_id: str) -> dict[str, Any]:
    """Return one entry of `errors`; an unexpected error is logged, and identified by the request id only."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    entry: dict[str, Any] = {"message": error.message[:MAX_DETAIL]}
    if error.locations:
        entry["locations"] = [location.formatted for location in error.locations]
    if error.path is not None:
        entry["path"] = error.path
    type_: str | None = None
    kind = _SYNTAX_ERROR if isinstance(error, GraphQLSyntaxError) else _FETCH_ERROR if error.path else _VALIDATION_ERROR
    code = 400
    if isinstance(cause, PolicyAppError):
        code, entry["message"], type_ = error_code(cause), cause.detail, _find_own_type(cause)
    elif cause is not None and (outage := find_outage(cause)) is not None:
        code, entry["message"] = int(outage.status), outage.detail
        _log.warning("The database failed a GraphQL call %s.", request_id, exc_info=cause)
    elif cause is not None:
        code, entry["message"] = 500, f"This failed; the log has it under {request_id}."
        _log.error("A GraphQL call failed at %s: %s.", error.path, request_id, exc_info=cause)
    return entry | {"extensions": error_extensions(code, kind, type_)}


def render_refusal(error: PolicyAppError) -> dict[str, Any]:
    """Return the entry for a call that is refused before any field is resolved."""
    return {
        "message": error.detail,
        "extensions": error_extensions(error_code(error), _VALIDATION_ERROR, _find_own_type(error)),
    }


def error_code(error: PolicyAppError) -> int:
    """Return the code of an error: its status, but 404 for input whose only problems are unknown references."""
    problems = error.problems if isinstance(error, Invalid) else ()
    return 404 if problems and all(problem.code == "unknown" for problem in problems) else error.status


def _find_own_type(error: PolicyAppError) -> str | None:
    """Return the type of an error that is another than its status says."""
    return _CONFLICT if isinstance(error, GuardrailBroken) else None


def error_extensions(code: int, kind: str, type_: str | None = None) -> dict[str, Any]:
    """Return the machine-readable part of an error; `type_` is its type, if not the one of the code."""
    return {"code": code, "type": type_ or _ERROR_TYPES.get(code, _OTHER_ERROR), "classification": kind}
