"""The decision log: what is kept, that it is written, what happens when it cannot be, and how it is read and ends."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.utils import timezone
from prometheus_client import REGISTRY

from policies.engine.model import Decision, DecisionCode, Effect, Statement, StatementOrigin
from policies.engine.requirements import Need, Requirement, any_of_requirement, privilege_requirement
from policies.engine.selectors import ActorMatch, Selector
from policies.models import LoggedDecision
from policies.pdp import requirement_text
from policies.pdp import tasks as pdp_tasks
from policies.pdp.log import decision_log, decision_log_queries
from policies.pdp.log.decision_log import BufferedLogWriter, Entry, RequestChannel, RequestContext
from policies.pdp.log.decision_log_queries import LogPosition

JO = "urn:li:corpuser:jo"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CALL = RequestContext(NOON, "api", JO, "request-1")
ALLOWED = Decision(is_allowed=True, code=DecisionCode.ALLOWED, version=7)
REFUSED = Decision(is_allowed=False, code=DecisionCode.IMPLICIT_DENY, version=7)


def entry(decision=REFUSED, *, resource="urn:li:dataset:d", requirement=None, actor=JO):
    return Entry(
        CALL, actor, "", requirement or privilege_requirement("READ"), resource, "dataset", (), decision, 1.23456
    )


def row(**changes):
    """Store a row as the thread would, with these fields changed."""
    known = {
        "at": NOON,
        "actor": JO,
        "by": JO,
        "door": "api",
        "request_id": "",
        "operation": "",
        "wanted": "READ",
        "resource": "urn:li:dataset:d",
        "resource_type": "dataset",
        "sub_resources": [],
        "is_allowed": False,
        "code": "implicit_deny",
        "policy_version": 1,
        "statements": [],
        "milliseconds": 1.0,
    }
    return LoggedDecision.objects.create(**known | changes)


@pytest.mark.parametrize(("share", "kept"), [(0, 0), (0.25, 25), (0.01, 1), (0.3, 30), (1, 100)])
def test_refusals_are_always_kept_and_of_the_others_an_even_share(settings, share, kept):
    settings.DECISION_LOG_SAMPLE = share
    keeper = BufferedLogWriter()
    found = keeper.sample_indexes([ALLOWED] * 100)
    assert len(found) == kept
    keeper = BufferedLogWriter()
    one_by_one = [index for index in range(100) if keeper.sample_indexes([ALLOWED])]
    assert one_by_one == found
    assert keeper.sample_indexes([REFUSED] * 100) == list(range(100))


@pytest.mark.django_db(transaction=True)
def test_what_waits_is_written_before_the_log_ends():
    keeper = BufferedLogWriter()
    statement = Statement(
        StatementOrigin("urn:li:dataHubPolicy:p", "P", 2), Effect.ALLOW, ActorMatch(), frozenset(), Selector()
    )
    keeper.enqueue(entry(ALLOWED._replace(grants=(statement,))))
    for number in range(decision_log.INSERT_BATCH_SIZE * 2):
        keeper.enqueue(entry(resource=f"urn:li:dataset:{number}"))
    keeper.stop()
    assert LoggedDecision.objects.count() == decision_log.INSERT_BATCH_SIZE * 2 + 1
    found = LoggedDecision.objects.get(is_allowed=True)
    assert (found.at, found.actor, found.by, found.door, found.request_id) == (NOON, JO, JO, "api", "request-1")
    assert (found.wanted, found.code, found.policy_version, found.milliseconds) == ("READ", "allowed", 7, 1.235)
    assert found.statements == [{"policy": "urn:li:dataHubPolicy:p", "name": "P", "statement": 2, "effect": "allow"}]


@pytest.mark.django_db(transaction=True)
def test_text_that_no_column_holds_does_not_cost_the_rows_beside_it():
    keeper = BufferedLogWriter()
    keeper.enqueue(
        entry(actor="urn:li:corpuser:\x00\ud800" + "x" * 600, requirement=privilege_requirement("p" * 5_000))
    )
    keeper.enqueue(entry())
    keeper.stop()
    assert LoggedDecision.objects.filter(actor=JO).count() == 1
    odd = LoggedDecision.objects.exclude(actor=JO).get()
    assert odd.actor.startswith("urn:li:corpuser:�?x")
    assert (len(odd.actor), odd.actor[-1], odd.wanted) == (512, "…", "…")


@pytest.mark.django_db(transaction=True)
def test_what_does_not_fit_is_dropped_counted_and_said(monkeypatch, caplog):
    # Nothing is written before the end.
    monkeypatch.setattr(decision_log, "COLLECT_SECONDS", 600.0)
    keeper = BufferedLogWriter(capacity=10)
    lost = REGISTRY.get_sample_value("authz_decisions_not_logged_total")
    assert lost is not None
    for _ in range(25):
        keeper.enqueue(entry())
    keeper.stop()
    assert REGISTRY.get_sample_value("authz_decisions_not_logged_total") == lost + 15
    assert LoggedDecision.objects.count() == 10
    (said,) = [record for record in caplog.records if record.getMessage() == "decisions_not_logged"]
    assert said.count == 15


@pytest.mark.django_db(transaction=True)
def test_rows_wait_for_a_database_that_is_away(monkeypatch, caplog):
    monkeypatch.setattr(decision_log, "RETRY_SECONDS", 0.0)
    failures = iter(range(3))

    def refuse(**_):
        if next(failures, None) is not None:
            raise OperationalError("away")

    connection_created.connect(refuse)
    try:
        keeper = BufferedLogWriter()
        keeper.enqueue(entry())
        keeper.stop()
    finally:
        connection_created.disconnect(refuse)
    assert [record.waiting for record in caplog.records if record.getMessage() == "decisions_wait"] == [1, 1, 1]
    assert LoggedDecision.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_end_waits_once_for_a_database_that_stays_away_however_many_wait(monkeypatch, caplog):
    monkeypatch.setattr(decision_log, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(decision_log, "FINAL_SECONDS", 0.2)

    def refuse(**_):
        raise OperationalError("away")

    keeper = BufferedLogWriter()
    for _ in range(decision_log.INSERT_BATCH_SIZE * 20):
        keeper.enqueue(entry())
    connection_created.connect(refuse)
    try:
        started_at = time.monotonic()
        keeper.stop()
        assert time.monotonic() - started_at < 5
    finally:
        connection_created.disconnect(refuse)
    dropped = [record.count for record in caplog.records if record.getMessage() == "decisions_not_logged"]
    assert sum(dropped) + LoggedDecision.objects.count() == decision_log.INSERT_BATCH_SIZE * 20


@pytest.mark.django_db(transaction=True)
def test_rows_that_cannot_be_written_at_all_are_counted_and_said(monkeypatch, caplog):
    monkeypatch.setattr(decision_log, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(decision_log, "FINAL_SECONDS", 0.2)
    keeper = BufferedLogWriter()
    table = LoggedDecision._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
    try:
        keeper.enqueue(entry())
        keeper.stop()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table}_away RENAME TO {table}")
    assert any(record.getMessage() == "decisions_not_logged" for record in caplog.records)


@pytest.mark.django_db(transaction=True)
def test_a_long_list_of_privileges_ends_after_a_whole_name():
    names = [f"PRIVILEGE_{number}" for number in range(100)]
    keeper = BufferedLogWriter()
    keeper.enqueue(entry(ALLOWED, requirement=any_of_requirement([[name] for name in names])))
    keeper.stop()
    wanted = LoggedDecision.objects.get().wanted
    *found, last = wanted.split(" or ")
    assert 50 < len(found) < 100
    assert set(found) < set(names)
    assert last.endswith("…")
    assert len(wanted) <= 1024


@pytest.mark.django_db(transaction=True)
def test_only_what_comes_through_a_door_while_a_log_is_kept_is_noted():
    door = RequestChannel(name=lambda: "api", by=lambda: JO, request_id=lambda: "r")
    with decision_log.bind_request(door):
        assert decision_log.current_context() is None
    decision_log.start()
    try:
        assert decision_log.current_context() is None
        with decision_log.bind_request(door):
            found = decision_log.current_context()
            assert found is not None
            call = found[1]
            assert (call.channel, call.by, call.request_id) == ("api", JO, "r")
    finally:
        decision_log.stop()
    assert decision_log.current_context() is None


@pytest.mark.django_db
def test_filters_narrow_and_names_are_compared_exactly():
    row(wanted="EDIT_ENTITY_TAGS or EDIT_ENTITY", is_allowed=True)
    row(wanted="edit_entity", at=NOON + timedelta(hours=1), door="pages", by="urn:li:corpuser:ada")
    row(wanted="EDIT_ENTITY_DOCS", at=NOON + timedelta(hours=2), resource="urn:li:dataset:D")
    every = decision_log_queries.list_decisions

    def wanted(**filters):
        return [one.wanted for one in every(**filters)]

    assert (
        wanted(privilege="EDIT_ENTITY") == wanted(privilege="EDIT_ENTITY_TAGS") == ["EDIT_ENTITY_TAGS or EDIT_ENTITY"]
    )
    assert (
        wanted(privilege="edit_entity") == wanted(door="pages") == wanted(by="urn:li:corpuser:ada") == ["edit_entity"]
    )
    assert wanted(resource="urn:li:dataset:D") == ["EDIT_ENTITY_DOCS"]
    assert wanted(outcome="ALLOW") == ["EDIT_ENTITY_TAGS or EDIT_ENTITY"]
    assert wanted(since=NOON + timedelta(hours=1), until=NOON + timedelta(hours=2)) == ["edit_entity"]
    assert wanted(privilege="\ud800") == wanted(privilege="%") == wanted(actor="\x00") == []
    assert wanted(actor=JO) == ["EDIT_ENTITY_DOCS", "edit_entity", "EDIT_ENTITY_TAGS or EDIT_ENTITY"]


@pytest.mark.django_db
def test_the_log_is_read_on_from_a_place_in_both_directions():
    made = [row(at=NOON + timedelta(minutes=number // 3)) for number in range(10)]
    newest = [one.pk for one in reversed(made)]
    found, place = [], None
    while True:
        part = decision_log_queries.load_decision_page(decision_log_queries.list_decisions(), size=4, before=place)
        found += [one.pk for one in part.rows]
        if not part.has_older:
            break
        place = LogPosition.parse(str(LogPosition.from_row(part.rows[-1])))
    assert found == newest
    back = decision_log_queries.load_decision_page(
        decision_log_queries.list_decisions(), size=4, after=LogPosition.from_row(made[3])
    )
    assert [one.pk for one in back.rows] == newest[2:6]
    assert (back.has_newer, back.has_older) == (True, True)
    assert not decision_log_queries.load_decision_page(
        decision_log_queries.list_decisions(), size=4, after=LogPosition.from_row(made[6])
    ).has_newer


@pytest.mark.parametrize("text", ["", "-", "1", "a-1", "1-b", "-1-1", "1-" + "9" * 30, "9" * 30 + "-1", "²-1", "1-1-1"])
def test_a_text_that_is_no_place_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - any, since it is the text itself
        LogPosition.parse(text)


@pytest.mark.django_db
def test_what_was_kept_long_enough_is_deleted_in_batches(settings, monkeypatch):
    settings.DECISION_LOG_DAYS = 30
    monkeypatch.setattr(pdp_tasks, "DELETE_BATCH_SIZE", 2)
    for days in (29, 31, 32, 33, 34, 400):
        row(at=timezone.now() - timedelta(days=days))
    assert pdp_tasks.forget_decisions() == 5
    assert LoggedDecision.objects.count() == 1
    assert pdp_tasks.forget_decisions() == 0


def test_a_requirement_is_kept_in_words():
    asked = Requirement(((Need(("A",)), Need(("B", "C"), relative="parent")), (Need(("D",)),)))
    assert requirement_text.format_requirement(asked) == "A and B | C or D"
    assert requirement_text.format_requirement(Requirement(())) == ""
