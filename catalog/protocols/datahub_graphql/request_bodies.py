"""Parsing of a request body: one query with its variables and operation name."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from policies.errors import Invalid
from policies.writes import strict_json

#: Longest text of a query, in characters.
MAX_QUERY_LENGTH = 100_000
#: Most commas and opening brackets of a body, and most members of one list in variables.
MAX_SIGNS = 100_000
MAX_MEMBERS = 10_000


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """A request to execute; `operation` selects one of several operations of the query."""

    query: str
    variables: dict[str, Any]
    operation: str | None


class UnreadableBody(Invalid):
    """The body is no JSON object, so that no query was read."""


def read(request: HttpRequest) -> GraphQLRequest:
    """Return the request in the body, whatever its content type. Raises UnreadableBody, and Invalid for members."""
    try:
        body = strict_json.loads(request.body, max_signs=MAX_SIGNS)
    except Invalid as error:
        raise UnreadableBody(error.problems) from None
    if not isinstance(body, dict):
        raise UnreadableBody.from_problem(code="body.shape", pointer="", detail="The body must be a JSON object.")
    query, variables, operation = body.get("query"), body.get("variables"), body.get("operationName")
    if not isinstance(query, str):
        raise _build_error("query", "This must be text, a GraphQL document.")
    if len(query) > MAX_QUERY_LENGTH:
        raise _build_error("query", f"A query has at most {MAX_QUERY_LENGTH} characters.")
    if not isinstance(variables, dict | None):
        raise _build_error("variables", "This must be a JSON object.")
    if strict_json.has_longer_list(variables, MAX_MEMBERS):
        raise Invalid.from_problem(
            code="list.long", pointer="/variables", detail=f"A list in variables has at most {MAX_MEMBERS} members."
        )
    if not isinstance(operation, str | None):
        raise _build_error("operationName", "This must be text.")
    return GraphQLRequest(query, variables or {}, operation or None)


def _build_error(member: str, detail: str) -> Invalid:
    return Invalid.from_problem(code="type", pointer=f"/{member}", detail=detail)
