"""Decisions of `POST /api/v1/authorize`, read back; whatever is not exactly such a decision shows nothing."""

from collections.abc import Mapping
from typing import Any

from policies.engine.families import datazone_row_conditions
from policies.engine.model import Code
from policies.engine.restrictions import Slice

#: What a decision says that allows: a matching allow, or nobody limits the actor.
_ALLOWING = frozenset({Code.ALLOWED, Code.POLICIES_DISABLED, Code.SYSTEM_ACTOR})


class CannotRead(Exception):
    """A table that is not shown; `code` says why."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


class Refused(CannotRead):
    """The decision is no, or nothing is left to see; `code` is the decision's (api.md)."""


class InvalidDecision(CannotRead):
    """This is no decision about a table, so it allows nothing; `pointer` is the JSON pointer to what is wrong."""

    def __init__(self, pointer: str, sentence: str) -> None:
        self.pointer = pointer
        super().__init__("decision.invalid", f"{pointer or 'The decision'}: {sentence}")


def slices_of(decision: object) -> tuple[Slice, ...] | None:
    """Return what a decision shows of a table, slice by slice; None when it shows everything.

    Raises Refused when it says no, and InvalidDecision when it is unknown in any part that restricts.
    """
    found = _object(decision, "")
    effect, code = _text(found.get("decision"), "/decision"), _text(found.get("code"), "/code")
    if effect == "DENY":
        raise Refused(code, f"This is not allowed ({code}).")
    if effect != "ALLOW":
        raise InvalidDecision("/decision", "this is neither ALLOW nor DENY.")
    if code not in _ALLOWING:
        raise InvalidDecision("/code", "this is no reason to allow.")
    if "restrictions" not in found:
        raise InvalidDecision("/restrictions", "this is missing; null would say that there are none.")
    if found["restrictions"] is None:
        return None
    places = enumerate(_list(found["restrictions"], "/restrictions"))
    return tuple(_slice(one, f"/restrictions/{place}") for place, one in places)


def _slice(sent: object, pointer: str) -> Slice:
    found = _object(sent, pointer)
    for key in found.keys() - {"role", "rows", "columns"}:
        # A table has no path, and a restriction that nobody here knows cannot be kept.
        raise InvalidDecision(f"{pointer}/{key}", "this restricts something else than rows and columns.")
    for key in ("role", "rows", "columns"):
        if key not in found:
            raise InvalidDecision(f"{pointer}/{key}", "this is missing.")
    rows = _texts(found["rows"], f"{pointer}/rows")
    for place, row in enumerate(rows):
        if problem := datazone_row_conditions.complaint(row):
            raise InvalidDecision(f"{pointer}/rows/{place}", problem)
    columns = None if found["columns"] is None else _texts(found["columns"], f"{pointer}/columns")
    return Slice(_text(found["role"], f"{pointer}/role"), rows, columns, None)


def _object(value: object, pointer: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidDecision(pointer, "this is no JSON object.")
    return value


def _list(value: object, pointer: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidDecision(pointer, "this is no JSON array.")
    return value


def _texts(value: object, pointer: str) -> tuple[str, ...]:
    return tuple(_text(one, f"{pointer}/{place}") for place, one in enumerate(_list(value, pointer)))


def _text(value: object, pointer: str) -> str:
    if not isinstance(value, str):
        raise InvalidDecision(pointer, "this is no text.")
    return value
