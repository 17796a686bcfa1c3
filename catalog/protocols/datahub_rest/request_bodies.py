"""Parsing of request bodies: JSON, whatever the content type, and the members of JSON objects."""

from typing import Any, TypeVar

from django.http import HttpRequest
from pydantic import BaseModel, ValidationError

from catalog import errors, urns
from policies.errors import Invalid
from policies.writes import strict_json

#: Most commas and opening brackets of a body, including those in documents sent as text: as many as one document may
#: have (`catalog.aspects.register`), plus its envelope.
MAX_SIGNS = 310_000
#: The same for a batch: clients fill one up to 15 MiB, with one such sign in twenty bytes.
MAX_BATCH_SIGNS = 1_200_000

#: Most levels of nested lists and objects: 100 of a document, plus its envelope.
MAX_DEPTH = 150

ModelT = TypeVar("ModelT", bound=BaseModel)

_MAX_INTEGER = 2**31 - 1


def read(request: HttpRequest, *, max_signs: int = MAX_SIGNS) -> dict[str, Any]:
    """Return the JSON object in the body, with at most `max_signs` commas and opening brackets. Raises Invalid."""
    body = _parse_body(request, max_signs)
    if not isinstance(body, dict):
        raise _build_error("body.shape", "", "The body must be a JSON object.")
    return body


def read_list(request: HttpRequest, *, max_entries: int) -> list[Any]:
    """Return the JSON list in the body, with at most `max_entries` entries. Raises Invalid."""
    entries = _parse_body(request, MAX_BATCH_SIGNS)
    if not isinstance(entries, list):
        raise _build_error("body.shape", "", "The body must be a JSON list.")
    if len(entries) > max_entries:
        raise _build_error("list.long", "", f"The list has at most {max_entries} entries.")
    return entries


def _parse_body(request: HttpRequest, max_signs: int) -> Any:
    return strict_json.loads(request.body, max_signs=max_signs, max_depth=MAX_DEPTH, is_lenient=True)


def parse_model(model: type[ModelT], value: Any, pointer: str) -> ModelT:
    """Return a part of a body as a pydantic model. Raises Invalid with every problem."""
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        raise Invalid(errors.list_validation_problems(error, "body", pointer)) from None


def read_text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a text member; it is required if there is no default. Raises Invalid."""
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise _build_error("required" if value is None else "type", f"/{name}", "This must be text.")
    return value


def read_urn(body: dict[str, Any]) -> urns.Urn:
    """Return the parsed member `urn`. Raises Invalid."""
    return parse_urn(read_text(body, "urn"), "/urn")


def parse_urn(urn: str, pointer: str) -> urns.Urn:
    """Return the parsed URN. Raises Invalid at `pointer`."""
    problem = urns.find_problem(urn, pointer)
    if problem is not None:
        raise Invalid([problem])
    return urns.parse(urn)


def read_integer(body: dict[str, Any], name: str, default: int) -> int:
    """Return an integer member from 0 to 2**31 - 1. Raises Invalid."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_INTEGER:
        raise _build_error("type", f"/{name}", f"This must be a whole number from 0 to {_MAX_INTEGER}.")
    return value


def parse_integer(text: str, name: str) -> int:
    """Return an integer from 0 to 2**31 - 1 in a query parameter. Raises Invalid."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= _MAX_INTEGER):
        raise _build_error("type", f"/{name}", f"This must be a whole number from 0 to {_MAX_INTEGER}.")
    return int(text)


def check_object(value: Any, pointer: str) -> dict[str, Any]:
    """Return a JSON object. Raises Invalid for another value."""
    if not isinstance(value, dict):
        raise _build_error("type", pointer, "This must be a JSON object.")
    return value


def read_boolean(body: dict[str, Any], name: str) -> bool:
    """Return a boolean member, false if it is absent. Raises Invalid."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise _build_error("type", f"/{name}", "This must be true or false.")
    return bool(value)


def _build_error(code: str, pointer: str, detail: str) -> Invalid:
    return Invalid.from_problem(code=code, pointer=pointer, detail=detail)
