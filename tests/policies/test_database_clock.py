"""Things begin and end by the clock of the database; a process whose clock is another one decides nothing."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from policies import deadlines
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Phase
from policies.engine.model import Actor, Question
from policies.errors import Unavailable
from policies.models import Gate, Policy, PolicyVersion, open_write
from policies.pdp import authorizer, database_clock, snapshot_store
from policies.pdp.database_clock import ClocksApart
from tests.clocks import move_clocks, move_own_clock

JO = Actor("urn:li:corpuser:jo")
PRIVILEGE = "MANAGE_TAGS"
HOUR, YEAR = timedelta(hours=1), timedelta(days=365)


@pytest.fixture(autouse=True)
def _agreeing_clocks() -> Iterator[None]:
    database_clock.note_time(None, asked_at=0)
    yield
    database_clock.note_time(None, asked_at=0)


def make(**times: str) -> Policy:
    document = {
        "displayName": "For a time",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": [PRIVILEGE],
        "actors": {"users": [JO.urn]},
    }
    return policies.create(draft=PolicyInput("datahub", document | times), by=authorizer.SYSTEM, channel="test").policy


def is_allowed() -> bool:
    return bool(snapshot_store.get_current().match(Question(JO, PRIVILEGE)))


@pytest.mark.parametrize(
    ("seconds", "asked_before", "ahead"),
    [(-4.9, 0, 4.9), (4.9, 0, -4.9), (-5.2, 0, None), (5.2, 0, None), (-20, 30, 0), (-34, 30, 4), (-36, 30, None)],
)
def test_how_far_clocks_may_differ(seconds: float, asked_before: float, ahead: float | None) -> None:
    now = time.time()
    if ahead is None:
        with pytest.raises(ClocksApart, match="Nothing is decided until they agree"):
            database_clock.note_time(now + seconds, asked_at=now - asked_before)
        with pytest.raises(ClocksApart):
            database_clock.get_now()
    else:
        database_clock.note_time(now + seconds, asked_at=now - asked_before)
        assert database_clock.check_clock() == pytest.approx(ahead, abs=0.05)
        assert database_clock.estimate_time() == pytest.approx(time.time() - ahead, abs=0.05)
        assert abs(database_clock.get_now() - timezone.now() + timedelta(seconds=ahead)) < timedelta(seconds=0.05)


def test_it_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "policies.pdp.database_clock")
    for seconds in (0, 60, 61, 0, 0):
        try:
            database_clock.note_time(time.time() - seconds, asked_at=time.time())
        except ClocksApart:
            assert seconds
    assert [record.message for record in caplog.records] == ["clocks_apart", "clocks_agree"]


@pytest.mark.django_db
@pytest.mark.parametrize("years", [3, -3])
def test_a_process_whose_clock_is_wrong_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, client: Any, years: int
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a database in a file has the clock of whoever reads it")
    policy = make(validFrom=(timezone.now() + 2 * YEAR).isoformat())
    ended = make(validUntil=(timezone.now() + 2 * YEAR).isoformat())
    assert is_allowed()
    move = move_own_clock(monkeypatch)
    move(years * YEAR)
    snapshot_store.mark_stale()
    for ask in (is_allowed, snapshot_store.refresh, database_clock.get_now, make):
        with pytest.raises(ClocksApart, match="ahead of" if years > 0 else "behind"):
            ask()
    body = json.dumps({"privilege": PRIVILEGE})
    assert client.post("/api/v1/authorize", body, content_type="application/json").status_code in (401, 503)
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]["clock"]["ok"]) == (503, False)
    assert "94,608,000 seconds" in answer.json()["checks"]["clock"]["detail"]
    metrics = client.get("/metrics").content.decode()
    (line,) = [line for line in metrics.splitlines() if line.startswith("authz_clock_ahead_seconds")]
    assert float(line.rpartition(" ")[2]) == pytest.approx(years * YEAR.total_seconds(), abs=60)
    move(-years * YEAR)
    assert is_allowed()
    assert client.get("/health/ready").json()["checks"]["clock"]["ok"]
    policy.refresh_from_db()
    ended.refresh_from_db()
    assert (policy.phase, ended.phase) == (Phase.PENDING, Phase.CURRENT)


@pytest.mark.django_db
def test_nothing_begins_early_by_a_clock_that_is_a_little_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a database in a file has the clock of whoever reads it")
    move_own_clock(monkeypatch)(timedelta(seconds=4))
    snapshot_store.refresh()
    # It lies behind this process, and before the database.
    policy = make(validFrom=(timezone.now() - timedelta(seconds=2)).isoformat())
    assert policy.phase == Phase.PENDING
    assert not is_allowed()
    policy.refresh_from_db()
    assert policy.phase == Phase.PENDING


@contextmanager
def holding_the_gate() -> Iterator[None]:
    """Have another thread write in the block, for as long as it takes."""
    begun, end = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with open_write(Gate.PEOPLE):
                begun.set()
                assert end.wait(60)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        assert begun.wait(60)
        try:
            yield
        finally:
            end.set()
        writer.result()


def ask_in_time(_number: int) -> bool:
    """Ask with the time that a decision has."""
    try:
        with deadlines.open_budget(2):
            return is_allowed()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_callers_at_a_boundary_get_the_answer_from_before_or_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    move = move_clocks(monkeypatch)
    make(validUntil=(timezone.now() + HOUR).isoformat())
    assert is_allowed()
    with ThreadPoolExecutor(8) as pool:
        with holding_the_gate():
            move(HOUR)
            assert list(pool.map(ask_in_time, range(16))) == [True] * 16
        snapshot_store._slot.due_retry_at = float("-inf")
        assert list(pool.map(ask_in_time, range(16))) == [False] * 16
    assert PolicyVersion.load_numbers().next_boundary is None


@pytest.mark.django_db(transaction=True)
def test_nobody_is_answered_from_long_before_a_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    move = move_clocks(monkeypatch)
    make(validUntil=(timezone.now() + HOUR).isoformat())
    assert is_allowed()
    with holding_the_gate():
        move(HOUR + timedelta(seconds=snapshot_store.MAX_LATE_SECONDS + 1))
        with pytest.raises((Unavailable, OperationalError)):
            is_allowed()
    snapshot_store._slot.due_retry_at = float("-inf")
    assert not is_allowed()
