"""What is told of reports: once for each fact, in the inbox and by mail, and never in the way of a run."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from catalog.models import Finding, Report
from catalog.reports import metrics, report_events
from catalog.reports import tasks as report_tasks
from catalog.reports.registry import KINDS
from catalog.reports.report_events import MAX_FINDINGS
from catalog.reports.run import run_state
from catalog.reports.services import findings
from policies.events import tasks as event_tasks
from policies.identity.services import groups, users
from policies.models import EventType, Mail, Notice, OutboxEvent
from policies.pdp.authorizer import SYSTEM
from tests import finished

pytestmark = pytest.mark.django_db

KIND = "policy_hygiene"
JO = "urn:li:corpuser:jo"


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.ALERT_RECIPIENTS = ["audit@x.example"]
    settings.PUBLIC_URL = "https://authz.example"
    settings.NOTICE_MAIL = True


def find(folder: Path, *keys: str, severity: str = "CRITICAL") -> Report:
    """Return a run that found these."""
    rows = [{"key": key, "severity": severity, "sentence": f"About\n{key}."} for key in keys]
    return finished.complete(folder, KIND, rows)


def tell() -> list[str]:
    """Deliver what is due, and return the subjects of the new mails."""
    earlier = len(mail.outbox)
    event_tasks.deliver_events()
    return [str(message.subject) for message in mail.outbox[earlier:]]


def list_types() -> list[str]:
    """Return the types of all events about runs, in their order."""
    rows = OutboxEvent.objects.filter(type__startswith="report.").order_by("change_set__change_seq", "pk")
    return list(rows.values_list("type", flat=True))


def test_a_new_critical_finding_is_one_mail_and_never_another(tmp_path: Path):
    report = find(tmp_path, "a", "b")
    assert tell() == ["[authzsite] Policy hygiene: 2 new critical findings"]
    (message,) = mail.outbox
    assert message.to == ["audit@x.example"]
    assert "About a." in message.body
    assert "https://authz.example/reports/findings?kind=policy_hygiene&severity=CRITICAL" in message.body
    event = OutboxEvent.objects.get(type=EventType.REPORT_READY)
    assert (event.subject, event.data["new_critical"]) == (f"report:{report.pk}", 2)
    assert tell() == []
    find(tmp_path, "a", "c")
    assert tell() == ["[authzsite] Policy hygiene: 1 new critical finding"]
    assert "About c." in mail.outbox[-1].body
    find(tmp_path, "a", "b", "c")
    assert tell() == [], "one that is back was told of"


def test_a_finding_that_becomes_critical_is_new_and_an_accepted_one_is_none(tmp_path: Path):
    find(tmp_path, "a", "b", severity="HIGH")
    assert tell() == []
    Finding.objects.filter(key="b").update(state=Finding.State.ACCEPTED, note="Meant to be so.")
    find(tmp_path, "a", "b")
    assert tell() == ["[authzsite] Policy hygiene: 1 new critical finding"]


def test_each_finding_is_an_event_and_a_mail_lists_the_first(tmp_path: Path):
    find(tmp_path, *(f"{number:03}" for number in range(MAX_FINDINGS + 1_000)))
    assert len(tell()) == 1
    assert "- and 1,000 more" in mail.outbox[0].body
    assert OutboxEvent.objects.filter(type=EventType.FINDING_OPENED).count() == MAX_FINDINGS + 1_000
    find(tmp_path, "000")
    assert OutboxEvent.objects.filter(type=EventType.FINDING_CLOSED).count() == MAX_FINDINGS + 999


def test_whoever_a_finding_is_assigned_to_is_told_without_what_it_names(tmp_path: Path):
    users.create(username="jo", by=SYSTEM, channel="test", email="jo@x.example")
    group = groups.create(name="Stewards", by=SYSTEM, channel="test")
    groups.add_members(urn=group.urn, members=[JO], by=SYSTEM, channel="test")
    find(tmp_path, "a", "b", severity="HIGH")
    first, second = Finding.objects.order_by("key")
    findings.assign(ids=[first.pk], assignee=JO, by=SYSTEM, channel="api")
    findings.assign(ids=[second.pk], assignee=group.urn, by=SYSTEM)
    tell()
    notices = Notice.objects.filter(user__urn=JO).order_by("pk")
    assert [notice.path for notice in notices] == [f"/reports/findings/{pk}" for pk in (first.pk, second.pk)]
    assert not any("About" in notice.title + notice.text for notice in notices)
    event = OutboxEvent.objects.get(type=EventType.FINDING_ASSIGNED, subject=f"finding:{first.pk}")
    assert (event.data["assignee"], event.through) == (JO, "api")


def test_a_nightly_run_that_failed_is_told_to_addresses_and_another_to_the_person_who_asked():
    users.create(username="jo", by=SYSTEM, channel="test", email="jo@x.example")
    failed = finished.failed(KIND, "The disk is full.")
    run_state.fail(finished.running(KIND, by=JO), problem="No.")
    assert tell() == ["[authzsite] Policy hygiene failed"] * 2
    assert [message.to for message in mail.outbox] == [["audit@x.example"], ["jo@x.example"]]
    assert "The disk is full." in mail.outbox[0].body
    assert f"https://authz.example/reports/runs/{failed.pk}" in mail.outbox[0].body
    assert tell() == []


def test_a_nightly_run_that_is_late_is_told_once_and_its_failure_is_another_fact(settings: Any):
    settings.NIGHTLY_LATE_MINUTES = 60
    running = finished.running(KIND)
    assert report_events.emit_late() == 0
    Report.objects.filter(pk=running.pk).update(requested_at=timezone.now() - timedelta(minutes=61))
    report_tasks.watch_reports()
    assert report_events.emit_late() == 0
    run_state.fail(running, problem="No.")
    assert run_state.fail(running, problem="Again.") is False
    assert list_types() == [EventType.REPORT_LATE, EventType.REPORT_FAILED]
    assert tell() == ["[authzsite] Policy hygiene is late", "[authzsite] Policy hygiene failed"]


def test_a_mail_server_that_is_away_loses_nothing(settings: Any, caplog: pytest.LogCaptureFixture):
    backend = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    finished.failed(KIND, "The disk is full.")
    assert tell() == []
    assert "mail_not_sent" in caplog.text
    waiting = Mail.objects.get()
    assert (waiting.state, waiting.attempts, waiting.claimed_until) == (Mail.State.WAITING, 1, None)
    settings.EMAIL_BACKEND = backend
    assert tell() == [], "it is not tried again at once"
    Mail.objects.update(next_attempt_at=timezone.now())
    assert tell() == ["[authzsite] Policy hygiene failed"]
    assert mail.outbox[-1].extra_headers["Message-ID"] == waiting.message_id


def test_without_recipients_no_mail_is_sent(settings: Any):
    settings.ALERT_RECIPIENTS = []
    finished.failed(KIND, "The disk is full.")
    assert tell() == []
    assert list_types() == [EventType.REPORT_FAILED]


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
