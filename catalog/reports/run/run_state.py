"""The life of a report's row: queued, claimed by one worker, ended once. Every step asks that the one before holds.

Whoever takes a step first wins; who comes late learns it from the answer and leaves the row alone. A worker that ends
in the middle says nothing any more: after REPORT_LEASE_SECONDS the run is queued again, and another worker makes it.
The second time it fails. Each attempt has a number and a folder of its own, so one that comes back changes nothing.
"""

import logging
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists, F, QuerySet
from django.utils import timezone

from catalog.models import Report, ReportRow
from catalog.reports.spec import Kind
from policies import deadlines

log = logging.getLogger(__name__)

#: How many workers begin a run before it fails.
MAX_ATTEMPTS = 2

#: How many rows one statement deletes.
FORGOTTEN_AT_ONCE = 10_000

#: How many signs of life a worker gives while its lease lasts, so that one that is lost ends nothing.
_BEATS_PER_LEASE = 5

_AGAIN = "The worker that made this report ended before it was finished; another one makes it again"
_GONE = (
    "The worker that made this report ended before it was finished, and so did the one that made it again. "
    "Look into the log of the workers before you start it once more: it may need more memory than they have."
)


def queue(*, kind: Kind, parameters: Mapping[str, Any], by: str) -> Report | None:
    """Return a new queued run, or None when one of this kind is queued or running."""
    expire()
    try:
        with transaction.atomic():
            return Report.objects.create(kind=kind.name, parameters=dict(parameters), requested_by=by)
    except IntegrityError:
        return None


def claim(report_id: UUID, *, at_once: int | None = None) -> Report | None:
    """Make a queued run this caller's to do and return it; None when it is not queued any more.

    With `at_once` also None while that many run: each of them is a Java program and every core of the machine.
    """
    now = timezone.now()
    waiting = Report.objects.filter(pk=report_id, status=Report.Status.QUEUED)
    if at_once is not None:
        running = Report.objects.filter(status=Report.Status.RUNNING).order_by().values("status")
        waiting = waiting.filter(~Exists(running.annotate(count=Count("pk")).filter(count__gte=at_once)))
    begun = {"started_at": now, "seen_at": now, "stage": "Starting", "attempts": F("attempts") + 1}
    if not waiting.update(status=Report.Status.RUNNING, **begun):
        return None
    return Report.objects.get(pk=report_id)


def tell(report: Report, *, stage: str, done: int = 0, total: int = 0, log: str | None = None) -> bool:
    """Say how far a run is; with `log` also what it said. Return whether it is to go on: not when it was cancelled."""
    said: dict[str, Any] = {"stage": stage[:255], "done": max(done, 0), "total": max(total, 0)}
    if log is not None:
        said["log"] = log
    return bool(_running(report).update(seen_at=timezone.now(), **said))


@contextmanager
def kept_alive(report: Report) -> Iterator[None]:
    """Say now and then that somebody works on a run, however long a step of it takes."""
    ended = threading.Event()
    lease = settings.REPORT_LEASE_SECONDS

    def beat() -> None:
        try:
            while not ended.wait(lease / _BEATS_PER_LEASE):
                _give_sign(report, lease)
        finally:
            connection.close()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _give_sign(report: Report, lease: int) -> None:
    try:
        with deadlines.within(lease):
            _running(report).update(seen_at=timezone.now())
    except DatabaseError as error:
        # The next sign may come through.
        log.warning("report_sign_lost", extra={"report": str(report.pk), "error": str(error)})
        connection.close()


def date(report: Report, *, policy_version: int, as_of: datetime) -> None:
    """Say which state a run is made from."""
    report.policy_version, report.as_of = policy_version, as_of
    _running(report).update(policy_version=policy_version, as_of=as_of)


def ready(report: Report, *, summary: Mapping[str, Any], log: str) -> bool:
    """End a run well, so that its rows are shown; return False when it was ended otherwise meanwhile."""
    said = {"stage": "", "done": 0, "total": 0, "summary": dict(summary), "log": log}
    return _end(_running(report), Report.Status.READY, **said)


