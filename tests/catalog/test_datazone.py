"""Datazone's facts and lists: what the database says is what the engine and the oracle say."""

import pytest
from hypothesis import HealthCheck, given, settings

from catalog.access import coverage_sql
from catalog.access.facet_source import OrmFacetSource
from catalog.models import Entity
from policies.engine.selectors import BRANCH, CREATION, ID, PROJECT
from policies.identity.services import roles, users
from policies.models import Role, User
from policies.pdp import authorizer
from tests import oracle_datazone as oracle
from tests import worlds_datazone
from tests.catalog.conftest import DOOR, undone
from tests.worlds_datazone import ACTIONS, UNKNOWN, USERS, World

pytestmark = pytest.mark.django_db

FIELDS = {ID, PROJECT, BRANCH, CREATION}
with_database = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def store(world: World) -> None:
    """Write the objects of a world."""
    Entity.objects.bulk_create(
        Entity(urn=urn, type=one["type"], object_id=one["id"], project=one["project"])
        for urn, one in world.raw["objects"].items()
    )


@with_database
@given(worlds_datazone.worlds())
def test_the_facts_are_those_of_the_world(world: World) -> None:
    asked = [*world.raw["objects"], UNKNOWN]
    with undone():
        store(world)
        loaded = OrmFacetSource().load(urns=asked, fields=FIELDS)
    for urn in asked:
        expected = world.resource({"urn": urn})
        assert (loaded[urn].type, dict(loaded[urn].facets)) == (expected.type, dict(expected.facets))


@with_database
@given(worlds_datazone.worlds())
def test_a_list_holds_what_the_oracle_allows(world: World) -> None:
    snapshot = world.snapshot()
    with undone():
        store(world)
        for urn in USERS:
            for action in ACTIONS:
                found = coverage_sql.filter_covered(snapshot.compute_coverage(world.actor(urn), action))
                expected = oracle.what(world.raw, world.policies, urn, action)
                assert sorted(found.values_list("urn", flat=True)) == expected


def test_dz_57_what_shows_no_column_is_not_in_lists() -> None:
    """Two restrictions of one role that share no column; another role that shows one brings the dataset back."""
    identifier = "a" * 24

    def limited(*columns: str) -> dict:
        return {
            "resource": f"dataset:{identifier}",
            "actions": ["dataset:read"],
            "effect": "allow",
            "extra_constraints": {"column_level_restrictions": list(columns)},
        }

    plain = {"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"}
    raw = {
        "users": USERS,
        "suspended": [],
        "groups": [],
        "memberships": [],
        "roles": [
            [USERS[0], "urn:li:dataHubRole:r"],
            [USERS[1], "urn:li:dataHubRole:r"],
            [USERS[1], "urn:li:dataHubRole:s"],
        ],
        "objects": {f"urn:li:dataset:{key * 24}": {"type": "dataset", "id": key * 24, "project": None} for key in "ab"},
    }
    blind = {"name": "x", "statements": [limited("a"), limited("b"), plain], "roles": ["urn:li:dataHubRole:r"]}
    lifting = {"name": "y", "statements": [limited("c")], "roles": ["urn:li:dataHubRole:s"]}
    world = World(raw, [("blind", blind), ("lifting", lifting)])
    store(world)
    for user, expected in ((USERS[0], ["b"]), (USERS[1], ["a", "b"])):
        found = coverage_sql.filter_covered(world.snapshot().compute_coverage(world.actor(user), "dataset:read"))
        assert [urn[-1] for urn in found.order_by("urn").values_list("urn", flat=True)] == expected


def test_dz_23_an_alias_does_not_get_round_a_project() -> None:
    """A URN made of the id of an object that is stored under another one names nothing."""
    identifier = "a" * 24
    Entity.objects.create(urn="urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)", type="dataset", object_id=identifier)
    alias, free = f"urn:li:dataset:{identifier}", f"urn:li:view:{identifier}"
    loaded = OrmFacetSource().load(urns=[alias, free, alias.upper()], fields={ID, PROJECT})
    assert loaded[alias].values(ID) == frozenset()
    assert loaded[free].values(ID) == {identifier}
    assert loaded[alias.upper()].values(ID) == frozenset()
    assert all(one.values(PROJECT) == frozenset() for one in loaded.values())


def test_users_and_roles_are_objects(django_assert_num_queries) -> None:
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="analyst", name="Analyst", description="", by=authorizer.SYSTEM, channel=DOOR)
    user, role = User.objects.get(username="jo"), Role.objects.get(identifier="analyst")
    source = OrmFacetSource()
    pairs = [
        ("user", user.object_id.upper()),
        ("role", role.object_id),
        ("user", "0" * 24),
        ("dataset", user.object_id),
    ]
    assert source.find(objects=pairs) == {pairs[0]: user.urn, pairs[1]: role.urn}
    with django_assert_num_queries(3):
        loaded = source.load(urns=[user.urn, role.urn, "urn:li:corpuser:nobody"], fields={ID})
    assert loaded[user.urn].values(ID) == {user.object_id}
    assert loaded[role.urn].values(ID) == {role.object_id}
    assert loaded["urn:li:corpuser:nobody"].values(ID) == frozenset()


def test_facts_of_datazone_cost_the_same_for_any_number(django_assert_max_num_queries) -> None:
    urns = [f"urn:li:dataset:{number:024x}" for number in range(300)]
    Entity.objects.bulk_create(Entity(urn=urn, type="dataset", object_id=urn[-24:], project="1" * 24) for urn in urns)
    with django_assert_max_num_queries(2):
        loaded = OrmFacetSource().load(urns=[*urns, f"urn:li:dataset:{'f' * 24}"], fields=FIELDS)
    assert loaded[urns[7]].values(PROJECT) == {"1" * 24}
