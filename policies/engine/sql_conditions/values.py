"""Kinds of values in a condition, and how texts between quotes may be read."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum

from sqlglot import exp

SqlNode = exp.Expr


class Kind(Enum):
    """The type of a value; ANY where only the table knows."""

    ANY = "a column"
    NULL = "null"
    TEXT = "a text"
    NUMBER = "a number"
    TRUTH = "true or false"
    DATE = "a date"
    TIME = "a time"


class UnsupportedCondition(Exception):
    """A condition, or a part of it, that a dialect has no equivalent of; the text says which part."""


@dataclass(frozen=True, slots=True)
class Value:
    """A translated operand; `columns` are those of unknown type whose values it may have."""

    node: SqlNode
    kind: Kind
    columns: tuple[exp.Column, ...] = ()
    literal: exp.Literal | None = None

    @property
    def text(self) -> str | None:
        """The text of a literal between quotes, None for anything else."""
        return self.literal.name if self.literal is not None and self.literal.is_string else None


_MAX_DIGITS_OF_NO_DATE = 4

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}")
_NUMBER_LIKE = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", re.IGNORECASE | re.ASCII)
_DATE_LIKE = re.compile(r"\s*[+-]?[0-9]{4,7}(-[0-9]{1,2}){0,2}([ T].*)?\s*", re.ASCII | re.DOTALL)
#: Words that every database and Spark read as the same truth.
_TRUTHS = frozenset({"t", "true", "y", "yes", "f", "false", "n", "no"})
#: Words that PostgreSQL reads as a value of the type that the column has, and Spark does not.
_DATE_WORDS = frozenset({"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "allballs"})
_OTHER_WORDS = frozenset({"inf", "nan", "empty", "null", "on", "off", "of", "tr", "tru", "fa", "fal", "fals", "ye"})
_MAGIC_WORDS = _DATE_WORDS | _OTHER_WORDS


def is_canonical_integer(text: str) -> bool:
    """Whether a text is an integer as all databases write it, of up to 15 digits."""
    return _INTEGER.fullmatch(text) is not None


def is_like_number(text: str) -> bool:
    """Whether some database reads a text as a number."""
    return _NUMBER_LIKE.fullmatch(text) is not None


def is_like_date(text: str) -> bool:
    """Whether Spark may read a text as a date or a time. A number may be a year."""
    return _DATE_LIKE.fullmatch(text) is not None and not is_canonical_integer(text)


def is_read_alike(text: str) -> bool:
    """Whether PostgreSQL makes of a text between quotes what Spark makes of it, whatever type the column has.

    PostgreSQL reads such a literal as a value of the column's type, `'today'` for example as the current date.
    """
    word = text.strip().lower()
    if word in _TRUTHS:
        return True
    if not text or parse_date(text) is not None or parse_time(text) is not None:
        return True
    if is_canonical_integer(text):
        # More digits may be a date: 240201, 20240201, 24032.
        return len(text) <= _MAX_DIGITS_OF_NO_DATE
    return text[0].isalpha() and word not in _MAGIC_WORDS and not any(letter.isdecimal() for letter in text)


def parse_date(text: str) -> date | None:
    """Return the date that a text is in the form that every database reads; None for any other text."""
    try:
        return date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None


def parse_time(text: str) -> datetime | None:
    """Return the time, without a zone, that a text is in the form that every database reads."""
    pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    try:
        return datetime.fromisoformat(text) if re.fullmatch(pattern, text) else None  # it has none
    except ValueError:
        return None


def is_whole_pattern(pattern: str) -> bool:
    r"""Whether each backslash of a pattern of LIKE stands before `%`, `_` or a backslash; Spark refuses any other."""
    return re.fullmatch(r"([^\\]|\\[%_\\])*", pattern, re.DOTALL) is not None


def join_kinds(*values: Value) -> Kind:
    """Return the kind that values share. Raises UnsupportedCondition where Spark would convert one to compare it."""
    kinds = {value.kind for value in values} - {Kind.ANY, Kind.NULL}
    if kinds == {Kind.DATE, Kind.TIME}:
        return Kind.TIME
    if len(kinds) > 1:
        words = " and ".join(sorted(kind.value for kind in kinds))
        raise UnsupportedCondition(f"{words} together")
    return next(iter(kinds), Kind.ANY if any(value.kind is Kind.ANY for value in values) else Kind.NULL)
