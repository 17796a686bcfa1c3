"""The time in which something is given, on pages: form fields, sentences, and badges in lists. All times are in UTC."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils import timezone

from policies.engine.families.validity import UNLIMITED, Phase, Validity
from policies.models.timed_rows import MAX_REASON_LENGTH
from policies.writes.timed_holders import HolderInput, TimedHolder, check_validity
from policies.writes.validation import Checks


class _InstantInput(forms.DateTimeInput):
    input_type = "datetime-local"
    supports_microseconds = True

    def format_value(self, value: Any) -> str | None:
        # A form field shows times in the current time zone, without saying so.
        return format_input(value.replace(tzinfo=UTC)) if isinstance(value, datetime) else super().format_value(value)


class _InstantField(forms.DateTimeField):
    widget = _InstantInput(attrs={"step": "any"})

    def __init__(self, label: str, help_text: str) -> None:
        error_messages = {"invalid": "This is no time; write for example 2026-12-01T00:00."}
        super().__init__(label=label, required=False, help_text=help_text, error_messages=error_messages)

    def to_python(self, value: Any) -> datetime | None:
        instant = super().to_python(value)
        try:
            return None if instant is None else instant.astimezone(UTC)
        except OverflowError:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None


class TimesForm(forms.Form):
    """The time in which something is given, and why; without times it is given from now on, without an end."""

    valid_from = _InstantField("Begins", "In UTC. If empty, it begins at once.")
    valid_until = _InstantField("Ends", "In UTC. If empty, it does not end.")
    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=MAX_REASON_LENGTH,
        help_text="Why it is given for this time; the change log keeps it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        """Check the times as services do, so that what is wrong stands at its field."""
        data = super().clean() or {}
        checks = Checks()
        check_validity(checks, _read_validity(self), pointer="", now=timezone.now())
        for problem in checks.problems:
            self.add_error(problem.pointer.strip("/"), problem.detail)
        return data


class OptionalTimesForm(TimesForm):
    """Times beside a choice of people: without any, those who have it already keep theirs."""

    def clean(self) -> dict[str, Any]:
        """Refuse a reason without a time, which nothing would keep."""
        data = super().clean()
        if data.get("reason") and not self.errors and _read_validity(self) == UNLIMITED:
            self.add_error("reason", "A reason belongs to a time: give one, or leave this empty.")
        return data


def build_holders(
    urns: Iterable[str], *, valid_from: datetime | None, valid_until: datetime | None, reason: str
) -> list[HolderInput]:
    """Return those who are given something, and the values of an OptionalTimesForm, as services take them."""
    validity = Validity(valid_from, valid_until)
    return list(urns) if validity == UNLIMITED else [TimedHolder(urn, validity, reason) for urn in urns]


def describe_times(form: forms.Form) -> list[str]:
    """Return sentences on the times of a TimesForm, to stand above what is given in them."""
    if not form.is_valid() or (validity := _read_validity(form)) == UNLIMITED:
        return []
    is_pending = validity.find_phase(timezone.now()) is Phase.PENDING
    suffix = " Nothing changes until it begins: this is what it would give today." if is_pending else ""
    return [f"In effect {describe_validity(validity)}.{suffix}"]


def describe_validity(validity: Validity) -> str:
    """Return the time in words, as "from 1 Dec 2026, 00:00 UTC until 1 Jan 2027, 00:00 UTC"; '' for any time."""
    bounds = (("from", validity.begins), ("until", validity.ends))
    return " ".join(f"{word} {format_instant(instant)}" for word, instant in bounds if instant is not None)


def format_input(instant: datetime) -> str:
    """Return an instant as the text of a form field."""
    # A field without a fraction and without seconds is what browsers send for a full minute.
    timespec = "milliseconds" if instant.microsecond else "seconds" if instant.second else "minutes"
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec)


def format_instant(instant: datetime) -> str:
    """Return an instant in words, as "11 Dec 2026, 18:00 UTC"."""
    seconds = f":{instant:%S}" if instant.second or instant.microsecond else ""
    moment = instant.astimezone(UTC)
    return f"{moment.day} {moment:%b %Y, %H:%M}{seconds} UTC"


def build_times_badge(validity: Validity, phase: Phase) -> dict[str, str] | None:
    """Return the label and kind of a badge for what has not begun, or ends; None for what stays in effect."""
    if phase is Phase.PENDING and validity.begins is not None:
        return {
            "label": f"Begins {format_instant(validity.begins)}",
            "kind": "warning",
            "title": f"In effect {describe_validity(validity)}.",
        }
    if validity.ends is not None:
        return {"label": f"Ends {format_instant(validity.ends)}", "kind": "info", "title": "It ends by itself."}
    return None


def _read_validity(form: forms.Form) -> Validity:
    """Return the times that are typed; what cannot be read is none."""
    return Validity(form.cleaned_data.get("valid_from"), form.cleaned_data.get("valid_until"))
