"""The decision log as lists, newest first; read on from a place, since page numbers would count every row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Max, Q, QuerySet, Value
from django.db.models.functions import Concat, StrIndex

from policies.models import LoggedDecision
from policies.models.fields import is_storable

#: Exact numbers of rows are told up to this many.
COUNTED = 10_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FAR = 2**63
#: What stands between privileges in what was wanted.
_BETWEEN = frozenset(("and", "or", "|"))


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the log: right at the row with this time and number."""

    at: datetime
    number: int

    @classmethod
    def of(cls, row: LoggedDecision) -> "Place":
        """Return the place of a row."""
        return cls(row.at, row.pk)

    @classmethod
    def read(cls, text: str) -> "Place":
        """Return the place that a text names; raises ValueError for any other text."""
        at, _, number = text.partition("-")
        if not (text.isascii() and at.isdigit() and number.isdigit() and len(text) <= 40):
            raise ValueError(text)
        try:
            found = cls(_EPOCH + int(at) * _MICROSECOND, int(number))
        except OverflowError:
            raise ValueError(text) from None
        if found.number >= _FAR:
            raise ValueError(text)
        return found

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _MICROSECOND}-{self.number}"


@dataclass(frozen=True, slots=True)
class Slice:
    """Some rows that stand together, newest first, and whether there are newer and older ones."""

    rows: Sequence[LoggedDecision]
    has_newer: bool
    has_older: bool


def decisions(
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
        padded = Concat(Value(" "), "wanted", Value(" "))
        rows = rows.alias(place=StrIndex(padded, Value(f" {privilege} "))).filter(place__gt=0)
    return rows


def decisions_at(
    rows: QuerySet[LoggedDecision], *, size: int, before: Place | None = None, after: Place | None = None
) -> Slice:
    """Return the newest of these rows, or those right before (older than) or right after (newer than) a place."""
    if after is not None:
        newer = rows.filter(at__gte=after.at).exclude(Q(at=after.at, id__lte=after.number)).order_by("at", "id")
        found = list(newer[: size + 1])
        return Slice(found[:size][::-1], len(found) > size, has_older=True)
    if before is not None:
        rows = rows.filter(at__lte=before.at).exclude(Q(at=before.at, id__gte=before.number))
    found = list(rows[: size + 1])
    return Slice(found[:size], before is not None, len(found) > size)


def decisions_counted(rows: QuerySet[LoggedDecision]) -> int:
    """Return how many rows there are, COUNTED + 1 standing for all numbers above."""
    return rows.order_by()[: COUNTED + 1].count()


def forget_decisions(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` of the oldest answers given before this time; return how many were deleted."""
    oldest = LoggedDecision.objects.filter(at__lt=before).order_by("at", "id").values_list("id", flat=True)
    deleted, _ = LoggedDecision.objects.filter(id__in=list(oldest[:batch])).delete()
    return deleted


@dataclass(frozen=True, slots=True)
class Use:
    """That somebody was allowed something: which privileges would have done, which policies allowed it, when last."""

    actor: str
    privileges: frozenset[str]
    policies: frozenset[str]
    last: datetime


def uses(*, since: datetime) -> Iterator[Use]:
    """Give what was allowed since then, each combination once with its last time."""
    rows = LoggedDecision.objects.filter(is_allowed=True, at__gte=since).order_by()
    found = rows.values_list("actor", "wanted", "statements").annotate(last=Max("at"))
    for actor, wanted, statements, last in found.iterator(chunk_size=2000):
        policies = frozenset(one["policy"] for one in statements)
        yield Use(actor, frozenset(wanted.split()) - _BETWEEN, policies, last)


def decisions_began() -> datetime | None:
    """Return the time of the oldest answer that was kept; None when there is none."""
    return LoggedDecision.objects.order_by("at", "id").values_list("at", flat=True).first()