def fail(report: Report, *, problem: str, log: str | None = None) -> bool:
    """End a run with the sentence that says why, and drop what was loaded of it; False where it is over already."""
    said = {"problem": problem} if log is None else {"problem": problem, "log": log}
    mine = _open(report.pk).filter(status=report.status, attempts=report.attempts)
    ended = _end(mine, Report.Status.FAILED, **said)
    if ended:
        drop_rows(report.pk)
    return ended


def is_mine(report: Report) -> bool:
    """Whether nobody else began this run since; what lies there of it may be dropped then."""
    return Report.objects.filter(pk=report.pk, attempts=report.attempts).exclude(status=Report.Status.QUEUED).exists()


def cancel(report_id: UUID) -> bool:
    """End a run that is queued or running; whoever works on it notices within seconds."""
    return _end(_open(report_id), Report.Status.CANCELLED)


def expire() -> int:
    """Queue the runs whose worker is gone once more, and fail those that were; return how many were either."""
    before = timezone.now() - lease()
    silent = Report.objects.filter(status=Report.Status.RUNNING, seen_at__lt=before)
    return sum(_repeat(report, before) for report in silent)


def _repeat(report: Report, before: datetime) -> bool:
    """End the attempt of a worker that has said nothing since; False where it said something meanwhile."""
    gone = _running(report).filter(seen_at__lt=before)
    if report.attempts >= MAX_ATTEMPTS:
        is_ended = _end(gone, Report.Status.FAILED, problem=_GONE)
    else:
        is_ended = bool(gone.update(status=Report.Status.QUEUED, stage=_AGAIN, done=0, total=0))
    if is_ended:
        log.warning("report_worker_gone", extra={"report": str(report.pk), "attempts": report.attempts})
        drop_rows(report.pk)
    return is_ended


def lease() -> timedelta:
    """Return how long a run may say nothing before whoever worked on it counts as gone."""
    return timedelta(seconds=settings.REPORT_LEASE_SECONDS)


def following() -> UUID | None:
    """Return the run that has been queued longest."""
    queued = Report.objects.filter(status=Report.Status.QUEUED).order_by("requested_at")
    return queued.values_list("pk", flat=True).first()


def waiting() -> list[UUID]:
    """Return the runs that have been queued for so long that their message may be lost."""
    before = timezone.now() - lease()
    queued = Report.objects.filter(status=Report.Status.QUEUED, requested_at__lt=before)
    return list(queued.order_by("requested_at").values_list("pk", flat=True))


def forget() -> int:
    """Delete, of each kind, the runs before the last REPORTS_KEPT that ended, with rows and files; return how many."""
    count = 0
    ended = Report.objects.exclude(status__in=Report.OPEN)
    for kind in ended.order_by().values_list("kind", flat=True).distinct():
        for old in ended.filter(kind=kind).order_by("-requested_at")[settings.REPORTS_KEPT :]:
            drop_rows(old.pk)
            shutil.rmtree(folder_of(old.pk), ignore_errors=True)
            old.delete()
            count += 1
    return count


def drop_rows(report_id: UUID) -> None:
    """Delete the rows of a run, a part at a time."""
    rows = ReportRow.objects.filter(report_id=report_id).order_by()
    while rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])).delete()[0]:
        pass


def folder_of(report_id: UUID) -> Path:
    """Return where the files of a run lie as long as its row is there: `output`, and `input` of kinds that keep it."""
    return Path(settings.REPORTS_DIR) / str(report_id)


def attempt_folder_of(report: Report) -> Path:
    """Return where the files of this attempt lie while it lasts."""
    return folder_of(report.pk) / f"attempt-{report.attempts}"


def _running(report: Report) -> QuerySet[Report]:
    return Report.objects.filter(pk=report.pk, status=Report.Status.RUNNING, attempts=report.attempts)


def _open(report_id: UUID) -> QuerySet[Report]:
    return Report.objects.filter(pk=report_id, status__in=Report.OPEN)


def _end(found: QuerySet[Report], status: Report.Status, **said: Any) -> bool:
    return bool(found.update(status=status, finished_at=timezone.now(), **said))
