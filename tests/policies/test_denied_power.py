"""With policies that deny or exclude, joining takes platform privileges and leaving gives them: both are looked at."""

import pytest

from catalog.ingest import deletes
from policies.aspects import services as aspect_services
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.errors import Conflict, Forbidden
from policies.identity.services import external_sign_in, groups
from policies.identity.services.oidc_claims import ExternalIdentity
from policies.models import GroupProfile
from policies.pdp import actor_resolution, snapshot_store
from tests.policies.conftest import DOOR
from tests.policies.test_lockout import PASSWORD, people_stored

MIA, PLAIN = "urn:li:corpuser:mia", "urn:li:corpuser:plain"
CREW, TEAM, SOURCE = "urn:li:corpGroup:crew", "urn:li:corpGroup:team", "urn:li:corpGroup:source"
CONTRACTORS = "urn:li:dataHubRole:Contractors"
POLICY = "urn:li:dataHubPolicy:p"
CLOSED = {"groups": [CREW, SOURCE], "roles": [CONTRACTORS]}


def draft(*privileges, **more):
    document = {"displayName": "P", "type": "PLATFORM", "state": "ACTIVE", "privileges": list(privileges), "actors": {}}
    return policy_drafts.PolicyInput("datahub", document | more)


def put(urn, by, *privileges, **more):
    policies.put_many(drafts={urn: draft(*privileges, **more)}, by=by, channel=DOOR)
    snapshot_store.reset()


def aspect(type_, urn, name, document):
    one = aspect_services.AspectChange(urn, type_, name, document)
    return lambda **by: aspect_services.apply(changes=[one], **by)


def sign_in(username, *group_ids):
    identity = ExternalIdentity("https://idp.example", username, username, {}, group_ids, ())
    return external_sign_in.sign_in(identity=identity, may_sign_up=False, may_link=True)


NARROWING = {
    "a new deny": lambda **by: policies.create(
        draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY"), **by
    ),
    "a new deny of everybody": lambda **by: policies.create(
        draft=draft("MANAGE_POLICIES", actors={"allUsers": True}, effect="DENY"), **by
    ),
    "a deny in a batch": lambda **by: policies.put_many(
        drafts={
            f"{POLICY}-a": draft("MANAGE_TAGS", actors={"users": [MIA]}),
            f"{POLICY}-b": draft("MANAGE_POLICIES", actors={"groups": [TEAM]}, effect="DENY"),
        },
        **by,
    ),
    "the policy becomes a deny": lambda **by: policies.update(
        urn=POLICY, draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY"), **by
    ),
    "another policy becomes a deny": lambda **by: policies.update(
        urn=f"{POLICY}-other", draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY"), **by
    ),
    "a deny is activated": lambda **by: policies.set_state(urn=f"{POLICY}-idle", state="ACTIVE", **by),
    "denies are activated": lambda **by: policies.set_states(urns=[f"{POLICY}-idle"], state="ACTIVE", **by),
    "the policy excludes her": lambda **by: policies.update(
        urn=POLICY, draft=draft("MANAGE_POLICIES", actors={"users": [MIA], "excludedUsers": [MIA]}), **by
    ),
    "the policy excludes her group": lambda **by: policies.update(
        urn=POLICY, draft=draft("MANAGE_POLICIES", actors={"users": [MIA], "excludedGroups": [TEAM]}), **by
    ),
    "an aspect that denies": aspect(
        "dataHubPolicy",
        f"{POLICY}-aspect",
        "dataHubPolicyInfo",
        draft("MANAGE_POLICIES", actors={"allUsers": True}, effect="DENY").document,
    ),
}


@pytest.mark.parametrize("narrowing", NARROWING)
def test_no_policy_takes_the_power_from_the_last_manager(user, group, system, narrowing):
    user("mia", password=PASSWORD)
    group("team", members=[MIA])
    put(POLICY, system, "MANAGE_POLICIES", actors={"users": [MIA]})
    put(f"{POLICY}-other", system, "MANAGE_TAGS", actors={"users": [MIA]})
    put(f"{POLICY}-idle", system, "MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY", state="INACTIVE")
    by = actor_resolution.load_actor(urn=MIA)
    before = list(policy_queries.list_policies().values("urn", "version", "document"))
    with pytest.raises(Conflict, match="Nobody who can sign in could manage policies"):
        NARROWING[narrowing](by=by, channel=DOOR)
    assert list(policy_queries.list_policies().values("urn", "version", "document")) == before
    user("mo", password=PASSWORD)
    put(f"{POLICY}-mo", system, "MANAGE_POLICIES", actors={"users": ["urn:li:corpuser:mo"]})
    if "everybody" not in narrowing and "aspect" not in narrowing:
        NARROWING[narrowing](by=by, channel=DOOR)


