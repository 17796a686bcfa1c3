"""State transitions of a report: queued, claimed by one worker, ended once. Each checks the previous state.

The first transition wins; a later one returns False and changes nothing. When a worker is stopped, its run is queued
again for another one, and when it disappears, after REPORT_LEASE_SECONDS; the second time the run fails. Each attempt
has a number and a folder, so a worker that returns after its lease changes nothing.
"""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Exists, F, QuerySet
from django.utils import timezone

from catalog.models import Report, ReportRow
from catalog.reports import report_events, storage
from catalog.reports.spec import ReportSpec
from catalog.reports.storage import StorageFolder
from policies import deadlines
from policies.models import open_event_write

log = logging.getLogger(__name__)

#: The task that has a worker run a report; its argument is the id.
RUN_TASK = "catalog.run_report"

#: Attempts of a run before it fails.
MAX_ATTEMPTS = 2

#: Rows deleted by one statement.
DELETE_BATCH_SIZE = 10_000

#: Heartbeats within one lease, so that a lost one does not end the run.
_HEARTBEATS_PER_LEASE = 5

_REQUEUED_STAGE = "The worker that made this report ended before it was finished; another one makes it again"
_STOPPED_WORKER_PROBLEM = (
    "The worker that made this report was stopped before it was finished, and it was the second attempt. "
    "Start it again when no workers are being replaced."
)
_LOST_WORKER_PROBLEM = (
    "The worker that made this report ended before it was finished, and so did the one that made it again. "
    "Look into the log of the workers before you start it once more: it may need more memory than they have."
)


def queue(*, spec: ReportSpec, parameters: Mapping[str, Any], by: str) -> Report | None:
    """Create a queued run and return it, or None when one of this kind is queued or running."""
    expire()
    try:
        with transaction.atomic():
            return Report.objects.create(kind=spec.name, parameters=dict(parameters), requested_by=by)
    except IntegrityError:
        return None


def claim(report_id: UUID, *, max_running: int | None = None) -> Report | None:
    """Claim a queued run for this worker and return it; None when it is no longer queued.

    With `max_running` also None while that many runs are RUNNING: each is a Java program that uses every core.
    """
    now = timezone.now()
    queued_reports = Report.objects.filter(pk=report_id, status=Report.Status.QUEUED)
    if max_running is not None:
        running_reports = Report.objects.filter(status=Report.Status.RUNNING).order_by().values("status")
        queued_reports = queued_reports.filter(
            ~Exists(running_reports.annotate(count=Count("pk")).filter(count__gte=max_running))
        )
    start_fields = {"started_at": now, "seen_at": now, "stage": "Starting", "attempts": F("attempts") + 1}
    with transaction.atomic():
        if max_running is not None:
            # Several workers are told of the reports of a night at the same moment, and each counts what runs.
            list(Report.objects.select_for_update().filter(status__in=Report.OPEN_STATUSES).order_by("pk").only("pk"))
        is_claimed = queued_reports.update(status=Report.Status.RUNNING, **start_fields)
    if not is_claimed:
        return None
    return Report.objects.get(pk=report_id)


def update_progress(report: Report, *, stage: str, done: int = 0, total: int = 0, log: str | None = None) -> bool:
    """Store progress, and with `log` the log, of a run; return False when the attempt is over, as when cancelled."""
    progress_fields: dict[str, Any] = {"stage": stage[:255], "done": max(done, 0), "total": max(total, 0)}
    if log is not None:
        progress_fields["log"] = log
    return bool(_select_running(report).update(seen_at=timezone.now(), **progress_fields))


def is_running(report: Report) -> bool:
    """Whether this attempt still runs. In a transaction it shows what others did meanwhile and waits for nobody."""
    return _select_running(report).exists()


