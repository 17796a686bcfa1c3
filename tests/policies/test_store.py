"""The snapshot of a process: from the database alone, never from what a transaction may still take back."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection, transaction

from policies import bootstrap
from policies.authoring.services import policies, policy_drafts
from policies.errors import Unavailable
from policies.identity.services import access_tokens
from policies.models import Gate, Policy, PolicyEvent, PolicyVersion, open_write
from policies.models.version import VersionNumbers
from policies.pdp import authorizer, snapshot_store
from tests.clocks import move_clocks

ROOT = "urn:li:corpuser:datahub"
FREE = "urn:li:dataHubPolicy:free"
DRAFT = policy_drafts.PolicyInput(
    "datahub",
    {
        "displayName": "Free",
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS"],
        "actors": {"allUsers": True},
        "editable": True,
    },
)


class Backed(Exception):
    """Takes a transaction back."""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    yield
    snapshot_store.reset()


def origins():
    return {statement.origin.policy for statement in snapshot_store.get_current().statements}


@transaction.atomic
def taken_back(*, is_held):
    policies.create(urn=FREE, draft=DRAFT, by=authorizer.SYSTEM, channel="test")
    if not is_held:
        snapshot_store.reset()
    snapshot_store.get_current()
    raise Backed


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_held", [True, False])
def test_what_was_taken_back_is_never_answered_from(is_held):
    """Also where the process had no snapshot yet and loads its first one inside the transaction."""
    bootstrap.run()
    before = origins()
    with pytest.raises(Backed):
        taken_back(is_held=is_held)
    assert (snapshot_store.get_current().version, origins()) == (PolicyVersion.load_version(), before)
    written = policies.create(urn=FREE, draft=DRAFT, by=authorizer.SYSTEM, channel="test")
    assert snapshot_store.get_current().version == written.policy_version
    assert FREE in origins()


@pytest.mark.django_db
def test_nothing_of_the_policies_is_in_the_shared_cache_and_nothing_there_changes_an_answer():
    bootstrap.run()
    version, before = snapshot_store.refresh(), origins()
    names = ("policies:pointer", f"policies:{version}", f"policies:{version + 1}")
    assert cache.get_many(names) == {}
    cache.set_many(dict.fromkeys(names, "[]"))
    snapshot_store.reset()
    assert (snapshot_store.refresh(), origins()) == (version, before)
    cache.delete_many(names)


def stored(urn, **changes):
    policies.create(
        urn=urn,
        draft=policy_drafts.PolicyInput("datahub", {**DRAFT.document, **changes}),
        by=authorizer.SYSTEM,
        channel="test",
    )


@pytest.mark.django_db
def test_what_was_written_is_read_and_nothing_else(django_assert_num_queries):
    """As many policies as there are, the events tell which to read: version, events, one policy, version again."""
    bootstrap.run()
    before = origins()
    with transaction.atomic():
        stored(FREE)
    with django_assert_num_queries(4) as read:
        assert origins() == before | {FREE}
    assert FREE in read.captured_queries[2]["sql"]
    policies.set_state(urn=FREE, state="INACTIVE", by=authorizer.SYSTEM, channel="test")
    assert origins() == before
    policies.delete(urn=FREE, by=authorizer.SYSTEM, channel="test")
    stored(f"{FREE}-2")
    stored(f"{FREE}-3", state="INACTIVE")
    assert origins() == before | {f"{FREE}-2"}


@pytest.mark.django_db
@pytest.mark.parametrize("missing", ["all", "one", "none of too many"])
def test_where_the_events_do_not_tell_everything_the_policies_are_compared(monkeypatch, missing):
    bootstrap.run()
    stored(FREE)
    before = origins()
    policies.delete(urn=FREE, by=authorizer.SYSTEM, channel="test")
    stored(f"{FREE}-2")
    if missing == "none of too many":
        monkeypatch.setattr(snapshot_store, "_BATCH_SIZE", 2)
    else:
        untold = PolicyEvent.objects.filter(policy_version=PolicyVersion.load_version() - (missing == "one"))
        assert untold.delete()[0] == 1
    assert origins() == before - {FREE} | {f"{FREE}-2"}
    held = snapshot_store.loaded_snapshot()
    assert held is not None
    assert set(held.stamps) == set(Policy.objects.filter(state="ACTIVE").values_list("urn", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_left_as_it_was(is_enabled):
    if not is_enabled:
        gc.disable()
    try:
        snapshot_store.get_current()
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["{", "[]", '"text"', '{"state": "ACTIVE", "actors": 5, "privileges": []}'])
@pytest.mark.parametrize("is_held", [True, False])
def test_a_stored_policy_that_cannot_be_read_is_named_and_nothing_is_answered(client, text, is_held):
    """What takes the place of a bundle gone bad: it might be the one that forbids, so no answer goes without it."""
    bootstrap.run()
    written = policies.create(urn=FREE, draft=DRAFT, by=authorizer.SYSTEM, channel="test")
    token = access_tokens.create(owner=ROOT, name="test", by=authorizer.SYSTEM, channel="test").text
    assert snapshot_store.get_current().version == written.policy_version
    with connection.cursor() as cursor:
        cursor.execute("UPDATE policies_policy SET document = %s, version = version + 1 WHERE urn = %s", [text, FREE])
    with open_write(Gate.PEOPLE) as write:
        write.bump_version()
    if not is_held:
        snapshot_store.reset()
    for _ in range(2):
        with pytest.raises(Unavailable, match=FREE):
            snapshot_store.get_current()
    told = client.get("/health/ready")
    assert told.status_code == 503
    assert FREE in told.json()["checks"]["policies"]["detail"]
    answer = client.post(
        "/api/v1/authorize",
        {"privilege": "MANAGE_TAGS"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 503
    Policy.objects.filter(urn=FREE).update(document=DRAFT.document)
    assert FREE in origins()


@pytest.mark.django_db
@pytest.mark.parametrize("years", [-30, 30])
def test_a_clock_that_jumps_makes_nothing_fresher_or_older(monkeypatch, django_assert_num_queries, years):
    bootstrap.run()
    version = snapshot_store.refresh()
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 3600.0)
    snapshot_store.refresh()
    move_clocks(monkeypatch)(timedelta(days=years * 365))
    with django_assert_num_queries(0):
        assert snapshot_store.get_current().version == version
    age = snapshot_store.age()
    assert age is not None
    assert 0 <= age < 3600
    # What was written meanwhile is seen when it is time to look, whatever the day is taken for.
    with open_write(Gate.PEOPLE) as write:
        write.bump_version()
    assert snapshot_store.get_current().version == version
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    assert snapshot_store.get_current().version == version + 1


class QueuedLock:
    """A lock that tells who waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.waiting = threading.Semaphore(0)

    def acquire(self, *, timeout: float = -1) -> bool:
        self.waiting.release()
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        self._lock.release()


