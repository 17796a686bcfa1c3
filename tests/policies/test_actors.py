"""Who somebody is, and what lists of people cost."""

import pytest
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.queries import policies
from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import NotFound
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.pdp import actor_resolution, display_names

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(system, user, group, role):
    for name in ("Admin", "Reader", "Editor"):
        role(name)
    jo, bea = user("jo", roles=["urn:li:dataHubRole:Admin"]), user("bea", state="SUSPENDED")
    group("eng", members=[jo.urn, bea.urn], roles=["urn:li:dataHubRole:Reader", "urn:li:dataHubRole:Admin"])
    group("ops", members=[jo.urn])
    group("other", roles=["urn:li:dataHubRole:Editor"])
    return jo, bea


def test_an_actor_has_its_groups_and_the_roles_of_both(cast):
    jo, bea = cast
    groups = frozenset({"urn:li:corpGroup:eng", "urn:li:corpGroup:ops"})
    held = frozenset({"urn:li:dataHubRole:Admin", "urn:li:dataHubRole:Reader"})
    assert actor_resolution.load_actor(urn=jo.urn) == Actor(jo.urn, groups, held)
    assert actor_resolution.load_actor(urn=bea.urn) == Actor(
        bea.urn, frozenset({"urn:li:corpGroup:eng"}), held, is_active=False
    )


@pytest.mark.parametrize("urn", ["urn:li:corpuser:nobody", SYSTEM_ACTOR, "jo", "", "a\x00b", "a\ud800"])
def test_somebody_nobody_knows_is_a_bare_actor(db, urn):
    assert actor_resolution.load_actor(urn=urn) == Actor(urn)


def test_a_removed_group_counts_for_nothing(cast, system):
    jo, _ = cast
    change = AspectChange("urn:li:corpGroup:eng", "corpGroup", "status", {"removed": True})
    aspect_services.apply(changes=[change], by=system)
    actor = actor_resolution.load_actor(urn=jo.urn)
    assert actor.groups == {"urn:li:corpGroup:ops"}
    assert actor.roles == {"urn:li:dataHubRole:Admin"}
    assert users_groups_roles.get_user(urn=jo.urn).group_urns == ["urn:li:corpGroup:ops"]


def test_a_removed_user_is_inactive(cast, system):
    jo, _ = cast
    aspect_services.apply(changes=[AspectChange(jo.urn, "corpuser", "status", {"removed": True})], by=system)
    assert not actor_resolution.load_actor(urn=jo.urn).is_active
    assert [user.username for user in users_groups_roles.list_users()] == ["bea"]


def test_actors_cost_one_query_whatever_their_number(cast, user, django_assert_num_queries):
    urns = [user(f"u{number}").urn for number in range(20)]
    with django_assert_num_queries(1):
        actor_resolution.load_actor(urn=urns[0])
    with django_assert_num_queries(1):
        assert len(actor_resolution.load_actors(urns=[*urns, "urn:li:corpuser:nobody"])) == 21


def test_names_of_everything_that_lives_here(cast, user):
    user("ann", display_name="Ann Lee")
    urns = ["urn:li:corpuser:ann", "urn:li:corpuser:jo", "urn:li:corpGroup:eng", "urn:li:dataHubRole:Admin"]
    found = display_names.load_names(urns=[*urns, "urn:li:dataset:x", "urn:li:corpuser:nobody", "a\x00"])
    assert found == dict(zip(urns, ["Ann Lee", "jo", "eng", "Admin"], strict=True))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["ann", "bea", "jo"]),
        ({"q": "AN"}, ["ann"]),
        ({"q": "lee"}, ["ann"]),
        ({"q": "@site"}, []),
        ({"q": "@site", "address_condition": Q()}, ["ann"]),
        ({"q": "@site", "address_condition": Q(username="bea")}, []),
        ({"q": "a\x00"}, []),
        ({"state": "SUSPENDED"}, ["bea"]),
        ({"group": "urn:li:corpGroup:eng"}, ["bea", "jo"]),
        ({"group": "urn:li:corpGroup:eng", "state": "ACTIVE"}, ["jo"]),
        ({"role": "urn:li:dataHubRole:Admin"}, ["jo"]),
        ({"kind": "SERVICE"}, []),
    ],
)
def test_users_are_listed_by_filter(cast, user, filters, expected):
    user("ann", display_name="Ann Lee", email="ann@site.example")
    assert [found.username for found in users_groups_roles.list_users(**filters)] == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["eng", "ops", "other"]),
        ({"q": "EN"}, ["eng"]),
        ({"origin": "EXTERNAL"}, []),
        ({"role": "urn:li:dataHubRole:Editor"}, ["other"]),
        ({"member": "urn:li:corpuser:bea"}, ["eng"]),
        ({"q": "\ud800"}, []),
    ],
)
def test_groups_are_listed_by_filter(cast, filters, expected):
    assert [found.identifier for found in users_groups_roles.list_groups(**filters)] == expected


def queries_of(connection, rows, read):
    with CaptureQueriesContext(
        connection,
    ) as caught:
        for row in rows:
            read(row)
    return len(caught)


def test_a_page_of_users_or_groups_costs_the_same_whatever_its_length(cast, user, group, role):
    from django.db import connection

    def pages(length):
        users = queries_of(
            connection, users_groups_roles.list_users()[:length], lambda one: (one.group_urns, one.role_urns)
        )
        return users, queries_of(connection, users_groups_roles.list_groups()[:length], lambda one: one.role_urns)

    few = pages(2)
    for number in range(10):
        user(f"u{number}", groups=["urn:li:corpGroup:ops"], roles=["urn:li:dataHubRole:Reader"])
        group(f"g{number}", roles=["urn:li:dataHubRole:Reader"])
    assert pages(12) == few
    assert max(few) <= 5


def test_what_shows_beside_roles_and_groups(cast, system):
    admin = users_groups_roles.get_role(urn="urn:li:dataHubRole:Admin")
    assert [(row.urn, row.is_group) for row in users_groups_roles.list_holder_times(role=admin)] == [
        ("urn:li:corpuser:jo", 0),
        ("urn:li:corpGroup:eng", 1),
    ]
    assert users_groups_roles.count_holders(roles=[admin]) == {admin.urn: (1, 1)}
    assert users_groups_roles.load_member_urns(groups=["urn:li:corpGroup:eng", "urn:li:corpGroup:other"]) == {
        "urn:li:corpGroup:eng": ["urn:li:corpuser:bea", "urn:li:corpuser:jo"],
        "urn:li:corpGroup:other": [],
    }
    assert [
        found.username
        for found in users_groups_roles.list_members(group=users_groups_roles.get_group(urn="urn:li:corpGroup:ops"))
    ] == ["jo"]
    assert [found.identifier for found in users_groups_roles.list_roles(q="ead")] == ["Reader"]
    roles.assign(role=None, actors=["urn:li:corpGroup:eng"], by=system, channel="test")
    assert users_groups_roles.count_holders(roles=[admin]) == {admin.urn: (1, 0)}


@pytest.mark.parametrize(
    "read",
    [users_groups_roles.get_user, users_groups_roles.get_group, users_groups_roles.get_role, policies.get_policy],
)
@pytest.mark.parametrize("urn", ["urn:li:corpuser:nobody", "\x00", "\ud800"])
def test_what_is_not_there_is_not_found(db, read, urn):
    with pytest.raises(NotFound):
        read(urn=urn)
