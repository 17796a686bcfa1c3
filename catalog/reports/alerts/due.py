"""Finds what is worth an alert and has had none, and announces it once.

Every event is claimed in the database before its alert is sent, so two workers send it once, and one that a receiver
loses is not sent again.
"""

import logging
from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from catalog.models import Finding, Report
from catalog.reports import registry
from catalog.reports.alerts.alert import MAX_FINDINGS, Alert, AlertKind, alert_raised
from policies.engine.model import SYSTEM_ACTOR

log = logging.getLogger(__name__)

_ENDED_STATUSES = (Report.Status.READY, Report.Status.FAILED)
_CURRENT_STATES = (Finding.State.OPEN, Finding.State.ASSIGNED)


def send_due() -> int:
    """Send the alerts about runs that ended and nightly runs that are late, and return their number."""
    count = 0
    for alert in _iterate_due():
        count += 1
        log.warning("alert", extra={"kind": alert.kind.value, "report": str(alert.report.pk), "detail": alert.sentence})
        for receiver, error in alert_raised.send_robust(sender=alert.kind, alert=alert):
            if isinstance(error, Exception):
                log.error("alert_not_sent", extra={"receiver": str(receiver), "error": str(error)}, exc_info=error)
    return count


def _iterate_due() -> Iterator[Alert]:
    for report in Report.objects.filter(status__in=_ENDED_STATUSES, alerted_at=None).order_by("finished_at"):
        if not _claim(Report.objects.filter(pk=report.pk, alerted_at=None), "alerted_at"):
            continue
        if report.status == Report.Status.READY:
            yield from _build_findings_alert(report)
        elif report.requested_by == SYSTEM_ACTOR:
            yield _build_alert(AlertKind.RUN_FAILED, report, "failed", report.problem)
    cutoff = timezone.now() - timedelta(minutes=settings.NIGHTLY_LATE_MINUTES)
    open_reports = Report.objects.filter(status__in=Report.OPEN_STATUSES, requested_by=SYSTEM_ACTOR)
    for report in open_reports.filter(requested_at__lt=cutoff, late_alerted_at=None).order_by("requested_at"):
        if _claim(open_reports.filter(pk=report.pk, late_alerted_at=None), "late_alerted_at"):
            sentence = f"It has not ended after {settings.NIGHTLY_LATE_MINUTES} minutes (NIGHTLY_LATE_MINUTES)."
            yield _build_alert(AlertKind.RUN_LATE, report, "is late", sentence)


def _build_findings_alert(report: Report) -> Iterator[Alert]:
    """Yield the alert about the critical findings of a run that had none before, if there are any."""
    new_findings = Finding.objects.filter(
        last_seen=report, severity=Finding.Severity.CRITICAL, state__in=_CURRENT_STATES, alerted_at=None
    ).order_by("type", "key")
    findings = tuple(new_findings[:MAX_FINDINGS])
    finding_count = _claim(new_findings.order_by(), "alerted_at")
    if finding_count:
        noun = "critical finding" if finding_count == 1 else "critical findings"
        title = f"{registry.get_spec(report).title}: {finding_count:,} new {noun}"
        sentence = f"The report of {report.requested_at:%Y-%m-%d %H:%M} UTC has {finding_count:,} new {noun}."
        path = f"{reverse('findings')}?kind={report.kind}&severity={Finding.Severity.CRITICAL}"
        yield Alert(AlertKind.CRITICAL_FINDINGS, report, title, sentence, path, findings, finding_count)


def _build_alert(kind: AlertKind, report: Report, verb: str, sentence: str) -> Alert:
    title = f"{registry.get_spec(report).title} {verb}"
    return Alert(kind, report, title, sentence, reverse("report", args=[report.pk]))


def _claim(rows: QuerySet[Report] | QuerySet[Finding], column: str) -> int:
    return rows.update(**{column: timezone.now()})
