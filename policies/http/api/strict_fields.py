"""Serializer fields without coercion: no numbers for texts, no texts for booleans, no unknown keys."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.settings import api_settings

from policies.engine.errors import MAX_PROBLEMS, MORE_PROBLEMS, quote
from policies.models.fields import MAX_URN_LENGTH
from policies.models.people import USER_PREFIX

#: Largest number that a version column can hold.
MAX_INTEGER = 2**63 - 1

_URN_PATTERN = re.compile(r"urn:li:[A-Za-z][A-Za-z0-9_]{0,63}:\S")


def is_urn(value: Any) -> bool:
    """Whether `value` is a printable URN of any type, of at most MAX_URN_LENGTH characters."""
    return (
        isinstance(value, str)
        and len(value) <= MAX_URN_LENGTH
        and _URN_PATTERN.match(value) is not None
        and value.isprintable()
    )


class StrictString(serializers.CharField):
    """A text exactly as it was sent: blanks are kept, numbers are refused."""

    default_error_messages = {"invalid": "This must be a text."}

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the text; raises ValidationError for any other type."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class SearchText(StrictString):
    """The optional words of a search; `help_text` says of what."""

    def __init__(self, help_text: str, **kwargs: Any) -> None:
        super().__init__(required=False, allow_blank=True, max_length=255, help_text=help_text, **kwargs)


class StrictBoolean(serializers.BooleanField):
    """JSON true or false, no text for them."""

    default_error_messages = {"invalid": "This must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """Return the boolean; raises ValidationError for any other value."""
        if data is not True and data is not False:
            self.fail("invalid")
        return bool(data)


class StrictInteger(serializers.IntegerField):
    """An integer of at most MAX_INTEGER, no text with digits."""

    default_error_messages = {"invalid": "This must be a whole number."}

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_value", MAX_INTEGER)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> int:
        """Return the number; raises ValidationError for any other type."""
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(data)


class StrictUrn(StrictString):
    """A URN, with one of `prefixes` where they are given; whether the entity exists is checked elsewhere."""

    default_error_messages = {
        "urn.invalid": "This is not a URN: urn:li:, an entity type, a colon and a key.",
        "urn.type": "This must begin with {prefixes}.",
    }

    def __init__(self, *, prefixes: tuple[str, ...] = (), **kwargs: Any) -> None:
        self.prefixes = prefixes
        kwargs.setdefault("max_length", MAX_URN_LENGTH)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the URN; raises ValidationError for another shape or prefix."""
        urn = super().to_internal_value(data)
        if not _URN_PATTERN.match(urn) or not urn.isprintable():
            self.fail("urn.invalid")
        if self.prefixes and not urn.startswith(self.prefixes):
            self.fail("urn.type", prefixes=" or ".join(self.prefixes))
        return urn


class StrictActorUrn(StrictUrn):
    """The URN of a user who acts or is asked about. Groups and roles cannot act."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(prefixes=(USER_PREFIX,), **kwargs)


class StrictObjectId(StrictString):
    """24 hexadecimal digits, stored in lower case."""

    default_error_messages = {"object_id.invalid": "An object id is 24 hexadecimal digits."}

    def to_internal_value(self, data: Any) -> str:
        """Return the id in lower case; raises ValidationError for another shape."""
        object_id = super().to_internal_value(data)
        if re.fullmatch("[0-9a-fA-F]{24}", object_id) is None:
            self.fail("object_id.invalid")
        return object_id.lower()


class StrictList(serializers.ListField):
    """A list of at most `max_length` members; its length is checked before any member.

    Errors of members are collected up to MAX_PROBLEMS problems.
    """

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the validated members; raises ValidationError for another type, a longer list, or invalid members."""
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if self.max_length is not None and len(data) > self.max_length:
            raise ValidationError(f"This list has up to {self.max_length} members, not {len(data)}.", "max_length")
        members: list[Any] = super().to_internal_value(data)
        return members

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        """Return the validated members; raises ValidationError with their errors by index."""
        return validate_each(self.child, data)


