"""Checking a policy document: every problem at once, each at its place, nothing kept out and nothing changed."""

import pytest

from policies.engine.errors import InvalidPolicy
from policies.engine.families import datahub
from tests.worlds import boot_policies, criterion, document, matching_all, urn


def problems(raw: object, **options) -> list[tuple[str, str]]:
    with pytest.raises(InvalidPolicy) as raised:
        datahub.parse(raw, **options)
    return [(problem.pointer, problem.code) for problem in raised.value.problems]


def test_a_whole_document_is_returned_as_it_was():
    raw = document(
        privileges=["EDIT_ENTITY_TAGS", "EDIT_DATASET_COL_TAGS"],
        actors={"users": [urn("ryan")], "groups": [], "allUsers": False, "allGroups": False, "resourceOwners": False},
        resources=matching_all(
            criterion("URN", "x", condition="STARTS_WITH"), constraints=[criterion("URN", "urn:li:tag:a")]
        ),
        lastUpdatedTimestamp=0,
    )
    stored = datahub.parse(raw)
    assert stored == raw
    assert list(stored) == list(raw)


def test_every_shipped_policy_is_valid():
    for name, raw in boot_policies():
        assert datahub.parse(raw) == raw, name


def test_the_older_spelling_of_constraints_is_written_anew_in_its_place():
    raw = document(resources={"allResources": True, "policyConstraints": {"criteria": []}, "type": "dataset"})
    stored = datahub.parse(raw)
    assert list(stored["resources"]) == ["allResources", "privilegeConstraints", "type"]
    assert "policyConstraints" in raw["resources"]


@pytest.mark.parametrize("raw", [None, [], "policy", 7, True])
def test_what_is_no_object(raw: object):
    assert problems(raw) == [("", "type.object")]


