"""Metrics that Prometheus alerts about: open findings, and by kind the last good run and whether the last failed."""

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client.metrics_core import GaugeMetricFamily

from catalog.models import Finding, Report
from catalog.reports.queries import report_rows


def collect() -> Iterator[GaugeMetricFamily]:
    """Yield the metrics of reports, in three queries."""
    findings = GaugeMetricFamily("authz_findings", "Findings that are open or assigned.", labels=["severity"])
    counts = Finding.objects.filter(state__in=[Finding.State.OPEN, Finding.State.ASSIGNED]).order_by()
    count_by_severity = dict(counts.values_list("severity").annotate(count=Count("pk")))
    for severity in Finding.Severity.values:
        findings.add_metric([severity], count_by_severity.get(severity, 0))
    yield findings
    ready_times = GaugeMetricFamily(
        "authz_report_ready_timestamp_seconds", "When the last good run of a kind ended, in Unix time.", labels=["kind"]
    )
    for kind, run in sorted(report_rows.find_newest_by_kind(is_ready=True).items()):
        if run.finished_at is not None:
            ready_times.add_metric([kind], run.finished_at.timestamp())
    yield ready_times
    failures = GaugeMetricFamily("authz_report_failed", "Whether the last run of a kind failed.", labels=["kind"])
    for kind, run in sorted(report_rows.find_newest_by_kind().items()):
        failures.add_metric([kind], run.status == Report.Status.FAILED)
    yield failures