class StrictUrnList(StrictList):
    """A list of URNs with these prefixes, any where none are given."""

    def __init__(self, *prefixes: str, **kwargs: Any) -> None:
        super().__init__(child=StrictUrn(prefixes=prefixes), **kwargs)


def validate_each(child: serializers.Field[Any, Any, Any, Any], data: list[Any]) -> list[Any]:
    """Return the members as `child` validates them; raises ValidationError by index, stopping at MAX_PROBLEMS."""
    members: list[Any] = []
    errors: dict[Any, Any] = {}
    count = 0
    for index, item in enumerate(data):
        try:
            members.append(child.run_validation(item))
        except ValidationError as error:
            errors[index] = error.detail
            count += _count_errors(error.detail)
        if count >= MAX_PROBLEMS:
            detail = f"The members after /{index} were not looked at."
            errors[api_settings.NON_FIELD_ERRORS_KEY] = [ErrorDetail(detail, MORE_PROBLEMS)]
            break
    if errors:
        raise ValidationError(errors)
    return members


def _count_errors(detail: Any) -> int:
    """Return the number of problems in the error detail of a field."""
    if isinstance(detail, Mapping):
        return sum(map(_count_errors, detail.values()))
    return sum(map(_count_errors, detail)) if isinstance(detail, list) else 1


class AnyJson(serializers.JSONField):
    """Any JSON value, unchanged: it was parsed from JSON, so no check that it can be serialized is needed."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the value unchanged."""
        return data


class StrictSerializer(serializers.Serializer[Any]):
    """An object without unknown keys: an unknown key is an error beside all other errors, never ignored."""

    default_error_messages = {"invalid": "This must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        """Return the validated fields; raises ValidationError with every problem, unknown keys included."""
        errors_by_field: dict[str, Any] = {}
        if isinstance(data, Mapping):
            errors_by_field = self._find_unknown_fields(data)
            values = {key: value for key, value in data.items() if value is not None}
            for name, errors in self.find_contradictions(values).items():
                errors_by_field[name] = [*errors_by_field.get(name, ()), *errors]
        try:
            value = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**errors_by_field, **error.detail}) from None  # type: ignore[dict-item]
        if errors_by_field:
            raise ValidationError(errors_by_field)
        return value

    def _find_unknown_fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        field_names = {field.field_name for field in self._writable_fields}
        unknown_keys = [key for key in data if key not in field_names]
        errors: dict[str, Any] = {
            key: [ErrorDetail(f"There is no field {quote(key)} here.", "field.unknown")]
            for key in unknown_keys[:MAX_PROBLEMS]
        }
        if len(unknown_keys) > MAX_PROBLEMS:
            detail = f"There are {len(unknown_keys)} unknown fields here; the first {MAX_PROBLEMS} are named."
            errors[api_settings.NON_FIELD_ERRORS_KEY] = [ErrorDetail(detail, "field.unknown")]
        return errors

    def find_contradictions(self, values: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - used by overriding methods
        """Return the errors of combined fields, by field; `values` are the fields sent and not null, unvalidated.

        An error of the whole object has the key NON_FIELD_ERRORS_KEY.
        """
        return {}


def validate(serializer: type[serializers.Serializer[Any]], data: Any, *, is_partial: bool = False) -> dict[str, Any]:
    """Return `data` validated by a serializer class; raises ValidationError with every problem and its place."""
    return dict(get_shared_serializer(serializer, is_partial=is_partial).run_validation(data))


@cache
def get_shared_serializer(
    serializer: type[serializers.Serializer[Any]], *, is_partial: bool
) -> serializers.Serializer[Any]:
    """Return the cached instance of a serializer class that validates bodies: each new instance copies every field.

    Validation does not change a serializer, so all threads may share it.
    """
    return serializer(partial=is_partial)
