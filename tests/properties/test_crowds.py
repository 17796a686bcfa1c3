"""Who reaches each entity, found from the entities: the same pairs as deciding them one by one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from policies.engine.actor_index import ActorIndex
from policies.engine.audience import AudienceIndex
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Effect, Question, Statement, StatementOrigin
from policies.engine.postings import Postings
from policies.engine.property_conditions import ActorCondition
from policies.engine.restrictions import Restriction
from policies.engine.selectors import ActorMatch, Condition, Criterion, Selector
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
        seen += crowd.entities
        for number in crowd.entities:
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


LEVEL, ROLES, URNS = "ACTOR.PROPERTY.level", ("r", "s"), ("urn:li:dataset:a", "urn:li:dataset:b")


@st.composite
def mixed_statements(draw: st.DrawFn) -> Statement:
    """A statement on READ: restricted, plain, conditional or denying, for holders of roles and on some tables."""
    kind = draw(st.sampled_from(["restricted", "plain", "conditional", "deny", "conditional deny"]))
    urns = draw(st.sets(st.sampled_from(URNS)))
    level = ActorCondition(LEVEL, Condition.EQUALS, frozenset({draw(st.sampled_from("12"))}))
    columns = draw(st.sampled_from([("id",), ("name",), ("id", "name")]))
    return Statement(
        StatementOrigin("", ""),
        Effect.DENY if "deny" in kind else Effect.ALLOW,
        ActorMatch(draw(st.frozensets(st.sampled_from(ROLES), min_size=1))),
        frozenset({"READ"}),
        Selector((Criterion("URN", Condition.EQUALS, frozenset(urns)),) if urns else ()),
        restriction=Restriction(columns=columns) if kind == "restricted" else None,
        actor_conditions=(level,) if "conditional" in kind else (),
    )


@given(statements=st.lists(mixed_statements(), max_size=5))
def test_actors_that_differ_in_attributes_only_are_told_apart(statements: Sequence[Statement]):
    snapshot = Snapshot.build(1, [(str(number), (one,)) for number, one in enumerate(statements)])
    postings = Postings(urns=URNS, types=["dataset"] * len(URNS), fields=(), rows=[])
    actors = [
        Actor(f"{''.join(roles)}{level}", roles=frozenset(roles), attributes=frozenset({(LEVEL, level)}))
        for roles in (("r",), ("s",), ROLES)
        for level in "12"
    ]
    decided = {
        (actor.urn, postings.urns[number])
        for actor in actors
        for number in range(len(URNS))
        if decide(snapshot, Question(actor, "READ", postings.build_resource(number))).is_allowed
    }
    assert by_crowds(snapshot, postings, actors, "READ") == decided