def test_an_empty_document_lacks_everything_at_once():
    assert set(problems({})) == {
        ("/displayName", "required"),
        ("/type", "choice"),
        ("/state", "choice"),
        ("/privileges", "required"),
        ("/actors", "required"),
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"displayName": "  "}, [("/displayName", "blank")]),
        ({"displayName": 7}, [("/displayName", "type.text")]),
        ({"description": ["x"]}, [("/description", "type.text")]),
        ({"type": "platform"}, [("/type", "choice")]),
        ({"state": "ENABLED"}, [("/state", "choice")]),
        ({"editable": "yes"}, [("/editable", "type.boolean")]),
        ({"privileges": "EDIT_ENTITY"}, [("/privileges", "type.list")]),
        ({"privileges": [None, 3]}, [("/privileges/0", "type.text"), ("/privileges/1", "type.text")]),
        ({"privileges": ["EDIT_ENTITY", "EDIT_DATASET_TAGS"]}, [("/privileges/1", "privilege.unknown")]),
        ({"privileges": ["edit_entity"]}, [("/privileges/0", "privilege.unknown")]),
        ({"actors": []}, [("/actors", "type.object")]),
        ({"actors": {"everybody": True}}, [("/actors/everybody", "field.unknown")]),
        ({"actors": {"a/b~c": True}}, [("/actors/a~1b~0c", "field.unknown")]),
        ({"actors": {"users": urn("jo")}}, [("/actors/users", "type.list")]),
        ({"actors": {"users": ["jo"]}}, [("/actors/users/0", "urn.type")]),
        ({"actors": {"users": [urn("group:g")]}}, [("/actors/users/0", "urn.type")]),
        ({"actors": {"users": ["urn:li:corpuser:"]}}, [("/actors/users/0", "urn.type")]),
        ({"actors": {"groups": [urn("jo")]}}, [("/actors/groups/0", "urn.type")]),
        ({"actors": {"roles": [urn("jo"), "*"]}}, [("/actors/roles/0", "urn.type"), ("/actors/roles/1", "urn.type")]),
        ({"actors": {"resourceOwnersTypes": ["OWNER"]}}, [("/actors/resourceOwnersTypes/0", "urn.type")]),
        ({"actors": {"allUsers": "true"}}, [("/actors/allUsers", "type.boolean")]),
        ({"actors": {"allUsers": 1}}, [("/actors/allUsers", "type.boolean")]),
        ({"resources": "all"}, [("/resources", "type.object")]),
        ({"resources": {"everything": True}}, [("/resources/everything", "field.unknown")]),
        ({"resources": {"type": ["dataset"]}}, [("/resources/type", "type.text")]),
        ({"resources": {"resources": [7]}}, [("/resources/resources/0", "type.text")]),
        ({"resources": {"allResources": "no"}}, [("/resources/allResources", "type.boolean")]),
        ({"resources": {"filter": []}}, [("/resources/filter", "type.object")]),
        ({"resources": {"filter": {"criteria": {}}}}, [("/resources/filter/criteria", "type.list")]),
        ({"resources": {"filter": {"criterion": []}}}, [("/resources/filter/criterion", "field.unknown")]),
        ({"lastUpdatedTimestamp": -1}, [("/lastUpdatedTimestamp", "type.time")]),
        ({"lastUpdatedTimestamp": 10**30}, [("/lastUpdatedTimestamp", "type.time")]),
        ({"lastUpdatedTimestamp": True}, [("/lastUpdatedTimestamp", "type.time")]),
        ({"displayName": "a\x00b"}, [("/displayName", "text.invalid"), ("", "text.invalid")]),
        ({"note": ["\ud800"]}, [("", "text.invalid"), ("/note", "field.unknown")]),
        ({"effect": "NEVER"}, [("/effect", "choice")]),
        ({"effect": True}, [("/effect", "choice")]),
        ({"actors": {"excludedUsers": [urn("group:g")]}}, [("/actors/excludedUsers/0", "urn.type")]),
        ({"actors": {"excludedRoles": "r"}}, [("/actors/excludedRoles", "type.list")]),
        (
            {"actors": {"excludedResourceOwnersTypes": ["urn:li:ownershipType:"], "excludedActors": []}},
            [("/actors/excludedResourceOwnersTypes/0", "urn.type"), ("/actors/excludedActors", "field.unknown")],
        ),
        ({"validUntils": None, "a/b": 1}, [("/validUntils", "field.unknown"), ("/a~1b", "field.unknown")]),
    ],
)
def test_one_problem(changes: dict, expected: list[tuple[str, str]]):
    assert problems(document(**changes)) == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("TAG", [("", "type.object"), ("/field", "choice"), ("/values", "required")]),
        ({"field": "TAG"}, [("/values", "required")]),
        ({"values": []}, [("/field", "choice")]),
        ({"field": "tag", "values": []}, [("/field", "choice")]),
        ({"field": "COLOUR", "values": []}, [("/field", "choice")]),
        ({"field": "TAG", "values": "t"}, [("/values", "type.list")]),
        ({"field": "TAG", "values": [None]}, [("/values/0", "type.text")]),
        ({"field": "TAG", "values": [], "condition": "EXISTS"}, [("/condition", "choice")]),
        ({"field": "TAG", "values": [], "negated": True}, [("/negated", "field.unknown")]),
    ],
)
@pytest.mark.parametrize("place", ["filter", "privilegeConstraints", "policyConstraints"])
def test_one_problem_in_a_criterion(place: str, item: object, expected: list[tuple[str, str]]):
    raw = document(resources={place: {"criteria": [criterion("TAG", "fine"), item]}})
    found = problems(raw)
    assert found == [(f"/resources/{place}/criteria/1{rest}", code) for rest, code in expected]


def test_constraints_in_both_spellings_are_refused():
    both: dict = {"privilegeConstraints": {"criteria": []}, "policyConstraints": {"criteria": []}}
    assert problems(document(resources=both)) == [("/resources/policyConstraints", "constraints.twice")]


def test_all_problems_come_at_once():
    raw = document(
        displayName="",
        privileges=["NO_SUCH"],
        actors={"users": ["jo"], "some": 1},
        resources={"filter": {"criteria": [{"field": "X", "values": 1}]}},
    )
    assert {pointer for pointer, _ in problems(raw)} == {
        "/displayName",
        "/privileges/0",
        "/actors/users/0",
        "/actors/some",
        "/resources/filter/criteria/0/field",
        "/resources/filter/criteria/0/values",
    }


def test_an_unknown_privilege_is_answered_with_the_likely_one():
    with pytest.raises(InvalidPolicy, match="EDIT_ENTITY_TAGS"):
        datahub.parse(document(privileges=["EDIT_ENTITY_TAG"]))


def test_custom_privileges_are_known():
    raw = document(privileges=["can_read_todos"])
    assert problems(raw) == [("/privileges/0", "privilege.unknown")]
    assert datahub.parse(raw, custom={"can_read_todos"}) == raw


def test_nulls_stand_for_what_is_left_out():
    raw = document(
        actors=dict.fromkeys(("users", "groups", "roles", "resourceOwnersTypes", "allUsers")),
        resources={"type": None, "resources": None, "allResources": None, "filter": None, "privilegeConstraints": None},
        lastUpdatedTimestamp=None,
    )
    assert datahub.parse(raw) == raw
    assert datahub.parse(document(resources=None))["resources"] is None
