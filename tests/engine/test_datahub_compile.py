"""From a stored document to its statement. What statements then answer is in the decision tables (tests/spec)."""

import json

import pytest

from policies.engine.families import datahub
from policies.engine.model import Effect, StatementOrigin
from policies.engine.selectors import (
    EVERYONE,
    EVERYTHING,
    IN_ANY_GROUP,
    NEVER_CRITERION,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    TAG,
    TYPE,
    URN,
    Condition,
    Criterion,
    Selector,
    owner_token,
)
from tests.worlds import criterion, document, matching_all, urn

ORIGIN = StatementOrigin("urn:li:dataHubPolicy:p", "P")


def compiled(**changes):
    (statement,) = datahub.compile(document(**changes), ORIGIN)
    return statement


def equals(field: str, *values: str) -> Criterion:
    return Criterion(field, Condition.EQUALS, frozenset(values))


def test_a_plain_policy():
    statement = compiled(privileges=["EDIT_ENTITY"], actors={"users": [urn("jo")]})
    assert statement.origin == ORIGIN
    assert statement.effect is Effect.ALLOW
    assert statement.actors.tokens == {urn("jo")}
    assert statement.privileges == {"EDIT_ENTITY"}
    assert statement.resources == EVERYTHING
    assert statement.subresources is None
    assert statement.restriction is None


def test_policies_with_the_same_criterion_and_group_hold_them_once():
    text = json.dumps(document(actors={"groups": [urn("group:a")]}, resources=matching_all(criterion("type", "chart"))))
    (one,), (other,) = (datahub.compile(json.loads(text), ORIGIN) for _ in range(2))
    assert one == other
    assert one.resources.criteria == (equals(TYPE, "chart"),)
    assert one.resources.criteria[0] is other.resources.criteria[0]
    (token,), (same_token,) = one.actors.tokens, other.actors.tokens
    assert token is same_token


@pytest.mark.parametrize("state", ["INACTIVE", "DRAFT", "active", "", None, 7])
def test_only_active_policies_have_a_statement(state: object):
    assert datahub.compile(document(state=state), ORIGIN) == ()


@pytest.mark.parametrize(
    ("actors", "tokens"),
    [
        ({}, set()),
        (None, set()),
        ({"allUsers": True}, {EVERYONE}),
        ({"allGroups": True}, {IN_ANY_GROUP}),
        ({"allUsers": False, "allGroups": None}, set()),
        (
            {"users": [urn("a")], "groups": [urn("group:b")], "roles": [urn("role:c")]},
            {urn("a"), urn("group:b"), urn("role:c")},
        ),
        ({"users": [EVERYONE, ONESELF, urn("group:b")], "groups": [urn("a"), IN_ANY_GROUP]}, set()),
        ({"resourceOwners": True}, {OWNER_OF_ANY_TYPE}),
        ({"resourceOwners": True, "resourceOwnersTypes": None}, {OWNER_OF_ANY_TYPE}),
        ({"resourceOwners": True, "resourceOwnersTypes": []}, set()),
        ({"resourceOwners": True, "resourceOwnersTypes": ["x", "y"]}, {owner_token("x"), owner_token("y")}),
        ({"resourceOwners": False, "resourceOwnersTypes": ["x"]}, set()),
    ],
)
def test_actors(actors: dict | None, tokens: set[str]):
    assert compiled(actors=actors).actors.tokens == tokens


def test_platform_policies_know_no_owners_and_no_resources():
    block = matching_all(criterion("TAG", "t"), constraints=[criterion("URN", "u")])
    statement = compiled(type="PLATFORM", actors={"resourceOwners": True, "allGroups": True}, resources=block)
    assert statement.actors.tokens == {IN_ANY_GROUP}
    assert statement.resources == EVERYTHING
    assert statement.subresources == Selector((equals(URN, "u"),))


@pytest.mark.parametrize(
    ("block", "selector"),
    [
        (None, EVERYTHING),
        ({}, Selector(needs_resource=True)),
        ({"filter": {"criteria": []}, "type": "chart"}, Selector(needs_resource=True)),
        ({"filter": {}}, Selector(needs_resource=True)),
        ({"type": "dataset"}, Selector((equals(TYPE, "dataset"),), needs_resource=True)),
        ({"type": "dataset", "allResources": True, "resources": ["u"]}, Selector((equals(TYPE, "dataset"),), True)),
        ({"type": "dataset", "resources": ["u"]}, Selector((equals(TYPE, "dataset"), equals(URN, "u")), True)),
        ({"resources": []}, Selector((equals(URN),), needs_resource=True)),
        (matching_all(criterion("RESOURCE_TYPE", "a", "b")), Selector((equals(TYPE, "a", "b"),), needs_resource=True)),
        (matching_all(criterion("resource_urn", "u")), Selector((equals(URN, "u"),), needs_resource=True)),
        (matching_all(criterion("TAG", "t", condition="LIKE")), Selector((NEVER_CRITERION,), needs_resource=True)),
        (
            matching_all(criterion("COLOUR", "red", condition="NOT_EQUALS")),
            Selector((NEVER_CRITERION,), needs_resource=True),
        ),
    ],
)
def test_resources(block: dict | None, selector: Selector):
    assert compiled(resources=block).resources == selector


@pytest.mark.parametrize("condition", list(Condition))
def test_conditions(condition: Condition):
    block = matching_all(criterion("TAG", "t", condition=condition.value))
    assert compiled(resources=block).resources.criteria == (Criterion(TAG, condition, frozenset({"t"})),)


@pytest.mark.parametrize("spelling", ["privilegeConstraints", "policyConstraints"])
def test_constraints_are_never_lost(spelling: str):
    block = {"filter": {"criteria": []}, spelling: {"criteria": [criterion("URN", "u")]}}
    assert compiled(resources=block).subresources == Selector((equals(URN, "u"),))


def test_privileges_give_what_they_imply():
    assert compiled(privileges=["VIEW_ENTITY_PAGE"]).privileges == {"VIEW_ENTITY_PAGE", "VIEW_ENTITY"}
    assert compiled(privileges=["VIEW_ENTITY"]).privileges == {"VIEW_ENTITY"}
    assert compiled(privileges=["EDIT_ENTITY"]).privileges == {"EDIT_ENTITY"}
    assert len(compiled(privileges=["MANAGE_SYSTEM_OPERATIONS"]).privileges) == 10
    assert compiled(privileges=["of our own"]).privileges == {"of our own"}


def test_what_holds_without_being_stored():
    ((policy, (statement,)),) = datahub.implicit_policies()
    assert policy == statement.origin.policy == datahub.VIEW_SELF.policy
    assert statement.actors.tokens == {ONESELF}
    assert statement.privileges == {
        "VIEW_ENTITY_PAGE",
        "VIEW_ENTITY",
        "GET_ENTITY_PRIVILEGE",
        "EDIT_ENTITY",
        "DELETE_ENTITY",
    }
