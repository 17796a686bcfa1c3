"""Writes to groups, members, roles and assignments."""

import pytest
from django.contrib.auth.models import Group

from policies.aspects import queries as aspect_queries
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies, policy_drafts
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import groups, roles
from policies.models import ChangeEvent, GroupProfile, Membership, Role, RoleAssignment

pytestmark = pytest.mark.django_db

DOOR = "test"


def members_of(urn):
    return users_groups_roles.load_member_urns(groups=[urn])[urn]


def test_a_group_is_made_with_members_and_roles(user, group, role):
    jo, steward = user("jo").urn, role("Steward").urn
    made = group("eng", name="Engineers", description="Build", email="eng@x.example", members=[jo], roles=[steward])
    stored = users_groups_roles.get_group(urn="urn:li:corpGroup:eng")
    assert (stored.name, stored.description, stored.email, stored.origin) == (
        "Engineers",
        "Build",
        "eng@x.example",
        "NATIVE",
    )
    assert members_of(made.urn) == [jo]
    assert stored.role_urns == [steward]
    assert stored.group.name == made.urn


def test_roles_through_groups_are_in_order(system, user, group, role):
    jo, names = user("jo").urn, ("Zebra", "Antelope", "Mole")
    holding = [group(name, members=[jo]).urn for name in ("z", "a")]
    for name in names:
        roles.grant(urn=role(name).urn, actors=holding, by=system, channel=DOOR)
    pairs = [(one.name, through.identifier) for one, through in credentials.list_roles_through_groups(urn=jo)]
    assert pairs == [(name, through) for through in ("a", "z") for name in sorted(names)]


def test_an_id_is_made_when_none_is_given(system):
    first = groups.create(name="Eng", by=system, channel=DOOR)
    second = groups.create(name="Eng", by=system, channel=DOOR)
    assert first.urn != second.urn


def test_problems_and_conflicts_of_groups_leave_nothing(system, group, user):
    with pytest.raises(Invalid) as refusal:
        groups.create(name=" ", identifier="a,b", origin="ELSEWHERE", description="\x00", by=system, channel=DOOR)
    assert {problem.pointer for problem in refusal.value.problems} == {"/name", "/id", "/origin", "/description"}
    with pytest.raises(Invalid) as refusal:
        group("eng", members=["urn:li:corpuser:nobody"])
    assert [problem.pointer for problem in refusal.value.problems] == ["/members/0"]
    assert not Group.objects.exists()
    group("eng")
    with pytest.raises(Conflict, match="already exists"):
        group("eng")


def test_a_group_is_renamed_and_removed(system, user, group, role):
    eng = group("eng", members=[user("jo").urn], roles=[role("Steward").urn])
    groups.update(urn=eng.urn, name="Engineers", by=system, channel=DOOR)
    assert users_groups_roles.get_group(urn=eng.urn).name == "Engineers"
    with pytest.raises(Invalid):
        groups.update(urn=eng.urn, name="", by=system, channel=DOOR)
    groups.remove(urn=eng.urn, by=system, channel=DOOR)
    assert not Membership.objects.exists()
    assert not RoleAssignment.objects.exists()
    assert not Group.objects.filter(name=eng.urn).exists()
    for urn in (eng.urn, "\x00"):
        with pytest.raises(NotFound):
            groups.remove(urn=urn, by=system, channel=DOOR)


def test_members_come_and_go_as_often_as_you_like(system, user, group):
    eng, jo, bea = group("eng").urn, user("jo").urn, user("bea").urn
    assert groups.add_members(urn=eng, members=[jo, bea, jo], by=system, channel=DOOR) == [jo, bea]
    assert groups.add_members(urn=eng, members=[jo], by=system, channel=DOOR) == []
    assert members_of(eng) == [bea, jo]
    assert groups.remove_members(urn=eng, members=[jo, "urn:li:corpuser:nobody"], by=system, channel=DOOR) == [jo]
    assert groups.remove_members(urn=eng, members=[jo], by=system, channel=DOOR) == []
    assert members_of(eng) == [bea]
    events = ChangeEvent.objects.filter(verb="MEMBERS_CHANGED").order_by("id")
    assert [(event.before["members"], event.after["members"]) for event in events] == [([], [jo, bea]), ([jo], [])]


def test_unknown_members_are_all_named(system, user, group):
    eng, jo = group("eng").urn, user("jo").urn
    with pytest.raises(Invalid) as refusal:
        groups.add_members(urn=eng, members=[jo, "urn:li:corpuser:a", "\x00"], by=system, channel=DOOR)
    assert [problem.pointer for problem in refusal.value.problems] == ["/members/1", "/members/2"]
    assert members_of(eng) == []


