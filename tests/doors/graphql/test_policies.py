"""Policies over GraphQL: written, listed, deleted; granted privileges (clients.md 2.3, 2.4; source 000)."""

import json
import re
from pathlib import Path

import pytest

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import roles
from policies.models import Policy, PolicyVersion
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT

pytestmark = pytest.mark.django_db

CREATE = "mutation($input: PolicyUpdateInput!) {createPolicy(input: $input)}"
UPDATE = "mutation($urn: String!, $input: PolicyUpdateInput!) {updatePolicy(urn: $urn, input: $input)}"
DELETE = "mutation($urn: String!) {deletePolicy(urn: $urn)}"
CLAUSE = """users groups roles resourceOwners resourceOwnersTypes resourceOwnersTypesUrns allUsers allGroups
            resolvedUsers{urn username properties{displayName}} resolvedGroups{urn name} resolvedRoles{urn}
            resolvedOwnershipTypes{urn info{name}}"""
FILTER = "criteria{field condition values{value entity{urn type}}}"
LIST = f"""query($input: ListPoliciesInput!) {{listPolicies(input: $input) {{start count total policies {{
    urn type name description state privileges editable
    resources {{type resources allResources filter {{{FILTER}}}
                privilegeConstraints {{{FILTER}}} policyConstraints {{{FILTER}}}}}
    actors {{{CLAUSE}}}}}}}}}"""
ACTORS = {"resourceOwners": False, "allUsers": False, "allGroups": False}
STEWARD = "urn:li:dataHubRole:steward"


def written(**more):
    return {
        "type": "METADATA",
        "name": "Stewards",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": ACTORS,
    } | more


def test_the_example_of_the_policies_guide(root):
    source = (Path(__file__).parent / "example.graphql").read_text(encoding="utf-8")
    (urn,) = root.ask(source).values()
    assert re.fullmatch(r"urn:li:dataHubPolicy:[0-9a-f-]{36}", urn)
    stored = policy_queries.get_policy(urn=urn).document
    assert stored.pop("lastUpdatedTimestamp") > 1_700_000_000_000
    criteria = [
        {"field": "URN", "values": ["urn:li:tag:PII", "urn:li:tag:Business Critical"], "condition": "EQUALS"},
    ]
    assert stored == {
        "type": "METADATA",
        "displayName": "my-policy",
        "state": "ACTIVE",
        "description": "My policy",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "editable": True,
        "actors": {"allUsers": True, "users": [], "groups": [], "resourceOwners": True, "allGroups": True},
        "resources": {
            "allResources": True,
            "resources": [],
            "filter": {"criteria": []},
            "privilegeConstraints": {"criteria": criteria},
        },
    }
    (shown,) = root.ask(LIST, input={"query": "my-policy"})["listPolicies"]["policies"]
    assert shown["resources"]["privilegeConstraints"] == shown["resources"]["policyConstraints"]
    assert [one["value"] for one in shown["resources"]["policyConstraints"]["criteria"][0]["values"]] == [
        "urn:li:tag:PII",
        "urn:li:tag:Business Critical",
    ]


def test_a_policy_comes_back_as_it_was_given(root):
    given = written(
        description="Who keeps order",
        actors=ACTORS
        | {
            "users": [ROOT, "urn:li:corpuser:later"],
            "groups": None,
            "resourceOwners": True,
            "resourceOwnersTypes": ["urn:li:ownershipType:__system__data_steward"],
        },
        resources={
            "type": "dataset",
            "resources": [DATASET],
            "allResources": False,
            "filter": {
                "criteria": [
                    {"field": "URN", "values": [DATASET], "condition": "EQUALS"},
                    {"field": "TAG", "values": ["b", "a"]},
                ]
            },
        },
    )
    urn = root.ask(CREATE, input=given)["createPolicy"]
    (shown,) = root.ask(LIST, input={"query": "Stewards"})["listPolicies"]["policies"]
    assert shown == {
        "urn": urn,
        "type": "METADATA",
        "name": "Stewards",
        "description": "Who keeps order",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "editable": True,
        "resources": {
            "type": "dataset",
            "resources": [DATASET],
            "allResources": False,
            "filter": {
                "criteria": [
                    {
                        "field": "URN",
                        "condition": "EQUALS",
                        "values": [{"value": DATASET, "entity": {"urn": DATASET, "type": "DATASET"}}],
                    },
                    {
                        "field": "TAG",
                        "condition": "EQUALS",
                        "values": [{"value": "b", "entity": None}, {"value": "a", "entity": None}],
                    },
                ]
            },
            "privilegeConstraints": None,
            "policyConstraints": None,
        },
        "actors": {
            "users": [ROOT, "urn:li:corpuser:later"],
            "groups": None,
            "roles": None,
            "resourceOwners": True,
            "resourceOwnersTypes": ["urn:li:ownershipType:__system__data_steward"],
            "resourceOwnersTypesUrns": ["urn:li:ownershipType:__system__data_steward"],
            "allUsers": False,
            "allGroups": False,
            "resolvedUsers": [
                {"urn": ROOT, "username": "datahub", "properties": {"displayName": "DataHub"}},
                {"urn": "urn:li:corpuser:later", "username": "later", "properties": None},
            ],
            "resolvedGroups": [],
            "resolvedRoles": [],
            "resolvedOwnershipTypes": [
                {"urn": "urn:li:ownershipType:__system__data_steward", "info": {"name": "Data Steward"}}
            ],
        },
    }


