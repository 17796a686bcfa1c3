"""How much a body may bring, looked at before the library makes an object of every member of every list."""

import json
from collections.abc import Iterator
from typing import Any

from scim2_models import InvalidSyntaxException, InvalidValueException

from policies.doors.scim import members
from policies.errors import Invalid
from policies.services import json_text

#: Most commas and opening brackets of a body.
MAX_SIGNS = 150_000
#: Most levels of lists and objects inside one another.
MAX_DEPTH = 20
#: Most values of an attribute of a user, such as addresses and telephone numbers.
MAX_VALUES = 100
#: Most operations of one patch.
MAX_OPERATIONS = 1_000


def check_size(body: bytes) -> None:
    """Raise a SCIMException for a body that is too large or no JSON; what it means is for the library to say."""
    if not body:
        return
    try:
        json_text.check_signs(body, most=MAX_SIGNS)
        found = json.loads(body)
    except Invalid as error:
        raise InvalidValueException(detail=error.problems[0].detail) from None
    except (ValueError, RecursionError):
        raise InvalidSyntaxException(detail="The body is not JSON.") from None
    if json_text.is_deeper(found, MAX_DEPTH):
        raise InvalidSyntaxException(detail=f"The body is nested more than {MAX_DEPTH} levels deep.")
    for name, count, most in _list_lengths(found):
        if count > most:
            raise InvalidValueException(detail=f"{name[:100]} has up to {most} values, not {count}.")


def _list_lengths(value: Any, name: str = "The body", most: int = MAX_VALUES) -> Iterator[tuple[str, int, int]]:
    """Yield (name, length, most that is allowed) of each list, a list before what is in it."""
    if isinstance(value, list):
        yield name, len(value), most
        for one in value:
            yield from _list_lengths(one, name)
    elif isinstance(value, dict):
        is_about_members = str(value.get("path", "")).lower().startswith("members")
        for key, inner in value.items():
            yield from _list_lengths(inner, key, _limit_of(key, is_about_members=is_about_members))


def _limit_of(name: str, *, is_about_members: bool) -> int:
    match name.lower():
        case "members":
            return members.MOST
        case "value" if is_about_members:
            return members.MOST
        case "operations":
            return MAX_OPERATIONS
        case _:
            return MAX_VALUES
