"""What a change of policies means for people, against the naive oracle on both sides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.reports.kinds.policy_impact import differences
from policies.engine.families import load_vocabularies
from policies.engine.snapshot import Snapshot
from tests import oracle, strategies
from tests.spark.slices import actors_of, cut, known
from tests.worlds import World, criterion, document, matching_all, urn

JO, AL, READERS = urn("jo"), urn("al"), urn("group:readers")
ORDERS, SECRETS = urn("dataset:orders"), urn("dataset:secrets")
VIEW = "VIEW_ENTITY_PAGE"
PLATFORM = {one.name for some in load_vocabularies().values() for one in some.platform_privileges()}


def compare(world: World, then: World, slices: int = 1):
    actors = actors_of(world)
    before, after = world.snapshot(), then.snapshot(2)
    change = differences.compare_policies(before, after, before.policies | after.policies, actors)
    rows = [row for part in cut(world, slices) for row in differences.compare_partition(part, change)]
    rows += differences.compare_platform(world.snapshot(), change)
    return differences.aggregate_rows(rows, actors)


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["readers"])
    made.user("al")
    made.group("readers")
    made.entity("dataset:orders", tags=["tag:pii"])
    made.entity("dataset:secrets", owners=["al"])
    made.policy("view", document(privileges=[VIEW], actors={"groups": [READERS]}))
    return made


def test_the_same_policies_change_nothing(world):
    assert compare(world, world) == ([], [], [])


def test_a_narrower_policy_for_somebody_else(world):
    pii = matching_all(criterion("TAG", urn("tag:pii")))
    then = world.having([("view", document(privileges=["VIEW_ENTITY"], actors={"users": [AL]}, resources=pii))])
    privileges, groups, people = compare(world, then)
    assert privileges == [
        {"privilege": "VIEW_ENTITY", "people_gain": 1, "people_lose": 1, "gained": 1, "lost": 2},
        {"privilege": VIEW, "people_gain": 0, "people_lose": 1, "gained": 0, "lost": 2},
    ]
    assert [(one["group"], one["privilege"], one["gained"], one["lost"]) for one in groups] == [
        ("", "VIEW_ENTITY", 1, 0),
        (READERS, "VIEW_ENTITY", 0, 2),
        (READERS, VIEW, 0, 2),
    ]
    assert people[-1] == {
        "person": AL,
        "privilege": "VIEW_ENTITY",
        "gained": 1,
        "lost": 0,
        "gained_entity": ORDERS,
        "lost_entity": None,
        "policy": "urn:li:dataHubPolicy:view",
        "because": f"{AL} is named; the dataset is tagged {urn('tag:pii')}.",
    }
    assert people[0]["because"] == f"{JO} is in group {READERS}."


def test_what_another_policy_gives_anyway_is_no_gain(world):
    then = world.having([*world.policies, ("jo", document(privileges=[VIEW], actors={"users": [JO]}))])
    assert compare(world, then) == ([], [], [])


def test_the_platform(world):
    platform = document(type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"users": [AL]})
    privileges, _, people = compare(world, world.having([*world.policies, ("platform", platform)]))
    assert privileges == [{"privilege": "MANAGE_POLICIES", "people_gain": 1, "people_lose": 0, "gained": 1, "lost": 0}]
    assert (people[0]["person"], people[0]["gained_entity"]) == (AL, None)


@settings(deadline=None)
@given(world=strategies.worlds(), other=strategies.worlds(), kept=st.integers(0, 6))
def test_gains_and_losses_are_those_of_the_oracle(world: World, other: World, kept: int):
    proposed = [*world.policies[:kept], *((f"n{name}", raw) for name, raw in other.policies[kept:])]
    then = world.having(proposed)
    privileges, groups, people = whole = compare(world, then)
    assert whole == compare(world, then, slices=2) == compare(world, then, slices=7)
    found = {(one["person"], one["privilege"]): one for one in people}
    raw = world.raw
    asked = [one for one in strategies.PRIVILEGES if one not in PLATFORM]
    for user in raw["users"]:
        for privilege in asked:
            before = set(oracle.what(raw, world.policies, user, privilege))
            after = set(oracle.what(raw, proposed, user, privilege))
            one = found.pop((user, privilege), None)
            if before == after:
                assert one is None
                continue
            assert one is not None
            assert (one["gained"], one["lost"]) == (len(after - before), len(before - after))
            assert one["gained_entity"] in ((after - before) or {None})
            assert one["lost_entity"] in ((before - after) or {None})
            assert one["policy"] is not None
    assert {privilege for _, privilege in found}.isdisjoint(asked)
    assert sum(one["gained"] for one in privileges) == sum(one["gained"] for one in people)
    assert {one["privilege"] for one in groups} == {one["privilege"] for one in privileges}


def test_a_snapshot_of_nothing_is_compared_too(world):
    after = world.snapshot()
    change = differences.compare_policies(Snapshot.build(1, ()), after, after.policies, known(world).actors)
    assert change.privileges
    assert [one.urn for one in change.people] == [AL, JO]
