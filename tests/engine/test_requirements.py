"""Requirements: alternatives, quantifiers, and what is said to be missing."""

import pytest

from policies.engine.evaluate import decide_requirement
from policies.engine.families import datahub
from policies.engine.model import SYSTEM_ACTOR, Actor, Code, Missing
from policies.engine.requirements import Need, Quantifier, Requirement, alternatives, one
from tests.worlds import World, criterion, denying, document, matching_all, urn

JO = Actor(urn("jo"))
A, B, C = urn("dataset:a"), urn("dataset:b"), urn("dataset:c")


@pytest.fixture
def world() -> World:
    made = World()
    for name in (A, B, C):
        made.entity(name)
    reads = matching_all(criterion("URN", A, B))
    made.policy("reads", document(privileges=["VIEW_ENTITY_PAGE"], actors={"users": [JO.urn]}, resources=reads))
    edits = matching_all(criterion("URN", A))
    made.policy("edits", document(privileges=["EDIT_ENTITY"], actors={"users": [JO.urn]}, resources=edits))
    return made


def ask(world: World, requirement: Requirement, actor: Actor = JO, **relatives: list[str]):
    resources = {name: [world.resource(found) for found in named] for name, named in relatives.items()}
    return decide_requirement(world.snapshot(), actor, requirement, resources)


def test_shapes():
    requirement = alternatives([["A", "B"], ["C"]])
    assert requirement.privileges == {"A", "B", "C"}
    assert requirement.relatives == {"self"}
    assert [need.privileges for need in requirement.needs] == [("A",), ("B",), ("C",)]
    assert one("A") == alternatives([["A"]])


@pytest.mark.parametrize(
    ("any_of", "is_allowed", "missing"),
    [
        ([["EDIT_ENTITY"]], False, [Missing(B, "EDIT_ENTITY")]),
        ([["VIEW_ENTITY_PAGE"]], True, []),
        ([["EDIT_ENTITY"], ["VIEW_ENTITY_PAGE"]], True, []),
        ([["VIEW_ENTITY_PAGE", "EDIT_ENTITY"]], False, [Missing(B, "EDIT_ENTITY")]),
        ([["EDIT_ENTITY", "DELETE_ENTITY"], ["DELETE_ENTITY"]], False, [Missing(B, "DELETE_ENTITY")]),
        ([], False, []),
        ([[]], False, []),
        ([[], ["VIEW_ENTITY_PAGE"]], True, []),
    ],
)
def test_alternatives(world: World, any_of: list[list[str]], is_allowed: bool, missing: list[Missing]):
    decision = ask(world, alternatives(any_of), self=[B])
    assert (decision.is_allowed, list(decision.missing)) == (is_allowed, missing)


@pytest.mark.parametrize(
    ("quantifier", "named", "is_allowed", "missing"),
    [
        (Quantifier.ANY, [C, A], True, []),
        (Quantifier.ANY, [C], False, [Missing(C, "EDIT_ENTITY")]),
        (Quantifier.ANY, [], False, [Missing(A, "EDIT_ENTITY")]),
        (Quantifier.EACH, [A, A], True, []),
        (Quantifier.EACH, [A, B, C], False, [Missing(B, "EDIT_ENTITY"), Missing(C, "EDIT_ENTITY")]),
        (Quantifier.EACH, [], False, [Missing(A, "EDIT_ENTITY")]),
    ],
)
def test_quantifiers_do_not_hold_over_nothing(
    world: World, quantifier: Quantifier, named: list[str], is_allowed: bool, missing: list[Missing]
):
    requirement = Requirement(((Need(("EDIT_ENTITY",), "subjects", quantifier),),))
    decision = ask(world, requirement, subjects=named, self=[A])
    assert (decision.is_allowed, list(decision.missing)) == (is_allowed, missing)


def test_each_may_be_met_by_different_privileges(world: World):
    requirement = Requirement(((Need(("EDIT_ENTITY", "VIEW_ENTITY_PAGE"), "subjects", Quantifier.EACH),),))
    decision = ask(world, requirement, subjects=[A, B])
    assert decision.is_allowed
    assert {statement.origin.name for statement in decision.statements} == {"reads", "edits"}


def test_the_reasons_of_an_alternative_are_those_of_all_its_needs(world: World):
    decision = ask(world, alternatives([["VIEW_ENTITY_PAGE", "EDIT_ENTITY"]]), self=[A])
    assert [statement.origin.name for statement in decision.statements] == ["edits", "reads"]


def test_a_deny_under_a_requirement_is_named(world: World):
    world.policy("stop", denying(document(privileges=["EDIT_ENTITY"], actors={"allUsers": True})))
    decision = ask(world, alternatives([["EDIT_ENTITY"]]), self=[A])
    assert (decision.is_allowed, decision.code) == (False, Code.EXPLICIT_DENY)
    assert [statement.origin.name for statement in decision.statements] == ["stop"]
    assert decision.missing == (Missing(A, "EDIT_ENTITY"),)


def test_without_a_resource_the_privilege_is_missing_on_nothing(world: World):
    decision = decide_requirement(world.snapshot(), JO, one("MANAGE_POLICIES"), {"self": [None]})
    assert decision.missing == (Missing(None, "MANAGE_POLICIES"),)


def test_the_system_actor_and_the_suspended(world: World):
    assert ask(world, one("EDIT_ENTITY"), Actor(SYSTEM_ACTOR), self=[C]).code is Code.SYSTEM_ACTOR
    assert ask(world, one("EDIT_ENTITY"), Actor(JO.urn, is_active=False), self=[A]).code is Code.ACTOR_SUSPENDED


def test_every_operation_and_group_of_the_tables_is_a_requirement():
    assert {"data_product.create", "query.read", "logical_parent.set"} <= datahub.operations().keys()
    assert {"entity.read", "policy.update", "access_token.delete"} <= datahub.groups().keys()
    for requirement in [*datahub.operations().values(), *datahub.groups().values()]:
        assert requirement.any_of
        assert all(requirement.any_of)
