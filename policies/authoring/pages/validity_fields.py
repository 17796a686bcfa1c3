"""The time in which a policy counts: as text of form fields, as words, and as a badge. All times are in UTC."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.http import QueryDict

from policies.engine.families.validity import Phase, Validity, find_stored_instant, read_stored_instant
from policies.http.pages.times import describe_validity, format_input, format_instant
from policies.models import Policy

#: The times that stand beside a document: name of the form field, label and hint.
TIME_FIELDS = (
    ("valid_from", "Begins (UTC)", "If empty, it is in effect at once."),
    ("valid_until", "Ends (UTC)", "If empty, it stays in effect without end."),
)

_PHASE_BADGES = {Phase.PENDING: ("Begins later", "warning"), Phase.ENDED: ("Ended", "neutral")}


def format_field(value: Any) -> str:
    """Return a time of a document as text of a form field, '' for none; what is no time is returned as it is."""
    if value is None:
        return ""
    try:
        return format_input(read_stored_instant(value))
    except ValueError:
        return str(value)


def parse_field(text: str) -> str:
    """Return the text of a form field as a time of a document; what is no time is returned as it is."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return text
    if instant.tzinfo is not None:
        return text
    timespec = "milliseconds" if instant.microsecond else "seconds"
    return f"{instant.isoformat(timespec=timespec)}Z"


def describe_time(value: Any) -> str:
    """Return a time of a document in words, '' where it is absent."""
    instant = find_stored_instant(value)
    return format_instant(instant) if instant is not None else ""


def build_phase_badge(policy: Policy) -> dict[str, str] | None:
    """Return the phase of a policy that does not count now as label and kind of a badge; None where it counts."""
    badge = _PHASE_BADGES.get(Phase(policy.phase))
    return {"label": badge[0], "kind": badge[1], "title": describe_validity(policy.validity)} if badge else None


@dataclass(frozen=True, slots=True)
class PostedTimes:
    """The times beside a document as the form shows them."""

    begins_text: str
    ends_text: str

    @classmethod
    def from_validity(cls, validity: Validity) -> Self:
        """Return the times of a stored policy."""
        return cls(*("" if instant is None else format_input(instant) for instant in (validity.begins, validity.ends)))

    @classmethod
    def from_post(cls, data: QueryDict) -> Self | None:
        """Return the times that a form posted, None for a form without them."""
        texts = [data.get(name) for name, _, _ in TIME_FIELDS]
        return None if None in texts else cls(*(text.strip() for text in texts if text is not None))

    @property
    def texts(self) -> tuple[str, str]:
        """The texts of the two fields."""
        return self.begins_text, self.ends_text

    @property
    def values(self) -> tuple[str | None, str | None]:
        """The times as JSON values; what is no time is as it was typed."""
        begins, ends = (parse_field(text) if text else None for text in self.texts)
        return begins, ends

    @property
    def validity(self) -> Validity:
        """The times; what is no time is left out, for which checks of `values` have a problem."""
        return Validity(*(find_stored_instant(value) for value in self.values))
