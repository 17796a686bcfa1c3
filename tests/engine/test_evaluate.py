"""Decisions: codes, reasons, grants, restrictions."""

from dataclasses import replace

import pytest

from policies.engine.evaluate import decide, decide_requirement
from policies.engine.model import SYSTEM_ACTOR, Actor, DecisionCode, Effect, Question, Statement, StatementOrigin
from policies.engine.requirements import SELF, Need, Quantifier, Requirement, any_of_requirement
from policies.engine.restrictions import Restriction, RoleSlice
from policies.engine.selectors import EVERYTHING, TYPE, URN, ActorMatch, Condition, Criterion, Resource, Selector
from policies.engine.snapshot import Snapshot

JO = Actor("urn:li:corpuser:jo", groups=frozenset({"g"}), roles=frozenset({"r", "s"}))
ORDERS = Resource("urn:li:dataset:orders", "dataset", {})


def statement(policy: str, *tokens: str, effect: Effect = Effect.ALLOW, **changes) -> Statement:
    plain = Statement(
        StatementOrigin(policy, policy), effect, ActorMatch(frozenset(tokens)), frozenset({"READ"}), EVERYTHING
    )
    return replace(plain, **changes)


def snapshot(*statements: Statement, version: int = 3) -> Snapshot:
    return Snapshot.build(version, [(one.origin.policy, (one,)) for one in statements])


@pytest.mark.parametrize(
    ("statements", "actor", "code", "deciding"),
    [
        ([], JO, DecisionCode.IMPLICIT_DENY, []),
        ([statement("a", JO.urn)], JO, DecisionCode.ALLOWED, ["a"]),
        ([statement("b", "g"), statement("a", "r")], JO, DecisionCode.ALLOWED, ["a", "b"]),
        ([statement("a", JO.urn), statement("d", "*", effect=Effect.DENY)], JO, DecisionCode.EXPLICIT_DENY, ["d"]),
        ([statement("d", "*", effect=Effect.DENY)], JO, DecisionCode.EXPLICIT_DENY, ["d"]),
        ([statement("a", "nobody")], JO, DecisionCode.IMPLICIT_DENY, []),
        ([statement("a", "*")], Actor("stranger"), DecisionCode.ALLOWED, ["a"]),
        ([statement("a", "*group")], Actor("stranger"), DecisionCode.IMPLICIT_DENY, []),
        ([statement("d", "*", effect=Effect.DENY)], Actor(SYSTEM_ACTOR), DecisionCode.SYSTEM_ACTOR, []),
        ([statement("a", "*")], replace(JO, is_active=False), DecisionCode.ACTOR_SUSPENDED, []),
    ],
)
def test_codes_and_reasons(statements: list[Statement], actor: Actor, code: DecisionCode, deciding: list[str]):
    decision = decide(snapshot(*statements), Question(actor, "READ", ORDERS))
    assert decision.code is code
    assert decision.is_allowed == (code in (DecisionCode.ALLOWED, DecisionCode.SYSTEM_ACTOR))
    assert [one.origin.policy for one in decision.statements] == deciding
    assert decision.version == 3


def test_the_system_actor_needs_no_facts():
    tagged = Selector((Criterion("TAG", Condition.EQUALS, frozenset({"t"})),))
    decision = decide(snapshot(statement("a", "*", resources=tagged)), Question(Actor(SYSTEM_ACTOR), "READ", ORDERS))
    assert decision.is_allowed


def test_grants_allow_beside_policies_and_under_denies():
    grant = statement("grant", JO.urn)
    others = statement("others", "somebody else")
    question = Question(JO, "READ", ORDERS)
    assert decide(snapshot(), question, [grant, others]).statements == (grant,)
    assert not decide(snapshot(), question, [others]).is_allowed
    assert not decide(snapshot(), Question(JO, "WRITE", ORDERS), [grant]).is_allowed
    denied = decide(snapshot(statement("d", "g", effect=Effect.DENY)), question, [grant])
    assert (denied.is_allowed, denied.code) == (False, DecisionCode.EXPLICIT_DENY)


def test_a_question_without_resource():
    needing = statement("needing", "*", resources=Selector(needs_resource=True))
    free = statement("free", "*")
    decision = decide(snapshot(needing, free), Question(JO, "READ"))
    assert [one.origin.policy for one in decision.statements] == ["free"]


def test_a_constraint_must_hold_for_every_sub_resource():
    tags = Selector((Criterion(TYPE, Condition.EQUALS, frozenset({"tag"})),))
    limited = snapshot(statement("a", "*", subresources=tags))
    tag, chart = Resource("urn:li:tag:a", "tag", {}), Resource("urn:li:chart:a", "chart", {})
    some_tag = Resource("urn:li:allEntities:all", "allEntities", {})
    assert decide(limited, Question(JO, "READ", ORDERS)).is_allowed
    assert decide(limited, Question(JO, "READ", ORDERS, (tag, tag, some_tag))).is_allowed
    assert not decide(limited, Question(JO, "READ", ORDERS, (tag, chart))).is_allowed


