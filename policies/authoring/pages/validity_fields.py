"""The time in which a policy counts: as text of form fields, as words, and as a badge. All times are in UTC."""

from datetime import datetime
from typing import Any

from policies.engine.families.validity import Phase, parse_instant
from policies.http.pages.times import describe_validity, format_input, format_instant
from policies.models import Policy

_PHASE_BADGES = {Phase.PENDING: ("Begins later", "warning"), Phase.ENDED: ("Ended", "neutral")}


def format_field(value: Any) -> str:
    """Return a time of a document as text of a form field, '' for none; what is no time is returned as it is."""
    if value is None:
        return ""
    try:
        return format_input(parse_instant(value))
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


def read_instant(value: Any) -> datetime | None:
    """Return a time of a document, None where it is absent or cannot be read."""
    try:
        return None if value is None else parse_instant(value)
    except ValueError:
        return None


def describe_time(value: Any) -> str:
    """Return a time of a document in words, '' where it is absent."""
    instant = read_instant(value)
    return format_instant(instant) if instant is not None else ""


def build_phase_badge(policy: Policy) -> dict[str, str] | None:
    """Return the phase of a policy that does not count now as label and kind of a badge; None where it counts."""
    badge = _PHASE_BADGES.get(Phase(policy.phase))
    return {"label": badge[0], "kind": badge[1], "title": describe_validity(policy.validity)} if badge else None
