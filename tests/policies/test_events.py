"""Events: one for each fact, true when it is told, in the order of the commits, each once, and kept for a time."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Validity
from policies.errors import CursorExpired, GuardrailBroken
from policies.events import failed_sign_ins, stream
from policies.events import tasks as event_tasks
from policies.guardrails.services import guardrails
from policies.identity.services import access_tokens, groups, roles, users
from policies.models import ChangeEvent, ChangeSet, EventCursor, OutboxEvent, PolicyVersion, open_event_write
from policies.models.outbox import BEGINNING, Position, build_event
from policies.models.writes import WriteTransaction
from policies.pdp import due_changes, snapshot_store
from policies.pdp.authorizer import SYSTEM
from policies.pdp.log import retention
from policies.writes.timed_holders import TimedHolder
from tests.clocks import Move, move_clocks
from tests.worlds import document

DOOR = "test"
HOUR = timedelta(hours=1)
JO = "urn:li:corpuser:jo"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Set the clocks on or back: `clock(HOUR)`."""
    return move_clocks(monkeypatch)


class Undone(Exception):
    """A write that is rolled back."""


def list_events(after: Position = BEGINNING) -> list[tuple[str, str, dict[str, Any]]]:
    """Return type, subject and data of the events after a place."""
    return [(event.type, event.subject, event.data) for event in stream.list_after(after)]


def get_end() -> Position:
    """Return the place behind all events."""
    return stream.read_after(None).next_cursor


def make_policy(urn: str, **changes: Any) -> str:
    policies.create(urn=urn, draft=PolicyInput("datahub", document(**changes)), by=SYSTEM, channel=DOOR)
    return urn


def until(urn: str, ends: datetime | None, begins: datetime | None = None) -> TimedHolder:
    return TimedHolder(urn, Validity(begins, ends))


@pytest.mark.django_db(transaction=True)
def test_every_write_is_an_event_and_so_is_an_end_through_time(clock: Move) -> None:
    users.create(username="jo", by=SYSTEM, channel=DOOR)
    group = groups.create(name="Eng", identifier="eng", by=SYSTEM, channel=DOOR).urn
    role = roles.create(name="Steward", identifier="steward", by=SYSTEM, channel=DOOR).urn
    ends = timezone.now() + HOUR
    times = {"valid_from": None, "valid_until": ends.isoformat()}
    begin = get_end()
    groups.add_members(urn=group, members=[until(JO, ends)], by=SYSTEM, channel=DOOR)
    roles.grant(urn=role, actors=[until(JO, ends)], by=SYSTEM, channel=DOOR)
    policy = make_policy("urn:li:dataHubPolicy:p", displayName="P", validUntil=ends.isoformat())
    membership = {"group": group, "group_name": "Eng"}
    described = {"name": "P", "family": "datahub", "version": 1}
    given = [
        ("membership.added", JO, membership | times),
        ("role.assigned", JO, {"role": role} | times),
        ("policy.created", policy, described | {"policy_version": PolicyVersion.load_version(), "state": "ACTIVE"}),
    ]
    found = list_events(begin)
    assert found[:2] == given[:2]
    assert [event[:2] for event in found[2:]] == [given[2][:2]]
    begin = get_end()
    clock(2 * HOUR)
    due_changes.apply_due_changes(wait_seconds=5)
    ended = list_events(begin)
    assert {event[:2] for event in ended} == {
        ("policy.state", policy),
        ("membership.ended", JO),
        ("role.ended", JO),
    }
    assert next(data["state"] for type_, _, data in ended if type_ == "policy.state") == "ENDED"
    assert {event.through for event in stream.list_after(begin)} == {"clock"}
    begin = get_end()
    groups.add_members(urn=group, members=[JO], by=SYSTEM, channel=DOOR)
    groups.add_members(urn=group, members=[until(JO, ends + 4 * HOUR)], by=SYSTEM, channel=DOOR)
    groups.add_members(urn=group, members=[until(JO, None, ends + 3 * HOUR)], by=SYSTEM, channel=DOOR)
    groups.remove_members(urn=group, members=[JO], by=SYSTEM, channel=DOOR)
    users.update(urn=JO, title="Lead", by=SYSTEM, channel=DOOR)
    users.set_password(urn=JO, password="a rather long secret", by=SYSTEM, channel=DOOR)
    token = access_tokens.create(owner=JO, name="T", by=SYSTEM, channel=DOOR)
    access_tokens.revoke(token_id=token.token.pk, by=SYSTEM, channel=DOOR)
    users.suspend(urn=JO, by=SYSTEM, channel=DOOR)
    policies.delete(urn=policy, by=SYSTEM, channel=DOOR)
    users.remove(urn=JO, by=SYSTEM, channel=DOOR)
    found = list_events(begin)
    assert [event[0] for event in found] == [
        "membership.added",
        "membership.changed",
        "membership.removed",
        "membership.scheduled",
        "membership.cancelled",
        "user.updated",
        "user.password_set",
        "token.created",
        "token.revoked",
        "user.suspended",
        "policy.deleted",
        "user.deleted",
    ]
    assert ("user.updated", JO, {"name": "jo", "changed": ["title"]}) in found
    everything = "".join(map(str, OutboxEvent.objects.values_list("data", flat=True)))
    assert token.text not in everything
    assert "secret" not in everything