def test_a_restriction_lasts_until_another_role_lifts_it():
    rows = Restriction(rows=("country = 'CH'",), columns=("id",))
    restricted = statement("limited", "r", restriction=rows)
    question = Question(JO, "READ", ORDERS)
    assert decide(snapshot(restricted), question).slices == (RoleSlice("r", rows.rows, ("id",), None),)
    assert decide(snapshot(restricted, statement("plain", "r")), question).slices == (
        RoleSlice("r", rows.rows, ("id",), None),
    )
    assert decide(snapshot(restricted, statement("plain", "s")), question).slices is None


def test_an_allow_without_columns_is_a_refusal():
    nothing = statement("nothing", "r", restriction=Restriction(columns=()))
    decision = decide(snapshot(nothing), Question(JO, "READ", ORDERS))
    assert (decision.is_allowed, decision.code) == (False, DecisionCode.NO_COLUMNS)
    assert [one.origin.policy for one in decision.statements] == ["nothing"]


def limited(policy: str, privilege: str, **restriction) -> Statement:
    return statement(policy, "r", privileges=frozenset({privilege}), restriction=Restriction(**restriction))


ALL_OF_BOTH = any_of_requirement([["READ", "WRITE"]])


@pytest.mark.parametrize(
    ("read", "write", "code", "slices"),
    [
        ({"paths": ("src",)}, {"paths": ("src/etl",)}, DecisionCode.ALLOWED, (RoleSlice("r", (), None, ("src/etl",)),)),
        ({"paths": ("src",)}, {"paths": ("docs",)}, DecisionCode.PATH_NOT_ALLOWED, None),
        ({"columns": ("id", "name")}, {"columns": ("id",)}, DecisionCode.ALLOWED, (RoleSlice("r", (), ("id",), None),)),
        ({"columns": ("name",)}, {"columns": ("id",)}, DecisionCode.NO_COLUMNS, None),
        ({"rows": ("a",)}, {"rows": ("b",)}, DecisionCode.ALLOWED, (RoleSlice("r", ("a", "b"), None, None),)),
        ({"rows": ("a",)}, None, DecisionCode.ALLOWED, (RoleSlice("r", ("a",), None, None),)),
        (None, {"rows": ("b",)}, DecisionCode.ALLOWED, (RoleSlice("r", ("b",), None, None),)),
        (None, None, DecisionCode.ALLOWED, None),
    ],
)
def test_of_several_needs_the_restrictions_of_all_are_kept(read, write, code, slices):
    statements = [
        limited(privilege, privilege, **restriction)
        if restriction is not None
        else statement(privilege, "r", privileges=frozenset({privilege}))
        for privilege, restriction in (("READ", read), ("WRITE", write))
    ]
    decision = decide_requirement(snapshot(*statements), JO, ALL_OF_BOTH, {SELF: [ORDERS]})
    assert (decision.code, decision.slices) == (code, slices)
    assert decision.is_allowed is (code is DecisionCode.ALLOWED)
    missing = [] if decision.is_allowed else ["READ", "WRITE"]
    assert [one.privilege for one in decision.missing] == missing
    assert [one.origin.policy for one in decision.statements] == ["READ", "WRITE"]


def test_each_of_several_entities_keeps_its_restriction():
    other = replace(ORDERS, urn="urn:li:dataset:other")
    each = Requirement(((Need(("READ",), "tables", Quantifier.EACH),),))
    of_orders, of_other = (
        Selector((Criterion(URN, Condition.EQUALS, frozenset({one.urn})),)) for one in (ORDERS, other)
    )
    statements = (
        replace(limited("a", "READ", columns=("id",)), resources=of_orders),
        replace(limited("b", "READ", columns=("name",)), resources=of_other),
    )
    decision = decide_requirement(snapshot(*statements), JO, each, {"tables": [ORDERS, other], SELF: [ORDERS]})
    assert decision.code is DecisionCode.NO_COLUMNS
    assert [(one.entity, one.privilege) for one in decision.missing] == [(ORDERS.urn, "READ")]
    alone = decide_requirement(snapshot(*statements), JO, each, {"tables": [ORDERS], SELF: [ORDERS]})
    assert alone.slices == (RoleSlice("r", (), ("id",), None),)


def test_an_alternative_whose_restrictions_leave_nothing_does_not_hide_another():
    statements = (
        limited("READ", "READ", paths=("src",)),
        limited("WRITE", "WRITE", paths=("docs",)),
        statement("MANAGE", "r", privileges=frozenset({"MANAGE"})),
    )
    either = any_of_requirement([["READ", "WRITE"], ["MANAGE"]])
    assert decide_requirement(snapshot(*statements), JO, either, {SELF: [ORDERS]}).is_allowed
