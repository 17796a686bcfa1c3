"""Daily counts of uses: what counts, that it is written once, what is missing when, and how it ends."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.utils import timezone

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.model import SYSTEM_ACTOR, Actor, Decision, DecisionCode, Effect, Statement, StatementOrigin
from policies.engine.requirements import any_of_requirement, privilege_requirement
from policies.engine.selectors import ActorMatch, Selector
from policies.identity.services import users
from policies.models import DailyUse, UseCounter, UseGap
from policies.pdp import authorizer, snapshot_store
from policies.pdp import tasks as pdp_tasks
from policies.pdp.access_requests import AccessRequest
from policies.pdp.log import decision_log, use_queries, use_writing
from policies.pdp.log.decision_log import RequestChannel
from policies.pdp.log.use_counts import UseCounts
from policies.pdp.log.use_writing import ProcessUses, UseWriter

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = NOON.date()
JO, KIM, STRANGER = "urn:li:corpuser:jo", "urn:li:corpuser:kim", "urn:li:corpuser:nobody-knows"
ONE, TWO = "urn:li:dataHubPolicy:one", "urn:li:dataHubPolicy:two"
EDIT, VIEW = "EDIT_ENTITY", "VIEW_ENTITY_PAGE"


@pytest.fixture(autouse=True)
def _people(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    for name in ("jo", "kim"):
        users.create(username=name, by=authorizer.SYSTEM, channel="test")
    yield
    snapshot_store.reset()


def allow(*grants: tuple[str, set[str]]) -> Decision:
    """A decision that these policies allow, each with its privileges."""
    statements = tuple(
        Statement(StatementOrigin(policy, ""), Effect.ALLOW, ActorMatch(), frozenset(privileges), Selector())
        for policy, privileges in grants
    )
    return Decision(is_allowed=True, code=DecisionCode.ALLOWED, grants=statements)


def count(counts: UseCounts, decision: Decision, *, actor: str = JO, wanted=(VIEW,), at: datetime = NOON) -> None:
    requirement = any_of_requirement([[name] for name in wanted])
    counts.add([(Actor(actor), AccessRequest(requirement))], [decision], at=at.timestamp())


def rows() -> dict[tuple[date, str, str, str], int]:
    found = DailyUse.objects.values_list("day", "policy", "actor", "privilege", "uses")
    return {(day, policy, actor, privilege): uses for day, policy, actor, privilege, uses in found}


def gaps() -> list[tuple[date, date, str]]:
    return list(UseGap.objects.order_by("pk").values_list("first_day", "last_day", "cause"))


def test_every_policy_that_decided_counts_for_every_privilege_that_would_do():
    counts = UseCounts()
    count(counts, allow((ONE, {VIEW, EDIT}), (TWO, {EDIT, "DELETE"})), wanted=(VIEW, EDIT, "OTHER"))
    count(counts, allow((ONE, {VIEW})), at=NOON + timedelta(hours=1))
    count(counts, allow((ONE, {VIEW})), actor=KIM)
    count(counts, Decision(is_allowed=False, code=DecisionCode.IMPLICIT_DENY))
    assert UseWriter(counts).write()
    assert rows() == {
        (DAY, ONE, JO, VIEW): 2,
        (DAY, ONE, JO, EDIT): 1,
        (DAY, TWO, JO, EDIT): 1,
        (DAY, ONE, KIM, VIEW): 1,
    }
    last = {row.privilege: row.last_at for row in DailyUse.objects.filter(actor=JO, policy=ONE)}
    assert last == {VIEW: NOON + timedelta(hours=1), EDIT: NOON}


def test_later_counts_are_added_to_the_rows_of_their_day():
    counts = UseCounts()
    writer = UseWriter(counts)
    for at in (NOON, NOON - timedelta(hours=2), NOON + timedelta(hours=12)):
        for _ in range(3):
            count(counts, allow((ONE, {VIEW})), at=at)
        assert writer.write()
    assert rows() == {(DAY, ONE, JO, VIEW): 6, (DAY + timedelta(days=1), ONE, JO, VIEW): 3}
    assert DailyUse.objects.get(day=DAY).last_at == NOON


def test_without_a_policy_only_privileges_that_exist_count():
    """Callers can make up privileges, and people: neither makes the table grow."""
    counts = UseCounts()
    switched_off = Decision(is_allowed=True, code=DecisionCode.POLICIES_DISABLED)
    count(counts, switched_off, wanted=(VIEW, "made up"))
    for number in range(50):
        count(counts, switched_off, wanted=(f"made up {number}",))
        count(counts, allow((ONE, {VIEW})), actor=f"{STRANGER}{number}")
    count(counts, Decision(is_allowed=True, code=DecisionCode.SYSTEM_ACTOR), actor=SYSTEM_ACTOR)
    assert UseWriter(counts).write()
    assert rows() == {(DAY, "", JO, VIEW): 1, (DAY, ONE, "", VIEW): 50, (DAY, "", "", VIEW): 1}


def test_more_than_one_transaction_holds_is_written_in_several(monkeypatch):
    monkeypatch.setattr(use_writing, "WRITE_BATCH_SIZE", 7)
    counts = UseCounts()
    for number in range(40):
        count(counts, allow((f"{ONE}{number}", {VIEW})))
    assert UseWriter(counts).write()
    assert len(rows()) == 40
    assert UseCounter.objects.get().batch == 6


def test_what_does_not_fit_makes_its_day_incomplete():
    counts = UseCounts(capacity=2)
    for number in range(3):
        count(counts, allow((f"{ONE}{number}", {VIEW})))
    count(counts, allow((f"{ONE}0", {VIEW})))
    UseGap.objects.create(first_day=DAY, last_day=DAY, cause=UseGap.Cause.STARTED)
    assert UseWriter(counts).write()
    assert sorted(rows().values()) == [1, 2]
    assert gaps()[1:] == [(DAY, DAY, "DROPPED")]
    assert use_queries.find_complete_since() == DAY + timedelta(days=1)


def test_what_was_written_by_a_try_whose_end_was_not_seen_is_not_written_again(monkeypatch):
    commit = BaseDatabaseWrapper.commit
    lost_answers = iter(range(2))

    def commit_unseen(self):
        commit(self)
        if next(lost_answers, None) is not None:
            raise OperationalError("the connection is lost")

    counts = UseCounts()
    writer = UseWriter(counts)
    monkeypatch.setattr(BaseDatabaseWrapper, "commit", commit_unseen)
    written = []
    for _ in range(3):
        count(counts, allow((ONE, {VIEW})))
        written.append(writer.write())
    assert written == [False, False, True]
    assert rows() == {(DAY, ONE, JO, VIEW): 3}
    assert UseCounter.objects.count() == 1


def test_counts_wait_for_a_database_that_is_away(caplog):
    failures = iter(range(3))

    def refuse(**_):
        if next(failures, None) is not None:
            raise OperationalError("away")

    counts = UseCounts()
    writer = UseWriter(counts)
    connection.close()
    connection_created.connect(refuse)
    try:
        tries = []
        for _ in range(4):
            count(counts, allow((ONE, {VIEW})))
            tries.append(writer.write())
    finally:
        connection_created.disconnect(refuse)
    assert tries == [False, False, False, True]
    assert rows() == {(DAY, ONE, JO, VIEW): 4}
    assert [record.getMessage() for record in caplog.records].count("uses_wait") == 3


def test_what_the_database_refuses_makes_its_days_incomplete(caplog):
    counts = UseCounts()
    writer = UseWriter(counts)
    assert writer.write()
    count(counts, allow((ONE, {VIEW})))
    table = DailyUse._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
    try:
        # SQLite calls a missing table an outage, PostgreSQL a fault of the statement.
        is_refused = not writer.write() and "uses_refused" in caplog.text
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table}_away RENAME TO {table}")
    assert writer.write()
    assert rows() == ({} if is_refused else {(DAY, ONE, JO, VIEW): 1})
    assert gaps()[1:] == ([(DAY, DAY, "DROPPED")] if is_refused else [])
    assert is_refused or connection.vendor == "sqlite"


def test_the_first_process_says_since_when_counts_are_complete():
    assert use_queries.find_complete_since() is None
    for _ in range(2):
        assert UseWriter(UseCounts()).write()
    today = timezone.now().date()
    assert gaps() == [(today, today, "STARTED")]
    assert use_queries.find_complete_since() == today + timedelta(days=1)


def test_a_process_that_is_silent_is_taken_for_lost_from_its_last_sign_of_life():
    counts = UseCounts()
    writer = UseWriter(counts)
    assert writer.write()
    assert use_queries.close_gaps(now=timezone.now()) == 0
    silent_since = timezone.now() - timedelta(days=3)
    UseCounter.objects.update(counted_until=silent_since)
    now = timezone.now()
    assert use_queries.find_counted_until(now=now) == silent_since
    assert use_queries.close_gaps(now=now) == 1
    assert gaps()[1:] == [(silent_since.date(), now.date(), "PROCESS_LOST")]
    assert use_queries.find_counted_until(now=now) == now
    # It was only slow: what it counted is not lost, and it is known again.
    count(counts, allow((ONE, {VIEW})))
    assert writer.write()
    assert rows() == {(DAY, ONE, JO, VIEW): 1}
    assert UseCounter.objects.count() == 1


def test_a_process_that_has_written_everything_leaves_no_gap():
    uses = ProcessUses()
    assert uses.write_due() > 0
    assert UseCounter.objects.count() == 1
    count(uses.counts, allow((ONE, {VIEW})))
    uses.finish(ends_at=float("inf"))
    uses.finish(ends_at=float("inf"))
    assert rows() == {(DAY, ONE, JO, VIEW): 1}
    assert UseCounter.objects.count() == 0
    assert [cause for *_, cause in gaps()] == ["STARTED"]


def test_a_process_that_could_not_write_leaves_its_row(monkeypatch):
    monkeypatch.setattr(use_writing, "RETRY_SECONDS", 0.01)
    uses = ProcessUses()
    uses.write_due()

    def refuse(**_):
        raise OperationalError("away")

    count(uses.counts, allow((ONE, {VIEW})))
    connection.close()
    connection_created.connect(refuse)
    try:
        uses.finish(ends_at=0.0)
    finally:
        connection_created.disconnect(refuse)
    assert UseCounter.objects.count() == 1
    assert rows() == {}


def test_processes_that_add_to_the_same_rows_wait_for_each_other_only_in_one_direction(monkeypatch):
    monkeypatch.setattr(use_writing, "WRITE_BATCH_SIZE", 50)
    names = [f"{ONE}{number:03}" for number in range(120)]
    barrier = threading.Barrier(4)

    def write(turn: int) -> None:
        try:
            counts = UseCounts()
            writer = UseWriter(counts)
            for _ in range(5):
                for name in names if turn % 2 else reversed(names):
                    count(counts, allow((name, {VIEW})), at=NOON + timedelta(minutes=turn))
                barrier.wait()
                while not writer.write():
                    pass
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert set(rows().values()) == {20}
    assert len(rows()) == 120
    assert set(DailyUse.objects.values_list("last_at", flat=True)) == {NOON + timedelta(minutes=3)}


def test_old_days_are_deleted_in_batches_and_are_incomplete_from_then_on(settings, monkeypatch):
    settings.DECISION_USE_DAYS = 10
    monkeypatch.setattr(pdp_tasks, "DELETE_BATCH_SIZE", 2)
    today = timezone.now().date()
    for days in (0, 9, 10, 11, 12, 13, 300):
        at = timezone.now()
        day = today - timedelta(days=days)
        DailyUse.objects.create(day=day, policy=ONE, actor=JO, privilege=VIEW, uses=1, last_at=at)
    first_day = today - timedelta(days=301)
    UseGap.objects.create(first_day=first_day, last_day=first_day, cause=UseGap.Cause.STARTED)
    for deleted in (4, 0):
        assert pdp_tasks.forget_uses() == deleted
        assert gaps() == [(first_day, today - timedelta(days=11), "DELETED")]
    assert DailyUse.objects.count() == 3
    # Keeping more from now on brings nothing back.
    settings.DECISION_USE_DAYS = 400
    assert pdp_tasks.forget_uses() == 0
    assert use_queries.find_complete_since() == today - timedelta(days=10)


def test_what_was_never_counted_is_not_called_deleted():
    assert pdp_tasks.forget_uses() == 0
    assert use_queries.find_complete_since() is None


def store_policy(name: str, **changes: object) -> str:
    urn = f"urn:li:dataHubPolicy:{name}"
    document = {
        "displayName": name,
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "actors": {"users": [JO]},
        "editable": True,
    } | changes
    policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test", urn=urn)
    return urn


def test_what_is_asked_through_a_channel_counts_whatever_the_log_keeps(settings):
    settings.DECISION_LOG_SAMPLE = 0.0
    view = store_policy("view", privileges=[VIEW])
    manage = store_policy("manage", privileges=["MANAGE_POLICIES"], type="PLATFORM")
    jo = Actor(JO)
    asked = [(jo, AccessRequest(privilege_requirement(name))) for name in (VIEW, VIEW, "DELETE_ENTITY")]
    door = RequestChannel(name=lambda: "api", by=lambda: JO, request_id=lambda: "")
    decision_log.start()
    try:
        authorizer.answer_and_log(requests=asked)
        with decision_log.bind_request(door):
            authorizer.answer_and_log(requests=asked)
            # Answered from memory from the second time on, and a use each time.
            for _ in range(5):
                authorizer.require_cached(by=jo, any_of=(("MANAGE_POLICIES",),))
    finally:
        decision_log.stop()
    today = timezone.now().date()
    found = {key: uses for key, uses in rows().items() if key[2] == JO}
    days = {day for day, *_ in found}
    assert days <= {today, today - timedelta(days=1)}
    assert {key[1:]: uses for key, uses in found.items()} == {(view, JO, VIEW): 2, (manage, JO, "MANAGE_POLICIES"): 5}
    assert UseCounter.objects.count() == 0
