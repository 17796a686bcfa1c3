"""Fields of who is given something for a time: in bodies a URN or an object with times, in lists the times."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from policies.engine.families.validity import Phase, Validity, parse_instant
from policies.http.api import strict_fields
from policies.models.timed_rows import MAX_REASON_LENGTH
from policies.writes.timed_holders import HolderInput, TimedHolder

_INSTANT_SCHEMA = {"oneOf": [{"type": "string", "format": "date-time"}, {"type": "integer"}], "nullable": True}


@extend_schema_field(_INSTANT_SCHEMA)
class InstantField(serializers.Field[Any, Any, Any, Any]):
    """A time as ISO 8601 with an offset, or in milliseconds since 1970."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, allow_null=True, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        """Return the time in UTC; raises ValidationError for anything else."""
        try:
            return parse_instant(data)
        except ValueError as error:
            raise ValidationError(str(error), "type.time") from None

    def to_representation(self, value: Any) -> str:
        """Return the time as ISO 8601."""
        return str(value.isoformat().replace("+00:00", "Z"))


class TimesIn(strict_fields.StrictSerializer):
    """The time in which something counts, and the reason; null or absent: no bound."""

    valid_from = InstantField(help_text="It begins at this time.")
    valid_until = InstantField(help_text="It ends at this time.")
    reason = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=MAX_REASON_LENGTH, help_text="Kept in the change log."
    )


class TimesOut(serializers.Serializer[Any]):
    """The time in which something counts; what is PENDING has not begun."""

    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    phase = serializers.ChoiceField([Phase.PENDING.value, Phase.CURRENT.value])


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {
                "type": "object",
                "required": ["urn"],
                "properties": {
                    "urn": {"type": "string"},
                    "valid_from": _INSTANT_SCHEMA,
                    "valid_until": _INSTANT_SCHEMA,
                    "reason": {"type": "string", "maxLength": MAX_REASON_LENGTH},
                },
                "additionalProperties": False,
            },
        ]
    }
)
class TimedHolderField(serializers.Field[Any, Any, Any, Any]):
    """A URN with one of these prefixes, or an object with a URN, times and a reason.

    A URN alone leaves the times of what the holder has already; an object sets them.
    """

    def __init__(self, *prefixes: str, **kwargs: Any) -> None:
        self._urn = strict_fields.StrictUrn(prefixes=prefixes)
        self._times = TimesIn()
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> HolderInput:
        """Return the URN, or the holder with its times; raises ValidationError with every problem."""
        if not isinstance(data, dict):
            return str(self._urn.run_validation(data))
        errors: dict[str, Any] = {}
        urn, times = "", {}
        if "urn" in data:
            try:
                urn = self._urn.run_validation(data["urn"])
            except ValidationError as error:
                errors["urn"] = error.detail
        else:
            errors["urn"] = [ErrorDetail("This field is required.", "required")]
        try:
            times = self._times.run_validation({key: value for key, value in data.items() if key != "urn"})
        except ValidationError as error:
            errors |= error.detail  # type: ignore[arg-type]  # the detail of a serializer is a mapping
        if errors:
            raise ValidationError(errors)
        validity = Validity(times.get("valid_from"), times.get("valid_until"))
        return TimedHolder(urn, validity, times.get("reason", ""))

    def to_representation(self, value: HolderInput) -> Any:
        """Return the URN, or the object."""
        if isinstance(value, str):
            return value
        instants = {"valid_from": value.validity.begins, "valid_until": value.validity.ends}
        instant_texts = {
            name: None if instant is None else InstantField().to_representation(instant)
            for name, instant in instants.items()
        }
        return {"urn": value.urn, **instant_texts, "reason": value.reason}


class TimedHolderList(strict_fields.StrictList):
    """A list of URNs with these prefixes, each alone or in an object with times."""

    def __init__(self, *prefixes: str, **kwargs: Any) -> None:
        super().__init__(child=TimedHolderField(*prefixes), **kwargs)
