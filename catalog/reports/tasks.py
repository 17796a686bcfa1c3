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
REPEATED_SECONDS = 60


@worker_shutting_down.connect
def end_jobs(**_: Any) -> None:
    """End the jobs of this worker, which otherwise would wait for them."""
    launcher.STOPPING.set()


@shared_task(name="catalog.run_report", ignore_result=True)
def run_report(report_id: str, **_: Any) -> str:
    """Make a report, and return how it ended. A message that comes twice, or too late, changes nothing.

    While REPORTS_AT_ONCE others run it waits: the one that ends first sends for the one that waits longest.
    """
    status = runner.make(UUID(report_id), at_once=settings.REPORTS_AT_ONCE)
    if status != Report.Status.QUEUED and (following := run_state.following()) is not None:
        run_report.apply_async((str(following),), expires=REPEATED_SECONDS)
    return status.value


@shared_task(name="catalog.watch_reports", ignore_result=True)
def watch_reports(**_: Any) -> int:
    """Queue the reports whose worker is gone once more, and send again what waits: a message may have been lost.

    Returns how many workers were gone.
    """
    gone = run_state.expire()
    for report_id in run_state.waiting():
        run_report.apply_async((str(report_id),), expires=REPEATED_SECONDS)
    return gone


@shared_task(name="catalog.reopen_findings", ignore_result=True)
def reopen_findings(**_: Any) -> int:
    """Open the findings whose acceptance is over, and return how many there were."""
    return finding_writer.reopen_ended(timezone.now())


@shared_task(name="catalog.run_nightly_reports", ignore_result=True)
def run_nightly_reports(**_: Any) -> int:
    """Queue every nightly report that does not run already, let go of the oldest ones, and return how many."""
    queued = [
        run_state.queue(kind=kind, parameters=kind.checked({}), by=SYSTEM.urn)
        for kind in KINDS.values()
        if kind.is_nightly
    ]
    found = [report for report in queued if report is not None]
    for report in found:
        run_report.delay(str(report.pk))
    run_state.forget()
    return len(found)
