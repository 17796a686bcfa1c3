"""People, groups, roles and policies that arrive as aspects, and how they read back."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from policies.aspects import queries as aspect_queries
from policies.aspects import services as aspect_services
from policies.aspects.services import OWNED_ASPECTS, AspectChange
from policies.authoring.queries import policies
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, users
from policies.models import (
    ChangeEvent,
    GroupProfile,
    Policy,
    PolicyEvent,
    PolicyVersion,
    Role,
    User,
    Verb,
    documents,
)
from policies.pdp import actor_resolution

pytestmark = pytest.mark.django_db

DOOR = "gms"
JO, BEA, ROOT = "urn:li:corpuser:jo", "urn:li:corpuser:bea", "urn:li:corpuser:datahub"
ENG, OPS = "urn:li:corpGroup:eng", "urn:li:corpGroup:ops"
ADMIN = "urn:li:dataHubRole:Admin"

INFO = {"active": True, "displayName": "Jo", "email": "jo@x.example", "fullName": "Jo Doe", "customProperties": {}}
POLICY_INFO: dict[str, Any] = {
    "displayName": "Jo reads",
    "description": "",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["VIEW_ENTITY_PAGE"],
    "actors": {"users": [JO], "resourceOwners": False, "allUsers": False, "allGroups": False},
    "editable": True,
}

TYPES = {
    "urn:li:corpuser:": "corpuser",
    "urn:li:corpGroup:": "corpGroup",
    "urn:li:dataHubRole:": "dataHubRole",
    "urn:li:dataHubPolicy:": "dataHubPolicy",
}


def change(urn, name, document):
    return AspectChange(urn, next(kind for prefix, kind in TYPES.items() if urn.startswith(prefix)), name, document)


def said(urn: str) -> dict[str, dict[str, Any]]:
    """Return the aspects of somebody who is stored."""
    found = aspect_queries.load_aspects(urn=urn)
    assert found is not None
    return found


@pytest.fixture
def write(system):
    """Write aspects as the product itself: `write((JO, "corpUserInfo", {...}), ...)`."""
    return lambda *changes: aspect_services.apply(changes=[change(*one) for one in changes], by=system, channel=DOOR)


def test_a_user_arrives_as_aspects_and_reads_back_exactly(write):
    editable = {"displayName": "Joe", "aboutMe": "Hi", "teams": ["a"], "pictureLink": "http://x/y.png", "skills": []}
    status = {"status": "ACTIVE", "lastModified": {"time": 1, "actor": ROOT}}
    write((JO, "corpUserInfo", INFO), (JO, "corpUserEditableInfo", editable), (JO, "corpUserStatus", status))
    assert aspect_queries.load_aspects(urn=JO) == {
        "corpUserInfo": INFO,
        "corpUserEditableInfo": editable,
        "corpUserStatus": status,
    }
    jo = users_groups_roles.get_user(urn=JO)
    assert (jo.name, jo.email, jo.description, jo.state) == ("Joe", "jo@x.example", "Hi", "ACTIVE")
    assert not jo.has_usable_password()
    event = ChangeEvent.objects.get(object_urn=JO)
    assert (event.verb, event.by, event.door, event.before) == ("CREATED", SYSTEM_ACTOR, DOOR, None)
    assert event.after["aspects"]["corpUserInfo"] == INFO


def test_the_keys_come_back_in_their_order(write):
    write((JO, "corpUserInfo", {"z": 1, "email": "a@b.example", "active": True, "a": 2}))
    assert list(said(JO)["corpUserInfo"]) == ["z", "email", "active", "a"]


def test_an_aspect_is_replaced_whole(write):
    write((JO, "corpUserInfo", INFO))
    write((JO, "corpUserInfo", {"active": True, "title": "Boss"}))
    assert said(JO)["corpUserInfo"] == {"active": True, "title": "Boss"}
    jo = users_groups_roles.get_user(urn=JO)
    assert (jo.display_name, jo.email, jo.title) == ("", "", "Boss")


def test_an_edit_by_page_is_seen_in_every_aspect(write, system):
    write((JO, "corpUserInfo", INFO), (JO, "corpUserEditableInfo", {"displayName": "Joe", "phone": "1"}))
    users.update(urn=JO, display_name="Joanna", title="Boss", by=system, channel="web")
    composed = said(JO)
    assert composed["corpUserInfo"] == INFO | {"displayName": "Joanna", "title": "Boss"}
    assert composed["corpUserEditableInfo"] == {"displayName": "Joanna", "phone": "1"}


def test_a_name_from_the_source_does_not_undo_what_people_edited(write):
    write((JO, "corpUserEditableInfo", {"displayName": "Joe", "email": "evil@x.example"}), (JO, "corpUserInfo", INFO))
    jo = users_groups_roles.get_user(urn=JO)
    assert (jo.display_name, jo.email) == ("Joe", "jo@x.example")
    write((JO, "corpUserEditableInfo", None))
    assert users_groups_roles.get_user(urn=JO).display_name == "Jo"
    assert aspect_queries.load_aspects(urn=JO) == {"corpUserInfo": INFO}


def test_the_full_name_serves_when_there_is_no_display_name(write):
    write((JO, "corpUserInfo", {"active": True, "fullName": "Jo Doe", "displayName": None}))
    assert users_groups_roles.get_user(urn=JO).name == "Jo Doe"
    assert said(JO)["corpUserInfo"] == {"active": True, "fullName": "Jo Doe", "displayName": None}


def state():
    return users_groups_roles.get_user(urn=JO).state


def test_a_source_can_suspend_but_not_lift_a_suspension_made_here(write, system):
    write((JO, "corpUserInfo", INFO))
    users.suspend(urn=JO, by=system, channel="web")
    assert said(JO)["corpUserStatus"]["status"] == "SUSPENDED"
    write((JO, "corpUserInfo", INFO))
    assert state() == "SUSPENDED"
    users.activate(urn=JO, by=system, channel="web")
    assert state() == "ACTIVE"
    write((JO, "corpUserInfo", INFO | {"active": False}))
    assert state() == "SUSPENDED"
    write((JO, "corpUserStatus", {"status": "ACTIVE"}))
    assert state() == "SUSPENDED"
    assert said(JO)["corpUserInfo"]["active"] is False
    write((JO, "corpUserInfo", INFO))
    assert state() == "ACTIVE"
    write((JO, "corpUserStatus", {"status": "suspended"}))
    assert state() == "SUSPENDED"
    users.activate(urn=JO, by=system, channel="web")
    assert said(JO)["corpUserStatus"]["status"] == "ACTIVE"


def test_suspension_by_aspect_ends_sessions(write, user):
    before = user("jo").session_epoch
    write((JO, "corpUserStatus", {"status": "SUSPENDED"}))
    write((JO, "corpUserStatus", {"status": "ACTIVE"}))
    assert users_groups_roles.get_user(urn=JO).session_epoch == before + 1
    verbs = ChangeEvent.objects.filter(object_urn=JO, door="gms").order_by("id").values_list("verb", flat=True)
    assert list(verbs) == ["SUSPENDED", "ACTIVATED"]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("corpUserInfo", {"active": False}),
        ("corpUserStatus", {"status": "SUSPENDED"}),
        ("status", {"removed": True}),
    ],
)
def test_the_root_user_is_not_suspended_or_removed_by_aspect(write, user, name, document):
    user("datahub")
    with pytest.raises(Forbidden, match="root user"):
        write((JO, "corpUserInfo", INFO), (ROOT, name, document))
    assert users_groups_roles.get_user(urn=ROOT).is_active
    assert not User.objects.filter(urn=JO).exists()


def test_a_group_arrives_as_aspects_and_reads_back_exactly(write, system):
    info = {"displayName": "Eng", "admins": [JO], "members": [], "groups": [], "slack": "#eng", "description": "a"}
    origin = {"type": "EXTERNAL", "externalType": "Okta"}
    editable = {"description": "b", "pictureLink": "http://x"}
    write((ENG, "corpGroupInfo", info), (ENG, "origin", origin), (ENG, "corpGroupEditableInfo", editable))
    assert aspect_queries.load_aspects(urn=ENG) == {
        "corpGroupInfo": info,
        "origin": origin,
        "corpGroupEditableInfo": editable,
    }
    eng = users_groups_roles.get_group(urn=ENG)
    assert (eng.name, eng.description, eng.origin) == ("Eng", "b", "EXTERNAL")
    groups.update(urn=ENG, name="Engineers", description="c", by=system, channel="web")
    composed = said(ENG)
    assert composed["corpGroupInfo"] == info | {"displayName": "Engineers", "description": "c"}
    assert composed["corpGroupEditableInfo"] == editable | {"description": "c"}


def test_a_group_made_by_page_has_what_clients_require(group):
    group("eng", name="Eng", description="x")
    assert aspect_queries.load_aspects(urn=ENG) == {
        "corpGroupInfo": {"displayName": "Eng", "description": "x", "admins": [], "members": [], "groups": []},
        "origin": {"type": "NATIVE"},
    }


def memberships(urn=JO):
    composed = said(urn)
    return [composed.get(name) for name in ("groupMembership", "nativeGroupMembership")]


def amend(urn, fields, by):
    kind, name = ("corpuser", "corpUserEditableInfo") if "corpuser" in urn else ("corpGroup", "corpGroupEditableInfo")
    aspect_services.amend(urn=urn, entity_type=kind, name=name, fields=fields, by=by, channel="test")
    return said(urn).get(name)


def test_some_fields_of_an_aspect_are_set_and_the_others_stay(write, group, user, system):
    crew = group("crew")
    write((crew.urn, "corpGroupEditableInfo", {"slack": "#crew", "more": "", "email": "a@example.com"}))
    assert amend(crew.urn, {"email": "b@example.com", "description": "x"}, system) == {
        "slack": "#crew",
        "more": "",
        "email": "b@example.com",
        "description": "x",
    }
    assert amend(crew.urn, {"slack": "", "email": None, "none": ""}, system) == {"more": "", "description": "x"}
    crew.refresh_from_db()
    assert (crew.description, crew.email) == ("x", "")
    jo = user("jo", display_name="Jo")
    assert amend(jo.urn, {"displayName": "Jo J.", "teams": ["a"]}, system) == {"displayName": "Jo J.", "teams": ["a"]}
    assert users_groups_roles.get_user(urn=jo.urn).display_name == "Jo J."


def test_who_may_not_write_an_aspect_amends_none(user, group, system):
    jo, crew = actor_resolution.load_actor(urn=user("jo").urn), group("crew")
    assert amend(jo.urn, {"title": "Me"}, jo) == {"title": "Me"}
    for urn, fields in [
        (jo.urn, {"email": "root@example.com"}),
        (crew.urn, {"slack": "#mine"}),
        (user("sue").urn, {"title": "Other"}),
    ]:
        with pytest.raises(Forbidden):
            amend(urn, fields, jo)
    for urn in ("urn:li:corpuser:nobody", "urn:li:corpGroup:nobody", "urn:li:corpuser:a\x00"):
        with pytest.raises(NotFound):
            amend(urn, {"title": "x"}, system)
    with pytest.raises(Invalid) as refused:
        amend(jo.urn, {"title": "x" * 300, "aboutMe": 7}, system)
    assert {one.pointer for one in refused.value.problems} == {"/title", "/aboutMe"}


def test_memberships_replace_their_kind_and_keep_order(write, user, system):
    user("jo")
    assert memberships() == [None, None]
    write((JO, "groupMembership", {"groups": [OPS, ENG]}), (JO, "nativeGroupMembership", {"nativeGroups": [ENG]}))
    assert memberships() == [{"groups": [OPS, ENG]}, {"nativeGroups": [ENG]}]
    assert users_groups_roles.get_user(urn=JO).group_urns == [ENG, OPS]
    write((JO, "groupMembership", {"groups": [OPS]}))
    assert memberships() == [{"groups": [OPS]}, {"nativeGroups": [ENG]}]
    assert users_groups_roles.get_user(urn=JO).group_urns == [ENG, OPS]
    write((JO, "nativeGroupMembership", {"nativeGroups": []}))
    assert memberships() == [{"groups": [OPS]}, {"nativeGroups": []}]
    assert users_groups_roles.get_user(urn=JO).group_urns == [OPS]
    write((JO, "groupMembership", None), (JO, "nativeGroupMembership", None))
    assert memberships() == [None, None]
    assert users_groups_roles.get_user(urn=JO).group_urns == []


def test_members_added_by_page_are_in_the_aspect(write, user, group, system):
    user("jo")
    for name in ("a", "b", "c"):
        group(name)
    a, b, c = (f"urn:li:corpGroup:{name}" for name in ("a", "b", "c"))
    write((JO, "nativeGroupMembership", {"nativeGroups": [c, b]}))
    groups.add_members(urn=a, members=[JO], by=system, channel="web")
    groups.remove_members(urn=c, members=[JO], by=system, channel="web")
    assert memberships()[1] == {"nativeGroups": [b, a]}


def test_groups_may_arrive_after_or_before_their_members(write, user):
    user("jo")
    user("bea")
    write((JO, "groupMembership", {"groups": [ENG]}), (JO, "nativeGroupMembership", {"nativeGroups": [OPS]}))
    stub = users_groups_roles.get_group(urn=ENG)
    assert (stub.name, stub.origin, users_groups_roles.get_group(urn=OPS).origin) == ("eng", "EXTERNAL", "NATIVE")
    assert aspect_queries.load_aspects(urn=OPS) == {}
    write((ENG, "corpGroupInfo", {"displayName": "Engineers"}))
    late = users_groups_roles.get_group(urn=ENG)
    new = "urn:li:corpGroup:new"
    write((new, "corpGroupInfo", {"displayName": "Engineers"}), (BEA, "groupMembership", {"groups": [new]}))
    early = users_groups_roles.get_group(urn=new)
    assert (late.name, late.origin) == (early.name, early.origin) == ("Engineers", "EXTERNAL")
    assert users_groups_roles.load_member_urns(groups=[ENG, new]) == {ENG: [JO], new: [BEA]}


def test_a_group_that_says_its_origin_keeps_it(write, user, group):
    user("jo")
    group("eng")
    write((JO, "groupMembership", {"groups": [ENG]}))
    assert users_groups_roles.get_group(urn=ENG).origin == "NATIVE"


def test_roles_are_replaced_for_users_and_groups(write, user, group, role, system):
    user("jo")
    group("eng")
    first, second = role("first").urn, role("second").urn
    roles.grant(urn=first, actors=[JO], by=system, channel="web")
    assert said(JO)["roleMembership"] == {"roles": [first]}
    write((JO, "roleMembership", {"roles": [second]}), (ENG, "roleMembership", {"roles": [second, first]}))
    assert users_groups_roles.get_user(urn=JO).role_urns == [second]
    assert said(ENG)["roleMembership"] == {"roles": [second, first]}
    write((JO, "roleMembership", {"roles": []}), (ENG, "roleMembership", None))
    assert said(JO)["roleMembership"] == {"roles": []}
    assert "roleMembership" not in said(ENG)
    assert not users_groups_roles.count_holders(roles=list(users_groups_roles.list_roles()))[second][0]


def test_an_unknown_role_is_a_problem_and_one_in_the_same_list_is_not(write, user):
    user("jo")
    with pytest.raises(Invalid) as refusal:
        write((JO, "corpUserInfo", INFO), (JO, "roleMembership", {"roles": [ADMIN, "urn:li:dataHubRole:b"]}))
    assert [problem.pointer for problem in refusal.value.problems] == ["/1/roles/0", "/1/roles/1"]
    assert users_groups_roles.get_user(urn=JO).display_name == ""
    write((JO, "roleMembership", {"roles": [ADMIN]}), (ADMIN, "dataHubRoleInfo", {"name": "Admin", "description": "x"}))
    assert users_groups_roles.get_user(urn=JO).role_urns == [ADMIN]


def test_a_role_arrives_as_an_aspect_and_can_be_changed(write, holding, system):
    info = {"name": "Steward", "description": "Looks", "editable": False}
    urn = "urn:li:dataHubRole:steward"
    by = holding("MANAGE_POLICIES")
    aspect_services.apply(changes=[change(urn, "dataHubRoleInfo", info)], by=by)
    assert aspect_queries.load_aspects(urn=urn) == {"dataHubRoleInfo": info}
    roles.update(urn=urn, name="Keeper", by=by, channel="web")
    assert aspect_queries.load_aspects(urn=urn) == {"dataHubRoleInfo": info | {"name": "Keeper"}}
    write((urn, "dataHubRoleInfo", None), ("urn:li:dataHubRole:none", "dataHubRoleInfo", None))
    assert aspect_queries.load_aspects(urn=urn) is None
    assert not Role.objects.exists()


def test_a_policy_arrives_as_an_aspect(write):
    urn = "urn:li:dataHubPolicy:p"
    version = PolicyVersion.load_version()
    write((urn, "dataHubPolicyInfo", POLICY_INFO | {"lastUpdatedTimestamp": 1}))
    assert aspect_queries.load_aspects(urn=urn) == {"dataHubPolicyInfo": POLICY_INFO | {"lastUpdatedTimestamp": 1}}
    assert PolicyVersion.load_version() == version + 1
    write((urn, "dataHubPolicyInfo", POLICY_INFO | {"state": "INACTIVE"}))
    assert policies.get_policy(urn=urn).state == "INACTIVE"
    write((urn, "dataHubPolicyInfo", None), ("urn:li:dataHubPolicy:none", "dataHubPolicyInfo", None))
    assert aspect_queries.load_aspects(urn=urn) is None


def test_many_policies_are_one_version_and_as_many_statements_as_few(write):
    def queries_of(size, state):
        written = [
            (f"urn:li:dataHubPolicy:{size}-{number}", "dataHubPolicyInfo", POLICY_INFO | {"state": state})
            for number in range(size)
        ]
        version = PolicyVersion.load_version()
        with CaptureQueriesContext(connection) as captured:
            write(*written)
        assert PolicyVersion.load_version() == version + 1
        return len(captured)

    for state in ("ACTIVE", "INACTIVE"):
        assert queries_of(40, state) == queries_of(4, state)
    events = PolicyEvent.objects.filter(policy_urn__startswith="urn:li:dataHubPolicy:40-")
    assert list(events.values_list("verb", flat=True)) == [Verb.UPDATED] * 40 + [Verb.CREATED] * 40


def test_of_a_policy_that_is_said_twice_the_last_counts(write):
    urn = "urn:li:dataHubPolicy:p"
    write((urn, "dataHubPolicyInfo", POLICY_INFO), (urn, "dataHubPolicyInfo", POLICY_INFO | {"state": "INACTIVE"}))
    assert policies.get_policy(urn=urn).state == "INACTIVE"
    write((urn, "dataHubPolicyInfo", POLICY_INFO), (urn, "dataHubPolicyInfo", None))
    assert aspect_queries.load_aspects(urn=urn) is None


def test_a_role_that_a_policy_names_is_not_deleted_by_aspect(write, role):
    admin = role("Admin").urn
    document = POLICY_INFO | {"actors": POLICY_INFO["actors"] | {"roles": [admin]}}
    write(("urn:li:dataHubPolicy:p", "dataHubPolicyInfo", document))
    with pytest.raises(Conflict):
        write((admin, "dataHubRoleInfo", None))


def test_removal_in_soft_and_hard(write, user, group, role, system):
    user("jo")
    group("eng")
    write((JO, "status", {"removed": True}), (ENG, "status", {"removed": True}))
    assert not actor_resolution.load_actor(urn=JO).is_active
    assert said(JO)["status"] == {"removed": True}
    write((JO, "status", {"removed": False}), (ENG, "status", None))
    assert actor_resolution.load_actor(urn=JO).is_active
    assert "status" not in said(ENG)
    with pytest.raises(Invalid) as refusal:
        write((role("r").urn, "status", {"removed": True}))
    assert [problem.code for problem in refusal.value.problems] == ["status.hard_only"]
    write(("urn:li:dataHubPolicy:p", "dataHubPolicyInfo", POLICY_INFO))
    for urn in (JO, ENG, "urn:li:dataHubRole:r", "urn:li:dataHubPolicy:p"):
        aspect_services.remove(urn=urn, by=system)
        assert aspect_queries.load_aspects(urn=urn) is None


@pytest.mark.parametrize("urn", [JO, ENG, ADMIN, "urn:li:dataHubPolicy:p", "urn:li:dataset:x", "\x00", "\ud800", ""])
def test_what_is_not_there_has_no_aspects(db, urn):
    assert aspect_queries.load_aspects(urn=urn) is None


def test_deleting_an_aspect_of_nobody_makes_nobody(write):
    write((JO, "corpUserInfo", None), (JO, "groupMembership", None), (ENG, "roleMembership", None))
    assert not User.objects.exists()
    assert not GroupProfile.objects.exists()


@pytest.mark.parametrize(
    ("urn", "name", "document", "pointer"),
    [
        (JO, "corpUserInfo", {}, "/active"),
        (JO, "corpUserInfo", {"active": "yes"}, "/active"),
        (JO, "corpUserInfo", {"active": True, "displayName": 3}, "/displayName"),
        (JO, "corpUserInfo", {"active": True, "displayName": "x" * 256}, "/displayName"),
        (JO, "corpUserInfo", {"active": True, "x": ["\x00"]}, ""),
        (JO, "corpUserInfo", {"active": True, "x": {"\ud800": 1}}, ""),
        (JO, "corpUserInfo", {"active": True, "x": float("inf")}, ""),
        (JO, "corpUserStatus", {}, "/status"),
        (JO, "status", {"removed": 1}, "/removed"),
        (JO, "groupMembership", {}, "/groups"),
        (JO, "groupMembership", {"groups": ENG}, "/groups"),
        (JO, "groupMembership", {"groups": [ENG, JO]}, "/groups/1"),
        (JO, "groupMembership", {"groups": [7]}, "/groups/0"),
        (JO, "groupMembership", {"groups": ["urn:li:corpGroup:"]}, "/groups/0"),
        (JO, "groupMembership", {"groups": ["urn:li:corpGroup:" + "x" * 201]}, "/groups/0"),
        (JO, "roleMembership", {"roles": None}, "/roles"),
        (ENG, "origin", {"type": "MOON"}, "/type"),
        (ENG, "corpGroupInfo", {"description": []}, "/description"),
        (ADMIN, "dataHubRoleInfo", {"description": "x"}, "/name"),
        ("urn:li:dataHubPolicy:p", "dataHubPolicyInfo", POLICY_INFO | {"privileges": 3}, "/privileges"),
        ("urn:li:corpuser:a,b", "corpUserInfo", INFO, "/urn"),
        ("urn:li:corpuser:", "corpUserInfo", INFO, "/urn"),
        (SYSTEM_ACTOR, "corpUserInfo", INFO, "/urn"),
        (SYSTEM_ACTOR, "roleMembership", {"roles": []}, "/urn"),
        ("urn:li:corpGroup:a\x00", "corpGroupInfo", {}, "/urn"),
        ("urn:li:dataHubRole:(", "dataHubRoleInfo", {"name": "x"}, "/urn"),
        ("urn:li:dataHubPolicy:\ud800", "dataHubPolicyInfo", None, "/urn"),
    ],
)
def test_each_problem_has_its_place_and_nothing_is_stored(write, urn, name, document, pointer):
    changes = [(BEA, "corpUserInfo", INFO), (urn, name, document), (BEA, "corpUserStatus", {"status": 3})]
    with pytest.raises(Invalid) as refusal:
        write(*changes)
    assert {problem.pointer for problem in refusal.value.problems} == {f"/1{pointer}", "/2/status"}
    assert not User.objects.exists()
    assert not GroupProfile.objects.exists()
    assert not Policy.objects.exists()


def test_root_and_system_cannot_be_claimed_from_outside(holding):
    by = holding("MANAGE_USERS_AND_GROUPS", "MANAGE_POLICIES")
    for urn in (ROOT, SYSTEM_ACTOR):
        with pytest.raises(Invalid, match="reserved"):
            aspect_services.apply(changes=[change(urn, "corpUserInfo", INFO)], by=by)


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("corpuser", "corpUserCredentials"),
        ("dataHubAccessToken", "dataHubAccessTokenInfo"),
        ("inviteToken", "inviteToken"),
    ],
)
def test_secrets_come_through_no_aspect(write, system, entity_type, name):
    assert (entity_type, name) in OWNED_ASPECTS
    for document in ({"x": 1}, None):
        with pytest.raises(Forbidden, match="own page"):
            aspect_services.apply(
                changes=[AspectChange(f"urn:li:{entity_type}:jo", entity_type, name, document)], by=system
            )


def test_an_aspect_of_somebody_else_is_a_mistake_of_the_caller(system):
    with pytest.raises(ValueError, match="datasetProperties"):
        aspect_services.apply(changes=[AspectChange("urn:li:dataset:x", "dataset", "datasetProperties", {})], by=system)


GUARDED: list[tuple[str, str, dict[str, Any] | None]] = [
    (JO, "corpUserInfo", INFO),
    (JO, "corpUserInfo", None),
    (JO, "corpUserStatus", {"status": "ACTIVE"}),
    (JO, "status", {"removed": False}),
    (JO, "status", {"removed": True}),
    (JO, "groupMembership", {"groups": [ENG]}),
    (JO, "groupMembership", {"groups": []}),
    (JO, "nativeGroupMembership", {"nativeGroups": [ENG]}),
    (JO, "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:new"]}),
    (JO, "roleMembership", {"roles": [ADMIN]}),
    (JO, "roleMembership", None),
    (ENG, "roleMembership", {"roles": [ADMIN]}),
    (ENG, "corpGroupInfo", {"displayName": "x"}),
    (ENG, "corpGroupEditableInfo", {"description": "x"}),
    (ENG, "origin", {"type": "NATIVE"}),
    (ENG, "status", {"removed": True}),
    (JO, "corpUserEditableInfo", {"email": "datahub@x.example"}),
    (BEA, "corpUserInfo", INFO),
    (BEA, "corpUserEditableInfo", {"aboutMe": "x"}),
    ("urn:li:corpGroup:new", "corpGroupInfo", {"displayName": "x"}),
    (ADMIN, "dataHubRoleInfo", {"name": "x"}),
    (ADMIN, "dataHubRoleInfo", None),
    (ADMIN, "status", {"removed": False}),
    ("urn:li:dataHubPolicy:p", "dataHubPolicyInfo", POLICY_INFO),
    ("urn:li:dataHubPolicy:p", "dataHubPolicyInfo", None),
    ("urn:li:dataHubPolicy:p", "status", {"removed": False}),
]


@pytest.mark.parametrize(("urn", "name", "document"), GUARDED)
def test_nobody_without_a_privilege_writes_anything_by_aspect(user, group, role, urn, name, document):
    jo = user("jo")
    group("eng")
    role("Admin")
    before = said(JO)
    own_page = change(JO, "corpUserEditableInfo", {"displayName": "Joe"})
    with pytest.raises(Forbidden) as refusal:
        aspect_services.apply(
            changes=[own_page, change(urn, name, document)], by=actor_resolution.load_actor(urn=jo.urn)
        )
    assert refusal.value.missing
    assert aspect_queries.load_aspects(urn=JO) == before
    aspect_services.apply(changes=[own_page], by=actor_resolution.load_actor(urn=jo.urn))
    assert users_groups_roles.get_user(urn=JO).name == "Joe"


@pytest.mark.parametrize(("urn", "name", "document"), GUARDED)
def test_the_privileges_of_the_pages_suffice(user, group, role, holding, urn, name, document):
    user("jo")
    group("eng")
    role("Admin")
    by = holding("MANAGE_USERS_AND_GROUPS", "MANAGE_POLICIES")
    aspect_services.apply(changes=[change(urn, name, document)], by=by)


def test_who_edits_the_members_of_one_group_writes_memberships_of_that_group(user, group, holding):
    user("jo")
    group("eng")
    group("ops")
    block = {"filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [ENG]}]}}
    by = holding("EDIT_GROUP_MEMBERS", resources=block)
    aspect_services.apply(changes=[change(JO, "nativeGroupMembership", {"nativeGroups": [ENG]})], by=by)
    with pytest.raises(Forbidden) as refusal:
        aspect_services.apply(changes=[change(JO, "nativeGroupMembership", {"nativeGroups": [ENG, OPS]})], by=by)
    assert OPS in {missing.entity for missing in refusal.value.missing}
    assert users_groups_roles.get_user(urn=JO).group_urns == [ENG]


def people_of(number, at):
    made = []
    for index in range(number):
        urn = f"urn:li:corpuser:{at}{index}"
        made += [
            change(urn, "corpUserInfo", INFO),
            change(urn, "groupMembership", {"groups": [f"urn:li:corpGroup:{at}{index}", ENG]}),
            change(urn, "roleMembership", {"roles": [ADMIN]}),
            change(f"urn:li:corpGroup:{at}{index}", "corpGroupInfo", {"displayName": "x"}),
        ]
    return made


def test_a_list_costs_the_same_queries_whatever_its_length(system, role, django_assert_max_num_queries):
    role("Admin")
    for number, at in ((1, "a"), (50, "b")):
        for _ in range(2):
            with django_assert_max_num_queries(34):
                aspect_services.apply(changes=people_of(number, at), by=system)
    assert User.objects.count() == 51
    assert users_groups_roles.get_user(urn="urn:li:corpuser:b7").group_urns == ["urn:li:corpGroup:b7", ENG]


texts = st.none() | st.text("ab", max_size=2)
infos = st.fixed_dictionaries(
    {"active": st.booleans()}, optional={"displayName": texts, "email": texts, "title": texts, "x": st.integers()}
)
editables = st.fixed_dictionaries({}, optional={"displayName": texts, "aboutMe": texts, "email": texts, "y": texts})
statuses = st.fixed_dictionaries({"status": st.sampled_from(["ACTIVE", "SUSPENDED"])})
writes = st.one_of(
    st.tuples(st.just("corpUserInfo"), infos | st.none()),
    st.tuples(st.just("corpUserEditableInfo"), editables | st.none()),
    st.tuples(st.just("corpUserStatus"), statuses | st.none()),
)


@given(st.lists(writes, max_size=6))
def test_what_is_written_reads_back_whatever_was_written_around_it(changes):
    user = User(username="jo", urn=JO)
    expected: dict[str, Any] = {}
    for name, document in changes:
        composed = documents.to_aspects(user)
        composed.pop(name, None)
        expected.pop(name, None)
        if document is not None:
            composed[name] = expected[name] = document
        documents.set_aspects(user, composed)
    assert documents.to_aspects(user) == expected
    status, active = expected.get("corpUserStatus", {}).get("status"), expected.get("corpUserInfo", {}).get("active")
    assert (user.state == "SUSPENDED") is (status == "SUSPENDED" or active is False)


@given(infos, editables, st.text("cd", max_size=2))
def test_an_edit_is_what_every_aspect_says_afterwards(info, editable, value):
    user = User(username="jo", urn=JO)
    documents.set_aspects(user, {"corpUserInfo": info, "corpUserEditableInfo": editable})
    documents.set_columns(user, {"display_name": value})
    said = {document["displayName"] for document in documents.to_aspects(user).values() if "displayName" in document}
    assert said == ({value} if value else set())
    assert user.display_name == value
