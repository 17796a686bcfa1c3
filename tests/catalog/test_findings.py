"""Findings outlive the runs that found them: what people decided stays, what is gone closes, what is back opens."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.models import Finding, FindingEvent, Report, ReportRow
from catalog.reports import finding_writer as merging
from catalog.reports import tasks as report_tasks
from catalog.reports.kinds.policy_hygiene import spec as policy_hygiene_spec
from catalog.reports.kinds.role_mapping_check import tables
from catalog.reports.kinds.role_mapping_check.spec import SPEC
from catalog.reports.services import findings
from policies.authoring.services import policies, policy_drafts
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests import finished
from tests.web.conftest import document_of

pytestmark = pytest.mark.django_db

STATE = Finding.State


def loaded(*keys: str, **values: str) -> Report:
    """Return a run that found these, merged."""
    report = loaded_rows(*keys, **values)
    finished.merge(report)
    return report


def loaded_rows(
    *keys: str,
    severity: str = "HIGH",
    sentence: str = "It differs.",
    export: str = "snow",
    fingerprint: str | None = None,
) -> Report:
    """Return a run with these rows, not yet merged."""
    now = timezone.now()
    report = Report.objects.create(
        kind=SPEC.name,
        requested_by="urn:li:corpuser:datahub",
        status=Report.Status.READY,
        started_at=now,
        finished_at=now,
        policy_version=1,
        as_of=now,
    )
    ReportRow.objects.bulk_create(
        ReportRow(
            report=report,
            table="findings",
            position=place,
            key=key,
            values=[
                severity,
                "EXTRA_GRANT",
                sentence,
                "urn:li:role:r",
                None,
                None,
                export,
                "REVOKE …",
                key,
                None,
                None,
                fingerprint,
                None,
                None,
                "grants.csv:2",
            ],
        )
        for place, key in enumerate(keys)
    )
    return report


def states() -> dict[str, str]:
    return dict(Finding.objects.values_list("key", "state"))


def pk(key: str) -> int:
    return Finding.objects.get(key=key).pk


@pytest.fixture
def jo() -> str:
    users.create(username="jo", by=authorizer.SYSTEM, channel="test")
    return "urn:li:corpuser:jo"


def test_what_is_new_opens_and_what_is_gone_closes() -> None:
    first = loaded("a", "b")
    second = loaded("b", "c", severity="LOW", sentence="It differs a little.")
    assert states() == {"a": STATE.CLOSED, "b": STATE.OPEN, "c": STATE.OPEN}
    found = Finding.objects.get(key="b")
    assert (found.first_seen, found.last_seen) == (first, second)
    assert (found.severity, found.sentence, found.repair) == ("LOW", "It differs a little.", "REVOKE …")
    assert found.values == {"role": "urn:li:role:r", "export": "snow", "evidence": "grants.csv:2"}


def test_what_was_found_in_an_export_that_is_not_compared_stays() -> None:
    loaded("a", "b", export="snow")
    loaded("c", export="frost")
    assert states() == {"a": STATE.CLOSED, "b": STATE.CLOSED, "c": STATE.OPEN}
    report = loaded_rows("a", export="snow")
    names = [column.name for column in tables.EXPORTS.columns]
    for position, (export, problem) in enumerate({"snow": None, "frost": "a.csv is too large."}.items()):
        values = dict.fromkeys(names) | {"export": export, "problem": problem}
        row = {"report": report, "table": "exports", "position": position, "key": export}
        ReportRow.objects.create(**row, values=list(values.values()))
    finished.merge(report)
    assert states() == {"a": STATE.OPEN, "b": STATE.CLOSED, "c": STATE.OPEN}
    loaded("a")
    assert states() == {"a": STATE.OPEN, "b": STATE.CLOSED, "c": STATE.CLOSED}


def test_what_people_decided_survives_the_next_run(jo: str) -> None:
    loaded("a", "b", "c", "d")
    by: Any = {"by": authorizer.SYSTEM}
    assert findings.accept(ids=[pk("a")], note=" As agreed ", **by) == 1
    assert findings.assign(ids=[pk("b"), pk("c"), 0], assignee=jo, **by) == 2
    findings.reopen(ids=[pk("c")], **by)
    findings.close(ids=[pk("d")], note="Done.", **by)
    assert states() == {"a": STATE.ACCEPTED, "b": STATE.ASSIGNED, "c": STATE.OPEN, "d": STATE.CLOSED}
    loaded("a", "b", "c")
    assert states() == {"a": STATE.ACCEPTED, "b": STATE.ASSIGNED, "c": STATE.OPEN, "d": STATE.CLOSED}
    assert Finding.objects.get(key="a").note == "As agreed"
    assert Finding.objects.get(key="b").assignee == jo


def test_what_stands_for_several_is_accepted_with_these_alone(jo: str) -> None:
    by: Any = {"by": authorizer.SYSTEM}
    loaded("a", "b", "c", fingerprint="1F")
    findings.accept(ids=[pk("a"), pk("b")], note="As agreed", **by)
    findings.assign(ids=[pk("c")], assignee=jo, **by)
    loaded("a", "b", "c", fingerprint="1F", sentence="It differs in other words.")
    assert states() == {"a": STATE.ACCEPTED, "b": STATE.ACCEPTED, "c": STATE.ASSIGNED}
    report = loaded("a", "b", "c", fingerprint="2E")
    assert states() == {"a": STATE.OPEN, "b": STATE.OPEN, "c": STATE.ASSIGNED}
    assert FindingEvent.objects.filter(report=report, state=STATE.OPEN).count() == 2
    assert Finding.objects.get(key="a").values["fingerprint"] == "2E"


def test_a_value_can_have_the_name_of_a_column() -> None:
    loaded("a", export="fingerprint")
    findings.accept(ids=[pk("a")], note="As agreed", by=authorizer.SYSTEM)
    loaded("a", export="fingerprint")
    assert states() == {"a": STATE.ACCEPTED}


def test_what_was_closed_and_is_found_again_opens(jo: str) -> None:
    loaded("a", "b", "c")
    findings.close(ids=[pk("a")], by=authorizer.SYSTEM)
    findings.assign(ids=[pk("b")], assignee=jo, by=authorizer.SYSTEM)
    loaded("a")
    assert states() == {"a": STATE.OPEN, "b": STATE.CLOSED, "c": STATE.CLOSED}
    assert Finding.objects.get(key="a").decided_by == ""
    loaded("a", "b", "c")
    assert states() == dict.fromkeys("abc", STATE.OPEN)


def test_findings_outlive_the_runs() -> None:
    loaded("a")
    Report.objects.all().delete()
    assert states() == {"a": STATE.OPEN}
    loaded()
    assert states() == {"a": STATE.CLOSED}


def test_many_are_merged_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BATCH_ROWS", 7)
    loaded(*map(str, range(20)))
    loaded(*map(str, range(3, 50)))
    assert Finding.objects.filter(state=STATE.CLOSED).count() == 3
    assert Finding.objects.filter(state=STATE.OPEN).count() == 47


def test_a_batch_of_findings_takes_as_many_statements_as_one() -> None:
    def merged(*keys: str) -> int:
        report = loaded_rows(*keys)
        with CaptureQueriesContext(connection) as queries:
            finished.merge(report)
        return len(queries)

    counts = []
    for keys in (["a"], list(map(str, range(300))), ["a"], list(map(str, range(300)))):
        loaded("other")
        counts.append(merged(*keys))
    opened_one, opened_many, reopened_one, reopened_many = counts
    assert (opened_one, reopened_one) == (opened_many, reopened_many)


def test_a_merge_that_is_broken_off_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BATCH_ROWS", 7)
    first = loaded("a", "b")
    report = loaded_rows("b", *map(str, range(20)))
    told: list[int] = []
    with (
        merging.stage(report, SPEC, on_progress=told.append) as staged,
        pytest.raises(Conflict),
        transaction.atomic(),
    ):
        merging.merge(report, SPEC, staged, on_batch=stop)
    assert told == [7, 14, 21]
    assert states() == {"a": STATE.OPEN, "b": STATE.OPEN}
    assert set(Finding.objects.values_list("last_seen", flat=True)) == {first.pk}


def stop() -> None:
    """End what calls this."""
    raise Conflict("It is over.")


def test_who_may_not_manage_policies_decides_nothing(jo: str) -> None:
    loaded("a")
    nobody = Actor(jo, frozenset(), frozenset(), is_active=True)
    for decide in (
        lambda: findings.accept(ids=[pk("a")], note="x", by=nobody),
        lambda: findings.assign(ids=[pk("a")], assignee=jo, by=nobody),
        lambda: findings.close(ids=[pk("a")], by=nobody),
        lambda: findings.reopen(ids=[pk("a")], by=nobody),
    ):
        with pytest.raises(Forbidden):
            decide()
    assert states() == {"a": STATE.OPEN}


def test_accepting_needs_a_reason_and_assigning_somebody() -> None:
    loaded("a")
    with pytest.raises(Invalid) as raised:
        findings.accept(ids=[pk("a")], note="  ", by=authorizer.SYSTEM)
    assert [one.pointer for one in raised.value.problems] == ["/note"]
    for stranger in ("urn:li:corpuser:ghost", "urn:li:dataHubRole:Admin", ""):
        with pytest.raises(Invalid):
            findings.assign(ids=[pk("a")], assignee=stranger, by=authorizer.SYSTEM)


def trail(key: str) -> list[tuple[str, str, str]]:
    return list(FindingEvent.objects.filter(finding__key=key).values_list("state", "by", "note"))


def test_every_decision_stays_in_the_trail(jo: str) -> None:
    loaded("a", "b")
    system = authorizer.SYSTEM.urn
    findings.assign(ids=[pk("a"), pk("b")], assignee=jo, note="Please look", by=authorizer.SYSTEM)
    findings.accept(ids=[pk("a")], note="As agreed", by=authorizer.SYSTEM)
    findings.reopen(ids=[pk("a")], by=authorizer.SYSTEM)
    last = loaded("b")
    assert trail("a") == [
        (STATE.ASSIGNED, system, "Please look"),
        (STATE.ACCEPTED, system, "As agreed"),
        (STATE.OPEN, system, ""),
        (STATE.CLOSED, "", ""),
    ]
    assert trail("b") == [(STATE.ASSIGNED, system, "Please look")]
    assert FindingEvent.objects.filter(finding__key="a").latest("pk").report == last
    assert Finding.objects.get(key="a").note == "As agreed", "the last note stays where it was"


def test_an_acceptance_ends_by_itself(jo: str) -> None:
    loaded("a", "b", "c")
    today = timezone.now().date()
    findings.accept(ids=[pk("a")], note="For now", until=today, by=authorizer.SYSTEM)
    findings.accept(ids=[pk("b")], note="For long", until=today + timedelta(days=1), by=authorizer.SYSTEM)
    findings.accept(ids=[pk("c")], note="For good", by=authorizer.SYSTEM)
    assert report_tasks.reopen_findings() == 0, "the day itself is still accepted"
    later = datetime.combine(today, datetime.min.time(), UTC) + timedelta(days=1)
    assert merging.reopen_expired(later) == 1
    assert states() == {"a": STATE.OPEN, "b": STATE.ACCEPTED, "c": STATE.ACCEPTED}
    ended = Finding.objects.get(key="a")
    assert (ended.accepted_until, ended.decided_by, ended.note) == (None, "", "For now")
    assert trail("a")[-1] == (STATE.OPEN, "", "")
    findings.assign(ids=[pk("b")], assignee=jo, by=authorizer.SYSTEM)
    assert Finding.objects.get(key="b").accepted_until is None


def test_an_acceptance_cannot_have_ended_before_it_began() -> None:
    loaded("a")
    yesterday = timezone.now().date() - timedelta(days=1)
    with pytest.raises(Invalid) as raised:
        findings.accept(ids=[pk("a")], note="", until=yesterday, by=authorizer.SYSTEM)
    assert [one.pointer for one in raised.value.problems] == ["/note", "/until"]


def test_sentences_about_policies_name_the_policy_and_whom_they_speak_of(jo: str) -> None:
    draft = policy_drafts.PolicyInput("datahub", document_of(displayName="Stewards tag"))
    policy = policies.create(draft=draft, by=authorizer.SYSTEM, channel="test").policy.urn
    columns = next(one for one in policy_hygiene_spec.SPEC.tables if one.name == "findings").columns
    rows = [{"policy": policy, "person": jo}, {"policy": policy, "person": "urn:li:corpuser:ghost"}, {"policy": policy}]
    run = loaded()
    run.kind = policy_hygiene_spec.SPEC.name
    run.save()
    said = {"severity": "HIGH", "type": "ROLE_BESIDE_ISOLATION", "sentence": "It keeps somebody away.", "repair": ""}
    ReportRow.objects.bulk_create(
        ReportRow(
            report=run,
            table="findings",
            position=place,
            key=str(place),
            values=[{**said, **row, "key": str(place)}.get(column.name) for column in columns],
        )
        for place, row in enumerate(rows)
    )
    finished.merge(run)
    assert list(Finding.objects.order_by("key").values_list("sentence", flat=True)) == [
        "“Stewards tag” (jo): It keeps somebody away.",
        "“Stewards tag” (urn:li:corpuser:ghost): It keeps somebody away.",
        "“Stewards tag”: It keeps somebody away.",
    ]
    assert set(Finding.objects.values_list("subject", flat=True)) == {policy}


def test_whom_it_is_assigned_to_reads_it_and_no_other(jo: str) -> None:
    loaded("a", "b", "c")
    findings.assign(ids=[pk("a")], assignee=jo, by=authorizer.SYSTEM)
    findings.assign(
        ids=[pk("b")],
        assignee=groups.create(name="crew", by=authorizer.SYSTEM, channel="test").urn,
        by=authorizer.SYSTEM,
    )
    reader = Actor(jo, frozenset({Finding.objects.get(key="b").assignee}))
    assert [findings.read(id=pk(key), by=reader).key for key in "ab"] == ["a", "b"]
    for number, by in ((pk("c"), reader), (0, reader), (pk("a"), Actor(jo, is_active=False))):
        with pytest.raises(Forbidden):
            findings.read(id=number, by=by)
    with pytest.raises(NotFound):
        findings.read(id=0, by=authorizer.SYSTEM)
