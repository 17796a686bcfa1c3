"""Queries over the daily counts of uses: who used what by which policy, since when nothing is missing, and deletion."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max, Min

from policies.models import DailyUse, UseCounter, UseGap
from policies.pdp.log.use_writing import LOST_AFTER_SECONDS

_ROWS_PER_FETCH = 2_000


class PrivilegeUse(NamedTuple):
    """The uses of a privilege by an actor through a policy ("" without one): how many, and the last time."""

    actor: str
    privilege: str
    policy: str
    last_at: datetime


def iterate_uses(*, since: date) -> Iterator[PrivilegeUse]:
    """Yield what was used on this day (UTC) or later, each actor, privilege and policy once, in this order."""
    rows = DailyUse.objects.filter(day__gte=since).values_list("actor", "privilege", "policy")
    last_uses = rows.annotate(last=Max("last_at")).order_by("actor", "privilege", "policy")
    return (PrivilegeUse(*row) for row in last_uses.iterator(chunk_size=_ROWS_PER_FETCH))


def find_complete_since() -> date | None:
    """Return the day (UTC) from which on no use is missing, today or tomorrow at the latest; None if nothing counts."""
    last_day: date | None = UseGap.objects.aggregate(last=Max("last_day"))["last"]
    return None if last_day is None else last_day + timedelta(days=1)


def find_counted_until(*, now: datetime) -> datetime:
    """Return the time until which every process that counts has written its counts."""
    first: datetime | None = UseCounter.objects.aggregate(first=Min("counted_until"))["first"]
    return now if first is None else min(first, now)


def close_gaps(*, now: datetime) -> int:
    """Take for lost what silent processes counted last, from their last sign of life to now; return their number."""
    silent_rows = UseCounter.objects.filter(counted_until__lt=now - timedelta(seconds=LOST_AFTER_SECONDS))
    lost_count = 0
    for row in silent_rows.order_by("pk"):
        with transaction.atomic():
            if UseCounter.objects.filter(pk=row.pk, counted_until=row.counted_until).delete()[0]:
                days = {"first_day": row.counted_until.date(), "last_day": now.date()}
                UseGap.objects.create(**days, cause=UseGap.Cause.PROCESS_LOST)
                lost_count += 1
    return lost_count


def mark_deleted(*, before: date) -> None:
    """Say that the days before this one are incomplete, since their counts are about to be deleted."""
    last_day = before - timedelta(days=1)
    gaps = UseGap.objects.filter(last_day__lte=last_day)
    if gaps.exclude(last_day=last_day, cause=UseGap.Cause.DELETED).exists():
        with transaction.atomic():
            first_day = gaps.aggregate(first=Min("first_day"))["first"]
            gaps.delete()
            UseGap.objects.create(first_day=first_day or last_day, last_day=last_day, cause=UseGap.Cause.DELETED)


def delete_old_uses(*, before: date, batch: int) -> int:
    """Delete up to `batch` counts of days before this one, after `mark_deleted`; return the number of rows."""
    old_ids = DailyUse.objects.filter(day__lt=before).order_by("day").values_list("pk", flat=True)
    deleted_count, _ = DailyUse.objects.filter(pk__in=list(old_ids[:batch])).delete()
    return deleted_count