def test_members_of_an_external_group_come_from_its_source(system, user, group):
    eng, jo = group("eng", origin="EXTERNAL").urn, user("jo").urn
    for write in (groups.add_members, groups.remove_members):
        with pytest.raises(Conflict, match="source"):
            write(urn=eng, members=[jo], by=system, channel=DOOR)
    with pytest.raises(Invalid, match="source"):
        user("bea", groups=[eng])


def test_what_a_source_says_stays_when_a_hand_takes_it_back(system, user, group):
    eng, jo = group("eng").urn, user("jo").urn
    external = AspectChange(jo, "corpuser", "groupMembership", {"groups": [eng]})
    aspect_services.apply(changes=[external], by=system)
    groups.add_members(urn=eng, members=[jo], by=system, channel=DOOR)
    groups.remove_members(urn=eng, members=[jo], by=system, channel=DOOR)
    assert members_of(eng) == [jo]
    aspect_services.apply(changes=[AspectChange(jo, "corpuser", "groupMembership", {"groups": []})], by=system)
    assert members_of(eng) == []


@pytest.mark.parametrize(
    ("privilege", "resources", "members", "rename", "remove"),
    [
        ("MANAGE_USERS_AND_GROUPS", None, True, True, True),
        ("UPDATE_GROUPS", None, True, True, True),
        ("UPDATE_USERS_AND_GROUPS", None, True, True, False),
        ("EDIT_GROUP_MEMBERS", "eng", True, False, False),
        ("EDIT_ENTITY", "eng", True, True, False),
        ("EDIT_GROUP_MEMBERS", "ops", False, False, False),
        ("CREATE_GROUPS", None, False, False, False),
    ],
)
def test_what_each_write_to_a_group_needs(user, group, holding, privilege, resources, members, rename, remove):
    eng, jo = group("eng").urn, user("jo").urn
    block = resources and {
        "filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [f"urn:li:corpGroup:{resources}"]}]}
    }
    by = holding(privilege, resources=block)
    for is_allowed, write in (
        (members, lambda: groups.add_members(urn=eng, members=[jo], by=by, channel=DOOR)),
        (members, lambda: groups.remove_members(urn=eng, members=[jo], by=by, channel=DOOR)),
        (rename, lambda: groups.update(urn=eng, name="New", by=by, channel=DOOR)),
        (remove, lambda: groups.remove(urn=eng, by=by, channel=DOOR)),
    ):
        if is_allowed:
            write()
        else:
            with pytest.raises(Forbidden):
                write()
    assert GroupProfile.objects.filter(urn=eng).exists() is not remove


def test_nobody_joins_a_group_by_being_made(group, holding):
    from policies.identity.services import users

    eng = group("eng").urn
    with pytest.raises(Forbidden):
        users.create(username="mole", groups=[eng], by=holding("CREATE_USERS"), channel=DOOR)
    assert members_of(eng) == []


# -- roles


def test_a_role_is_made_changed_and_deleted(system, role):
    made = role("steward", name="Steward", object_id="B" * 24)
    assert (made.object_id, made.is_editable) == ("b" * 24, True)
    roles.update(urn=made.urn, description="Looks after data", by=system, channel=DOOR)
    stored = users_groups_roles.get_role(urn=made.urn)
    assert (stored.name, stored.description) == ("Steward", "Looks after data")
    info = {"name": "Steward", "description": "Looks after data", "editable": True}
    assert aspect_queries.load_aspects(urn=made.urn) == {"dataHubRoleInfo": info}
    roles.delete(urn=made.urn, by=system, channel=DOOR)
    assert not Role.objects.exists()
    assert not Group.objects.filter(name=made.urn).exists()


def test_problems_and_conflicts_of_roles(system, role, holding):
    with pytest.raises(Invalid) as refusal:
        roles.create(name="", identifier="(", object_id="x", by=system, channel=DOOR)
    assert {problem.pointer for problem in refusal.value.problems} == {"/name", "/id", "/object_id"}
    with pytest.raises(Invalid, match="cannot be changed"):
        roles.create(name="x", is_editable=False, by=holding("MANAGE_POLICIES"), channel=DOOR)
    role("steward", object_id="c" * 24)
    with pytest.raises(Conflict, match="already exists"):
        role("steward")
    with pytest.raises(Conflict, match="object id"):
        role("other", object_id="c" * 24)


def test_a_role_that_is_not_editable_stays(role, holding):
    admin, by = role("Admin", is_editable=False).urn, holding("MANAGE_POLICIES")
    with pytest.raises(Forbidden, match="cannot be changed"):
        roles.update(urn=admin, name="x", by=by, channel=DOOR)
    with pytest.raises(Forbidden, match="cannot be changed"):
        roles.delete(urn=admin, by=by, channel=DOOR)
    change = AspectChange(admin, "dataHubRole", "dataHubRoleInfo", {"name": "x", "description": "", "editable": True})
    with pytest.raises(Forbidden, match="cannot be changed"):
        aspect_services.apply(changes=[change], by=by)
    assert users_groups_roles.get_role(urn=admin).name == "Admin"