#: Plain may manage tags, if it were not for a group.
OPENINGS = {
    "denied": ({"users": [PLAIN]}, {"groups": [CREW, SOURCE]}),
    "denied by any group": ({"users": [PLAIN]}, {"allGroups": True}),
    "denied by a role": ({"users": [PLAIN]}, {"roles": [CONTRACTORS]}),
    "excluded": ({"users": [PLAIN], "excludedGroups": [CREW, SOURCE]}, None),
    "excluded by a role": ({"allGroups": True, "users": [PLAIN], "excludedRoles": [CONTRACTORS]}, None),
}


def open_world(opening, user, group, role, system):
    user("plain")
    role("Contractors")
    group("crew", members=[PLAIN], roles=[CONTRACTORS])
    allowing, denying = OPENINGS[opening]
    put(POLICY, system, "MANAGE_TAGS", actors=allowing)
    if denying:
        put(f"{POLICY}-deny", system, "MANAGE_TAGS", actors=denying, effect="DENY")


DELETING = {
    "remove the group": lambda **by: groups.remove(urn=CREW, **by),
    "delete the group as an entity": lambda **by: deletes.delete(urn=CREW, **by),
}
LEAVING = {
    "remove the member": lambda **by: groups.remove_members(urn=CREW, members=[PLAIN], **by),
    "remove the group by aspect": aspect("corpGroup", CREW, "status", {"removed": True}),
    "memberships": aspect("corpuser", PLAIN, "nativeGroupMembership", {"nativeGroups": []}),
    "memberships deleted": aspect("corpuser", PLAIN, "nativeGroupMembership", None),
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("leaving", LEAVING)
def test_nobody_frees_others_for_what_they_do_not_hold(user, group, role, system, holding, opening, leaving):
    open_world(opening, user, group, role, system)
    by = holding("MANAGE_USERS_AND_GROUPS", username="delegate")
    before = people_stored()
    with pytest.raises(Forbidden, match="MANAGE_TAGS"):
        LEAVING[leaving](by=by, channel=DOOR)
    assert people_stored() == before


#: A deny of any group, and the exclusion of a role that the group holds, name no group.
NAMED = [opening for opening in OPENINGS if opening in ("denied", "excluded")]


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("deleting", DELETING)
def test_nobody_frees_others_by_deleting_their_group(user, group, role, system, holding, opening, deleting):
    open_world(opening, user, group, role, system)
    by = holding("MANAGE_USERS_AND_GROUPS", username="delegate")
    before = people_stored()
    with pytest.raises(
        Conflict if opening in NAMED else Forbidden, match=POLICY if opening in NAMED else "MANAGE_TAGS"
    ):
        DELETING[deleting](by=by, channel=DOOR)
    assert people_stored() == before


@pytest.mark.parametrize("opening", NAMED)
@pytest.mark.parametrize("deleting", DELETING)
def test_a_group_that_a_policy_keeps_out_is_deleted_by_nobody(user, group, role, system, opening, deleting):
    open_world(opening, user, group, role, system)
    with pytest.raises(Conflict, match="crew cannot be deleted: urn:li:dataHubPolicy:p"):
        DELETING[deleting](by=system, channel=DOOR)
    named = POLICY if opening == "excluded" else f"{POLICY}-deny"
    policies.set_state(urn=named, state="INACTIVE", by=system, channel=DOOR)
    with pytest.raises(Conflict, match=named):
        DELETING[deleting](by=system, channel=DOOR)
    policies.delete(urn=named, by=system, channel=DOOR)
    DELETING[deleting](by=system, channel=DOOR)
    assert not GroupProfile.objects.filter(urn=CREW).exists()


@pytest.mark.parametrize("leaving", LEAVING)
def test_who_holds_it_frees_others(user, group, role, system, holding, leaving):
    open_world("denied", user, group, role, system)
    by = holding("MANAGE_USERS_AND_GROUPS", "MANAGE_TAGS", username="delegate")
    LEAVING[leaving](by=by, channel=DOOR)
    assert CREW not in actor_resolution.load_actor(urn=PLAIN).groups


@pytest.mark.parametrize("leaving", LEAVING)
def test_leaving_a_group_that_gives_is_nobodys_gain(user, group, role, system, holding, leaving):
    """A deny of the privilege stands there, but of others."""
    open_world("denied", user, group, role, system)
    put(POLICY, system, "MANAGE_TAGS", actors={"groups": [CREW]})
    by = holding("MANAGE_USERS_AND_GROUPS", username="delegate")
    LEAVING[leaving](by=by, channel=DOOR)
    assert CREW not in actor_resolution.load_actor(urn=PLAIN).groups


def test_signing_in_keeps_a_group_that_withholds(user, group, system):
    """The provider may not give what the group withholds; other groups are left."""
    user("plain")
    group("source", origin="EXTERNAL", members=[PLAIN])
    group("harmless", origin="EXTERNAL", members=[PLAIN])
    put(POLICY, system, "MANAGE_TAGS", actors={"users": [PLAIN]})
    put(f"{POLICY}-deny", system, "MANAGE_TAGS", actors={"groups": [SOURCE]}, effect="DENY")
    sign_in("plain", "new")
    assert actor_resolution.load_actor(urn=PLAIN).groups == {SOURCE, "urn:li:corpGroup:new"}
    policies.delete(urn=POLICY, by=system, channel=DOOR)
    snapshot_store.reset()
    sign_in("plain", "new")
    assert actor_resolution.load_actor(urn=PLAIN).groups == {"urn:li:corpGroup:new"}


def test_signing_in_is_refused_where_groups_withhold_together_only(user, group, system):
    user("plain")
    for name in ("source", "crew"):
        group(name, origin="EXTERNAL", members=[PLAIN])
        excluding = {"users": [PLAIN], "excludedGroups": [f"urn:li:corpGroup:{name}"]}
        put(f"{POLICY}-{name}", system, "MANAGE_TAGS", actors=excluding)
    with pytest.raises(Forbidden, match="MANAGE_TAGS"):
        sign_in("plain")
    assert actor_resolution.load_actor(urn=PLAIN).groups == {SOURCE, CREW}


LATER, LONG_AGO = "2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z"

#: Changes after which nobody manages policies one day, though somebody does today.
SOON = {
    "an end": lambda **by: policies.update(
        urn=POLICY, draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, validUntil=LATER), **by
    ),
    "a beginning": lambda **by: policies.update(
        urn=POLICY, draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, validFrom=LATER), **by
    ),
    "a deny that begins": lambda **by: policies.create(
        draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY", validFrom=LATER), **by
    ),
    "a deny that ends": lambda **by: policies.create(
        draft=draft("MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY", validUntil=LATER), **by
    ),
    "a group that will be denied": lambda **by: groups.add_members(urn=CREW, members=[MIA], **by),
}


