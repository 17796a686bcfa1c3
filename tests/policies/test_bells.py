"""A committed write rings: whoever listens hears it, without waiting until it would look by itself."""

from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection, transaction

from policies import deadlines
from policies.authoring.services import policies
from policies.pdp import authorizer, policy_change_events, snapshot_listener, snapshot_store
from policies.propagation import pubsub
from tests.policies.test_store import DRAFT

#: Seconds that no message takes; nothing waits that long when all is well.
LONG = 30.0

carried = pytest.mark.skipif(
    not settings.REDIS_URL and connection.vendor != "postgresql", reason="SQLite alone carries no messages."
)


@pytest.fixture(params=["redis", "postgres"])
def carrier(request: pytest.FixtureRequest, settings: Any) -> None:
    """Each that this run has: PostgreSQL carries the messages where there is no Redis."""
    if request.param == "redis" and not settings.REDIS_URL:
        pytest.skip("No Redis in this run.")
    if request.param == "postgres":
        if connection.vendor != "postgresql":
            pytest.skip("No PostgreSQL in this run.")
        settings.REDIS_URL = ""


@carried
@pytest.mark.django_db(transaction=True)
def test_a_committed_write_rings_and_one_that_is_taken_back_does_not(carrier: None) -> None:
    with pubsub.subscribe() as bell:
        with pytest.raises(ZeroDivisionError):
            _write_and_fail()
        policies.create(draft=DRAFT, by=authorizer.SYSTEM, channel="test")
        heard: list[str] = []
        # Both may come at once.
        while len(heard) < 2 and (more := bell.wait(LONG)):
            heard += more
        # That the one write that was committed is about policies, and what it touched; either may come first.
        assert sorted(bool(message) for message in heard) == [False, True]
        assert not bell.wait(0.0)


@pytest.mark.skipif(not settings.REDIS_URL, reason="No Redis in this run.")
def test_a_site_in_another_database_of_the_same_redis_is_not_heard(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No outage that another test has noted.
    monkeypatch.setattr(pubsub, "_redis_outage", pubsub._RedisOutage())
    own_address = settings.REDIS_URL
    server, _, number = own_address.rpartition("/")
    with pubsub.subscribe() as bell:
        settings.REDIS_URL = f"{server}/{int(number) + 8}"
        pubsub.publish("of another site")
        settings.REDIS_URL = own_address
        pubsub.publish("of this site")
        assert list(bell.wait(LONG)) == ["of this site"]


@carried
@pytest.mark.django_db(transaction=True)
def test_a_ring_makes_a_process_look_that_would_not_yet(carrier: None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot_store.refresh()
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", LONG)
    with pubsub.subscribe() as bell:
        written = policies.create(draft=DRAFT, by=authorizer.SYSTEM, channel="test")
        # As in another process, which nobody told to forget.
        snapshot_store.get_current()
        follower = snapshot_listener.SnapshotListener()
        follower.step(bell)
        follower.step(bell)
    held = snapshot_store.loaded_snapshot()
    assert held is not None
    assert held.since is not None
    assert held.snapshot.version == written.policy_version == before + 1


@pytest.mark.django_db(transaction=True)
def test_whatever_fails_the_listener_goes_on_by_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    listener = snapshot_listener.SnapshotListener()
    monkeypatch.setattr(snapshot_store, "refresh", fail)
    listener.step(None)
    monkeypatch.undo()
    monkeypatch.setattr(pubsub, "subscribe", fail)
    written = policies.create(draft=DRAFT, by=authorizer.SYSTEM, channel="test")
    listener.follow()
    held = snapshot_store.loaded_snapshot()
    assert held is not None
    assert held.snapshot.version == written.policy_version


@pytest.mark.django_db(transaction=True)
def test_no_question_waits_while_the_listener_compares_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    version = snapshot_store.refresh()
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", LONG)
    monkeypatch.setattr(snapshot_listener, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(snapshot_listener, "POLL_BUDGET_SECONDS", 0.01)
    # As while a comparison takes long.
    with snapshot_store._slot.lock:
        snapshot_listener.SnapshotListener().step(None)
        with deadlines.open_budget(0.01):
            assert snapshot_store.get_current().version == version


@pytest.mark.django_db(transaction=True)
def test_a_carrier_that_is_away_undoes_nothing(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    written = policies.create(draft=DRAFT, by=authorizer.SYSTEM, channel="test")
    policy_change_events.publish_policy_change()
    assert snapshot_store.get_current().version == written.policy_version
    with pytest.raises(redis.RedisError), pubsub.subscribe():
        pytest.fail("Nothing listens there.")


def _write_and_fail() -> None:
    with transaction.atomic():
        policies.create(draft=DRAFT, by=authorizer.SYSTEM, channel="test")
        raise ZeroDivisionError
