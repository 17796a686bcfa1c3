"""Role assignments begin and end by themselves, on time, and once."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from policies.aspects import services as aspect_services
from policies.aspects.schemas import AspectChange
from policies.authoring.services import policies, policy_drafts
from policies.engine.families.validity import Validity
from policies.errors import Forbidden, Invalid
from policies.identity.services import roles
from policies.models import ChangeEvent, PolicyVersion, RoleAssignment, ScheduledRoleAssignment
from policies.pdp import authorizer, fact_cache, snapshot_store
from policies.writes.timed_holders import TimedHolder
from tests.policies.test_membership_times import clock

__all__ = ["clock"]

DOOR = "test"
HOUR = timedelta(hours=1)


def assign(role: str, urn: str, begins: datetime | None = None, ends: datetime | None = None) -> list[str]:
    holder = TimedHolder(urn, Validity(begins, ends), "Audit")
    return roles.grant(urn=role, actors=[holder], by=authorizer.SYSTEM, channel=DOOR)


def holds(urn: str, role: str) -> bool:
    return role in fact_cache.get_actor(urn=urn).roles


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_group", [False, True])
def test_an_assignment_counts_from_its_beginning_until_its_end(clock, user, group, role, is_group):
    jo, steward, begins = user("jo").urn, role("Steward").urn, timezone.now() + HOUR
    holder = group("eng", members=[jo]).urn if is_group else jo
    assert assign(steward, holder, begins, begins + HOUR) == [holder]
    assert assign(steward, holder, begins, begins + HOUR) == []
    assert not holds(jo, steward)
    clock(HOUR)
    assert holds(jo, steward)
    assert not ScheduledRoleAssignment.objects.exists()
    clock(HOUR)
    assert not holds(jo, steward)
    clock(-2 * HOUR)
    snapshot_store.reset()
    assert not holds(jo, steward)
    events = ChangeEvent.objects.filter(verb="ROLES_CHANGED", door="clock").order_by("id")
    times = {"valid_from": begins.isoformat(), "valid_until": (begins + HOUR).isoformat(), "reason": "Audit"}
    assert [(event.object_urn, event.before, event.after) for event in events] == [
        (holder, {"roles": []}, {"roles": [steward], "times": {steward: times}}),
        (holder, {"roles": [steward]}, {"roles": []}),
    ]
    assert PolicyVersion.load_numbers().next_boundary is None


@pytest.mark.django_db
def test_a_urn_keeps_the_times_of_a_holder_and_an_object_sets_them(user, role):
    jo, steward, end = user("jo").urn, role("Steward").urn, timezone.now() + HOUR
    assign(steward, jo, ends=end)
    assert roles.grant(urn=steward, actors=[jo], by=authorizer.SYSTEM, channel=DOOR) == []
    membership = AspectChange(jo, "corpuser", "roleMembership", {"roles": [steward]})
    aspect_services.apply(changes=[membership], by=authorizer.SYSTEM)
    assert RoleAssignment.objects.get().valid_until == end
    assign(steward, jo)
    assert RoleAssignment.objects.get().valid_until is None
    assign(steward, jo, begins=end)
    assert (RoleAssignment.objects.count(), ScheduledRoleAssignment.objects.count()) == (0, 1)
    roles.grant(urn=steward, actors=[jo], by=authorizer.SYSTEM, channel=DOOR)
    assert (RoleAssignment.objects.get().validity, ScheduledRoleAssignment.objects.count()) == (Validity(), 0)


@pytest.mark.django_db
def test_taking_a_role_cancels_what_has_not_begun(user, role):
    jo, begins = user("jo").urn, timezone.now() + HOUR
    steward, other = role("Steward").urn, role("Other").urn
    assign(steward, jo, begins)
    assert roles.revoke(urn=steward, actors=[jo], by=authorizer.SYSTEM, channel=DOOR) == []
    assert not ScheduledRoleAssignment.objects.exists()
    assign(steward, jo, begins)
    roles.assign(role=other, actors=[jo], by=authorizer.SYSTEM, channel=DOOR)
    assert not ScheduledRoleAssignment.objects.exists()
    assign(steward, jo, begins)
    roles.delete(urn=steward, by=authorizer.SYSTEM, channel=DOOR)
    assert not ScheduledRoleAssignment.objects.exists()


@pytest.mark.django_db
def test_what_cannot_begin_is_dropped_with_an_event(clock, user, role):
    jo, bea, steward, begins = user("jo").urn, user("bea").urn, role("Steward").urn, timezone.now() + HOUR
    assign(steward, jo, begins, begins + HOUR)
    assign(steward, bea, begins)
    removed = AspectChange(bea, "corpuser", "status", {"removed": True})
    aspect_services.apply(changes=[removed], by=authorizer.SYSTEM)
    clock(5 * HOUR)
    snapshot_store.refresh()
    assert not ScheduledRoleAssignment.objects.exists()
    assert not RoleAssignment.objects.exists()
    events = ChangeEvent.objects.filter(verb="ROLES_CHANGED", door="clock").order_by("id")
    assert [(event.object_urn, event.after["dropped"]) for event in events] == [
        (jo, {steward: "It had ended before anything could begin."}),
        (bea, {steward: "The holder is removed."}),
    ]


@pytest.mark.django_db
def test_every_problem_is_named(user, role):
    jo, steward, now = user("jo").urn, role("Steward").urn, timezone.now()
    actors = [TimedHolder("urn:li:corpuser:nobody"), TimedHolder(jo, Validity(now + HOUR, now))]
    with pytest.raises(Invalid) as refusal:
        roles.grant(urn=steward, actors=actors, by=authorizer.SYSTEM, channel=DOOR)
    assert [(problem.code, problem.pointer) for problem in refusal.value.problems] == [
        ("unknown", "/actors/0/urn"),
        ("validity.empty", "/actors/1/valid_until"),
    ]


@pytest.mark.django_db
def test_who_may_not_give_a_role_neither_assigns_it_for_later_nor_for_longer(user, role, holding):
    jo, steward, author = user("jo").urn, role("Steward").urn, holding("MANAGE_POLICIES")
    document = {
        "displayName": "Guardrails",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_GUARDRAILS"],
        "actors": {"roles": [steward]},
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.reset()
    begins = timezone.now() + HOUR

    def assign_by_author(validity: Validity) -> None:
        roles.grant(urn=steward, actors=[TimedHolder(jo, validity)], by=author, channel=DOOR)

    with pytest.raises(Forbidden, match="MANAGE_GUARDRAILS"):
        assign_by_author(Validity(begins, None))
    assert not ScheduledRoleAssignment.objects.exists()
    assign(steward, jo, ends=begins)
    assign_by_author(Validity(None, begins - HOUR / 2))
    with pytest.raises(Forbidden, match="MANAGE_GUARDRAILS"):
        assign_by_author(Validity(None, begins))
    with pytest.raises(Forbidden, match="MANAGE_GUARDRAILS"):
        assign_by_author(Validity())
