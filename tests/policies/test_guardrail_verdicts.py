"""What a change adds to what breaks a rule, and what breaks it then, against every person, entity and time there is.

Policies are for users, groups, roles, all users and owners, deny and exclude, begin and end; people join and leave
groups, now and later, and are suspended and deleted. `small_worlds` says who may do what, without the product.
"""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.engine.errors import InvalidPolicy
from policies.engine.evaluate import decide
from policies.engine.families import datahub
from policies.engine.families.validity import Validity
from policies.engine.guardrails.breaches import Breach
from policies.engine.guardrails.rules import read_rule
from policies.engine.model import Question, StatementOrigin
from policies.engine.snapshot import Snapshot
from policies.identity.services import users
from policies.models import Guardrail
from policies.pdp import authorizer
from policies.writes.guardrail_judgment import GuardedChange, GuardrailJudge
from policies.writes.guardrail_worlds import JudgedWorld, TimedPolicy
from tests.policies import small_worlds
from tests.policies.small_worlds import HELD, INSTANTS, NOW, USERS, Drawn


def compile_policy(urn, policy):
    return datahub.compile(datahub.parse(policy.document), StatementOrigin(urn, "p"))


def build_snapshot(drawn, side, at):
    policies = drawn.policies[side].items()
    current = [(urn, compile_policy(urn, policy)) for urn, policy in policies if policy.is_current(at)]
    return Snapshot.build(1, (*datahub.implicit_policies(), *current))


def build_world(drawn, side):
    timed = {
        urn: TimedPolicy(Validity(policy.begins, policy.ends), compile_policy(urn, policy))
        for urn, policy in drawn.policies[side].items()
        if policy.begins or policy.ends
    }
    actors = {urn: states[0] for urn, states in drawn.people[side].items()}
    later = {urn: states[1] for urn, states in drawn.people[side].items() if states[1]}
    return JudgedWorld(build_snapshot(drawn, side, NOW), timed, actors, later)


def judge(drawn):
    """Return what the guardrail says that the change adds."""
    policies = frozenset(drawn.policies[0]) | frozenset(drawn.policies[1])
    users = frozenset(urn for urn in USERS if drawn.people[0][urn] != drawn.people[1][urn])
    change = GuardedChange(build_world(drawn, 0), build_world(drawn, 1), policies, users)
    return change.find_added_breach(Guardrail(rule=drawn.rule))


def judge_state(drawn):
    """Return what breaks the rule after the change, whatever was before."""
    return GuardrailJudge(read_rule(drawn.rule), build_world(drawn, 1)).judge()


@pytest.fixture
def people(db):
    """The people of the worlds, in whatever state these have them."""
    for urn in USERS:
        users.create(username=urn.removeprefix("urn:li:corpuser:"), by=authorizer.SYSTEM, channel="test")


def is_about_nothing(rule):
    try:
        read_rule(rule)
    except InvalidPolicy:
        return True
    return False


def check(draw, *, is_promise=False):
    drawn = Drawn(draw, is_promise=is_promise)
    if is_about_nothing(drawn.rule):
        return
    breach = judge(drawn)
    assert not isinstance(breach, Breach) or breach.is_certain, breach
    world = (drawn.rule, drawn.policies, drawn.people)
    assert (breach is not None) == small_worlds.adds(drawn), (world, breach)
    judgment, broken_at = judge_state(drawn), small_worlds.find_break(drawn)
    if is_promise:
        times = {NOW if breach.at is None else breach.at for breach in judgment.todays_breaches}
        assert min(times, default=None) == broken_at, (world, judgment)
        assert (judgment.status == Guardrail.Status.BROKEN) == (broken_at == NOW), (world, judgment)
    else:
        expected = Guardrail.Status.HOLDS if broken_at is None else Guardrail.Status.BROKEN
        assert judgment.status == expected, (world, judgment)


@pytest.mark.django_db
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(draw=st.randoms(use_true_random=False))
def test_a_guardrail_refuses_what_adds_and_nothing_else(draw):
    check(draw)


@pytest.mark.deep
@pytest.mark.django_db
@pytest.mark.parametrize("number", range(20))
def test_in_thousands_of_worlds_no_verdict_differs(number):
    for seed in range(500):
        check(random.Random(f"guardrail verdicts {number} {seed}"))


@pytest.mark.parametrize("number", [50, pytest.param(2_000, marks=pytest.mark.deep)])
def test_a_change_breaks_a_promise_when_it_takes_what_was_given(people, number):
    for seed in range(number):
        check(random.Random(f"promises {seed}"), is_promise=True)


def test_the_worlds_are_those_of_the_product():
    for seed in range(6):
        drawn = Drawn(random.Random(f"small worlds {seed}"))
        at, urn, side = INSTANTS[seed % 3], USERS[seed % 3], seed % 2
        actor, snapshot = drawn.find_actor(side, urn, at), build_snapshot(drawn, side, at)
        entities = [*small_worlds.list_entities(urn), None]
        for privilege in HELD if actor.is_active else ():
            allowed, _ = small_worlds.find_allowed(drawn.list_current(side, at), actor, privilege)
            for number, entity in enumerate(entities):
                is_allowed = decide(snapshot, Question(actor, privilege, entity)).is_allowed
                assert is_allowed == bool(allowed >> number & 1), (drawn.policies[side], actor, privilege, entity)
