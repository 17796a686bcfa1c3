"""Removed users and groups: as unknown to writes as if they had never been, until they are restored."""

from collections.abc import Callable

import pytest

from policies.aspects import queries as aspect_queries
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.errors import Invalid, NotFound, PolicyAppError
from policies.identity.services import external_sign_in, groups, password_resets, roles, users
from policies.models import ChangeEvent, Membership, RoleAssignment, User

pytestmark = pytest.mark.django_db

DOOR = "test"
JO, BEA, GONE = "urn:li:corpuser:jo", "urn:li:corpuser:bea", "urn:li:corpuser:gone"
ENG, CLOSED, STEWARD = "urn:li:corpGroup:eng", "urn:li:corpGroup:closed", "urn:li:dataHubRole:steward"
NEW_PASSWORD = "correct horse battery"


def status(urn, *, removed):
    kind = "corpGroup" if urn.startswith("urn:li:corpGroup:") else "corpuser"
    return AspectChange(urn, kind, "status", {"removed": removed})


def native_groups(urn, *groups):
    return AspectChange(urn, "corpuser", "nativeGroupMembership", {"nativeGroups": list(groups)})


@pytest.fixture
def put_away(system, user, group, role):
    """A removed user in a group that is there, and a removed group with a member; both hold a role."""
    role("steward")
    for name in ("jo", "bea", "gone"):
        user(name)
    group("eng", members=[JO, GONE])
    group("closed", members=[JO])
    roles.grant(urn=STEWARD, actors=[GONE, CLOSED], by=system, channel=DOOR)
    aspect_services.apply(changes=[status(GONE, removed=True), status(CLOSED, removed=True)], by=system)


def stored():
    return (
        set(Membership.objects.values_list("user__urn", "group__profile__urn", "is_native", "is_external")),
        set(RoleAssignment.objects.values_list("user__urn", "group__profile__urn", "role__urn")),
        set(User.objects.values_list("urn", "password", "state", "display_name")),
        ChangeEvent.objects.count(),
    )


WRITES: dict[str, tuple[Callable[..., object], type[PolicyAppError]]] = {
    "adding to the group": (lambda by: groups.add_members(urn=CLOSED, members=[BEA], by=by, channel=DOOR), NotFound),
    "taking from the group": (
        lambda by: groups.remove_members(urn=CLOSED, members=[JO], by=by, channel=DOOR),
        NotFound,
    ),
    "renaming the group": (lambda by: groups.update(urn=CLOSED, name="Open", by=by, channel=DOOR), NotFound),
    "a group of a user": (
        lambda by: groups.add_to_groups(user=BEA, groups=[ENG, CLOSED], by=by, channel=DOOR),
        Invalid,
    ),
    "a group of a new user": (
        lambda by: users.create(username="new", groups=[CLOSED], by=by, channel=DOOR),
        Invalid,
    ),
    "adding the user": (lambda by: groups.add_members(urn=ENG, members=[BEA, GONE], by=by, channel=DOOR), Invalid),
    "groups of the user": (lambda by: groups.add_to_groups(user=GONE, groups=[ENG], by=by, channel=DOOR), NotFound),
    "a member of a new group": (
        lambda by: groups.create(name="New", members=[GONE], by=by, channel=DOOR),
        Invalid,
    ),
    "a role for the group": (lambda by: roles.grant(urn=STEWARD, actors=[CLOSED], by=by, channel=DOOR), Invalid),
    "a role for the user": (lambda by: roles.grant(urn=STEWARD, actors=[BEA, GONE], by=by, channel=DOOR), Invalid),
    "the roles of the group": (lambda by: roles.set_roles(actor=CLOSED, roles=[], by=by, channel=DOOR), NotFound),
    "the roles of the user": (lambda by: roles.set_roles(actor=GONE, roles=[], by=by, channel=DOOR), NotFound),
    "a profile": (lambda by: users.update(urn=GONE, display_name="Gone", by=by, channel=DOOR), NotFound),
    "suspending": (lambda by: users.suspend(urn=GONE, by=by, channel=DOOR), NotFound),
    "a password": (lambda by: users.set_password(urn=GONE, password=NEW_PASSWORD, by=by, channel=DOOR), NotFound),
    "a reset link": (lambda by: password_resets.create(urn=GONE, by=by, channel=DOOR), NotFound),
    "the end of links": (lambda by: external_sign_in.unlink(urn=GONE, by=by, channel=DOOR), NotFound),
    "a field of the group's profile": (
        lambda by: aspect_services.amend(
            urn=CLOSED, entity_type="corpGroup", name="corpGroupEditableInfo", fields={"email": "a@x.example"}, by=by
        ),
        NotFound,
    ),
    "an aspect with the group": (
        lambda by: aspect_services.apply(changes=[native_groups(BEA, ENG, CLOSED)], by=by),
        Invalid,
    ),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_names_somebody_removed_is_refused_as_if_unknown(put_away, system, what):
    write, refusal = WRITES[what]
    before = stored()
    with pytest.raises(refusal):
        write(system)
    assert stored() == before


def test_a_replacing_assignment_skips_the_removed(put_away, system):
    result = roles.assign(role=STEWARD, actors=[BEA, GONE, CLOSED], by=system, channel=DOOR)
    assert (result.assigned_urns, result.skipped_urns) == ((BEA,), (GONE, CLOSED))
    result = roles.assign(role=None, actors=[GONE, CLOSED], by=system, channel=DOOR)
    assert result.skipped_urns == (GONE, CLOSED)
    assert set(RoleAssignment.objects.values_list("user__urn", "group__profile__urn")) == {
        (BEA, None),
        (GONE, None),
        (None, CLOSED),
    }


def test_what_is_taken_from_the_removed_does_not_come_back_with_them(put_away, system):
    assert groups.remove_members(urn=ENG, members=[GONE], by=system, channel=DOOR) == [GONE]
    assert set(roles.revoke(urn=STEWARD, actors=[GONE, CLOSED], by=system, channel=DOOR)) == {GONE, CLOSED}
    assert not RoleAssignment.objects.exists()


def test_removed_users_and_groups_are_restored_and_deleted(put_away, system):
    changes = [native_groups(BEA, CLOSED), status(CLOSED, removed=False), status(GONE, removed=False)]
    aspect_services.apply(changes=changes, by=system)
    assert groups.add_members(urn=CLOSED, members=[BEA, GONE], by=system, channel=DOOR) == [GONE]
    aspect_services.apply(changes=[status(GONE, removed=True), status(CLOSED, removed=True)], by=system)
    users.remove(urn=GONE, by=system, channel=DOOR)
    groups.remove(urn=CLOSED, by=system, channel=DOOR)
    assert aspect_queries.load_aspects_many(urns=[GONE, CLOSED]) == {}


def test_memberships_in_a_removed_group_that_are_there_may_be_repeated(put_away, system):
    aspect_services.apply(changes=[native_groups(JO, ENG, CLOSED)], by=system)
    assert Membership.objects.filter(user__urn=JO, is_native=True).count() == 2


def test_a_source_may_deliver_memberships_before_it_restores_the_group(put_away, system):
    delivered = AspectChange(BEA, "corpuser", "groupMembership", {"groups": [CLOSED]})
    aspect_services.apply(changes=[delivered], by=system)
    aspect_services.apply(changes=[status(CLOSED, removed=False)], by=system)
    assert Membership.objects.filter(user__urn=BEA, group__profile__urn=CLOSED, is_external=True).exists()
