"""The laws of a decision, each under its name."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from policies.engine import evaluate
from policies.engine.evaluate import decide
from policies.engine.model import DecisionCode, Effect
from policies.engine.snapshot import Snapshot
from tests import strategies
from tests.oracle import SYSTEM_ACTOR
from tests.properties.asking import by_engine, by_oracle, engine_decision, is_allowed, question
from tests.spec.tables import Asked
from tests.worlds import World, denying, document

EVERY_QUESTION = strategies.every_question()
UNRESTRICTED = document(privileges=strategies.PRIVILEGES, actors={"allUsers": True})


@given(asked=strategies.questions(), facts=strategies.facts())
def test_default_deny(asked: Asked, facts: dict):
    decision = engine_decision(Snapshot.build(1, ()), World(facts), asked)
    assert decision.is_allowed == (asked.actor == SYSTEM_ACTOR)
    assert decision.statements == ()


@given(world=strategies.worlds(), asked=strategies.questions())
def test_deny_wins(world: World, asked: Asked):
    assume(asked.actor != SYSTEM_ACTOR)
    snapshot = world.having(
        [*world.policies, ("everything", UNRESTRICTED), ("nothing", denying(UNRESTRICTED))]
    ).snapshot()
    decision = engine_decision(snapshot, world, asked)
    assert not decision.is_allowed
    assert all(statement.effect is Effect.DENY for statement in decision.statements)


@given(world=strategies.worlds(), data=st.data())
def test_order_and_duplicates_do_not_matter(world: World, data: st.DataObject):
    shuffled = data.draw(st.permutations(world.policies))
    twins = [(f"{name}-twin", raw) for name, raw in shuffled]
    plain, other, doubled = (world.having(some).snapshot() for some in (world.policies, shuffled, [*twins, *shuffled]))
    for asked in data.draw(st.lists(strategies.questions(), min_size=1, max_size=20)):
        answer = by_engine(plain, world, asked)
        assert by_engine(other, world, asked) == answer
        is_still_allowed, because = by_engine(doubled, world, asked)
        assert (is_still_allowed, sorted(name for name in because if not name.endswith("-twin"))) == answer


@given(world=strategies.worlds(), more=strategies.policies(denies=False))
def test_adding_an_allow_never_turns_allow_to_deny(world: World, more: dict):
    # Its questions bring every fact that one of the policies tests.
    wider = world.having([("more", more), *world.policies])
    before, after = world.snapshot(), wider.snapshot()
    for asked in EVERY_QUESTION:
        if engine_decision(before, wider, asked).is_allowed:
            assert engine_decision(after, wider, asked).is_allowed, asked


@given(world=strategies.worlds(), more=strategies.policies(denies=False).map(denying))
def test_adding_a_deny_never_turns_deny_to_allow(world: World, more: dict):
    wider = world.having([("more", more), *world.policies])
    before, after = world.snapshot(), wider.snapshot()
    for asked in EVERY_QUESTION:
        if engine_decision(after, wider, asked).is_allowed:
            assert engine_decision(before, wider, asked).is_allowed, asked


@given(world=strategies.worlds(denies=False), asked=strategies.questions(), data=st.data())
def test_a_further_group_or_role_never_takes_an_allow_away(world: World, asked: Asked, data: st.DataObject):
    put = question(world, asked)
    groups = put.actor.groups | set(data.draw(strategies.few(strategies.GROUPS)))
    roles = put.actor.roles | set(data.draw(strategies.few(strategies.ROLES)))
    wider = replace(put.actor, groups=groups, roles=roles)
    snapshot = world.snapshot()
    if decide(snapshot, put).is_allowed:
        assert decide(snapshot, put._replace(actor=wider)).is_allowed


@given(world=strategies.worlds(), raw=strategies.documents(), state=st.sampled_from(["INACTIVE", "DRAFT", "OTHER"]))
def test_inactive_equals_absent(world: World, raw: dict, state: str):
    absent = world.snapshot()
    inactive = world.having([*world.policies, ("off", raw | {"state": state})]).snapshot()
    assert inactive.statements == absent.statements


@given(world=strategies.worlds(), questions=st.lists(strategies.questions(), min_size=1, max_size=20))
def test_the_reasons_are_exactly_the_matching_statements(world: World, questions: list[Asked]):
    snapshot = world.snapshot()
    for asked in questions:
        put = question(world, asked)
        decision = decide(snapshot, put)
        if decision.code in (DecisionCode.SYSTEM_ACTOR, DecisionCode.ACTOR_SUSPENDED):
            assert decision.statements == ()
            continue
        matched = [statement for statement in snapshot.statements if evaluate.matches(statement, put)]
        denies = [statement for statement in matched if statement.effect is Effect.DENY]
        assert list(decision.statements) == (denies or matched)
        assert decision.is_allowed == (bool(matched) and not denies)


@given(world=strategies.worlds(), asked=strategies.questions())
def test_a_policy_that_did_not_decide_can_be_left_out(world: World, asked: Asked):
    allowed, because = by_oracle(world, asked)
    kept = world.having([(name, raw) for name, raw in world.policies if name in because])
    assert by_engine(kept.snapshot(), kept, asked) == (allowed, because)


@given(world=strategies.worlds(), asked=strategies.questions())
def test_without_policies_that_allow_only_oneself_is_left(world: World, asked: Asked):
    only_denies = world.having([(name, raw) for name, raw in world.policies if raw.get("effect") == "deny"])
    if is_allowed(only_denies, asked):
        assert asked.actor == SYSTEM_ACTOR or asked.resource == asked.actor
