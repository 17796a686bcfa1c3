"""What a change gives and takes: the same pairs as asking before and after it, one by one."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from policies.engine import access_change, families
from policies.engine.access_change import WorkBudget
from policies.engine.changed_reach import AccessState
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Effect, Question
from policies.engine.snapshot import Snapshot
from tests import strategies, worlds_datazone
from tests.worlds import World

NAMES = ["p0", "p1", "p2", "p3"]
EDITS = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | strategies.policies()), min_size=1, max_size=3)
PLENTY = 1_000_000

Pairs = set[tuple[str, str, str]]


@given(world=strategies.worlds(), edits=EDITS)
def test_a_change_of_policies_equals_deciding_before_and_after(world: World, edits: list[tuple[str, dict | None]]):
    before = world.snapshot()
    changes = {
        f"urn:li:dataHubPolicy:{name}": () if raw is None else World(policies=[(name, raw)]).statements()[0][1]
        for name, raw in edits
    }
    after = before.replace(2, changes)
    actors = {urn: world.actor(urn) for urn in strategies.ACTORS}
    known = knowing(world, edits)
    gained, lost, kept = compared(known, before, after, actors, list(changes))
    was, now = decided(known, before, actors), decided(known, after, actors)
    assert gained == now - was
    assert lost == was - now
    assert kept == given_up(known, before, after, actors, list(changes)) & was & now


@given(world=strategies.worlds(), edits=EDITS)
def test_only_what_the_scope_names_can_differ(world: World, edits: list[tuple[str, dict | None]]):
    before = world.snapshot()
    changes = {
        f"urn:li:dataHubPolicy:{name}": () if raw is None else World(policies=[(name, raw)]).statements()[0][1]
        for name, raw in edits
    }
    after = before.replace(2, changes)
    scope = access_change.find_scope(access_change.list_changed_statements(before, after, changes))
    actors = {urn: world.actor(urn) for urn in strategies.ACTORS}
    known = knowing(world, edits)
    for actor, privilege, name in decided(known, before, actors) ^ decided(known, after, actors):
        resource = known.resource(name)
        tokens = {"*self"} if actor == name else set()
        tokens |= {"*owner" for owner in resource.owners if owner.actor in actors[actor].holders}
        tokens |= {f"*owner:{owner.type}" for owner in resource.owners if owner.actor in actors[actor].holders}
        assert privilege in scope.privileges
        assert any(selector.covers(resource) for selector in scope.selectors)
        assert scope.tokens & (tokens | actors[actor].tokens)


@given(world=strategies.worlds(), memberships=st.lists(st.sampled_from(strategies.GROUPS), max_size=2))
def test_a_change_of_facts_equals_deciding_before_and_after(world: World, memberships: list[str]):
    snapshot = world.snapshot()
    person = strategies.USERS[0]
    others = [pair for pair in world.raw["memberships"] if pair[0] != person]
    changed = World(world.raw | {"memberships": [*others, *([person, group] for group in memberships)]}, world.policies)
    before, after = (
        AccessState(snapshot, one.postings(), {urn: one.actor(urn) for urn in strategies.ACTORS})
        for one in (world, changed)
    )
    names = before.postings.urns
    differences = access_change.compare_access(before, after, strategies.PRIVILEGES, (), WorkBudget(PLENTY))
    gained: Pairs = set()
    lost: Pairs = set()
    for difference in differences:
        for privilege in difference.privileges:
            for urn in difference.people:
                gained |= {(urn, privilege, names[number]) for number in difference.gained}
                lost |= {(urn, privilege, names[number]) for number in difference.lost}
    was, now = decided(world, snapshot, before.actors), decided(changed, snapshot, after.actors)
    assert (gained, lost) == (now - was, was - now)


@given(world=worlds_datazone.worlds(), other=worlds_datazone.worlds())
def test_restrictions_on_columns_are_decided_one_by_one(world: worlds_datazone.World, other: worlds_datazone.World):
    before, after = world.snapshot(), worlds_datazone.World(world.raw, other.policies).snapshot()
    postings, actors = world.postings(), {urn: world.actor(urn) for urn in worlds_datazone.USERS}
    gained: Pairs = set()
    lost: Pairs = set()
    for difference in access_change.compare_access(
        AccessState(before, postings, actors),
        AccessState(after, postings, actors),
        worlds_datazone.ACTIONS,
        before.policies | after.policies,
        WorkBudget(PLENTY),
    ):
        for pairs, numbers in ((gained, difference.gained), (lost, difference.lost)):
            pairs |= {
                (urn, privilege, postings.urns[number])
                for privilege in difference.privileges
                for urn in difference.people
                for number in numbers
            }
    was, now = (
        {
            (urn, action, name)
            for urn in actors
            for action in worlds_datazone.ACTIONS
            for name in postings.urns
            if world.decide(snapshot, {"actor": urn, "action": action, "urn": name}).is_allowed
        }
        for snapshot in (before, after)
    )
    assert (gained, lost) == (now - was, was - now)


def knowing(world: World, edits: list[tuple[str, dict | None]]) -> World:
    """Return the same world, in which the properties that the edits test are known, too."""
    return World(world.raw, [*world.policies, *((name, raw) for name, raw in edits if raw is not None)])


def compared(
    world: World, before: Snapshot, after: Snapshot, actors: Mapping[str, Actor], policies: list[str]
) -> tuple[Pairs, Pairs, Pairs]:
    """Return the pairs gained, lost and kept, as the engine compares them."""
    postings = world.postings()
    found: tuple[Pairs, Pairs, Pairs] = (set(), set(), set())
    budget = WorkBudget(PLENTY)
    for difference in access_change.compare_access(
        AccessState(before, postings, actors),
        AccessState(after, postings, actors),
        strategies.PRIVILEGES,
        policies,
        budget,
    ):
        for pairs, numbers in zip(found, difference[2:], strict=True):
            pairs |= {
                (urn, privilege, postings.urns[number])
                for privilege in difference.privileges
                for urn in difference.people
                for number in numbers
            }
    assert not budget.is_exhausted
    return found


def decided(world: World, snapshot: Snapshot, actors: Mapping[str, Actor]) -> Pairs:
    """Return every pair that is allowed, asked one by one."""
    return {
        (urn, privilege, name)
        for urn, actor in actors.items()
        for privilege in strategies.PRIVILEGES
        for name in world.raw["entities"]
        if decide(snapshot, Question(actor, privilege, world.resource(name))).is_allowed
    }


def given_up(
    world: World, before: Snapshot, after: Snapshot, actors: Mapping[str, Actor], policies: list[str]
) -> Pairs:
    """Return every pair that an allow of one of the policies matches before, and none of the same policy after."""
    found: Pairs = set()
    for policy in policies:
        sides = [
            Snapshot.build(
                1, [(policy, tuple(one for one in side.list_policy_statements(policy) if one.effect == Effect.ALLOW))]
            )
            for side in (before, after)
        ]
        was, now = (decided(world, side, actors) for side in sides)
        found |= was - now
    return {pair for pair in found if actors[pair[0]].is_active}


def test_platform_privileges_are_compared_without_entities():
    assert "MANAGE_POLICIES" in families.platform_privileges()
    assert "VIEW_ENTITY" not in families.platform_privileges()
