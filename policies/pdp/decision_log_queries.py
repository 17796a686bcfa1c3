"""The decision log as lists, newest first; read on from a place, since page numbers would count every row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Max, Q, QuerySet, Value
from django.db.models.functions import Concat, StrIndex

from policies.models import LoggedDecision
from policies.models.fields import is_storable

#: Exact numbers of rows are told up to this many.
MAX_COUNTED_ROWS = 10_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MAX_ROW_NUMBER = 2**63
#: What stands between privileges in what was wanted.
_PRIVILEGE_SEPARATORS = frozenset(("and", "or", "|"))


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in the log: right at the row with this time and number."""

    at: datetime
    number: int

    @classmethod
    def from_row(cls, row: LoggedDecision) -> "LogPosition":
        """Return the place of a row."""
        return cls(row.at, row.pk)

    @classmethod
    def parse(cls, text: str) -> "LogPosition":
        """Return the place that a text names; raises ValueError for any other text."""
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
    """Some rows that stand together, newest first, and whether there are newer and older ones."""

    rows: Sequence[LoggedDecision]
    has_newer: bool
    has_older: bool


def list_decisions(
    *,
    actor: str = "",
    by: str = "",
    privilege: str = "",
    resource: str = "",
    is_allowed: bool | None = None,
    door: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[LoggedDecision]:
    """Return the answers that were kept; each filter narrows. `privilege` is one of those that would have done.

    `since` is inclusive, `until` is not.
    """
    rows = LoggedDecision.objects.order_by("-at", "-id")
    columns = {"actor": actor, "by": by, "resource": resource, "door": door}
    rows = rows.filter(**{column: value for column, value in columns.items() if value})
    if is_allowed is not None:
        rows = rows.filter(is_allowed=is_allowed)
    if since is not None:
        rows = rows.filter(at__gte=since)
    if until is not None:
        rows = rows.filter(at__lt=until)
    if privilege and not is_storable(privilege):
        return rows.none()
    if privilege:
        # A position and not LIKE, which takes `a` for `A` in SQLite.
        padded_text = Concat(Value(" "), "wanted", Value(" "))
        rows = rows.alias(place=StrIndex(padded_text, Value(f" {privilege} "))).filter(place__gt=0)
    return rows


def load_decision_page(
    rows: QuerySet[LoggedDecision], *, size: int, before: LogPosition | None = None, after: LogPosition | None = None
) -> LogPage:
    """Return the newest of these rows, or those right before (older than) or right after (newer than) a place."""
    if after is not None:
        newer_rows = rows.filter(at__gte=after.at).exclude(Q(at=after.at, id__lte=after.number)).order_by("at", "id")
        page_rows = list(newer_rows[: size + 1])
        return LogPage(page_rows[:size][::-1], len(page_rows) > size, has_older=True)
    if before is not None:
        rows = rows.filter(at__lte=before.at).exclude(Q(at=before.at, id__gte=before.number))
    page_rows = list(rows[: size + 1])
    return LogPage(page_rows[:size], before is not None, len(page_rows) > size)


def count_decisions(rows: QuerySet[LoggedDecision]) -> int:
    """Return how many rows there are, COUNTED + 1 standing for all numbers above."""
    return rows.order_by()[: MAX_COUNTED_ROWS + 1].count()


def delete_old_decisions(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` of the oldest answers given before this time; return how many were deleted."""
    oldest_ids = LoggedDecision.objects.filter(at__lt=before).order_by("at", "id").values_list("id", flat=True)
    deleted_count, _ = LoggedDecision.objects.filter(id__in=list(oldest_ids[:batch])).delete()
    return deleted_count


@dataclass(frozen=True, slots=True)
class PrivilegeUse:
    """That somebody was allowed something: which privileges would have done, which policies allowed it, when last."""

    actor: str
    privileges: frozenset[str]
    policies: frozenset[str]
    last_at: datetime


def iterate_privilege_uses(*, since: datetime) -> Iterator[PrivilegeUse]:
    """Give what was allowed since then, each combination once with its last time."""
    rows = LoggedDecision.objects.filter(is_allowed=True, at__gte=since).order_by()
    combinations = rows.values_list("actor", "wanted", "statements").annotate(last=Max("at"))
    for actor, privileges_text, statements, last_at in combinations.iterator(chunk_size=2000):
        policies = frozenset(statement["policy"] for statement in statements)
        yield PrivilegeUse(actor, frozenset(privileges_text.split()) - _PRIVILEGE_SEPARATORS, policies, last_at)


def find_first_decision_time() -> datetime | None:
    """Return the time of the oldest answer that was kept; None when there is none."""
    return LoggedDecision.objects.order_by("at", "id").values_list("at", flat=True).first()