@contextmanager
def heartbeat(report: Report) -> Iterator[None]:
    """Context manager that renews the lease of a run from a thread, however long a step takes."""
    stop_event = threading.Event()
    lease_seconds = settings.REPORT_LEASE_SECONDS

    def send_heartbeats() -> None:
        try:
            while not stop_event.wait(lease_seconds / _HEARTBEATS_PER_LEASE):
                _send_heartbeat(report, lease_seconds)
        finally:
            connection.close()

    thread = threading.Thread(target=send_heartbeats, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()


def _send_heartbeat(report: Report, lease_seconds: int) -> None:
    try:
        with deadlines.open_budget(lease_seconds):
            _select_running(report).update(seen_at=timezone.now())
    except DatabaseError as error:
        # The next heartbeat may succeed.
        log.warning("report_sign_lost", extra={"report": str(report.pk), "error": str(error)})
        connection.close()


def record_snapshot(report: Report, *, policy_version: int, as_of: datetime) -> None:
    """Store the policy version and time of the snapshot of a run."""
    report.policy_version, report.as_of = policy_version, as_of
    _select_running(report).update(policy_version=policy_version, as_of=as_of)


def mark_ready(
    report: Report, *, summary: Mapping[str, Any], log: str, tables: Sequence[Mapping[str, Any]] | None = None
) -> bool:
    """Mark a run READY, so that its rows are visible; return False when it ended otherwise meanwhile.

    `tables` describes the tables of its results, which are to be published.
    """
    result_fields = {"stage": "", "done": 0, "total": 0, "summary": dict(summary), "log": log}
    result_fields["unpublished_tables"] = tables
    return _finish(report, _select_running(report), Report.Status.READY, **result_fields)


def fail(report: Report, *, problem: str, log: str | None = None) -> bool:
    """Mark a run FAILED with the reason and delete its loaded rows; return False when it is over already."""
    failure_fields = {"problem": problem} if log is None else {"problem": problem, "log": log}
    own_attempt = _select_open(report.pk).filter(status=report.status, attempts=report.attempts)
    is_ended = _finish(report, own_attempt, Report.Status.FAILED, **failure_fields)
    if is_ended:
        _log_failure(report, problem)
        drop_rows(report.pk)
    return is_ended


def _log_failure(report: Report, problem: str) -> None:
    log.warning("report_failed", extra={"report": str(report.pk), "kind": report.kind, "problem": problem})


def is_current_attempt(report: Report) -> bool:
    """Whether no later attempt exists and the run is not queued again, so that this attempt may delete its results."""
    return Report.objects.filter(pk=report.pk, attempts=report.attempts).exclude(status=Report.Status.QUEUED).exists()


def cancel(report_id: UUID) -> bool:
    """Cancel a run that is queued or running; its worker notices within seconds."""
    return bool(_end(_select_open(report_id), Report.Status.CANCELLED))


def end_stopped(report: Report) -> bool:
    """Queue the run of a worker that is being stopped again, or fail it without attempts left.

    Returns False when the attempt is over already.
    """
    return _end_attempt(report, _select_running(report), problem=_STOPPED_WORKER_PROBLEM)


def expire() -> int:
    """Requeue the runs whose worker disappeared, or fail those without attempts left; return the number of both."""
    cutoff = timezone.now() - lease_duration()
    silent_reports = Report.objects.filter(status=Report.Status.RUNNING, seen_at__lt=cutoff)
    return sum(
        # No heartbeat arrived meanwhile.
        _end_attempt(report, _select_running(report).filter(seen_at__lt=cutoff), problem=_LOST_WORKER_PROBLEM)
        for report in silent_reports
    )


def _end_attempt(report: Report, attempt: QuerySet[Report], *, problem: str) -> bool:
    """Queue a run again, or fail it with `problem` without attempts left; return whether `attempt` was there to end."""
    if report.attempts >= MAX_ATTEMPTS:
        is_ended = _finish(report, attempt, Report.Status.FAILED, problem=problem)
        if is_ended:
            _log_failure(report, problem)
    else:
        is_ended = bool(attempt.update(status=Report.Status.QUEUED, stage=_REQUEUED_STAGE, done=0, total=0))
    if is_ended:
        log.warning("report_worker_gone", extra={"report": str(report.pk), "attempts": report.attempts})
        drop_rows(report.pk)
    return is_ended


def lease_duration() -> timedelta:
    """Return the time without a heartbeat after which a worker counts as gone."""
    return timedelta(seconds=settings.REPORT_LEASE_SECONDS)


def find_next_queued() -> UUID | None:
    """Return the id of the run that has been queued longest."""
    queued_reports = Report.objects.filter(status=Report.Status.QUEUED).order_by("requested_at")
    return queued_reports.values_list("pk", flat=True).first()


def list_overdue() -> list[UUID]:
    """Return the ids of runs that have been queued for so long that their message may be lost."""
    cutoff = timezone.now() - lease_duration()
    queued_reports = Report.objects.filter(status=Report.Status.QUEUED, requested_at__lt=cutoff)
    return list(queued_reports.order_by("requested_at").values_list("pk", flat=True))


def list_ended_lately() -> list[Report]:
    """Return the runs that failed or were cancelled one or two leases ago: no worker works on them any more."""
    lease, now = lease_duration(), timezone.now()
    ended_reports = Report.objects.filter(status__in=(Report.Status.FAILED, Report.Status.CANCELLED))
    return list(ended_reports.filter(started_at__isnull=False, finished_at__range=(now - 2 * lease, now - lease)))


def drop_rows(report_id: UUID) -> None:
    """Delete the rows of a run in batches."""
    rows = ReportRow.objects.filter(report_id=report_id).order_by()
    while rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:DELETE_BATCH_SIZE])).delete()[0]:
        pass


def report_folder(report_id: UUID) -> StorageFolder:
    """Return the folder of the files of a run."""
    return storage.parse_address(settings.REPORTS_DIR) / str(report_id)


def attempt_folder(report: Report) -> StorageFolder:
    """Return the folder of the files of this attempt."""
    return report_folder(report.pk) / f"attempt-{report.attempts}"


def find_kept_folder(report: Report, name: str) -> StorageFolder:
    """Return a folder that a READY run keeps: `output`, or `input` for kinds that retain their snapshot.

    It is in that of the attempt which the row names; earlier releases moved it into that of the run. Raises OSError.
    """
    folder = report_folder(report.pk) / name
    return folder if folder.is_there() else attempt_folder(report) / name


def _select_running(report: Report) -> QuerySet[Report]:
    return Report.objects.filter(pk=report.pk, status=Report.Status.RUNNING, attempts=report.attempts)


def _select_open(report_id: UUID) -> QuerySet[Report]:
    return Report.objects.filter(pk=report_id, status__in=Report.OPEN_STATUSES)


def _finish(report: Report, reports: QuerySet[Report], status: Report.Status, **fields: Any) -> bool:
    """End a run with its event, unless it has ended or another attempt runs; return whether it was ended."""
    with open_event_write():
        is_ended = bool(_end(reports, status, **fields))
        if is_ended:
            report_events.emit_end(report, status)
    return is_ended


def _end(reports: QuerySet[Report], status: Report.Status, **fields: Any) -> int:
    return reports.update(status=status, finished_at=timezone.now(), **fields)
