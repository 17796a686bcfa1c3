"""A change that leaves nobody who can manage policies is refused, whatever door it comes through."""

from datetime import timedelta

import pytest
from django.utils import timezone

from policies.aspects import services as aspect_services
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.engine.families.validity import Validity
from policies.errors import Conflict
from policies.identity.services import groups, invitations, roles, users
from policies.models import (
    ChangeEvent,
    GroupProfile,
    Membership,
    Role,
    RoleAssignment,
    ScheduledMembership,
    User,
)
from policies.pdp import actor_resolution, snapshot_store
from policies.writes.timed_holders import TimedHolder
from tests.policies.conftest import DOOR

PASSWORD = "correct horse battery"


@pytest.fixture
def manager(holding, system):
    """Somebody who holds MANAGE_POLICIES by the only policy that gives it, and has a password."""
    actor = holding("MANAGE_POLICIES", username="mia")
    users.set_password(urn=actor.urn, password=PASSWORD, by=system, channel=DOOR)
    return actor


def the_policy():
    return policy_queries.list_policies(privilege="MANAGE_POLICIES").get()


def changed(**changes):
    policy = the_policy()
    return policy_drafts.PolicyInput("datahub", {**policy.document, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "INACTIVE"},
        {"privileges": ["MANAGE_TAGS"]},
        {"actors": {"users": ["urn:li:corpuser:nobody"]}},
        {"type": "METADATA", "resources": {"filter": {"criteria": []}}},
    ],
)
def test_the_last_manager_stays(manager, changes):
    before = the_policy()
    with pytest.raises(Conflict, match="Nobody who can sign in could manage policies"):
        policies.update(urn=before.urn, draft=changed(**changes), by=manager, channel=DOOR)
    assert the_policy().version == before.version
    assert the_policy().document == before.document


def test_deleting_and_deactivating_are_changes_too(manager):
    urn = the_policy().urn
    with pytest.raises(Conflict):
        policies.delete(urn=urn, by=manager, channel=DOOR)
    with pytest.raises(Conflict):
        policies.set_state(urn=urn, state="INACTIVE", by=manager, channel=DOOR)
    assert the_policy().state == "ACTIVE"


def test_another_manager_makes_it_possible(manager, holding, system):
    first = the_policy().urn
    second = holding("MANAGE_POLICIES", username="mo")
    users.set_password(urn=second.urn, password=PASSWORD, by=system, channel=DOOR)
    policies.delete(urn=first, by=manager, channel=DOOR)
    snapshot_store.reset()
    with pytest.raises(Conflict):
        policies.delete(urn=the_policy().urn, by=actor_resolution.load_actor(urn=second.urn), channel=DOOR)


@pytest.mark.parametrize("more", [{"state": "SUSPENDED"}, {"kind": "SERVICE"}, {}])
def test_who_cannot_sign_in_does_not_count(manager, user, system, more):
    other = user("other", **more)
    if more.get("state"):
        users.set_password(urn=other.urn, password=PASSWORD, by=system, channel=DOOR)
    draft = changed(actors={"users": [other.urn]})
    with pytest.raises(Conflict):
        policies.update(urn=the_policy().urn, draft=draft, by=manager, channel=DOOR)


def test_roles_and_groups_of_roles_count(manager, user, group, role, system):
    other = user("other")
    users.set_password(urn=other.urn, password=PASSWORD, by=system, channel=DOOR)
    crew = group("crew", members=[other.urn])
    policies.update(urn=the_policy().urn, draft=changed(actors={"groups": [crew.urn]}), by=manager, channel=DOOR)
    assert the_policy().version == 2


def test_what_gives_no_such_power_is_not_asked_about(manager, system):
    document = {**the_policy().document, "privileges": ["MANAGE_TAGS"], "displayName": "Tags"}
    written = policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=manager, channel=DOOR)
    policies.delete(urn=written.policy.urn, by=manager, channel=DOOR)


def test_the_system_may(manager, system):
    policies.delete(urn=the_policy().urn, by=system, channel=DOOR)
    assert not policy_queries.list_policies(privilege="MANAGE_POLICIES").exists()


