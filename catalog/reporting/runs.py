"""The life of a report's row: queued, claimed by one worker, ended once. Every step asks that the one before holds.

Whoever takes a step first wins; who comes late learns it from the answer and leaves the row alone.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists
from django.utils import timezone

from catalog.models import Report, ReportRow
from catalog.reporting.kind import Kind

#: How long a run may say nothing before whoever worked on it counts as gone.
SILENT_AT_MOST = timedelta(minutes=2)

#: How many rows one statement deletes.
FORGOTTEN_AT_ONCE = 10_000
_BEAT_SECONDS = 20

_GONE = "The worker that made this report ended before it was finished. Start it again."


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
    if not waiting.update(status=Report.Status.RUNNING, started_at=now, seen_at=now, stage="Starting"):
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

    def beat() -> None:
        try:
            while not ended.wait(_BEAT_SECONDS):
                _running(report).update(seen_at=timezone.now())
        finally:
            connection.close()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def date(report: Report, *, policy_version: int, as_of: datetime) -> None:
    """Say which state a run is made from."""
    report.policy_version, report.as_of = policy_version, as_of
    _running(report).update(policy_version=policy_version, as_of=as_of)


def ready(report: Report, *, summary: Mapping[str, Any], log: str) -> bool:
    """End a run well, so that its rows are shown; return False when it was ended otherwise meanwhile."""
    said = {"stage": "", "done": 0, "total": 0, "summary": dict(summary), "log": log}
    return _end(report.pk, Report.Status.READY, **said)


def fail(report: Report, *, problem: str, log: str | None = None) -> bool:
    """End a run with the sentence that says why, and drop what was loaded of it."""
    said = {"problem": problem} if log is None else {"problem": problem, "log": log}
    ended = _end(report.pk, Report.Status.FAILED, **said)
    drop_rows(report.pk)
    return ended


def cancel(report_id: UUID) -> bool:
    """End a run that is queued or running; whoever works on it notices within seconds."""
    return _end(report_id, Report.Status.CANCELLED)


def expire() -> int:
    """Fail the runs whose worker is gone; return how many."""
    silent = Report.objects.filter(status=Report.Status.RUNNING, seen_at__lt=timezone.now() - SILENT_AT_MOST)
    return sum(fail(report, problem=_GONE) for report in silent)


def following() -> UUID | None:
    """Return the run that has been queued longest."""
    queued = Report.objects.filter(status=Report.Status.QUEUED).order_by("requested_at")
    return queued.values_list("pk", flat=True).first()


def waiting() -> list[UUID]:
    """Return the runs that have been queued for so long that their message may be lost."""
    before = timezone.now() - SILENT_AT_MOST
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
    """Return where the files of a run lie: `input` while it runs, `output` as long as its row is there."""
    return Path(settings.REPORTS_DIR) / str(report_id)


def _running(report: Report) -> Any:
    return Report.objects.filter(pk=report.pk, status=Report.Status.RUNNING)


def _end(report_id: UUID, status: Report.Status, **said: Any) -> bool:
    may_be = Report.OPEN if status in (Report.Status.CANCELLED, Report.Status.FAILED) else (Report.Status.RUNNING,)
    open_ = Report.objects.filter(pk=report_id, status__in=may_be)
    return bool(open_.update(status=status, finished_at=timezone.now(), **said))
