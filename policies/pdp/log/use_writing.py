"""Writing of counted uses: batches of additions to rows, each written once however often it is tried (docs/adr/0034).

All processes add to the rows in the same order, so that two of them never wait for each other in a circle.
"""

import logging
import time
from collections import deque
from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.utils import timezone

from policies import deadlines
from policies.models import DailyUse, UseCounter, UseGap, User
from policies.outages import find_outage
from policies.pdp.log import use_counts
from policies.pdp.log.use_counts import TakenUses, UseCount, UseCounts, UseKey

log = logging.getLogger(__name__)

Item = TypeVar("Item")

#: Seconds between two writes, and between two tries at the end of the process.
WRITE_EVERY_SECONDS, RETRY_SECONDS = 5.0, 1.0
#: Seconds after which a process without uses says that it is there, and after which a silent one is taken for lost.
SIGN_OF_LIFE_SECONDS, LOST_AFTER_SECONDS = 60.0, 300.0
#: Longest write of all that waits.
WRITE_SECONDS = 60.0
#: Different decisions that are not kept waiting any longer.
MAX_PATIENT_DECISIONS = 10_000
#: Rows per transaction.
WRITE_BATCH_SIZE = 1_000

_TABLE, _KEY_COLUMNS = DailyUse._meta.db_table, "day, policy, actor, privilege"
_ADD_ON_SQLITE = f"""
    INSERT INTO {_TABLE} ({_KEY_COLUMNS}, uses, last_at) VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT ({_KEY_COLUMNS}) DO UPDATE SET uses = uses + excluded.uses, last_at = MAX(last_at, excluded.last_at)
"""  # noqa: S608 - our own names
_ADD_ON_POSTGRESQL = f"""
    INSERT INTO {_TABLE} AS stored ({_KEY_COLUMNS}, uses, last_at)
    SELECT * FROM unnest(%s::date[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::timestamptz[])
    ON CONFLICT ({_KEY_COLUMNS})
    DO UPDATE SET uses = stored.uses + excluded.uses, last_at = GREATEST(stored.last_at, excluded.last_at)
"""  # noqa: S608 - our own names


class _Batch(NamedTuple):
    """Rows of one transaction, the days of which uses were lost, and the time before which all is written then."""

    rows: Sequence[tuple[UseKey, UseCount]]
    lost_days: Collection[date]
    counted_until: datetime | None


class UseWriter:
    """Writes the uses that this process counts, and what it has to say about them: only one thread may call it."""

    def __init__(self, counts: UseCounts) -> None:
        self._counts = counts
        self._batches: deque[_Batch] = deque()
        # What was taken, and is not yet split into batches.
        self._taken: TakenUses | None = None
        self._taken_at = self._counted_until = timezone.now()
        self._id = uuid4()
        self._number = 0

    def write(self) -> bool:
        """Write all that was counted until now; return whether it is written. A database that is away keeps it waiting.

        Rows that the database refuses are dropped, and their days are incomplete.
        """
        try:
            # What an earlier try has left, then the rest.
            self._write_taken()
            self._taken_at = timezone.now()
            self._taken = self._counts.take()
            self._write_taken()
        except (DatabaseError, InterfaceError) as error:
            if find_outage(error) is None:
                log.exception("uses_refused")
                self._drop()
            else:
                log.warning("uses_wait", extra={"error": str(error), "waiting": len(self._batches)})
            connection.close()
            return False
        return True

    def close(self) -> None:
        """Say that everything is written: nothing of this process is missing."""
        try:
            UseCounter.objects.filter(pk=self._id).delete()
        except (DatabaseError, InterfaceError) as error:
            log.warning("uses_wait", extra={"error": str(error), "waiting": 0})

    def _write_taken(self) -> None:
        if self._taken is not None:
            self._batches.extend(self._split_taken(self._taken))
            self._taken = None
        while self._batches:
            self._write_batch(self._batches[0])
            self._counted_until = self._batches.popleft().counted_until or self._counted_until
            self._number += 1

    def _split_taken(self, uses: TakenUses) -> list[_Batch]:
        """Return the counts as batches, in the order in which all processes write."""
        known_actors = _find_known_actors({key.actor for key in uses.counts})
        counts = use_counts.rename_actors(uses.counts, lambda actor: actor if actor in known_actors else "")
        batches = [_Batch(part, (), None) for part in _split(sorted(counts.items()))] or [_Batch((), (), None)]
        batches[-1] = batches[-1]._replace(lost_days=uses.lost_days, counted_until=self._taken_at)
        return batches

    def _write_batch(self, batch: _Batch) -> None:
        """Write a batch, unless it was written by a try whose end was not seen."""
        with transaction.atomic():
            if self._claim_number(batch):
                _add_uses(batch.rows)
                for day in batch.lost_days:
                    UseGap.objects.create(first_day=day, last_day=day, cause=UseGap.Cause.DROPPED)

    def _claim_number(self, batch: _Batch) -> bool:
        """Return whether the batch is still to be written; its number and time are stored then."""
        changes = {"batch": self._number + 1, "counted_until": batch.counted_until or self._counted_until}
        rows = UseCounter.objects.filter(pk=self._id)
        if rows.filter(batch=self._number).update(**changes):
            return True
        if rows.exists():
            return False
        # The first batch of the process, or it was taken for lost: then it goes on as another one.
        self._id = uuid4()
        UseCounter.objects.create(id=self._id, **changes)
        if not UseGap.objects.exists():
            today = timezone.now().date()
            UseGap.objects.create(first_day=today, last_day=today, cause=UseGap.Cause.STARTED)
        return True

    def _drop(self) -> None:
        """Forget what cannot be written; its days are incomplete."""
        days = {key.day for batch in self._batches for key, _ in batch.rows}
        days.update(*(batch.lost_days for batch in self._batches))
        if self._taken is not None:
            days.update((key.day for key in self._taken.counts), self._taken.lost_days)
        self._batches.clear()
        self._taken = None
        self._counts.mark_lost(days)


