"""Memberships begin and end by themselves, on time, and once, and give nobody what their author lacks."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from policies.aspects import services as aspect_services
from policies.aspects.schemas import AspectChange
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Validity
from policies.engine.model import Actor, Question
from policies.errors import Forbidden, Invalid
from policies.identity.services import groups, users
from policies.models import ChangeEvent, GroupProfile, Membership, PolicyVersion, ScheduledMembership
from policies.pdp import authorizer, fact_cache, snapshot_store
from policies.writes.timed_holders import TimedHolder
from tests.clocks import Move, move_clocks

DOOR = "test"
PRIVILEGE = "MANAGE_TAGS"
HOUR = timedelta(hours=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Set the clocks on or back: `clock(HOUR)`."""
    return move_clocks(monkeypatch)


@pytest.fixture
def eng(group: Callable[..., GroupProfile]) -> str:
    """The URN of a group whose members may manage tags."""
    eng = group("eng")
    give({"groups": [eng.urn]})
    return str(eng.urn)


def give(actors: dict[str, Any], **changes: Any) -> None:
    document = {
        "displayName": "What they may do",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": [PRIVILEGE],
        "actors": actors,
    } | changes
    policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)


def add(
    group: str,
    urn: str,
    begins: datetime | None = None,
    ends: datetime | None = None,
    *,
    reason: str = "",
    by: Actor = authorizer.SYSTEM,
) -> list[str]:
    holder = TimedHolder(urn, Validity(begins, ends), reason)
    return groups.add_members(urn=group, members=[holder], by=by, channel=DOOR)


def is_allowed(urn: str) -> bool:
    snapshot = snapshot_store.get_current()
    return bool(snapshot.match(Question(fact_cache.get_actor(urn=urn), PRIVILEGE)))


def member_events() -> list[tuple[Any, Any]]:
    events = ChangeEvent.objects.filter(verb="MEMBERS_CHANGED").order_by("id")
    return [(event.before, event.after) for event in events]


@pytest.mark.django_db(transaction=True)
def test_a_membership_counts_from_its_beginning_until_its_end(clock, user, eng):
    jo, begins = user("jo").urn, timezone.now() + HOUR
    assert add(eng, jo, begins, begins + HOUR, reason="Audit") == [jo]
    assert not is_allowed(jo)
    assert not Membership.objects.exists()
    clock(HOUR)
    assert is_allowed(jo)
    assert not ScheduledMembership.objects.exists()
    assert Membership.objects.get().validity == Validity(begins, begins + HOUR)
    clock(HOUR)
    assert not is_allowed(jo)
    assert not Membership.objects.exists()
    times = {"valid_from": begins.isoformat(), "valid_until": (begins + HOUR).isoformat(), "reason": "Audit"}
    assert member_events() == [
        ({"scheduled": {}}, {"scheduled": {jo: times}}),
        ({"members": []}, {"members": [jo], "times": {jo: times}}),
        ({"members": [jo]}, {"members": []}),
    ]
    assert PolicyVersion.load_numbers().next_boundary is None


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_is_set_back_revives_nothing(clock, user, eng):
    jo = user("jo").urn
    add(eng, jo, ends=timezone.now() + HOUR)
    assert is_allowed(jo)
    clock(2 * HOUR)
    assert not is_allowed(jo)
    clock(-2 * HOUR)
    snapshot_store.reset()
    assert not is_allowed(jo)


@pytest.mark.django_db(transaction=True)
def test_no_answer_relies_on_what_ended_more_than_a_second_ago(user, eng):
    jo = user("jo").urn
    snapshot_store.refresh()
    # Whole milliseconds, as boundaries are.
    end = timezone.now().replace(microsecond=0) + timedelta(seconds=3)
    add(eng, jo, ends=end)
    assert is_allowed(jo)
    last_allowed_at = 0.0
    while time.time() < end.timestamp() + 1.5:
        asked_at = time.time()
        if is_allowed(jo):
            last_allowed_at = asked_at
    assert last_allowed_at < end.timestamp()


@pytest.mark.django_db
def test_a_urn_keeps_the_times_of_a_member_and_an_object_sets_them(user, eng):
    jo, end = user("jo").urn, timezone.now() + HOUR
    assert add(eng, jo, ends=end) == [jo]
    assert groups.add_members(urn=eng, members=[jo], by=authorizer.SYSTEM, channel=DOOR) == []
    assert Membership.objects.get().valid_until == end
    assert add(eng, jo, ends=end + HOUR) == []
    assert Membership.objects.get().valid_until == end + HOUR
    add(eng, jo)
    assert Membership.objects.get().valid_until is None
    add(eng, jo, begins=end)
    assert (Membership.objects.count(), ScheduledMembership.objects.count()) == (0, 1)
    groups.add_members(urn=eng, members=[jo], by=authorizer.SYSTEM, channel=DOOR)
    assert (Membership.objects.get().validity, ScheduledMembership.objects.count()) == (Validity(), 0)


