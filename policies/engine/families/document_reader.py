"""Reader of JSON documents of unknown shape, which records every problem with its pointer, up to MAX_PROBLEMS.

Lists have a maximum length, which is checked before their members are.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from policies.engine.errors import MAX_PROBLEMS, InvalidPolicy, Problem, quote

JsonValue = Any

#: Most members of one list of a policy document: values of a criterion, users, privileges, statements.
MAX_LIST_MEMBERS = 10_000


class DocumentReader:
    """Reads one document and collects its problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def note(self, code: str, pointer: str, detail: str) -> None:
        """Record a problem; raise InvalidPolicy if there are more than MAX_PROBLEMS."""
        self.add(Problem(code, pointer, detail))

    def add(self, problem: Problem) -> None:
        """Record a Problem; raises as `note`."""
        self.problems.append(problem)
        if len(self.problems) > MAX_PROBLEMS:
            raise InvalidPolicy(self.problems)

    def raise_problems(self) -> None:
        """Raise InvalidPolicy with all recorded problems, if there are any."""
        if self.problems:
            raise InvalidPolicy(self.problems)

    def read_mapping(self, value: JsonValue, pointer: str) -> Mapping[str, JsonValue]:
        """Return an object; for another value record a problem and return an empty one."""
        if isinstance(value, dict):
            return value
        self.note("type.object", pointer, f"This must be an object, not {word_json_type(value)}.")
        return {}

    def check_keys(self, value: Mapping[str, JsonValue], allowed: Collection[str], pointer: str) -> None:
        """Record every key that is not allowed: ignoring one could widen a policy."""
        for key in value:
            if key not in allowed:
                self.note("field.unknown", f"{pointer}/{escape(key)}", f"There is no field {quote(key)} here.")

    def read_text(self, value: JsonValue, pointer: str, *, is_required: bool = False) -> str:
        """Return a text; None, read as '', and a blank text are problems only if it is required."""
        if value is None and not is_required:
            return ""
        if not isinstance(value, str):
            problem = (
                "This field is required." if value is None else f"This must be a text, not {word_json_type(value)}."
            )
            self.note("required" if value is None else "type.text", pointer, problem)
            return ""
        if is_required and not value.strip():
            self.note("blank", pointer, "This must not be blank.")
        if not is_clean(value):
            self.note("text.invalid", pointer, "This holds a character that cannot be stored.")
        return value

    def read_flag(self, value: JsonValue, pointer: str, *, default: bool) -> bool:
        """Return a boolean; the default for None or, after recording a problem, for another value."""
        if value is None:
            return default
        if not isinstance(value, bool):
            self.note("type.boolean", pointer, f"This must be true or false, not {word_json_type(value)}.")
            return default
        return value

    def read_texts(self, value: JsonValue, pointer: str) -> list[str | None]:
        """Return a list of texts, with None for each item that is no text; None is read as an empty list."""
        texts: list[str | None] = []
        for index, item in enumerate(self.read_items(value, pointer)):
            item_pointer = f"{pointer}/{index}"
            if isinstance(item, str):
                texts.append(self.read_text(item, item_pointer))
            else:
                self.note("type.text", item_pointer, f"This must be a text, not {word_json_type(item)}.")
                texts.append(None)
        return texts

    def read_items(self, value: JsonValue, pointer: str, *, limit: int = MAX_LIST_MEMBERS) -> list[JsonValue]:
        """Return a list; None is an empty one, and so is, after recording it, a too long list or another value."""
        if value is None:
            return []
        if not isinstance(value, list):
            self.note("type.list", pointer, f"This must be a list, not {word_json_type(value)}.")
            return []
        return value if self.is_short(value, pointer, limit=limit) else []

    def is_short(self, value: list[JsonValue], pointer: str, *, limit: int = MAX_LIST_MEMBERS) -> bool:
        """Whether a list has no more than `limit` members; a longer one is recorded."""
        if len(value) <= limit:
            return True
        self.note("list.too_long", pointer, f"This list has up to {limit} members, not {len(value)}.")
        return False

    def read_choice(
        self, value: JsonValue, choices: Collection[str], pointer: str, *, default: str | None = None
    ) -> str:
        """Return one of the choices, the default for None, or '' after recording any other value."""
        if value is None and default is not None:
            return default
        if isinstance(value, str) and value in choices:
            return value
        expected_text = " or ".join(choices) if len(choices) < 3 else "one of " + ", ".join(choices)
        sentence = f"Give {expected_text}." if value is None else f"This must be {expected_text}, not {quote(value)}."
        self.note("choice", pointer, sentence)
        return ""

    def check_urns(self, value: JsonValue, pointer: str, prefix: str) -> None:
        """Check a list of URNs of one entity type."""
        for index, urn in enumerate(self.read_texts(value, pointer)):
            if urn is not None and (not urn.startswith(prefix) or urn == prefix):
                self.note("urn.type", f"{pointer}/{index}", f"{quote(urn)} is not a URN that begins with {prefix}.")

    def is_storable(self, value: JsonValue) -> bool:
        """Whether every text anywhere in a value, keys included, can be stored."""
        match value:
            case str():
                return is_clean(value)
            case list():
                return all(self.is_storable(item) for item in value)
            case dict():
                return all(is_clean(key) and self.is_storable(item) for key, item in value.items())
            case _:
                return True


def word_json_type(value: JsonValue) -> str:
    """Return the type of a JSON value as a sentence names it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


def escape(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def is_clean(text: str) -> bool:
    """Whether a text can be stored everywhere: no NUL, no lone surrogate."""
    return "\x00" not in text and (text.isascii() or _SURROGATE.search(text) is None)


_SURROGATE = re.compile("[\ud800-\udfff]")