@pytest.mark.django_db
def test_what_was_not_written_is_no_event_but_its_refusal_by_a_guardrail_is(
    holding: Callable[..., Any], user: Callable[..., Any]
) -> None:
    manager = holding("MANAGE_POLICIES", "MANAGE_GUARDRAILS", "MANAGE_TAGS", username="boss")
    user("jo")
    never = {"never": {"actors": {"users": [JO]}, "privileges": ["MANAGE_TAGS"]}}
    guardrails.create(urn="urn:li:guardrail:g", name="G", rule=never, by=SYSTEM, channel=DOOR)
    begin, seq = get_end(), PolicyVersion.load_last_change()
    draft = PolicyInput(
        "datahub", document(displayName="Bad", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"users": [JO]})
    )
    with pytest.raises(GuardrailBroken):
        policies.create(draft=draft, by=manager, channel="api")
    with suppress(Undone), transaction.atomic():
        users.create(username="jim", by=SYSTEM, channel=DOOR)
        raise Undone
    assert list_events(begin) == [("guardrail.refused", "urn:li:guardrail:g", {"name": "G"})]
    (event,) = stream.list_after(begin)
    assert (event.actor, event.through, event.change_set.change_seq) == (manager.urn, "api", seq + 1)
    guardrails.update(urn="urn:li:guardrail:g", mode="warn", by=SYSTEM, channel=DOOR)
    begin = get_end()
    policies.create(draft=draft, by=manager, channel="api")
    snapshot_store.reset()
    for _ in range(2):
        guardrails.refresh_statuses()
    assert [event[0] for event in list_events(begin)] == ["policy.created", "finding.opened", "guardrail.broken"]


@pytest.mark.django_db
def test_an_account_that_is_locked_out_is_told_of_once_and_a_name_without_one_never(user: Callable[..., Any]) -> None:
    user("jo")
    told = [failed_sign_ins.record_lockout(username=name, channel="pages") for name in ("jo", "jo", "my password")]
    assert told == [True, False, False]
    assert [event[:2] for event in list_events() if event[0].startswith("sign_in")] == [("sign_in.failed_often", JO)]


def emit_slowly(unit: WriteTransaction, name: str, random: Random) -> None:
    """Store some events, whose rows get their ids long before the commit, or raise Undone."""
    for part in range(random.randint(1, 3)):
        unit.emit([build_event("user.updated", subject=f"{name}:{part}", through=DOOR)])
        ChangeSet.objects.count()
    if random.random() < 0.2:
        raise Undone