MIA, CREW, ADMINS = "urn:li:corpuser:mia", "urn:li:corpGroup:crew", "urn:li:dataHubRole:Admins"


@pytest.fixture
def bound(manager, group, role, system):
    """Mia, who may also do everything to people; the power over policies she has by a role of her group alone."""
    role("Admins")
    group("crew", members=[MIA], roles=[ADMINS])
    policies.update(urn=the_policy().urn, draft=changed(actors={"roles": [ADMINS]}), by=system, channel=DOOR)
    beside = {**the_policy().document, "privileges": ["MANAGE_USERS_AND_GROUPS"], "actors": {"users": [MIA]}}
    policies.create(draft=policy_drafts.PolicyInput("datahub", beside), by=system, channel=DOOR)
    snapshot_store.reset()
    return actor_resolution.load_actor(urn=MIA)


def people_stored():
    """Return everything about people that a refused change could leave behind."""
    return (
        list(User.objects.order_by("urn").values("urn", "state", "is_removed", "session_epoch", "extra")),
        list(GroupProfile.objects.order_by("urn").values("urn", "is_removed", "extra")),
        list(Membership.objects.order_by("pk").values("user", "group", "is_native", "is_external")),
        list(RoleAssignment.objects.order_by("pk").values("role", "user", "group")),
        list(Role.objects.order_by("urn").values("urn")),
        ChangeEvent.objects.count(),
    )


def aspect(type_, urn, name, document):
    one = aspect_services.AspectChange(urn, type_, name, document)
    return lambda **by: aspect_services.apply(changes=[one], **by)


#: Every way to take the power from the last who has it.
TAKING = {
    "suspend": lambda **by: users.suspend(urn=MIA, **by),
    "remove the user": lambda **by: users.remove(urn=MIA, **by),
    "take the role": lambda **by: roles.revoke(urn=ADMINS, actors=[CREW], **by),
    "assign no role": lambda **by: roles.assign(role=None, actors=[CREW], **by),
    "set the roles": lambda **by: roles.set_roles(actor=CREW, roles=[], **by),
    "remove the member": lambda **by: groups.remove_members(urn=CREW, members=[MIA], **by),
    "remove the group": lambda **by: groups.remove(urn=CREW, **by),
    "delete the role": lambda **by: roles.delete(urn=ADMINS, **by),
    "delete the user by aspect": lambda **by: aspect_services.remove(urn=MIA, **by),
    "delete the group by aspect": lambda **by: aspect_services.remove(urn=CREW, **by),
    "corpUserStatus": aspect("corpuser", MIA, "corpUserStatus", {"status": "SUSPENDED"}),
    "corpUserInfo": aspect("corpuser", MIA, "corpUserInfo", {"active": False}),
    "status of the user": aspect("corpuser", MIA, "status", {"removed": True}),
    "status of the group": aspect("corpGroup", CREW, "status", {"removed": True}),
    "memberships": aspect("corpuser", MIA, "nativeGroupMembership", {"nativeGroups": []}),
    "memberships deleted": aspect("corpuser", MIA, "nativeGroupMembership", None),
    "roles of the group": aspect("corpGroup", CREW, "roleMembership", {"roles": []}),
    "roles of the group deleted": aspect("corpGroup", CREW, "roleMembership", None),
    "role deleted by aspect": aspect("dataHubRole", ADMINS, "dataHubRoleInfo", None),
}


@pytest.mark.parametrize("taking", TAKING)
def test_the_last_manager_stays_whatever_is_done_to_people(bound, taking):
    before = people_stored()
    is_of_role = taking in ("delete the role", "role deleted by aspect")
    with pytest.raises(Conflict, match="is named by" if is_of_role else "Nobody who can sign in could manage policies"):
        TAKING[taking](by=bound, channel=DOOR)
    assert people_stored() == before