@pytest.mark.django_db
def test_sources_that_name_a_member_keep_its_times(clock, user, group):
    eng, jo, end = group("eng").urn, user("jo").urn, timezone.now() + HOUR
    add(eng, jo, ends=end)
    native = AspectChange(jo, "corpuser", "nativeGroupMembership", {"nativeGroups": [eng]})
    aspect_services.apply(changes=[native], by=authorizer.SYSTEM)
    assert Membership.objects.get().valid_until == end
    external = AspectChange(jo, "corpuser", "groupMembership", {"groups": [eng]})
    aspect_services.apply(changes=[external], by=authorizer.SYSTEM)
    assert Membership.objects.get().valid_until == end
    clock(HOUR)
    snapshot_store.refresh()
    membership = Membership.objects.get()
    assert (membership.is_native, membership.is_external, membership.validity) == (False, True, Validity())


@pytest.mark.django_db
def test_removing_ends_what_is_scheduled_too(user, eng):
    jo, bea = user("jo").urn, user("bea").urn
    add(eng, jo, begins=timezone.now() + HOUR)
    add(eng, bea, ends=timezone.now() + HOUR)
    removed = groups.remove_members(urn=eng, members=[jo, bea], by=authorizer.SYSTEM, channel=DOOR)
    assert removed == [bea]
    assert not ScheduledMembership.objects.exists()
    assert not Membership.objects.exists()
    add(eng, jo, begins=timezone.now() + HOUR)
    groups.remove(urn=eng, by=authorizer.SYSTEM, channel=DOOR)
    assert not ScheduledMembership.objects.exists()


@pytest.mark.django_db
def test_what_cannot_begin_is_dropped_with_an_event(clock, user, eng):
    jo, bea, begins = user("jo").urn, user("bea").urn, timezone.now() + HOUR
    add(eng, jo, begins)
    add(eng, bea, begins, begins + HOUR)
    users.remove(urn=jo, by=authorizer.SYSTEM, channel=DOOR)
    kim = user("kim")
    add(eng, kim.urn, begins)
    removed = AspectChange(kim.urn, "corpuser", "status", {"removed": True})
    aspect_services.apply(changes=[removed], by=authorizer.SYSTEM)
    clock(5 * HOUR)
    snapshot_store.refresh()
    assert not ScheduledMembership.objects.exists()
    assert not Membership.objects.exists()
    assert member_events()[-1][1]["dropped"] == {
        bea: "It had ended before anything could begin.",
        kim.urn: "The user is removed.",
    }


@pytest.mark.django_db
def test_every_problem_is_named(user, eng):
    jo, bea, now = user("jo").urn, user("bea").urn, timezone.now()
    members = [
        jo,
        TimedHolder("urn:li:corpuser:nobody", Validity(now + HOUR, now + HOUR)),
        TimedHolder(bea, Validity(None, now - HOUR), "x" * 1001),
        TimedHolder(jo),
    ]
    with pytest.raises(Invalid) as refusal:
        groups.add_members(urn=eng, members=members, by=authorizer.SYSTEM, channel=DOOR)
    assert [(problem.code, problem.pointer) for problem in refusal.value.problems] == [
        ("unknown", "/members/1/urn"),
        ("validity.empty", "/members/1/valid_until"),
        ("validity.ended", "/members/2/valid_until"),
        ("text.long", "/members/2/reason"),
        ("repeated", "/members/3/urn"),
    ]
    assert not Membership.objects.exists()


@pytest.mark.django_db
def test_who_joins_later_gains_nothing_that_the_author_lacks(user, eng, holding):
    jo, author = user("jo", state="SUSPENDED").urn, holding("MANAGE_USERS_AND_GROUPS")
    with pytest.raises(Forbidden, match=PRIVILEGE):
        add(eng, jo, begins=timezone.now() + HOUR, by=author)
    assert not ScheduledMembership.objects.exists()
    other_author = holding("MANAGE_USERS_AND_GROUPS", PRIVILEGE, username="other")
    assert add(eng, jo, begins=timezone.now() + HOUR, by=other_author) == [jo]


@pytest.mark.django_db
def test_an_end_gives_nothing_that_the_author_lacks(user, group, holding):
    watched, jo = group("watched").urn, user("jo").urn
    give({"users": [jo]})
    give({"groups": [watched]}, displayName="Denied", effect="DENY")
    add(watched, jo)
    author = holding("MANAGE_USERS_AND_GROUPS")
    with pytest.raises(Forbidden, match=PRIVILEGE):
        add(watched, jo, ends=timezone.now() + HOUR, by=author)
    assert Membership.objects.get().valid_until is None
    add(watched, jo, ends=timezone.now() + HOUR, by=authorizer.SYSTEM)
    assert Membership.objects.get().valid_until is not None


@pytest.mark.django_db
def test_a_later_end_gives_nothing_that_the_author_lacks(user, eng, holding):
    jo, author, end = user("jo").urn, holding("MANAGE_USERS_AND_GROUPS"), timezone.now() + 2 * HOUR
    add(eng, jo, ends=end)
    add(eng, jo, ends=end - HOUR, by=author)
    for new_end in (end, None):
        with pytest.raises(Forbidden, match=PRIVILEGE):
            add(eng, jo, ends=new_end, by=author)
    assert Membership.objects.get().valid_until == end - HOUR
    add(eng, jo, by=holding("MANAGE_USERS_AND_GROUPS", PRIVILEGE, username="other"))
    assert Membership.objects.get().valid_until is None