@pytest.mark.django_db(transaction=True)
def test_a_reader_beside_many_writers_sees_every_event_once_and_in_one_order() -> None:
    writers, each = 4, 12
    ended = threading.Event()

    def write(number: int) -> None:
        random = Random(number)
        for turn in range(each):
            with suppress(Undone), open_event_write() as unit:
                emit_slowly(unit, f"w:{number}:{turn}", random)
        connection.close()

    def read() -> list[tuple[Position, str]]:
        found: list[tuple[Position, str]] = []
        cursor: Position | None = None
        while True:
            is_last = ended.is_set()
            page = stream.read_after(cursor, limit=3)
            found.extend((event.position, event.subject) for event in page.events)
            cursor = page.next_cursor
            if is_last and not page.events:
                connection.close()
                return found

    with ThreadPoolExecutor() as pool:
        reader = pool.submit(read)
        try:
            list(pool.map(write, range(writers)))
        finally:
            ended.set()
        seen = reader.result()
    assert seen == [(event.position, event.subject) for event in stream.list_after(BEGINNING)]
    assert len(seen) > writers
    for number in range(writers):
        own = [subject for _, subject in seen if subject.startswith(f"w:{number}:")]
        turns = [tuple(map(int, subject.split(":")[2:])) for subject in own]
        assert turns == sorted(turns)
    assert all(earlier < later for (earlier, _), (later, _) in pairwise(seen))


@pytest.mark.django_db
def test_what_is_old_is_deleted_from_the_beginning_and_a_cursor_into_it_says_so(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(event_tasks, "DELETE_BATCH_SIZE", 2)
    for number in range(7):
        users.create(username=f"jo-{number}", by=SYSTEM, channel=DOOR)
    events = list(stream.list_after(BEGINNING))
    old = timezone.now() - timedelta(days=settings.EVENT_DAYS + 1)
    OutboxEvent.objects.filter(pk__in=[event.pk for event in (*events[:4], events[5])]).update(time=old)
    assert event_tasks.forget_events() == 0, "nobody was told of them yet"
    event_tasks.deliver_events()
    assert event_tasks.forget_events() == 4
    with pytest.raises(CursorExpired) as refusal:
        stream.read_after(events[2].position)
    assert refusal.value.members["oldest"] == str(events[3].position)
    kept = [event.subject for event in events[4:]]
    for cursor in (None, events[3].position, Position.parse(refusal.value.members["oldest"])):
        assert [event.subject for event in stream.read_after(cursor).events] == kept
    ChangeEvent.objects.update(at=old)
    retention.delete_changes(before=timezone.now() - timedelta(days=1), batch=100)
    assert ChangeSet.objects.count() == len(kept)
    assert stream.load_cursor(EventCursor.Name.NOTICES) == events[-1].position


@given(st.lists(st.integers(0, 2), max_size=12), st.integers(1, 4))
@pytest.mark.django_db
def test_any_way_of_reading_gives_the_same_events(kinds: list[int], limit: int) -> None:
    OutboxEvent.objects.all().delete()
    types = ("user.created", "group.created", "role.created")
    for kind in kinds:
        with open_event_write() as write:
            write.emit([build_event(types[kind], subject=str(number), through=DOOR) for number in range(2)])
    whole = [event.position for event in stream.list_after(BEGINNING)]
    assert whole == sorted(whole)
    for chosen in ((), types[:1], types[:2]):
        found: list[Position] = []
        cursor: Position | None = None
        while True:
            page = stream.read_after(cursor, types=chosen, limit=limit)
            found += [event.position for event in page.events]
            assert cursor is None or page.next_cursor >= cursor
            cursor = page.next_cursor
            if not page.events:
                break
        rows = stream.list_after(BEGINNING)
        assert found == [event.position for event in (rows.filter(type__in=chosen) if chosen else rows)]
