"""What arrives in a body: JSON objects, whatever their headers say, and their members."""

import json
from typing import Any, NoReturn

from django.http import HttpRequest

from catalog import urns
from policies.errors import Invalid
from policies.writes import strict_json

#: Most commas and opening brackets of a body, those in documents that are sent as text among them: as many as one
#: document may have (`catalog.aspects.register`), and what it is sent in.
MAX_SIGNS = 310_000
#: The same of a batch: clients fill one up to 15 MiB, and it has one sign in twenty bytes.
MAX_BATCH_SIGNS = 1_200_000

#: Most levels of lists and objects inside one another: a document of 100, and what it is sent in.
DEEPEST = 150

_BIGGEST = 2**31 - 1


def read(request: HttpRequest, *, signs: int = MAX_SIGNS) -> dict[str, Any]:
    """Return the JSON object in the body, with at most so many commas and brackets. Raises Invalid."""
    found = _read(request, signs)
    if not isinstance(found, dict):
        raise _wrong("body.shape", "", "The body must be a JSON object.")
    return found


def read_list(request: HttpRequest, *, most: int) -> list[Any]:
    """Return the JSON list in the body, of at most so many entries. Raises Invalid."""
    found = _read(request, MAX_BATCH_SIGNS)
    if not isinstance(found, list):
        raise _wrong("body.shape", "", "The body must be a JSON list.")
    if len(found) > most:
        raise _wrong("list.long", "", f"The list has at most {most} entries.")
    return found


def _read(request: HttpRequest, signs: int) -> Any:
    raw = request.body
    strict_json.check_signs(raw, most=signs)
    try:
        found = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise _wrong("body.json", "", "The body is not UTF-8.") from None
    except RecursionError:
        raise _wrong("body.json", "", "The body is nested too deeply.") from None
    except ValueError as error:
        raise _wrong("body.json", "", f"The body is not JSON: {error}") from None
    # What reads it later walks it recursively, on stacks deeper than this one.
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and strict_json.is_deeper(found, DEEPEST):
        raise _wrong("body.json", "", f"The body is nested more than {DEEPEST} levels deep.")
    return found


def text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a member that is text; without a default it is needed. Raises Invalid."""
    found = body.get(name)
    if found is None and default is not None:
        return default
    if not isinstance(found, str):
        raise _wrong("required" if found is None else "type", f"/{name}", "This must be text.")
    return found


def urn(body: dict[str, Any]) -> urns.Urn:
    """Return the member `urn`, taken apart. Raises Invalid."""
    return checked(text(body, "urn"), "/urn")


def checked(found: str, pointer: str) -> urns.Urn:
    """Return a URN taken apart. Raises Invalid with this pointer."""
    problem = urns.problem(found, pointer)
    if problem is not None:
        raise Invalid([problem])
    return urns.parse(found)


def whole(body: dict[str, Any], name: str, default: int) -> int:
    """Return a member that is a whole number from 0 on. Raises Invalid."""
    found = body.get(name)
    if found is None:
        return default
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _BIGGEST:
        raise _wrong("type", f"/{name}", f"This must be a whole number from 0 to {_BIGGEST}.")
    return found


def flag(body: dict[str, Any], name: str) -> bool:
    """Return a member that is true or false, false when it is not there. Raises Invalid."""
    found = body.get(name)
    if found is not None and not isinstance(found, bool):
        raise _wrong("type", f"/{name}", "This must be true or false.")
    return bool(found)


def _wrong(code: str, pointer: str, detail: str) -> Invalid:
    return Invalid.one(code=code, pointer=pointer, detail=detail)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value.")
