"""With policies that deny or exclude, joining takes platform privileges: of the last manager it is refused."""

from typing import Any

import pytest
from django.db import transaction

from policies.errors import Conflict
from policies.identity.services import groups, invitations, roles, users
from policies.models import GroupProfile
from policies.pdp import actor_resolution, authorizer, snapshot_store
from tests.forgetting import forget_rows
from tests.policies.conftest import DOOR
from tests.policies.test_denied_power import (
    CLOSED,
    CONTRACTORS,
    CREW,
    MIA,
    POLICY,
    SOURCE,
    TEAM,
    aspect,
    put,
    sign_in,
)
from tests.policies.test_lockout import PASSWORD, people_stored

#: Two ways to say that members of some groups, and holders of a role, may not manage policies.
CLOSINGS = {
    "denied": ({"users": [MIA]}, CLOSED),
    "excluded": ({"users": [MIA], "excludedGroups": CLOSED["groups"], "excludedRoles": CLOSED["roles"]}, None),
}


@pytest.fixture(params=CLOSINGS, scope="module")
def _closed(request, module_transaction):
    """The world of the manager, once for each way."""
    assert module_transaction
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]  # as `module_transaction` does
    with around:
        forget_rows()
        by: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
        users.create(username="mia", password=PASSWORD, **by)
        roles.create(name="Contractors", identifier="Contractors", **by)
        groups.create(name="crew", identifier="crew", **by)
        groups.create(name="source", identifier="source", origin="EXTERNAL", **by)
        groups.create(name="team", identifier="team", members=[MIA], **by)
        groups.create(name="gone", identifier="gone", members=[MIA], roles=[CONTRACTORS], **by)
        GroupProfile.objects.filter(identifier="gone").update(is_removed=True)
        allowing, denying = CLOSINGS[request.param]
        put(POLICY, authorizer.SYSTEM, "MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS", actors=allowing)
        if denying:
            put(f"{POLICY}-deny", authorizer.SYSTEM, "MANAGE_POLICIES", actors=denying, effect="DENY")
        yield
        transaction.set_rollback(True)


@pytest.fixture
def manager(_closed, db):
    """Mia, the only one who manages policies, as long as she stays out of some groups and a role."""
    return actor_resolution.load_actor(urn=MIA)


JOINING = {
    "add members": lambda **by: groups.add_members(urn=CREW, members=[MIA], **by),
    "add to groups": lambda **by: groups.add_to_groups(user=MIA, groups=[CREW], **by),
    "grant the role": lambda **by: roles.grant(urn=CONTRACTORS, actors=[MIA], **by),
    "grant the role to a group": lambda **by: roles.grant(urn=CONTRACTORS, actors=[TEAM], **by),
    "assign the role": lambda **by: roles.assign(role=CONTRACTORS, actors=[MIA], **by),
    "set the roles": lambda **by: roles.set_roles(actor=TEAM, roles=[CONTRACTORS], **by),
    "a new group with the role": lambda **by: groups.create(name="N", members=[MIA], roles=[CONTRACTORS], **by),
    "nativeGroupMembership": aspect("corpuser", MIA, "nativeGroupMembership", {"nativeGroups": [TEAM, CREW]}),
    "groupMembership": aspect("corpuser", MIA, "groupMembership", {"groups": [SOURCE]}),
    "roleMembership": aspect("corpuser", MIA, "roleMembership", {"roles": [CONTRACTORS]}),
    "roleMembership of a group": aspect("corpGroup", TEAM, "roleMembership", {"roles": [CONTRACTORS]}),
    "a group that comes back": aspect("corpGroup", "urn:li:corpGroup:gone", "status", {"removed": False}),
    "sign in": lambda **_: sign_in("mia", "source"),
}


@pytest.mark.parametrize("joining", JOINING)
def test_the_last_manager_joins_nothing_that_may_not(manager, joining):
    before = people_stored()
    with pytest.raises(Conflict, match="Nobody who can sign in could manage policies"):
        JOINING[joining](by=manager, channel=DOOR)
    assert people_stored() == before


@pytest.mark.parametrize("joining", JOINING)
def test_with_a_second_manager_the_first_joins(manager, user, system, joining):
    user("mo", password=PASSWORD)
    put(f"{POLICY}-mo", system, "MANAGE_POLICIES", actors={"users": ["urn:li:corpuser:mo"]})
    JOINING[joining](by=manager, channel=DOOR)
    snapshot_store.reset()
    assert people_stored()
    actor = actor_resolution.load_actor(urn=MIA)
    assert not (actor.groups | actor.roles).isdisjoint({CREW, SOURCE, CONTRACTORS})


def test_an_invitation_locks_nobody_out(manager, system):
    link = invitations.create(role=CONTRACTORS, by=system, channel=DOOR)
    with pytest.raises(Conflict, match="without the groups and roles of people as they are"):
        invitations.accept(text=link.text, by=manager, channel=DOOR)
    assert not actor_resolution.load_actor(urn=MIA).roles


def test_the_system_may_lock_out_by_joining(manager, system):
    groups.add_members(urn=CREW, members=[MIA], by=system, channel=DOOR)