def test_an_update_makes_what_is_not_there_and_replaces_what_is(root):
    urn = "urn:li:dataHubPolicy:of-my-choice"
    assert root.ask(UPDATE, urn=urn, input=written())["updatePolicy"] == urn
    assert root.ask(UPDATE, urn=urn, input=written(privileges=[], state="INACTIVE"))["updatePolicy"] == urn
    document = policy_queries.get_policy(urn=urn).document
    assert (document["privileges"], document["state"], document["description"]) == ([], "INACTIVE", "")
    assert "resources" not in document


def test_an_update_twice_is_the_same(root):
    urn = "urn:li:dataHubPolicy:twice"
    documents = []
    for _ in range(2):
        root.ask(UPDATE, urn=urn, input=written())
        documents.append(policy_queries.get_policy(urn=urn).document)
    assert {**documents[0], "lastUpdatedTimestamp": 0} == {**documents[1], "lastUpdatedTimestamp": 0}


def test_an_update_keeps_the_roles_that_it_cannot_name(root):
    """DataHub loses them: its input has no roles, so that whoever renames a policy takes it away from its holders."""
    roles.create(identifier="steward", name="Steward", by=authorizer.SYSTEM, channel=DOOR)
    document = {
        "displayName": "Bound",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"],
        "actors": {"roles": [STEWARD], "users": [ROOT]},
    }
    made = policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)
    root.ask(UPDATE, urn=made.policy.urn, input=written(name="Bound still"))
    stored = policy_queries.get_policy(urn=made.policy.urn).document
    assert (stored["displayName"], stored["actors"]) == ("Bound still", ACTORS | {"roles": [STEWARD]})


def test_what_is_not_editable_stays(root):
    before = policy_queries.get_policy(urn="urn:li:dataHubPolicy:0").document
    assert root.refused(UPDATE, urn="urn:li:dataHubPolicy:0", input=written())[:2] == (403, "UNAUTHORIZED")
    assert root.refused(DELETE, urn="urn:li:dataHubPolicy:0")[:2] == (403, "UNAUTHORIZED")
    assert policy_queries.get_policy(urn="urn:li:dataHubPolicy:0").document == before


def test_a_delete_of_what_is_gone_is_done_already(root):
    urn = root.ask(CREATE, input=written())["createPolicy"]
    assert [root.ask(DELETE, urn=urn)["deletePolicy"] for _ in range(2)] == [urn, urn]
    assert not Policy.objects.filter(urn=urn).exists()


