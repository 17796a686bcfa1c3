"""Requirements: alternatives, quantifiers, and what is said to be missing."""

import pytest

from policies.engine.evaluate import decide_requirement
from policies.engine.families import datahub
from policies.engine.model import SYSTEM_ACTOR, Actor, DecisionCode, MissingPrivilege
from policies.engine.requirements import Need, Quantifier, Requirement, any_of_requirement, privilege_requirement
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
    requirement = any_of_requirement([["A", "B"], ["C"]])
    assert requirement.privileges == {"A", "B", "C"}
    assert requirement.relatives == {"self"}
    assert [need.privileges for need in requirement.needs] == [("A",), ("B",), ("C",)]
    assert privilege_requirement("A") == any_of_requirement([["A"]])


@pytest.mark.parametrize(
    ("any_of", "is_allowed", "missing"),
    [
        ([["EDIT_ENTITY"]], False, [MissingPrivilege(B, "EDIT_ENTITY")]),
        ([["VIEW_ENTITY_PAGE"]], True, []),
        ([["EDIT_ENTITY"], ["VIEW_ENTITY_PAGE"]], True, []),
        ([["VIEW_ENTITY_PAGE", "EDIT_ENTITY"]], False, [MissingPrivilege(B, "EDIT_ENTITY")]),
        ([["EDIT_ENTITY", "DELETE_ENTITY"], ["DELETE_ENTITY"]], False, [MissingPrivilege(B, "DELETE_ENTITY")]),
        ([], False, []),
        ([[]], False, []),
        ([[], ["VIEW_ENTITY_PAGE"]], True, []),
    ],
)
def test_alternatives(world: World, any_of: list[list[str]], is_allowed: bool, missing: list[MissingPrivilege]):
    decision = ask(world, any_of_requirement(any_of), self=[B])
    assert (decision.is_allowed, list(decision.missing)) == (is_allowed, missing)


@pytest.mark.parametrize(
    ("quantifier", "named", "is_allowed", "missing"),
    [
        (Quantifier.ANY, [C, A], True, []),
        (Quantifier.ANY, [C], False, [MissingPrivilege(C, "EDIT_ENTITY")]),
        (Quantifier.ANY, [], False, [MissingPrivilege(A, "EDIT_ENTITY")]),
        (Quantifier.EACH, [A, A], True, []),
        (Quantifier.EACH, [A, B, C], False, [MissingPrivilege(B, "EDIT_ENTITY"), MissingPrivilege(C, "EDIT_ENTITY")]),
        (Quantifier.EACH, [], False, [MissingPrivilege(A, "EDIT_ENTITY")]),
    ],
)
def test_quantifiers_do_not_hold_over_nothing(
    world: World, quantifier: Quantifier, named: list[str], is_allowed: bool, missing: list[MissingPrivilege]
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
    decision = ask(world, any_of_requirement([["VIEW_ENTITY_PAGE", "EDIT_ENTITY"]]), self=[A])
    assert [statement.origin.name for statement in decision.statements] == ["edits", "reads"]


def test_a_deny_under_a_requirement_is_named(world: World):
    world.policy("stop", denying(document(privileges=["EDIT_ENTITY"], actors={"allUsers": True})))
    decision = ask(world, any_of_requirement([["EDIT_ENTITY"]]), self=[A])
    assert (decision.is_allowed, decision.code) == (False, DecisionCode.EXPLICIT_DENY)
    assert [statement.origin.name for statement in decision.statements] == ["stop"]
    assert decision.missing == (MissingPrivilege(A, "EDIT_ENTITY"),)


def test_without_a_resource_the_privilege_is_missing_on_nothing(world: World):
    decision = decide_requirement(world.snapshot(), JO, privilege_requirement("MANAGE_POLICIES"), {"self": [None]})
    assert decision.missing == (MissingPrivilege(None, "MANAGE_POLICIES"),)


def test_the_system_actor_and_the_suspended(world: World):
    assert (
        ask(world, privilege_requirement("EDIT_ENTITY"), Actor(SYSTEM_ACTOR), self=[C]).code
        is DecisionCode.SYSTEM_ACTOR
    )
    assert (
        ask(world, privilege_requirement("EDIT_ENTITY"), Actor(JO.urn, is_active=False), self=[A]).code
        is DecisionCode.ACTOR_SUSPENDED
    )


def test_every_operation_and_group_of_the_tables_is_a_requirement():
    assert {"data_product.create", "query.read", "logical_parent.set"} <= datahub.load_operations().keys()
    assert {"entity.read", "policy.update", "access_token.delete"} <= datahub.load_operation_groups().keys()
    for requirement in [*datahub.load_operations().values(), *datahub.load_operation_groups().values()]:
        assert requirement.any_of
        assert all(requirement.any_of)


@pytest.mark.parametrize("name", [A, B, C, None])
@pytest.mark.parametrize("privilege", ["EDIT_ENTITY", "VIEW_ENTITY_PAGE", "DELETE_ENTITY"])
@pytest.mark.parametrize("quantifier", list(Quantifier))
def test_one_privilege_on_the_entity_itself_is_decided_as_any_other_requirement(
    world: World, name: str | None, privilege: str, quantifier: Quantifier
):
    denied = matching_all(criterion("URN", B))
    denial = document(privileges=["VIEW_ENTITY_PAGE"], actors={"users": [JO.urn]}, resources=denied)
    world.policy("denies", denying(denial))
    resources = [None if name is None else world.resource(name)]
    sole = Requirement(((Need((privilege,), quantifier=quantifier),),))
    walked = Requirement(((Need((privilege,), "twin", quantifier),),))
    assert (sole.sole_privilege, walked.sole_privilege) == (privilege, None)
    relatives = {"self": resources, "twin": resources}
    snapshot = world.snapshot()
    assert decide_requirement(snapshot, JO, sole, relatives) == decide_requirement(snapshot, JO, walked, relatives)
