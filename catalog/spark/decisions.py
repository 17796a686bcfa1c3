"""Parser of decisions of `POST /api/v1/authorize`; anything but an exact decision allows nothing."""

from collections.abc import Mapping
from typing import Any

from policies.engine.families import datazone_row_conditions
from policies.engine.model import DecisionCode
from policies.engine.restrictions import RoleSlice

#: Codes of decisions that allow: a matching allow, or an actor without limits.
_ALLOWING_CODES = frozenset({DecisionCode.ALLOWED, DecisionCode.POLICIES_DISABLED, DecisionCode.SYSTEM_ACTOR})


class CannotRead(Exception):
    """A table cannot be read; `code` is the reason."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


class AccessDenied(CannotRead):
    """The decision denies, or no column is visible; `code` is the code of the decision (api.md)."""


class InvalidDecision(CannotRead):
    """The document is no decision about a table, so it allows nothing; `pointer` is the place of the problem."""

    def __init__(self, pointer: str, sentence: str) -> None:
        self.pointer = pointer
        super().__init__("decision.invalid", f"{pointer or 'The decision'}: {sentence}")


def parse_role_slices(decision: object) -> tuple[RoleSlice, ...] | None:
    """Return the role slices of a table that a decision allows; None when it allows the whole table.

    Raises AccessDenied when it denies, and InvalidDecision when any restricting part is unknown.
    """
    document = _require_object(decision, "")
    effect, code = _require_text(document.get("decision"), "/decision"), _require_text(document.get("code"), "/code")
    if effect == "DENY":
        raise AccessDenied(code, f"This is not allowed ({code}).")
    if effect != "ALLOW":
        raise InvalidDecision("/decision", "this is neither ALLOW nor DENY.")
    if code not in _ALLOWING_CODES:
        raise InvalidDecision("/code", "this is no reason to allow.")
    if "restrictions" not in document:
        raise InvalidDecision("/restrictions", "this is missing; null would say that there are none.")
    if document["restrictions"] is None:
        return None
    indexed_items = enumerate(_require_list(document["restrictions"], "/restrictions"))
    return tuple(_parse_slice(item, f"/restrictions/{index}") for index, item in indexed_items)


def _parse_slice(value: object, pointer: str) -> RoleSlice:
    document = _require_object(value, pointer)
    for key in document.keys() - {"role", "rows", "columns"}:
        # A table has no path, and an unknown restriction cannot be enforced.
        raise InvalidDecision(f"{pointer}/{key}", "this restricts something else than rows and columns.")
    for key in ("role", "rows", "columns"):
        if key not in document:
            raise InvalidDecision(f"{pointer}/{key}", "this is missing.")
    rows = _require_texts(document["rows"], f"{pointer}/rows")
    for index, row in enumerate(rows):
        if problem := datazone_row_conditions.find_problem(row):
            raise InvalidDecision(f"{pointer}/rows/{index}", problem)
    columns = None if document["columns"] is None else _require_texts(document["columns"], f"{pointer}/columns")
    return RoleSlice(_require_text(document["role"], f"{pointer}/role"), rows, columns, None)


def _require_object(value: object, pointer: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidDecision(pointer, "this is no JSON object.")
    return value


def _require_list(value: object, pointer: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidDecision(pointer, "this is no JSON array.")
    return value


def _require_texts(value: object, pointer: str) -> tuple[str, ...]:
    return tuple(_require_text(item, f"{pointer}/{index}") for index, item in enumerate(_require_list(value, pointer)))


def _require_text(value: object, pointer: str) -> str:
    if not isinstance(value, str):
        raise InvalidDecision(pointer, "this is no text.")
    return value
