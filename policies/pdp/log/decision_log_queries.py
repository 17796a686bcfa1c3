"""Queries over the decision log, newest first, paged by position: page numbers would have to count every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, Max, Q, QuerySet, Value
from django.db.models.functions import Concat, StrIndex

from policies.engine.model import DecisionCode
from policies.models import LoggedDecision
from policies.models.fields import is_storable

#: Row counts are exact up to this number.
MAX_COUNTED_ROWS = 10_000

#: What a logged decision says: that a privilege does not exist is no refusal.
ALLOW, DENY, UNKNOWN = "ALLOW", "DENY", "UNKNOWN"
OUTCOMES = (ALLOW, DENY, UNKNOWN)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MAX_ROW_NUMBER = 2**63


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A position in the log: the row with this time and number. As text: microseconds since 1970, "-", number."""

    at: datetime
    number: int

    @classmethod
    def from_row(cls, row: LoggedDecision) -> "LogPosition":
        """Return the position of a row."""
        return cls(row.at, row.pk)

    @classmethod
    def parse(cls, text: str) -> "LogPosition":
        """Return the position that a text spells; raises ValueError for any other text."""
        at, _, number = text.partition("-")
        if not (text.isascii() and at.isdigit() and number.isdigit() and len(text) <= 40):
            raise ValueError(text)
        try:
            position = cls(_EPOCH + int(at) * _MICROSECOND, int(number))
        except OverflowError:
            raise ValueError(text) from None
        if position.number >= _MAX_ROW_NUMBER:
            raise ValueError(text)
        return position

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _MICROSECOND}-{self.number}"


@dataclass(frozen=True, slots=True)
class LogPage:
    """One page of adjacent rows, newest first, and whether newer and older rows exist."""

    rows: Sequence[LoggedDecision]
    has_newer: bool
    has_older: bool


def list_decisions(
    *,
    actor: str = "",
    by: str = "",
    privilege: str = "",
    resource: str = "",
    outcome: str = "",
    door: str = "",
    evaluation_id: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[LoggedDecision]:
    """Return the logged decisions that match every filter. `privilege` is one that the requirement mentions.

    `outcome` is one of OUTCOMES. `since` is inclusive, `until` exclusive.
    """
    rows = LoggedDecision.objects.order_by("-at", "-id")
    columns = {"actor": actor, "by": by, "resource": resource, "door": door, "evaluation_id": evaluation_id}
    rows = rows.filter(**{column: value for column, value in columns.items() if value})
    if outcome:
        rows = rows.filter(is_allowed=outcome == ALLOW)
    if outcome in (DENY, UNKNOWN):
        is_unknown = Q(code=DecisionCode.PRIVILEGE_UNKNOWN.value)
        rows = rows.filter(is_unknown if outcome == UNKNOWN else ~is_unknown)
    if since is not None:
        rows = rows.filter(at__gte=since)
    if until is not None:
        rows = rows.filter(at__lt=until)
    if privilege and not is_storable(privilege):
        return rows.none()
    if privilege:
        # StrIndex and not LIKE, which ignores case in SQLite.
        padded_text = Concat(Value(" "), "wanted", Value(" "))
        rows = rows.alias(place=StrIndex(padded_text, Value(f" {privilege} "))).filter(place__gt=0)
    return rows


def find_outcome(row: LoggedDecision) -> str:
    """Return the outcome of a logged decision, one of OUTCOMES."""
    if row.is_allowed:
        return ALLOW
    return UNKNOWN if row.code == DecisionCode.PRIVILEGE_UNKNOWN.value else DENY


def load_decision_page(
    rows: QuerySet[LoggedDecision], *, size: int, before: LogPosition | None = None, after: LogPosition | None = None
) -> LogPage:
    """Return the newest rows, or those directly before (older than) or directly after (newer than) a position."""
    if after is not None:
        newer_rows = rows.filter(at__gte=after.at).exclude(Q(at=after.at, id__lte=after.number)).order_by("at", "id")
        page_rows = list(newer_rows[: size + 1])
        return LogPage(page_rows[:size][::-1], len(page_rows) > size, has_older=True)
    if before is not None:
        rows = rows.filter(at__lte=before.at).exclude(Q(at=before.at, id__gte=before.number))
    page_rows = list(rows[: size + 1])
    return LogPage(page_rows[:size], before is not None, len(page_rows) > size)


def count_decisions(rows: QuerySet[LoggedDecision]) -> int:
    """Return the number of rows; MAX_COUNTED_ROWS + 1 stands for any larger number."""
    return rows.order_by()[: MAX_COUNTED_ROWS + 1].count()


def delete_old_decisions(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` of the oldest decisions made before this time; return the number of deleted rows."""
    oldest_ids = LoggedDecision.objects.filter(at__lt=before).order_by("at", "id").values_list("id", flat=True)
    deleted_count, _ = LoggedDecision.objects.filter(id__in=list(oldest_ids[:batch])).delete()
    return deleted_count


def find_first_decision_time() -> datetime | None:
    """Return the time of the oldest logged decision; None if there is none."""
    return LoggedDecision.objects.order_by("at", "id").values_list("at", flat=True).first()


class LoggedText(NamedTuple):
    """The requests with one text of privileges, those that cannot be asked again (`is_complete` is false) apart."""

    text: str
    is_complete: bool
    requests: int


class LoggedQuestion(NamedTuple):
    """One question of the log that can be asked again, how often it was asked, and when for the last time."""

    actor: str
    text: str
    resource: str
    resource_type: str
    sub_resources: tuple[str, ...]
    requests: int
    last_at: datetime


def list_texts(*, since: datetime) -> list[LoggedText]:
    """Return the texts of privileges that were asked for since then, those of most requests first."""
    rows = LoggedDecision.objects.filter(at__gte=since).order_by()
    counted_rows = (
        rows.values_list("wanted", "is_complete").annotate(requests=Count("id")).order_by("-requests", "wanted")
    )
    return [LoggedText(*row) for row in counted_rows]


def list_questions(*, since: datetime, condition: Q, limit: int) -> list[LoggedQuestion]:
    """Return the different questions since then that meet a condition and can be asked again, newest first."""
    rows = LoggedDecision.objects.filter(condition, at__gte=since, is_complete=True).order_by()
    questions = rows.values_list("actor", "wanted", "resource", "resource_type", "sub_resources").annotate(
        requests=Count("id"), last_at=Max("at")
    )
    newest_questions = questions.order_by("-last_at", "actor", "wanted", "resource", "resource_type", "sub_resources")
    return [
        LoggedQuestion(actor, text, resource, resource_type, tuple(subresources), requests, last_at)
        for actor, text, resource, resource_type, subresources, requests, last_at in newest_questions[:limit]
    ]


def count_incomplete(*, since: datetime, condition: Q) -> int:
    """Return how many requests since then meet a condition and cannot be asked again."""
    return LoggedDecision.objects.filter(condition, at__gte=since, is_complete=False).order_by().count()