def test_a_role_that_a_policy_names_cannot_be_deleted(system, role):
    steward = role("steward").urn
    document = {
        "displayName": "Stewards read",
        "type": "METADATA",
        "state": "INACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {"roles": [steward], "resourceOwners": False, "allUsers": False, "allGroups": False},
    }
    written = policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=system, channel=DOOR)
    assert users_groups_roles.load_policy_urns_by_actor(actors=[steward]) == {steward: [written.policy.urn]}
    with pytest.raises(Conflict, match=r"named by 1 polic"):
        roles.delete(urn=steward, by=system, channel=DOOR)
    policies.delete(urn=written.policy.urn, by=system, channel=DOOR)
    roles.delete(urn=steward, by=system, channel=DOOR)


def test_roles_are_given_beside_and_taken_away(system, user, group, role):
    jo, eng = user("jo").urn, group("eng").urn
    first, second = role("first").urn, role("second").urn
    assert roles.grant(urn=first, actors=[jo, eng], by=system, channel=DOOR) == [jo, eng]
    assert roles.grant(urn=second, actors=[jo, jo], by=system, channel=DOOR) == [jo]
    assert roles.grant(urn=second, actors=[jo], by=system, channel=DOOR) == []
    assert users_groups_roles.get_user(urn=jo).role_urns == [first, second]
    assert roles.revoke(urn=first, actors=[jo, "urn:li:corpuser:nobody"], by=system, channel=DOOR) == [jo]
    assert roles.revoke(urn=first, actors=[jo], by=system, channel=DOOR) == []
    assert users_groups_roles.get_user(urn=jo).role_urns == [second]
    assert users_groups_roles.get_group(urn=eng).role_urns == [first]
    with pytest.raises(Invalid) as refusal:
        roles.grant(urn=first, actors=["urn:li:dataset:x", jo, "\x00"], by=system, channel=DOOR)
    assert [problem.pointer for problem in refusal.value.problems] == ["/actors/0", "/actors/2"]
    for write in (roles.grant, roles.revoke):
        with pytest.raises(NotFound):
            write(urn="urn:li:dataHubRole:none", actors=[jo], by=system, channel=DOOR)
    event = ChangeEvent.objects.filter(object_urn=jo, verb="ROLES_CHANGED").latest("id")
    assert (event.before, event.after) == ({"roles": [first, second]}, {"roles": [second]})


def test_datahubs_assignment_replaces_and_skips(system, user, group, role):
    jo, eng = user("jo").urn, group("eng").urn
    first, second = role("first").urn, role("second").urn
    roles.grant(urn=first, actors=[jo], by=system, channel=DOOR)
    done = roles.assign(role=second, actors=[jo, "urn:li:corpuser:nobody", eng], by=system, channel=DOOR)
    assert (done.role, done.assigned_urns, done.skipped_urns) == (second, (jo, eng), ("urn:li:corpuser:nobody",))
    assert users_groups_roles.get_user(urn=jo).role_urns == [second]
    with pytest.raises(NotFound):
        roles.assign(role="urn:li:dataHubRole:none", actors=[jo], by=system, channel=DOOR)
    assert users_groups_roles.get_user(urn=jo).role_urns == [second]
    roles.assign(role=None, actors=[jo, eng], by=system, channel=DOOR)
    assert not RoleAssignment.objects.exists()


def test_assigning_costs_the_same_for_any_number(system, user, role, django_assert_max_num_queries):
    steward, urns = role("steward").urn, [user(f"u{number}").urn for number in range(30)]
    with django_assert_max_num_queries(19):
        assert len(roles.assign(role=steward, actors=urns, by=system, channel=DOOR).assigned_urns) == 30


def test_roles_need_manage_policies(user, role, holding):
    jo, steward = user("jo").urn, role("steward").urn
    by = holding("MANAGE_USERS_AND_GROUPS")
    for write in (
        lambda: roles.create(name="x", by=by, channel=DOOR),
        lambda: roles.update(urn=steward, name="x", by=by, channel=DOOR),
        lambda: roles.delete(urn=steward, by=by, channel=DOOR),
        lambda: roles.grant(urn=steward, actors=[by.urn], by=by, channel=DOOR),
        lambda: roles.revoke(urn=steward, actors=[jo], by=by, channel=DOOR),
        lambda: roles.assign(role=steward, actors=[by.urn], by=by, channel=DOOR),
    ):
        with pytest.raises(Forbidden) as refusal:
            write()
        assert [item.privilege for item in refusal.value.missing] == ["MANAGE_POLICIES"]
    assert not RoleAssignment.objects.exists()
    roles.grant(urn=steward, actors=[jo], by=holding("MANAGE_POLICIES", username="boss"), channel=DOOR)