def test_an_invitation_does_not_take_the_role_of_the_last_manager(manager, role, system):
    role("Admins")
    policies.update(urn=the_policy().urn, draft=changed(actors={"roles": [ADMINS]}), by=system, channel=DOOR)
    roles.grant(urn=ADMINS, actors=[MIA], by=system, channel=DOOR)
    snapshot_store.reset()
    link = invitations.create(role=None, by=system, channel=DOOR)
    with pytest.raises(Conflict, match="without the roles of mia as they are"):
        invitations.accept(text=link.text, by=actor_resolution.load_actor(urn=MIA), channel=DOOR)
    assert actor_resolution.load_actor(urn=MIA).roles == {ADMINS}


@pytest.mark.parametrize("taking", sorted(set(TAKING) - {"delete the role", "role deleted by aspect"}))
def test_with_a_second_manager_people_change_freely(bound, holding, system, taking):
    holding("MANAGE_POLICIES", username="mo")
    users.set_password(urn="urn:li:corpuser:mo", password=PASSWORD, by=system, channel=DOOR)
    TAKING[taking](by=bound, channel=DOOR)
    assert (
        not actor_resolution.load_actor(urn=MIA).is_active or ADMINS not in actor_resolution.load_actor(urn=MIA).roles
    )


def test_one_list_of_aspects_may_hand_the_power_over(bound, user, system):
    user("mo")
    users.set_password(urn="urn:li:corpuser:mo", password=PASSWORD, by=system, channel=DOOR)
    handing = [
        aspect_services.AspectChange(CREW, "corpGroup", "roleMembership", {"roles": []}),
        aspect_services.AspectChange("urn:li:corpuser:mo", "corpuser", "roleMembership", {"roles": [ADMINS]}),
    ]
    aspect_services.apply(changes=handing, by=bound, channel=DOOR)
    assert actor_resolution.load_actor(urn="urn:li:corpuser:mo").roles == {ADMINS}


AN_HOUR = timedelta(hours=1)


def join_until(end, by):
    member = TimedHolder(MIA, Validity(None, end))
    groups.add_members(urn=CREW, members=[member], by=by, channel=DOOR)


def assign_until(end, by):
    roles.grant(urn=ADMINS, actors=[TimedHolder(CREW, Validity(None, end))], by=by, channel=DOOR)


@pytest.mark.parametrize("limit", [join_until, assign_until])
def test_the_way_of_the_last_manager_gets_no_end(bound, holding, system, limit):
    before = people_stored()
    with pytest.raises(Conflict, match="There would come a time at which nobody could manage policies"):
        limit(timezone.now() + AN_HOUR, bound)
    assert people_stored() == before
    holding("MANAGE_POLICIES", username="mo")
    users.set_password(urn="urn:li:corpuser:mo", password=PASSWORD, by=system, channel=DOOR)
    limit(timezone.now() + AN_HOUR, bound)


@pytest.mark.parametrize("limit", [join_until, assign_until])
def test_who_manages_policies_for_a_time_is_no_reason_to_let_the_last_one_go(bound, user, system, limit):
    mo = user("mo").urn
    users.set_password(urn=mo, password=PASSWORD, by=system, channel=DOOR)
    policies.update(
        urn=the_policy().urn, draft=changed(actors={"users": [mo], "roles": [ADMINS]}), by=system, channel=DOOR
    )
    limit(timezone.now() + AN_HOUR, system)
    snapshot_store.reset()
    with pytest.raises(Conflict, match="There would come a time"):
        users.suspend(urn=mo, by=actor_resolution.load_actor(urn=MIA), channel=DOOR)


def test_the_last_manager_joins_no_group_later_that_is_denied(bound, group, system):
    group("watched")
    deny = {**the_policy().document, "displayName": "No", "effect": "DENY"}
    deny["actors"] = {"groups": ["urn:li:corpGroup:watched"]}
    policies.create(draft=policy_drafts.PolicyInput("datahub", deny), by=system, channel=DOOR)
    snapshot_store.reset()
    later = TimedHolder(MIA, Validity(timezone.now() + AN_HOUR, None))
    with pytest.raises(Conflict, match="There would come a time"):
        groups.add_members(urn="urn:li:corpGroup:watched", members=[later], by=bound, channel=DOOR)
    assert not ScheduledMembership.objects.exists()
