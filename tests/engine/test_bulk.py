"""Bulk: postings, extents, and what one actor or many may use a privilege on, compared with deciding one by one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.engine import reach_index
from policies.engine.errors import MissingFact
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Effect, Question
from policies.engine.postings import Postings
from policies.engine.restrictions import Restriction
from policies.engine.selectors import EVERYTHING, OWNER, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot
from tests import oracle, strategies
from tests.worlds import World, criterion, denying, document, matching_all, name_actors, urn

PRIVILEGE = "VIEW_ENTITY_PAGE"
FIELDS = (
    *("OWNER", "DOMAIN", "CONTAINER", "GLOSSARY", "TAG", "DATA_PLATFORM_INSTANCE", "GROUP_MEMBERSHIP"),
    *("PROPERTY.a", "PROPERTY.b"),
)


def postings(world: World, *, is_closed: bool = True, fields=FIELDS) -> Postings:
    """Number the entities of a world; without `is_closed` the rows are direct facts and the hierarchy comes apart."""
    known = world if is_closed else World(world.raw | {"parents": {}})
    urns = sorted(world.raw["entities"])
    rows = []
    for number, name in enumerate(urns):
        resource = known.resource(name, fields=fields)
        rows += [(number, field, value, "") for field, values in resource.facets.items() for value in values]
        rows += [(number, OWNER, owner.actor, owner.type) for owner in resource.owners]
    types = [world.raw["entities"][name]["type"] for name in urns]
    below = None if is_closed else nodes_below(world.raw["parents"])
    return Postings(urns=urns, types=types, fields=fields, rows=rows, descendants=below)


def nodes_below(parents: dict[str, str]) -> dict[str, set[str]]:
    below: dict[str, set[str]] = {}
    for node in parents:
        above, reached = node, set()
        while above in parents and parents[above] not in reached:
            above = parents[above]
            reached.add(above)
            below.setdefault(above, set()).add(node)
    return below


def named(found: Postings, numbers) -> list[str]:
    return [found.urns[number] for number in numbers]


def view(**changes) -> dict:
    return document(privileges=[PRIVILEGE], **changes)


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["g"])
    made.user("al")
    made.group("g")
    made.entity("dataset:orders", domains=["domain:sales"], tags=["tag:pii"], owners=["jo/technical_owner"])
    made.entity("dataset:ordered", domains=["domain:emea"], owners=["group:g"])
    made.entity("chart:orders", tags=["tag:pii", "tag:gold"], owners=["al/business_owner"])
    made.entity("jo")
    made.under("domain:emea", "domain:sales")
    return made


# -- extents ----------------------------------------------------------------------------------------------------------

CHART, ORDERED, ORDERS, JO = (urn(name) for name in ("chart:orders", "dataset:ordered", "dataset:orders", "jo"))


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize(
    ("criteria", "covered"),
    [
        ([], [CHART, JO, ORDERED, ORDERS]),
        ([("TYPE", "EQUALS", ["dataset"])], [ORDERED, ORDERS]),
        ([("TYPE", "STARTS_WITH", ["c"])], [CHART, JO]),
        ([("TYPE", "NOT_EQUALS", ["dataset", "chart"])], [JO]),
        ([("URN", "EQUALS", [ORDERS, "urn:li:dataset:unknown"])], [ORDERS]),
        ([("URN", "STARTS_WITH", [ORDERS[:-6]])], [ORDERS]),
        ([("URN", "STARTS_WITH", ["urn:li:dataset:", "urn:li:corp"])], [JO, ORDERED, ORDERS]),
        ([("URN", "NOT_EQUALS", [ORDERS])], [CHART, JO, ORDERED]),
        ([("DOMAIN", "EQUALS", [urn("domain:sales")])], [ORDERED, ORDERS]),
        ([("DOMAIN", "EQUALS", [urn("domain:emea")])], [ORDERED]),
        ([("DOMAIN", "STARTS_WITH", ["urn:li:domain:s"])], [ORDERED, ORDERS]),
        ([("DOMAIN", "NOT_EQUALS", [urn("domain:sales")])], [CHART, JO]),
        ([("TAG", "EQUALS", [urn("tag:pii")]), ("TAG", "NOT_EQUALS", [urn("tag:gold")])], [ORDERS]),
        ([("TAG", "EQUALS", [])], []),
        ([("TAG", "STARTS_WITH", [])], []),
        ([("TAG", "NOT_EQUALS", [])], [CHART, JO, ORDERED, ORDERS]),
        ([("OWNER", "EQUALS", [JO, urn("group:g")])], [ORDERED, ORDERS]),
    ],
)
def test_extent(world, is_closed, criteria, covered):
    selector = Selector(tuple(Criterion(name, Condition(how), frozenset(values)) for name, how, values in criteria))
    found = postings(world, is_closed=is_closed)
    assert named(found, found.find_extent(selector)) == covered


def test_an_extent_is_computed_once(world):
    found = postings(world)
    selectors = [Selector((Criterion("TAG", Condition.NOT_EQUALS, frozenset({urn("tag:pii")})),)) for _ in range(2)]
    assert found.find_extent(selectors[0]) is found.find_extent(selectors[1])


@pytest.mark.parametrize("condition", Condition)
@pytest.mark.parametrize("field", ["DOMAIN", "TAG", "OWNER"])
def test_a_field_that_was_not_loaded_is_an_error(world, field, condition):
    found = postings(world, fields=("CONTAINER",))
    with pytest.raises(MissingFact, match=field):
        found.find_extent(Selector((Criterion(field, condition, frozenset({"x"})),)))


def test_owners_that_were_not_loaded_are_an_error(world):
    world.policy("owners", view(actors={"resourceOwners": True}))
    found = postings(world, fields=("TAG",))
    with pytest.raises(MissingFact, match=OWNER):
        reach_index.compute_extent(found, world.snapshot().compute_coverage(world.actor(JO), PRIVILEGE))


# -- one actor --------------------------------------------------------------------------------------------------------


def test_owners_count_by_type_and_through_groups(world):
    world.policy("any", document(privileges=["EDIT_ENTITY_TAGS"], actors={"resourceOwners": True}))
    typed = {"resourceOwners": True, "resourceOwnersTypes": [urn("ownership:technical_owner")]}
    world.policy("technical", document(privileges=["EDIT_ENTITY_DOCS"], actors=typed))
    found, snapshot, jo = postings(world), world.snapshot(), world.actor(JO)
    assert named(
        found, reach_index.compute_extent(found, snapshot.compute_coverage(jo, "EDIT_ENTITY_TAGS")).allowed
    ) == [
        ORDERED,
        ORDERS,
    ]
    assert named(
        found, reach_index.compute_extent(found, snapshot.compute_coverage(jo, "EDIT_ENTITY_DOCS")).allowed
    ) == [ORDERS]


def test_deny_wins(world):
    world.policy("all", view(actors={"allUsers": True}))
    world.policy(
        "no pii", denying(view(actors={"users": [JO]}, resources=matching_all(criterion("TAG", urn("tag:pii")))))
    )
    found, snapshot = postings(world), world.snapshot()
    assert named(
        found, reach_index.compute_extent(found, snapshot.compute_coverage(world.actor(JO), PRIVILEGE)).allowed
    ) == [
        JO,
        ORDERED,
    ]


def test_what_a_restricted_allow_reaches_is_undecided_unless_denied(world):
    world.policy("all", view(actors={"allUsers": True}))
    world.policy("some", view(actors={"users": [JO]}, resources=matching_all(criterion("TYPE", "dataset"))))
    world.policy("no", denying(view(actors={"users": [JO]}, resources=matching_all(criterion("URN", ORDERED)))))
    compiled = dict(world.statements())
    key = next(policy for policy in compiled if policy.endswith("some"))
    compiled[key] = tuple(replace(one, restriction=Restriction(columns=())) for one in compiled[key])
    found, snapshot, jo = postings(world), Snapshot.build(1, compiled.items()), world.actor(JO)
    reached = reach_index.compute_extent(found, snapshot.compute_coverage(jo, PRIVILEGE))
    assert named(found, reached.allowed) == [CHART, JO]
    assert named(found, reached.needs_decision) == [ORDERS]
    assert reach_index.ReachIndex(found, snapshot, PRIVILEGE).find_extent(jo) == reached


def test_a_coverage_of_everything(world):
    found = postings(world)
    system = Actor(oracle.SYSTEM_ACTOR)
    assert (
        reach_index.compute_extent(found, world.snapshot().compute_coverage(system, PRIVILEGE)).allowed
        == found.everything
    )
    assert reach_index.ReachIndex(found, world.snapshot(), PRIVILEGE).count_entities([system]) == {system.urn: 4}


@given(world=strategies.worlds(), is_closed=st.booleans())
def test_what_is_covered_is_what_is_decided(world: World, is_closed: bool):
    found, snapshot = postings(world, is_closed=is_closed), world.snapshot()
    actors = [world.actor(name) for name in strategies.ACTORS]
    resources = [world.resource(name) for name in found.urns]
    for privilege in strategies.PRIVILEGES:
        reach = reach_index.ReachIndex(found, snapshot, privilege)
        counts = reach.count_entities(actors)
        for actor in actors:
            decided = [one.urn for one in resources if decide(snapshot, Question(actor, privilege, one)).is_allowed]
            covered = reach_index.compute_extent(found, snapshot.compute_coverage(actor, privilege))
            assert named(found, covered.allowed) == decided
            assert not covered.needs_decision
            assert reach.find_extent(actor) == covered
            assert counts[actor.urn] == len(decided)


@given(world=strategies.worlds(), restricted=st.lists(st.booleans(), min_size=6, max_size=6))
def test_with_restrictions_the_rest_is_certain(world: World, restricted: list[bool]):
    compiled = [
        (
            policy,
            tuple(replace(one, restriction=Restriction(columns=())) if is_restricted else one for one in statements),
        )
        for (policy, statements), is_restricted in zip(world.statements(), restricted, strict=False)
    ]
    found, snapshot = postings(world), Snapshot.build(1, compiled)
    for name in strategies.USERS:
        actor = world.actor(name)
        covered = reach_index.compute_extent(found, snapshot.compute_coverage(actor, PRIVILEGE))
        for number, urn_ in enumerate(found.urns):
            decision = decide(snapshot, Question(actor, PRIVILEGE, world.resource(urn_)))
            takes_part = any(one.restriction for one in decision.statements if one.effect is Effect.ALLOW)
            assert (number in covered.needs_decision) == takes_part
            assert number in covered.allowed or number in covered.needs_decision or not decision.is_allowed
            assert decision.is_allowed or number not in covered.allowed


# -- who, and what changed --------------------------------------------------------------------------------------------


def test_who_names_owners_among_users_and_groups(world):
    world.policy("owners", view(actors={"resourceOwners": True}, resources=matching_all(criterion("TYPE", "dataset"))))
    world.policy("named", view(actors={"users": [urn("al")], "roles": [urn("role:r")]}))
    found = name_actors(world.snapshot(), PRIVILEGE, world.resource(ORDERED))
    assert found == {
        "all_users": False,
        "all_groups": False,
        "users": [urn("al")],
        "groups": [urn("group:g")],
        "roles": [urn("role:r")],
        "except": {"users": [], "groups": [], "roles": []},
    }


def test_who_for_a_privilege_without_resource(world):
    world.policy("platform", document(type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"allGroups": True}))
    found = name_actors(world.snapshot(), "MANAGE_POLICIES", None)
    nobody: dict = {"users": [], "groups": [], "roles": []}
    assert found == {"all_users": False, "all_groups": True, **nobody, "except": nobody}


@pytest.mark.parametrize(
    ("denied", "users", "groups", "is_all_users"),
    [
        ({"users": [JO]}, [], [urn("group:g")], True),
        ({"groups": [urn("group:g")]}, [JO], [], True),
        ({"allGroups": True}, [JO], [], True),
        ({"resourceOwners": True}, [], [urn("group:g")], True),
        ({"allUsers": True}, [], [], False),
    ],
)
def test_a_deny_takes_out_whom_it_names(world, denied, users, groups, is_all_users):
    world.policy("yes", view(actors={"users": [JO], "groups": [urn("group:g")], "allUsers": True}))
    world.policy("no", denying(view(actors=denied)))
    found = name_actors(world.snapshot(), PRIVILEGE, world.resource(ORDERS))
    assert (found["users"], found["groups"], found["all_users"]) == (users, groups, is_all_users)


@given(world=strategies.worlds(), place=st.sampled_from(strategies.PLACES))
def test_who_agrees_with_the_oracle(world: World, place):
    name, kind = place
    resource = None if name is None and kind is None else world.resource(name or "", kind)
    for privilege in strategies.PRIVILEGES:
        told = name_actors(world.snapshot(), privilege, resource)
        assert told == oracle.who(world.raw, world.policies, privilege, name, kind)


def test_difference(world):
    found = postings(world)
    pii = found.find_extent(Selector((Criterion("TAG", Condition.EQUALS, frozenset({urn("tag:pii")})),)))
    changed = reach_index.compare_extents(pii, found.find_extent(EVERYTHING))
    assert named(found, changed.gained) == [JO, ORDERED]
    assert not changed.lost
    assert reach_index.compare_extents(found.find_extent(EVERYTHING), pii).lost == changed.gained
