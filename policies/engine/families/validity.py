"""Validity: the time in which something counts, from its beginning up to its end (api-next.md section 1).

Nothing here reads a clock. Begins and ends are written on time (`policies.pdp.due_changes`).
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from policies.engine.families.document_reader import DocumentReader, JsonValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Fewer milliseconds since 1970, which is a time before March 1973, were most likely meant to be seconds.
_LEAST_MILLISECONDS = 10**11
#: An offset of more than 23 hours at the end of a time.
_WRONG_OFFSET = re.compile(r"T.+[+-](?:2[4-9]|[3-9]\d)(?::?\d\d)?$", re.ASCII)

#: Most milliseconds since 1970 that are read: the end of the year 9999.
_MAX_MILLISECONDS = 253_402_300_799_999


class Phase(StrEnum):
    """The part of its validity in which something is. ENDED is final until the validity is written anew."""

    PENDING = "PENDING"
    CURRENT = "CURRENT"
    ENDED = "ENDED"


@dataclass(frozen=True, slots=True)
class Validity:
    """The first instant at which something counts, and the first at which it no longer does; None: no bound."""

    begins: datetime | None = None
    ends: datetime | None = None

    def find_phase(self, now: datetime) -> Phase:
        """Return the phase at an instant."""
        if self.ends is not None and self.ends <= now:
            return Phase.ENDED
        return Phase.PENDING if self.begins is not None and self.begins > now else Phase.CURRENT

    def list_boundaries(self, phase: Phase) -> tuple[datetime, ...]:
        """Return the instants at which something in this phase will begin and end; none once it has ended."""
        if phase is Phase.ENDED:
            return ()
        begins = self.begins if phase is Phase.PENDING else None
        return tuple(boundary for boundary in (begins, self.ends) if boundary is not None)


UNLIMITED = Validity()


def read_validity(
    reader: DocumentReader, begins: JsonValue, ends: JsonValue, *, begins_at: str, ends_at: str
) -> Validity:
    """Return the validity of two JSON values, each a time as `parse_instant` reads it, or null for no bound.

    The reader notes every problem at the pointer of its value, `begins_at` or `ends_at`: `type.time` for what is no
    time, which then counts as no bound, and `validity.empty` for an end that is not after the beginning.
    """
    validity = Validity(_read_instant(reader, begins, begins_at), _read_instant(reader, ends, ends_at))
    if validity.begins is not None and validity.ends is not None and validity.ends <= validity.begins:
        reader.note("validity.empty", ends_at, "The end has to be after the beginning.")
    return validity


def parse_instant(value: JsonValue) -> datetime:
    """Return the instant in UTC of an ISO 8601 text with an offset, or of milliseconds since 1970.

    Raises ValueError with a sentence for anything else, and for numbers that look like seconds.
    """
    if looks_like_seconds(value):
        raise ValueError(
            "These look like seconds since 1970. Give milliseconds, or a text such as 2026-12-01T00:00:00Z."
        )
    return read_stored_instant(value)


def looks_like_seconds(value: JsonValue) -> bool:
    """Whether a value is a number of so few milliseconds that it was most likely meant to be seconds."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LEAST_MILLISECONDS


def find_stored_instant(value: JsonValue) -> datetime | None:
    """Return the instant of a value that is stored, None where it is absent or cannot be read."""
    try:
        return None if value is None else read_stored_instant(value)
    except ValueError:
        return None


def read_stored_instant(value: JsonValue) -> datetime:
    """Return the instant of a value that is stored: also of few milliseconds, which were taken once.

    Raises ValueError with a sentence for what is no time.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= _MAX_MILLISECONDS:
            raise ValueError("This is no time between 1970 and 9999 in milliseconds.")
        return _EPOCH + timedelta(milliseconds=value)
    if not isinstance(value, str):
        raise ValueError("Give a time as ISO 8601 with an offset, such as 2026-12-01T00:00:00Z, or in milliseconds.")
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        has_wrong_offset = _WRONG_OFFSET.search(value) is not None
        fault = "The offset of this time is beyond 23:59" if has_wrong_offset else "This is no time"
        raise ValueError(f"{fault}; write for example 2026-12-01T00:00:00Z.") from None
    if instant.tzinfo is None:
        raise ValueError("This time has no offset; write for example 2026-12-01T00:00:00Z.")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError("This is no time between the years 1 and 9999.") from None


def to_milliseconds(instant: datetime) -> int:
    """Return an instant as milliseconds since 1970, a part of one rounded up: at that time it has been reached."""
    return -((_EPOCH - instant) // timedelta(milliseconds=1))


def _read_instant(reader: DocumentReader, value: JsonValue, pointer: str) -> datetime | None:
    if value is None:
        return None
    try:
        return parse_instant(value)
    except ValueError as error:
        reader.note("type.time", pointer, str(error))
        return None