class ProcessUses:
    """The counts of this process, and when they are written."""

    def __init__(self) -> None:
        self.counts = UseCounts()
        self._writer = UseWriter(self.counts)
        # Monotonic times at which counts are written, and at which the process says that it is there: first at once.
        self._due_at = self._sign_due_at = float("-inf")
        self._is_finished = False

    def write_due(self) -> float:
        """Write what is due; return after how many seconds to call this again."""
        if time.monotonic() >= self._find_due_time():
            with deadlines.open_budget(WRITE_SECONDS):
                is_written = self._writer.write()
            now = time.monotonic()
            self._due_at = now + WRITE_EVERY_SECONDS
            self._sign_due_at = now + (SIGN_OF_LIFE_SECONDS if is_written else WRITE_EVERY_SECONDS)
        return max(self._find_due_time() - time.monotonic(), 0.0)

    def finish(self, *, ends_at: float) -> None:
        """Write everything, if the database takes it before this monotonic time; else its day becomes incomplete."""
        while not (self._is_finished and not self.counts.waiting_count):
            with deadlines.open_budget(ends_at - time.monotonic()):
                if self._writer.write():
                    self._writer.close()
                    self._is_finished = True
                    return
            if time.monotonic() + RETRY_SECONDS >= ends_at:
                log.warning("uses_not_counted")
                return
            time.sleep(RETRY_SECONDS)

    def _find_due_time(self) -> float:
        waiting_count = self.counts.waiting_count
        if waiting_count > MAX_PATIENT_DECISIONS:
            return time.monotonic()
        return min(self._due_at, self._sign_due_at) if waiting_count else self._sign_due_at


def _split(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + WRITE_BATCH_SIZE] for start in range(0, len(items), WRITE_BATCH_SIZE)]


def _find_known_actors(urns: Collection[str]) -> frozenset[str]:
    """Return those that are stored users: callers can invent others, as many as they like."""
    return frozenset(
        urn for part in _split(sorted(urns)) for urn in User.objects.filter(urn__in=part).values_list("urn", flat=True)
    )


def _list_columns(rows: Sequence[tuple[UseKey, UseCount]]) -> list[list[Any]]:
    return [list(column) for column in zip(*((*key, *count) for key, count in rows), strict=True)]


def _add_uses(rows: Sequence[tuple[UseKey, UseCount]]) -> None:
    """Add counts to their rows, in this order."""
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_ADD_ON_POSTGRESQL, _list_columns(rows))
        else:
            adapt_day, adapt_time = connection.ops.adapt_datefield_value, connection.ops.adapt_datetimefield_value
            cursor.executemany(
                _ADD_ON_SQLITE,
                [(adapt_day(key.day), *key[1:], count.uses, adapt_time(count.last_at)) for key, count in rows],
            )
