"""Who reaches each entity, found from the entities: the same pairs as deciding them one by one."""

from hypothesis import given

from policies.engine.audience import ActorIndex, AudienceIndex
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question
from policies.engine.postings import Postings
from policies.engine.snapshot import Snapshot
from policies.engine.statement_groups import group_statements
from tests import strategies, worlds_datazone
from tests.worlds import World

Pairs = set[tuple[str, str]]


def by_crowds(snapshot: Snapshot, postings: Postings, actors: list[Actor], privilege: str) -> Pairs:
    """Return who reaches what, by way of crowds; every entity has to be in exactly one group."""
    units = group_statements(snapshot, privilege, postings.types)
    found: Pairs = set()
    seen: list[int] = []
    for crowd in AudienceIndex(snapshot, privilege, units, ActorIndex(actors)).iterate_audiences(postings):
        seen += crowd.group.entities
        for number in crowd.group.entities:
            found.update((actors[person].urn, postings.urns[number]) for person in crowd.find_actors(number))
    assert sorted(seen) == list(range(len(postings.urns)))
    return found


@given(world=strategies.worlds())
def test_crowds_equal_decide(world: World):
    snapshot, postings = world.snapshot(), world.postings()
    actors = [world.actor(urn) for urn in strategies.ACTORS]
    for privilege in strategies.PRIVILEGES:
        decided = {
            (actor.urn, urn)
            for actor in actors
            for urn in postings.urns
            if decide(snapshot, Question(actor, privilege, world.resource(urn))).is_allowed
        }
        assert by_crowds(snapshot, postings, actors, privilege) == decided


@given(world=worlds_datazone.worlds())
def test_restrictions_are_decided(world: worlds_datazone.World):
    snapshot, postings = world.snapshot(), world.postings()
    actors = [world.actor(urn) for urn in worlds_datazone.USERS]
    for action in worlds_datazone.ACTIONS:
        decided = {
            (actor.urn, urn)
            for actor in actors
            for urn in postings.urns
            if decide(snapshot, Question(actor, action, world.resource({"urn": urn}))).is_allowed
        }
        assert by_crowds(snapshot, postings, actors, action) == decided
