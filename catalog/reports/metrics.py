"""Metrics of reports: open findings, open runs, and by kind the last good run, and whether the last failed."""

from collections.abc import Iterator
from operator import itemgetter

from django.db.models import Count
from prometheus_client.metrics_core import GaugeMetricFamily

from catalog.models import Finding, Report
from catalog.reports.queries import report_rows
from catalog.reports.summary import Summary


def collect() -> Iterator[GaugeMetricFamily]:
    """Yield the metrics of reports, in five queries."""
    findings = GaugeMetricFamily("authz_findings", "Findings that are open or assigned.", labels=["severity"])
    counts = Finding.objects.filter(state__in=[Finding.State.OPEN, Finding.State.ASSIGNED]).order_by()
    count_by_severity = dict(counts.values_list("severity").annotate(count=Count("pk")))
    for severity in Finding.Severity.values:
        findings.add_metric([severity], count_by_severity.get(severity, 0))
    yield findings
    runs = GaugeMetricFamily(
        "authz_report_runs", "Runs that wait for a worker, or that one works on.", labels=["status"]
    )
    open_runs = Report.objects.filter(status__in=Report.OPEN_STATUSES).order_by()
    count_by_status = dict(open_runs.values_list("status").annotate(count=Count("pk")))
    for status in Report.OPEN_STATUSES:
        runs.add_metric([status], count_by_status.get(status, 0))
    yield runs
    ready_times = GaugeMetricFamily(
        "authz_report_ready_timestamp_seconds", "When the last good run of a kind ended, in Unix time.", labels=["kind"]
    )
    durations = GaugeMetricFamily(
        "authz_report_duration_seconds", "How long a worker worked on the last good run of a kind.", labels=["kind"]
    )
    unjudged = GaugeMetricFamily(
        "authz_report_unjudged",
        "The things that the last good run of a kind could not judge, such as exports that cannot be read.",
        labels=["kind"],
    )
    ready_runs = report_rows.find_newest_by_kind(is_ready=True)
    summaries = Report.objects.filter(pk__in=[run.pk for run in ready_runs.values()]).values_list("kind", "summary")
    for kind, summary in sorted(summaries, key=itemgetter(0)):
        unjudged.add_metric([kind], len(Summary.parse(summary).unjudged))
    yield unjudged
    for kind, run in sorted(ready_runs.items()):
        if run.finished_at is not None and run.started_at is not None:
            ready_times.add_metric([kind], run.finished_at.timestamp())
            durations.add_metric([kind], (run.finished_at - run.started_at).total_seconds())
    yield ready_times
    yield durations
    failures = GaugeMetricFamily("authz_report_failed", "Whether the last run of a kind failed.", labels=["kind"])
    for kind, run in sorted(report_rows.find_newest_by_kind().items()):
        failures.add_metric([kind], run.status == Report.Status.FAILED)
    yield failures
