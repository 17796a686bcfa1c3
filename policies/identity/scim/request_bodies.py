"""Limits on request bodies, checked before the library creates an object for every member of every list."""

from collections.abc import Iterable, Iterator
from typing import Any

from scim2_models import InvalidSyntaxException, InvalidValueException

from policies.errors import Invalid
from policies.identity.scim import member_patches
from policies.writes import strict_json

#: Maximum number of commas and opening brackets in a body.
MAX_SIGNS = 100_000
#: Maximum nesting depth of lists and objects.
MAX_DEPTH = 20
#: Maximum number of values of a user attribute, such as addresses. The limit of a patch is for all its operations
#: together, since the library copies and searches the values for each operation.
MAX_VALUES = 20
#: Maximum number of attribute names that a search includes or excludes.
MAX_NAMES = 100
#: Maximum number of operations in one patch, and of those that are not about members.
MAX_OPERATIONS = 100
MAX_OTHER_OPERATIONS = 40
#: Maximum number of members that one patch removes: the library makes one condition of all of them.
MAX_REMOVED_MEMBERS = 1_000


def read(body: bytes) -> Any:
    """Return the value of a body; raises a SCIMException if it is too large or not JSON. The library validates it."""
    document = _read_json(body) if body else None
    for name, count, limit in _measure_lists(document):
        if count > limit:
            raise InvalidValueException(detail=f"{name[:100]} has up to {limit} values, not {count}.")
    for name, value in document.items() if isinstance(document, dict) else ():
        if name.lower() == "operations" and isinstance(value, list):
            _check_patch(value)
    return document


def _read_json(body: bytes) -> Any:
    try:
        return strict_json.loads(body, max_signs=MAX_SIGNS, max_depth=MAX_DEPTH, is_lenient=True)
    except Invalid as error:
        (problem,) = error.problems
        refusal = InvalidValueException if problem.code == "json.large" else InvalidSyntaxException
        raise refusal(detail=problem.detail) from None


def check_growth(name: str, *, before: int, after: int) -> None:
    """Raise InvalidValueException if a user attribute would get more than MAX_VALUES values.

    An attribute that already has more may keep as many, so that the user can still be updated and suspended.
    """
    if after > max(MAX_VALUES, before):
        raise InvalidValueException(detail=f"{name[:100]} has up to {MAX_VALUES} values, not {after}.")


def _check_patch(operations: list[Any]) -> None:
    """Raise InvalidValueException if the operations of a patch together exceed a limit."""
    other_operations = [operation for operation in operations if not _is_about_members(operation)]
    member_operations = [operation for operation in operations if _is_about_members(operation)]
    member_counts = [count for name, count, _ in _measure_lists(other_operations) if name.lower() == "members"]
    for label, count, limit in (
        ("operations that are not about members", len(other_operations), MAX_OTHER_OPERATIONS),
        ("values that are not members", _count_values(other_operations) - sum(member_counts), MAX_VALUES),
        ("members", _count_values(member_operations) + sum(member_counts), member_patches.MAX_CHANGED_MEMBERS),
        ("members to be removed", _count_values(filter(_is_removal, member_operations)), MAX_REMOVED_MEMBERS),
    ):
        if count > limit:
            raise InvalidValueException(detail=f"A patch has up to {limit} {label}, not {count}.")


def _count_values(operations: Iterable[Any]) -> int:
    return sum(count for operation in operations for _, count, _ in _measure_lists(operation))


def _is_about_members(operation: Any) -> bool:
    return _get_lowercase_text(operation, "path").startswith("members")


def _is_removal(operation: Any) -> bool:
    return _get_lowercase_text(operation, "op") == "remove"


def _get_lowercase_text(operation: Any, name: str) -> str:
    """Return a member of an operation in lower case, found by name in any letter case; '' if absent."""
    items = operation.items() if isinstance(operation, dict) else ()
    return next((str(value).lower() for key, value in items if key.lower() == name), "")


def _measure_lists(value: Any, name: str = "The body", limit: int = MAX_VALUES) -> Iterator[tuple[str, int, int]]:
    """Yield (name, length, maximum length) of each list, each list before the lists inside it."""
    if isinstance(value, list):
        yield name, len(value), limit
        for item in value:
            yield from _measure_lists(item, name)
    elif isinstance(value, dict):
        is_about_members = _is_about_members(value)
        for key, inner_value in value.items():
            yield from _measure_lists(inner_value, key, _length_limit(key, is_about_members=is_about_members))


def _length_limit(name: str, *, is_about_members: bool) -> int:
    match name.lower():
        case "members":
            return member_patches.MAX_CHANGED_MEMBERS
        case "value" if is_about_members:
            return member_patches.MAX_CHANGED_MEMBERS
        case "operations":
            return MAX_OPERATIONS
        case "attributes" | "excludedattributes":
            return MAX_NAMES
        case _:
            return MAX_VALUES
