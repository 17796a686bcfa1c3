"""Celery tasks of reports: run, watch, nightly runs, and reopening of findings."""

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports import finding_writer, report_events
from catalog.reports.registry import KINDS
from catalog.reports.run import (
    access_answers,
    launcher,
    leftovers,
    preparation,
    pruning,
    run_state,
    runner,
    spark_pool,
    table_publishing,
)
from policies.pdp.authorizer import SYSTEM
from policies.propagation import task_queue

#: Lifetime of a message to a worker; the schedule sends it again while the report is queued.
MESSAGE_EXPIRY_SECONDS = 60


@worker_shutting_down.connect
def end_jobs(**_: Any) -> None:
    """End the jobs of this worker when it shuts down; their runs are queued again."""
    launcher.STOP_EVENT.set()
    spark_pool.end_idle_processes()
    preparation.end()


@worker_ready.connect
def remove_leftovers(**_: Any) -> None:
    """Remove what workers that were killed left behind, when a worker starts."""
    leftovers.remove_spark_folders()
    leftovers.remove_attempt_folders()


@shared_task(name=run_state.RUN_TASK, ignore_result=True)
def run_report(report_id: str, **_: Any) -> str:
    """Run a report and return its status. A message that arrives twice, or too late, changes nothing.

    While REPORTS_AT_ONCE others run it stays queued: the one that ends first enqueues the one that waits longest, and
    so does a worker that is stopped.
    """
    is_stopping = launcher.STOP_EVENT.is_set
    status = Report.Status.QUEUED
    if not is_stopping():
        status = runner.run_report(UUID(report_id), max_running=settings.REPORTS_AT_ONCE)
    has_ended = status != Report.Status.QUEUED or is_stopping()
    if has_ended and (next_report_id := run_state.find_next_queued()) is not None:
        task_queue.enqueue(run_state.RUN_TASK, str(next_report_id), expires=MESSAGE_EXPIRY_SECONDS)
    elif status == Report.Status.READY and not is_stopping():
        preparation.make_in_background()
    return status.value


@shared_task(name=access_answers.ANSWER_TASK, ignore_result=True)
def answer_access_question(question: str, **_: Any) -> None:
    """Answer a question about a finished report, for the page that waits for it."""
    access_answers.answer_question(question)


@shared_task(name="catalog.watch_reports", ignore_result=True)
def watch_reports(**_: Any) -> int:
    """Requeue the reports whose worker disappeared, and resend overdue messages, which may be lost.

    Removes the folders of those runs, publishes what is not yet in the open tables, tells of late nightly runs, and
    returns the number of those whose worker disappeared.
    """
    lost_worker_count = run_state.expire()
    leftovers.remove_spark_folders()
    leftovers.remove_ended_runs()
    if lost_worker_count:
        leftovers.remove_attempt_folders()
    table_publishing.publish_pending()
    for report_id in run_state.list_overdue():
        task_queue.enqueue(run_state.RUN_TASK, str(report_id), expires=MESSAGE_EXPIRY_SECONDS)
    report_events.emit_late()
    return lost_worker_count


@shared_task(name="catalog.reopen_findings", ignore_result=True)
def reopen_findings(**_: Any) -> int:
    """Reopen the findings whose acceptance ended, and return their number."""
    return finding_writer.reopen_expired(timezone.now())


@shared_task(name="catalog.run_nightly_reports", ignore_result=True)
def run_nightly_reports(**_: Any) -> int:
    """Queue every nightly report of which no run is open, delete old runs, and return the number queued."""
    # Those with joins first: all others can use their Spark.
    specs = sorted(KINDS.values(), key=lambda spec: not spec.has_joins)
    new_reports = [
        run_state.queue(spec=spec, parameters=spec.validate({}), by=SYSTEM.urn) for spec in specs if spec.is_nightly
    ]
    reports = [report for report in new_reports if report is not None]
    for report in reports:
        task_queue.enqueue(run_state.RUN_TASK, str(report.pk))
    pruning.delete_old()
    table_publishing.delete_old()
    return len(reports)
