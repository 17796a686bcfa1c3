"""Who takes access away does not wait for who stores documents; numbers have the order of the commits."""

import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from catalog.ingest import file_import
from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import access_tokens, groups, roles, users
from policies.models import ChangeEvent, ChangeSet, Gate, PolicyVersion, open_write
from policies.pdp import actor_resolution, authorizer, display_names
from tests.catalog.conftest import DOOR, said, tags, tell

DATASET, OTHER = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "lines"))
BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time.")


def running(work: Callable[[], object]) -> threading.Thread:
    """Start work with a connection of its own."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@contextmanager
def paused_ingest() -> Iterator[None]:
    """Have somebody store documents who has written everything and waits before the end."""
    has_written, may_end = threading.Event(), threading.Event()

    def ingest() -> None:
        with open_write(Gate.CATALOG):
            tell(*[said(f"urn:li:tag:{number}", "status", {"removed": False}) for number in range(20)])
            tell(said(DATASET, "globalTags", tags("a")))
            has_written.set()
            assert may_end.wait(60)

    thread = running(ingest)
    try:
        assert has_written.wait(60)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10s'")
        yield
    finally:
        may_end.set()
        thread.join()


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_revoke_goes_through_while_an_ingest_is_open() -> None:
    user = users.create(username="jo", **BY)
    group = groups.create(name="Ops", members=[user.urn], **BY)
    role = roles.create(name="Steward", **BY)
    roles.grant(urn=role.urn, actors=[user.urn], **BY)
    token = access_tokens.create(owner=user.urn, name="t", **BY)
    document = {"displayName": "P", "type": "METADATA", "privileges": ["EDIT_ENTITY"], "actors": {"users": [user.urn]}}
    policy = policies.create(
        draft=policy_drafts.PolicyInput("datahub", {"description": "", "state": "ACTIVE", **document}), **BY
    ).policy
    number = PolicyVersion.load_last_change()
    with paused_ingest():
        groups.remove_members(urn=group.urn, members=[user.urn], **BY)
        roles.revoke(urn=role.urn, actors=[user.urn], **BY)
        access_tokens.revoke(token_id=token.token.pk, **BY)
        policies.set_state(urn=policy.urn, state="INACTIVE", **BY)
        tell(said(user.urn, "nativeGroupMembership", {"nativeGroups": []}))
        users.suspend(urn=user.urn, **BY)
        assert PolicyVersion.load_last_change() == number + 6
        assert not Entity.objects.filter(urn=DATASET).exists()
        assert (
            actor_resolution.load_actor(urn=user.urn).roles
            == actor_resolution.load_actor(urn=user.urn).groups
            == frozenset()
        )
    assert PolicyVersion.load_last_change() == number + 7
    later = ChangeEvent.objects.filter(change_set__change_seq=number + 7).values_list("object_urn", flat=True)
    assert len(later) == 21
    assert DATASET in later
    assert not ChangeSet.objects.filter(change_seq=None).exists()


@pytest.mark.django_db(transaction=True)
def test_what_follows_the_version_row_is_the_same_for_a_write_of_any_size() -> None:
    found = {}
    for size in (1, 40, 1200):
        with CaptureQueriesContext(connection) as captured:
            tell(*[said(f"urn:li:tag:{size}-{number}", "status", {"removed": False}) for number in range(size)])
        statements = [query["sql"] for query in captured.captured_queries]
        row = next(n for n, sql in enumerate(statements) if sql.startswith('UPDATE "policies_policyversion"'))
        found[size] = [re.sub(r"\d+", "N", sql) for sql in statements[row:]]
        events = ChangeEvent.objects.filter(change_set__change_seq=PolicyVersion.load_last_change())
        assert events.count() == size
    assert found[1] == found[40] == found[1200]
    # The row, the number read back, the number on the change set, and the commit.
    assert [sql.split(" ")[0] for sql in found[1]] == ["UPDATE", "SELECT", "UPDATE", "COMMIT"]
    assert '"policies_changeset"' in found[1][2]


@pytest.mark.django_db(transaction=True)
def test_what_was_recorded_before_a_savepoint_was_taken_back_keeps_its_number() -> None:
    """And so does what is recorded after one that took the change set with it."""
    number = PolicyVersion.load_last_change()
    for first in (True, False):
        with open_write(Gate.CATALOG):
            if first:
                tell(said("urn:li:tag:before", "status", {"removed": False}))
            with transaction.atomic():
                tell(said(f"urn:li:tag:gone-{first}", "status", {"removed": False}))
                transaction.set_rollback(True)
            tell(said(f"urn:li:tag:after-{first}", "status", {"removed": False}))
    events = ChangeEvent.objects.filter(change_set__change_seq__gt=number).order_by("id")
    assert list(events.values_list("object_urn", "change_set__change_seq")) == [
        ("urn:li:tag:before", number + 1),
        ("urn:li:tag:after-True", number + 1),
        ("urn:li:tag:after-False", number + 2),
    ]
    assert ChangeSet.objects.filter(events=None).count() == 0


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_documents_wait_for_documents() -> None:
    """The second writer reads what the first one wrote, so no version of a document is lost."""
    with paused_ingest():
        second = running(lambda: tell(said(DATASET, "globalTags", tags("b"))))
        wait_for_a_waiter()
    second.join()
    versions = Entity.objects.get(urn=DATASET).aspects.order_by("version").values_list("version", "document")
    assert list(versions) == [(0, json.dumps(tags("b"))), (1, json.dumps(tags("a")))]


def wait_for_a_waiter() -> None:
    """Return once a connection waits at a gate."""
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    count = 0
    while not count:
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            ((count,),) = cursor.fetchall()


@pytest.mark.django_db
def test_gates_have_one_order() -> None:
    with open_write(Gate.PEOPLE), pytest.raises(transaction.TransactionManagementError, match="CATALOG is passed"):
        tell(said(DATASET, "status", {"removed": False}))
    with transaction.atomic():
        with open_write(Gate.PEOPLE):
            pass
        with open_write(Gate.PEOPLE):
            pass
        with pytest.raises(transaction.TransactionManagementError), open_write(Gate.CATALOG):
            pass
    with open_write(Gate.CATALOG), pytest.raises(transaction.TransactionManagementError), open_write() as write:
        write.bump_version()


@pytest.mark.django_db(transaction=True)
def test_a_file_is_stored_in_pieces_and_others_write_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_import, "MAX_PROPOSALS_PER_WRITE", 2)
    entries = [
        {"entityUrn": f"urn:li:tag:{number}", "changeType": "UPSERT", "aspectName": "status", "aspect": {"json": {}}}
        for number in range(5)
    ]
    seen: list[int] = []

    def between(stored: int) -> None:
        thread = running(lambda: users.create(username=f"jo-{stored}", **BY))
        thread.join()
        seen.append(Entity.objects.filter(type="tag").count())

    loaded = file_import.load(stream=io.BytesIO(json.dumps(entries).encode()), on_progress=between, **BY)
    assert (loaded.proposals, seen) == (5, [2, 4, 5])
    assert display_names.load_names(urns=[f"urn:li:corpuser:jo-{stored}" for stored in (2, 4, 5)]).keys() == {
        f"urn:li:corpuser:jo-{stored}" for stored in (2, 4, 5)
    }


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_write_that_lost_a_deadlock_is_made_once_more() -> None:
    """Somebody past the services holds the version row and wants an entity that the write has changed."""
    tell(said(DATASET, "status", {"removed": False}))
    holds_row, may_go_on = threading.Event(), threading.Event()

    def rival() -> None:
        with transaction.atomic():
            PolicyVersion.objects.filter(pk=PolicyVersion.ROW).update(version=7)
            holds_row.set()
            assert may_go_on.wait(60)
            with connection.cursor() as cursor:
                # The writer looks for a ring first, and is the one that is ended.
                cursor.execute("SET LOCAL deadlock_timeout = '60s'")
            Entity.objects.filter(urn=DATASET).update(name="taken")

    thread = running(rival)
    assert holds_row.wait(60)

    def write() -> None:
        with connection.cursor() as cursor:
            # Long enough for the rival to be waiting when this one looks for a ring.
            cursor.execute("SET deadlock_timeout = '2s'")
        tell(said(DATASET, "status", {"removed": True}))

    writer = running(write)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
    count = 0
    while not count:
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            ((count,),) = cursor.fetchall()
    may_go_on.set()
    thread.join()
    writer.join()
    assert Entity.objects.get(urn=DATASET).is_removed
    assert PolicyVersion.load_version() == 7