@pytest.mark.django_db(transaction=True)
def test_those_who_wait_for_a_comparison_share_the_next_one(monkeypatch):
    version, lock = snapshot_store.refresh(), QueuedLock()
    monkeypatch.setattr(snapshot_store._slot, "lock", lock)
    comparisons, load = [], PolicyVersion.load_numbers_and_time

    def load_and_note() -> tuple[VersionNumbers, float | None]:
        comparisons.append(load())
        return comparisons[-1]

    def compare(_number: int) -> int:
        try:
            return snapshot_store.refresh()
        finally:
            connection.close()

    monkeypatch.setattr(PolicyVersion, "load_numbers_and_time", load_and_note)
    with ThreadPoolExecutor(4) as pool:
        assert lock.acquire()
        answers = pool.map(compare, range(4))
        for _ in range(1 + 4):
            assert lock.waiting.acquire(timeout=60)
        lock.release()
        assert list(answers) == [version] * 4
    assert len(comparisons) == 1


@pytest.mark.django_db
def test_a_comparison_that_began_before_the_mark_does_not_count(monkeypatch):
    bootstrap.run()
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 3600.0)
    snapshot_store.refresh()
    comparisons, load = [], PolicyVersion.load_numbers_and_time

    def load_and_mark() -> tuple[VersionNumbers, float | None]:
        comparisons.append(load())
        if len(comparisons) == 1:
            snapshot_store.mark_stale()
        return comparisons[-1]

    monkeypatch.setattr(PolicyVersion, "load_numbers_and_time", load_and_mark)
    snapshot_store.refresh()
    snapshot_store.get_current()
    assert len(comparisons) == 2
    snapshot_store.get_current()
    assert len(comparisons) == 2
