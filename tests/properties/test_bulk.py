"""Deciding one by one, all entities at once, and the oracle: the same answer."""

from hypothesis import example, given

from policies.engine import reach_index
from policies.engine.evaluate import decide
from policies.engine.model import Question
from tests import oracle, strategies
from tests.worlds import World, denying, document


def build_world_of_empty_deny() -> World:
    """Return a world with a deny about no entity at all, beside the policy that gives everybody their own account."""
    world = World()
    for who in strategies.USERS:
        world.user(who)
        world.entity(who)
    listed = {"type": "corpuser", "resources": [], "allResources": False}
    world.policy("empty", denying(document(privileges=["EDIT_ENTITY"], actors={"allUsers": True}, resources=listed)))
    return world


@given(world=strategies.worlds())
@example(world=build_world_of_empty_deny())
def test_decide_equals_bulk_equals_oracle(world: World):
    snapshot, postings = world.snapshot(), world.postings()
    resources = {name: world.resource(name) for name in postings.urns}
    for urn in strategies.ACTORS:
        actor = world.actor(urn)
        for privilege in strategies.PRIVILEGES:
            covered = reach_index.compute_extent(postings, snapshot.compute_coverage(actor, privilege))
            reached = reach_index.ReachIndex(postings, snapshot, privilege).find_extent(actor)
            by_oracle = oracle.what(world.raw, world.policies, urn, privilege)
            decided = [
                name
                for name, resource in resources.items()
                if decide(snapshot, Question(actor, privilege, resource)).is_allowed
            ]
            assert [postings.urns[number] for number in covered.allowed] == decided == by_oracle
            assert reached.allowed == covered.allowed
            assert not covered.needs_decision
