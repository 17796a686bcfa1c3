"""The engine answers as the oracle does, and for the same reasons."""

from hypothesis import given
from hypothesis import strategies as st

from policies.engine.evaluate import decide_requirement
from policies.engine.requirements import any_of_requirement
from tests import oracle, strategies
from tests.properties.asking import by_engine, by_oracle, question
from tests.spec.tables import Asked
from tests.worlds import World

EVERY_QUESTION = strategies.every_question()


@given(world=strategies.worlds())
def test_on_every_question_of_a_world(world: World):
    snapshot = world.snapshot()
    for asked in EVERY_QUESTION:
        assert by_engine(snapshot, world, asked) == by_oracle(world, asked), asked


@given(world=strategies.worlds(), questions=st.lists(strategies.questions(), min_size=1, max_size=20))
def test_with_sub_resources(world: World, questions: list[Asked]):
    snapshot = world.snapshot()
    for asked in questions:
        assert by_engine(snapshot, world, asked) == by_oracle(world, asked), asked


@given(
    world=strategies.worlds(),
    asked=strategies.questions(),
    any_of=st.lists(strategies.few(strategies.PRIVILEGES, 3), max_size=3),
)
def test_on_alternatives(world: World, asked: Asked, any_of: list[list[str]]):
    put = question(world, asked)
    decision = decide_requirement(
        world.snapshot(), put.actor, any_of_requirement(any_of), {"self": [put.resource]}, put.subresources
    )
    expected = oracle.authorize_any_of(
        world.raw, world.policies, asked.actor, any_of, asked.resource, asked.subresources, asked.type
    )
    assert decision.is_allowed == expected
