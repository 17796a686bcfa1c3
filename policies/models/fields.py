"""Column types of all apps: text that compares byte by byte, and JSON documents stored as text.

Prefix ranges, `ORDER BY` and uniqueness must mean the same on SQLite and PostgreSQL and agree with Python, so URNs and
names never use the database's collation for a language.
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import lookups
from django.db.models.functions import Lower

if TYPE_CHECKING:
    _Char = models.CharField[Any, Any]
    _Text = models.TextField[Any, Any]
else:
    # The classes take type arguments only in the stubs.
    _Char = models.CharField
    _Text = models.TextField

_BYTEWISE = {"postgresql": "C", "sqlite": "BINARY"}

#: Length of every URN column, in characters.
MAX_URN_LENGTH = 512


def is_storable(text: str) -> bool:
    """Whether a text column can store the text: no NUL (PostgreSQL refuses it), no lone surrogate (invalid UTF-8)."""
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text))


def filter_storable(texts: Iterable[str]) -> list[str]:
    """Return the storable texts, each once and in order; no row can match the rest."""
    return [text for text in dict.fromkeys(texts) if is_storable(text)]


def json_text(value: Any) -> str:
    """Return a JSON value as JsonTextField stores it; raises ValueError for NaN and infinities, which JSON lacks."""
    return _ENCODER.encode(value)


#: Created once: that takes longer than encoding a short value.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class BytewiseCharField(_Char):
    """Text compared byte by byte on every database."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        """Return the column type with this database's bytewise collation."""
        parameters = super().db_parameters(connection)
        parameters["collation"] = _BYTEWISE[connection.vendor]
        return parameters


@BytewiseCharField.register_lookup
class _StorableExact(lookups.Exact):
    """Equality that matches no row for unstorable text; PostgreSQL would raise, SQLite for surrogates."""

    def as_sql(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.rhs, str) and not is_storable(self.rhs):
            raise EmptyResultSet
        return super().as_sql(*args, **kwargs)


@BytewiseCharField.register_lookup
class _StorableIn(lookups.In):
    """Membership that ignores unstorable texts, for the same reason."""

    def get_prep_lookup(self) -> Any:
        if self.rhs_is_direct_value():
            self.rhs = [value for value in self.rhs if not isinstance(value, str) or is_storable(value)]
        return super().get_prep_lookup()


class UrnField(BytewiseCharField):
    """A URN of any kind, up to MAX_URN_LENGTH characters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["max_length"] = MAX_URN_LENGTH
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        """Return the constructor's arguments without the length, which is fixed."""
        name, path, args, kwargs = super().deconstruct()
        del kwargs["max_length"]
        return name, path, args, kwargs


# On bytewise text both databases lower the ASCII letters only, as `fold_ascii` does.
BytewiseCharField.register_lookup(Lower)


def fold_ascii(text: str) -> str:
    """Return the text with ASCII letters in lower case, others unchanged, equal to `column__lower`."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


class JsonText(str):
    """Valid JSON as text, stored unchanged: JSON that was read as text need not be parsed to be stored."""

    __slots__ = ()


class JsonTextField(_Text):
    """A JSON value in a text column: keys keep their order, which no JSON column guarantees.

    Raises ValueError for NaN and infinities, which JSON lacks.
    """

    if TYPE_CHECKING:
        # Types of assignment and attribute for the Django plugin of mypy.
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, *_: object) -> Any:
        """Return the parsed value of a stored text."""
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        """Return the value unchanged: in Python it is never text to be parsed."""
        return value

    def get_prep_value(self, value: Any) -> str | None:
        """Return the text to store; None is SQL NULL, a JsonText is stored unchanged."""
        if isinstance(value, JsonText):
            return value
        return None if value is None else json_text(value)

    def value_to_string(self, obj: models.Model) -> str:
        """Return the stored text, for serializers."""
        return self.get_prep_value(self.value_from_object(obj)) or "null"