def test_a_write_names_the_version_of_the_policies(root):
    answer = root.send(CREATE, {"input": written()})
    assert answer.headers["Policy-Version"] == str(PolicyVersion.load_version())
    assert "Policy-Version" not in root.send("{me{corpUser{urn}}}").headers


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"privileges": ["EDIT_DATASET_TAGS"]}, "/privileges/0"),
        ({"name": ""}, "/displayName"),
        ({"actors": ACTORS | {"users": ["urn:li:corpGroup:x"]}}, "/actors/users/0"),
        ({"resources": {"filter": {"criteria": [{"field": "COLOUR", "values": []}]}}}, "/criteria/0/field"),
        (
            {"resources": {"policyConstraints": {"criteria": []}, "privilegeConstraints": {"criteria": []}}},
            "/resources/policyConstraints",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(root, more, said):
    before = Policy.objects.count()
    code, kind, message = root.refused(CREATE, input=written(**more))
    assert (code, kind) == (400, "BAD_REQUEST")
    assert said in message
    assert Policy.objects.count() == before


@pytest.mark.parametrize("more", [{"type": "OTHER"}, {"state": None}, {"actors": {}}, {"nothing": 1}, {"name": 7}])
def test_an_input_of_another_shape(root, more):
    answer = root.send(CREATE, {"input": written(**more)}).json()
    assert "data" not in answer
    assert {error["extensions"]["code"] for error in answer["errors"]} == {400}


@pytest.mark.parametrize(
    "urn",
    ["", "x", DATASET, "urn:li:dataHubPolicy:", f"urn:li:dataHubPolicy:{'x' * 600}", "urn:li:dataHubPolicy:a/versions"],
)
def test_a_urn_that_no_policy_has(root, urn):
    assert root.refused(UPDATE, urn=urn, input=written())[0] == 400


def test_only_who_manages_policies(person):
    jo = person("jo", "VIEW_ANALYTICS", type="PLATFORM")
    urn = "urn:li:dataHubPolicy:7"
    for query, variables in (
        (LIST, {"input": {}}),
        (CREATE, {"input": written()}),
        (UPDATE, {"urn": urn, "input": written()}),
        (UPDATE, {"urn": "urn:li:dataHubPolicy:new", "input": written()}),
        (DELETE, {"urn": urn}),
        (DELETE, {"urn": "urn:li:dataHubPolicy:none"}),
    ):
        answer = jo.send(query, variables).json()
        assert set(answer["data"].values()) == {None}
        (error,) = answer["errors"]
        assert (error["extensions"]["code"], error["extensions"]["type"]) == (403, "UNAUTHORIZED")
        assert "MANAGE_POLICIES" in error["message"]


def test_a_manager_who_gives_up_the_power_in_the_first_write_has_it_no_more_in_the_second(person):
    jo = person("jo", "MANAGE_POLICIES", type="PLATFORM")
    mine = Policy.objects.get(name__startswith="What").urn
    answer = jo.send(
        "mutation($urn: String!, $input: PolicyUpdateInput!) {deletePolicy(urn: $urn) createPolicy(input: $input)}",
        {"urn": mine, "input": written()},
    ).json()
    assert answer["data"] == {"deletePolicy": mine, "createPolicy": None}
    assert answer["errors"][0]["path"] == ["createPolicy"]


# -- lists ------------------------------------------------------------------------------------------------------------


def listed(root, **input):
    return root.ask(LIST, input=input)["listPolicies"]


def names(root, *criteria):
    return [one["name"] for one in listed(root, count=100, orFilters=[{"and": list(criteria)}])["policies"]]


@pytest.fixture
def three(root):
    for number, state in enumerate(("ACTIVE", "INACTIVE", "DRAFT")):
        root.ask(CREATE, input=written(name=f"Three {number}", state=state))


def test_pages(root, three):
    whole = listed(root, start="0", count="100")
    assert whole["total"] == whole["count"] == Policy.objects.filter(family="datahub").count()
    parts = [listed(root, start=start, count=2)["policies"] for start in range(0, whole["total"], 2)]
    assert [one["urn"] for part in parts for one in part] == [one["urn"] for one in whole["policies"]]
    past = listed(root, start=1000)
    assert (past["count"], past["policies"], past["total"]) == (0, [], whole["total"])


def test_filters(root, three):
    draft, editable = {"field": "state", "values": ["DRAFT"]}, {"field": "editable", "values": ["false"]}
    name = {"field": "name", "values": ["Three"], "condition": "START_WITH"}
    assert names(root, draft) == ["Three 2"]
    assert len(names(root, name)) == 3
    assert sorted(names(root, name, {**draft, "negated": True})) == ["Three 0", "Three 1"]
    assert names(root, editable) == list(
        Policy.objects.filter(family="datahub", is_editable=False).order_by("urn").values_list("name", flat=True)
    )
    assert [one["name"] for one in listed(root, query="Three 1")["policies"]] == ["Three 1"]


@pytest.mark.parametrize(
    "criterion",
    [
        {"field": "colour", "values": ["red"]},
        {"field": "editable", "values": ["t"], "condition": "CONTAIN"},
        {"field": "name", "values": ["A"], "condition": "GREATER_THAN"},
    ],
)
def test_what_is_not_filtered_by(root, criterion):
    assert root.refused(LIST, input={"orFilters": [{"and": [criterion]}]})[:2] == (400, "BAD_REQUEST")


@pytest.mark.parametrize("input", [{"start": -1}, {"count": -1}, {"count": 100_000}])
def test_a_page_that_is_none(root, input):
    assert root.refused(LIST, input=input)[0] == 400


@pytest.mark.parametrize("input", [{"start": 2**40}, {"count": 1.5}, {"count": True}, {"count": "many"}, {"count": []}])
def test_a_number_that_is_none(root, input):
    (error,) = root.send(LIST, {"input": input}).json()["errors"]
    assert error["extensions"]["code"] == 400


def test_a_long_list_takes_the_queries_of_a_short_one(root, three, django_assert_max_num_queries):
    root.ask(LIST, input={"count": 1})
    with django_assert_max_num_queries(20) as short:
        root.ask(LIST, input={"count": 2})
    with django_assert_max_num_queries(len(short)):
        assert listed(root, count=100)["count"] > 15


# -- what somebody may do ---------------------------------------------------------------------------------------------

GRANTED = """query($input: GetGrantedPrivilegesInput!) {getGrantedPrivileges(input: $input) {
    privileges evaluationDetails {policyName reason}}}"""


def test_granted_privileges(root, person):
    jo = person("jo", "EDIT_ENTITY_TAGS", resources={"type": "dataset"})
    spec = {"resourceType": "DATASET", "resourceUrn": DATASET}
    mine = jo.ask(GRANTED, input={"actorUrn": jo.urn, "resourceSpec": spec})["getGrantedPrivileges"]
    assert "EDIT_ENTITY_TAGS" in mine["privileges"]
    assert mine["evaluationDetails"] is None
    chart = {"resourceType": "CHART", "resourceUrn": "urn:li:chart:(looker,1)"}
    other = jo.ask(GRANTED, input={"actorUrn": jo.urn, "resourceSpec": chart})["getGrantedPrivileges"]
    assert "EDIT_ENTITY_TAGS" not in other["privileges"]
    theirs = root.ask(GRANTED, input={"actorUrn": jo.urn, "resourceSpec": spec, "includeEvaluationDetails": True})[
        "getGrantedPrivileges"
    ]
    details = {one["policyName"]: one["reason"] for one in theirs["evaluationDetails"]}
    assert not any(jo.urn in name for name in details), "what gives something is not listed (rules a.8)"
    assert details["Root User - Edit and View All Resources"] == "The actor does not match."


def test_asking_about_others(person):
    jo, ada = person("jo"), person("ada", "CHECK_ACCESS", type="PLATFORM")
    assert jo.refused(GRANTED, input={"actorUrn": ROOT})[:2] == (403, "UNAUTHORIZED")
    assert ada.ask(GRANTED, input={"actorUrn": ROOT})["getGrantedPrivileges"]["privileges"]
    detailed = {"actorUrn": jo.urn, "includeEvaluationDetails": True}
    assert jo.refused(GRANTED, input=detailed)[0] == ada.refused(GRANTED, input=detailed)[0] == 403


@pytest.mark.parametrize("urn", ["", "urn:li:corpGroup:x", "jo"])
def test_who_is_no_user(root, urn):
    assert root.refused(GRANTED, input={"actorUrn": urn})[0] == 400


def test_the_switches_of_the_pages(root, person):
    query = "{me{corpUser{urn} platformPrivileges{managePolicies manageIdentities viewAnalytics}}}"
    assert set(root.ask(query)["me"]["platformPrivileges"].values()) == {True}
    jo = person("jo", "VIEW_ANALYTICS", type="PLATFORM")
    assert jo.ask(query)["me"] == {
        "corpUser": {"urn": jo.urn},
        "platformPrivileges": {"managePolicies": False, "manageIdentities": False, "viewAnalytics": True},
    }


def test_what_the_policy_editor_offers(person):
    found = person("jo").ask(
        """{appConfig{policiesConfig{enabled platformPrivileges{type displayName description}
            resourcePrivileges{resourceType resourceTypeDisplayName entityType privileges{type}}}}}"""
    )["appConfig"]["policiesConfig"]
    assert found["enabled"] is True
    assert "MANAGE_POLICIES" in {one["type"] for one in found["platformPrivileges"]}
    kinds = {one["resourceType"]: one for one in found["resourcePrivileges"]}
    assert (kinds["dataset"]["entityType"], kinds["corpGroup"]["entityType"]) == ("DATASET", "CORP_GROUP")
    assert {"type": "EDIT_ENTITY_TAGS"} in kinds["dataset"]["privileges"]


def test_a_policy_as_an_entity(root, person):
    query = """query($urn: String!) {entity(urn: $urn) {urn type ... on DataHubPolicy {policyType name editable
               actors{allUsers} privileges}}}"""
    urn = root.ask(CREATE, input=written())["createPolicy"]
    assert root.ask(query, urn=urn)["entity"] == {
        "urn": urn,
        "type": "POLICY",
        "policyType": "METADATA",
        "name": "Stewards",
        "editable": True,
        "actors": {"allUsers": False},
        "privileges": ["EDIT_ENTITY_TAGS"],
    }
    answer = person("jo").send(query, {"urn": urn}).json()
    assert answer["data"]["entity"] == {
        "urn": urn,
        "type": "POLICY",
        **dict.fromkeys(("policyType", "name", "editable", "actors", "privileges")),
    }
    assert {json.dumps(error["extensions"]["code"]) for error in answer["errors"]} == {"403"}
