"""What workers do for reports: make them, watch them, and reopen findings."""

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports import finding_writer
from catalog.reports.registry import KINDS
from catalog.reports.run import launcher, run_state, runner
from policies.pdp.authorizer import SYSTEM

#: How long a message to a worker counts; the schedule sends it again while the report waits.
MESSAGE_EXPIRY_SECONDS = 60


@worker_shutting_down.connect
def end_jobs(**_: Any) -> None:
    """End the jobs of this worker, which otherwise would wait for them."""
    launcher.STOP_EVENT.set()


@shared_task(name="catalog.run_report", ignore_result=True)
def run_report(report_id: str, **_: Any) -> str:
    """Make a report, and return how it ended. A message that comes twice, or too late, changes nothing.

    While REPORTS_AT_ONCE others run it waits: the one that ends first sends for the one that waits longest.
    """
    status = runner.run_report(UUID(report_id), max_running=settings.REPORTS_AT_ONCE)
    if status != Report.Status.QUEUED and (next_report_id := run_state.find_next_queued()) is not None:
        run_report.apply_async((str(next_report_id),), expires=MESSAGE_EXPIRY_SECONDS)
    return status.value


@shared_task(name="catalog.watch_reports", ignore_result=True)
def watch_reports(**_: Any) -> int:
    """Queue the reports whose worker is gone once more, and send again what waits: a message may have been lost.

    Returns how many workers were gone.
    """
    lost_worker_count = run_state.expire()
    for report_id in run_state.list_overdue():
        run_report.apply_async((str(report_id),), expires=MESSAGE_EXPIRY_SECONDS)
    return lost_worker_count


@shared_task(name="catalog.reopen_findings", ignore_result=True)
def reopen_findings(**_: Any) -> int:
    """Open the findings whose acceptance is over, and return how many there were."""
    return finding_writer.reopen_expired(timezone.now())


@shared_task(name="catalog.run_nightly_reports", ignore_result=True)
def run_nightly_reports(**_: Any) -> int:
    """Queue every nightly report that does not run already, let go of the oldest ones, and return how many."""
    new_reports = [
        run_state.queue(spec=spec, parameters=spec.validate({}), by=SYSTEM.urn)
        for spec in KINDS.values()
        if spec.is_nightly
    ]
    reports = [report for report in new_reports if report is not None]
    for report in reports:
        run_report.delay(str(report.pk))
    run_state.delete_old()
    return len(reports)