@pytest.mark.parametrize("change", SOON)
def test_the_last_manager_is_not_lost_one_day(user, group, system, change):
    user("mia", password=PASSWORD)
    group("crew")
    put(POLICY, system, "MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS", actors={"users": [MIA]})
    put(f"{POLICY}-later", system, "MANAGE_POLICIES", actors={"groups": [CREW]}, effect="DENY", validFrom=LATER)
    by = actor_resolution.load_actor(urn=MIA)
    with pytest.raises(Conflict, match="could manage policies without"):
        SOON[change](by=by, channel=DOOR)
    user("mo", password=PASSWORD)
    put(f"{POLICY}-mo", system, "MANAGE_POLICIES", actors={"users": ["urn:li:corpuser:mo"]})
    SOON[change](by=by, channel=DOOR)


def test_who_manages_for_a_time_alone_is_not_lost_before(user, system):
    user("mia", password=PASSWORD)
    put(POLICY, system, "MANAGE_POLICIES", actors={"users": [MIA]}, validUntil=LATER)
    by = actor_resolution.load_actor(urn=MIA)
    with pytest.raises(Conflict, match="Nobody who can sign in could manage policies"):
        policies.delete(urn=POLICY, by=by, channel=DOOR)
    # No less long than before: it ended before, too.
    shorter = draft("MANAGE_POLICIES", actors={"users": [MIA]}, validUntil="2998-01-01T00:00:00Z")
    policies.update(urn=POLICY, draft=shorter, by=by, channel=DOOR)


def test_a_deny_that_has_ended_takes_nothing(user, system):
    user("mia", password=PASSWORD)
    put(POLICY, system, "MANAGE_POLICIES", actors={"users": [MIA]})
    by = actor_resolution.load_actor(urn=MIA)
    ended = draft("MANAGE_POLICIES", actors={"users": [MIA]}, effect="DENY", validUntil=LONG_AGO)
    policies.create(draft=ended, by=by, channel=DOOR)
