"""The value of a strict YAML document, the lines of its parts, and what a word without quotes means."""

import re
from dataclasses import dataclass, field
from typing import Any

from policies.engine.errors import quote

#: Longest text, in characters, and deepest nesting.
MAX_LENGTH, MAX_DEPTH = 262_144, 64
#: Longest number, in digits.
_MAX_DIGITS = 32

_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?\Z")


class InvalidYaml(Exception):
    """A text that is not read, with the line (from 1) and the reason."""

    def __init__(self, line: int, detail: str) -> None:
        self.line, self.detail = line, detail
        super().__init__(f"line {line}: {detail}")


@dataclass(slots=True)
class YamlDocument:
    """The JSON value of a text, and JSON pointer → line of its parts."""

    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)

    def find_line(self, pointer: str) -> int:
        """Return the line of the part that a pointer names, or of the nearest part around it."""
        while pointer not in self.lines and pointer:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer, 1)


def is_ambiguous(text: str) -> bool:
    """Whether `loads` reads this text, without quotes, as something else than itself."""
    return text in _WORDS or _FLOAT.match(text) is not None


def read_plain(text: str, line: int) -> Any:
    """Return the JSON value of a word without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    is_integer = _INTEGER.match(text) is not None
    if is_integer or _FLOAT.match(text) is not None:
        if len(text) > _MAX_DIGITS:
            raise InvalidYaml(line, f"A number has up to {_MAX_DIGITS} digits.")
        number = int(text) if is_integer else float(text)
        if number in (float("inf"), float("-inf")):
            raise InvalidYaml(line, f"{quote(text)} is beyond every number that can be kept.")
        return number
    return text
