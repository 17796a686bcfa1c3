"""Alerts: once for each event, by e-mail and to every receiver of the signal, and never in the way of a run."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from catalog.models import Finding, Report
from catalog.reports import tasks as report_tasks
from catalog.reports.alerts import due, metrics
from catalog.reports.alerts.alert import MAX_FINDINGS, Alert, AlertKind, alert_raised
from catalog.reports.registry import KINDS
from catalog.reports.run import run_state
from policies.pdp.authorizer import SYSTEM
from tests import finished

pytestmark = pytest.mark.django_db

KIND = "policy_hygiene"


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.ALERT_RECIPIENTS = ["audit@x.example", "data@x.example"]
    settings.PUBLIC_URL = "https://authz.example"


@pytest.fixture
def alerts() -> Iterator[list[Alert]]:
    """What a channel of its own receives."""
    received: list[Alert] = []

    def receive(*, alert: Alert, **_: Any) -> None:
        received.append(alert)

    alert_raised.connect(receive)
    yield received
    alert_raised.disconnect(receive)


def find(folder: Path, *keys: str, severity: str = "CRITICAL") -> Report:
    """Return a run that found these."""
    rows = [{"key": key, "severity": severity, "sentence": f"About\n{key}."} for key in keys]
    report = finished.ready(folder, KIND, {"findings": rows})
    finished.merge(report)
    return report


def test_a_new_critical_finding_is_one_email_and_never_another(tmp_path: Path, alerts: list[Alert]):
    report = find(tmp_path, "a", "b")
    assert due.send_due() == 1
    (email,) = mail.outbox
    assert email.to == ["audit@x.example", "data@x.example"]
    assert email.subject == "[authzsite] Policy hygiene: 2 new critical findings"
    assert "About a." in email.body
    assert "https://authz.example/reports/findings?kind=policy_hygiene&severity=CRITICAL" in email.body
    assert [(alert.kind, alert.report, alert.finding_count) for alert in alerts] == [
        (AlertKind.CRITICAL_FINDINGS, report, 2)
    ]
    assert due.send_due() == 0
    find(tmp_path, "a", "c")
    assert due.send_due() == 1
    assert [finding.key for finding in alerts[-1].findings] == ["c"]
    find(tmp_path, "a", "b", "c")
    assert due.send_due() == 0, "one that is back was told of"


def test_a_finding_that_becomes_critical_is_new_and_an_accepted_one_is_none(tmp_path: Path, alerts: list[Alert]):
    find(tmp_path, "a", "b", severity="HIGH")
    assert due.send_due() == 0
    Finding.objects.filter(key="b").update(state=Finding.State.ACCEPTED, note="Meant to be so.")
    find(tmp_path, "a", "b")
    assert due.send_due() == 1
    assert [finding.key for finding in alerts[0].findings] == ["a"]


def test_a_list_of_findings_is_bounded(tmp_path: Path, alerts: list[Alert]):
    find(tmp_path, *(f"{number:03}" for number in range(MAX_FINDINGS + 1_000)))
    assert due.send_due() == 1
    assert (len(alerts[0].findings), alerts[0].finding_count) == (MAX_FINDINGS, MAX_FINDINGS + 1_000)
    assert "- and 1,000 more" in mail.outbox[0].body


def test_a_run_of_the_schedule_that_failed_is_an_alert_and_one_of_a_person_is_none(alerts: list[Alert]):
    failed = finished.failed(KIND, "The disk is full.")
    theirs = finished.running(KIND, by="urn:li:corpuser:jo")
    run_state.fail(theirs, problem="No.")
    assert due.send_due() == 1
    assert (alerts[0].kind, alerts[0].report, alerts[0].sentence) == (AlertKind.RUN_FAILED, failed, "The disk is full.")
    assert mail.outbox[0].subject == "[authzsite] Policy hygiene failed"
    assert f"https://authz.example/reports/runs/{failed.pk}" in mail.outbox[0].body
    assert due.send_due() == 0


def test_a_run_of_the_schedule_that_is_late_is_one_alert_and_its_failure_another(alerts: list[Alert], settings: Any):
    settings.NIGHTLY_LATE_MINUTES = 60
    running = finished.running(KIND)
    assert due.send_due() == 0
    Report.objects.filter(pk=running.pk).update(requested_at=timezone.now() - timedelta(minutes=61))
    report_tasks.watch_reports()
    assert due.send_due() == 0
    run_state.fail(running, problem="No.")
    assert due.send_due() == 1
    assert [alert.kind for alert in alerts] == [AlertKind.RUN_LATE, AlertKind.RUN_FAILED]
    assert mail.outbox[0].subject == "[authzsite] Policy hygiene is late"


def test_a_server_of_emails_that_is_away_keeps_nobody_from_anything(
    settings: Any, alerts: list[Alert], caplog: pytest.LogCaptureFixture
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    finished.failed(KIND, "The disk is full.")
    assert due.send_due() == 1
    assert len(alerts) == 1
    assert "alert_not_sent" in caplog.text
    assert due.send_due() == 0


def test_without_recipients_no_email_is_sent(settings: Any, alerts: list[Alert]):
    settings.ALERT_RECIPIENTS = []
    finished.failed(KIND, "The disk is full.")
    assert due.send_due() == 1
    assert len(alerts) == 1
    assert mail.outbox == []


def test_metrics_of_reports(tmp_path: Path):
    find(tmp_path, "a")
    Report.objects.update(summary={"unjudged": ["shop is not compared.", "snow is not compared."]})
    finished.failed(KIND, "The disk is full.")
    queued = run_state.queue(spec=KINDS["unused_access"], parameters={}, by=SYSTEM.urn)
    assert queued is not None
    registry = CollectorRegistry()
    registry.register(type("Reports", (), {"collect": staticmethod(metrics.collect)})())
    text = generate_latest(registry).decode()
    assert 'authz_findings{severity="CRITICAL"} 1.0' in text
    assert 'authz_findings{severity="LOW"} 0.0' in text
    assert 'authz_report_ready_timestamp_seconds{kind="policy_hygiene"}' in text
    (duration,) = re.findall(r'authz_report_duration_seconds{kind="policy_hygiene"} (.*)', text)
    assert float(duration) >= 0
    assert 'authz_report_unjudged{kind="policy_hygiene"} 2.0' in text
    assert 'authz_report_runs{status="QUEUED"} 1.0' in text
    assert 'authz_report_runs{status="RUNNING"} 0.0' in text
    assert 'authz_report_failed{kind="policy_hygiene"} 1.0' in text
    assert 'authz_report_failed{kind="unused_access"} 0.0' in text
