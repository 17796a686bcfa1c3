"""Policies and roles as the Terraform provider keeps them (clients.md 2.5): its calls, and nothing to change after."""

import pytest

from policies.identity.services import groups, users
from policies.models import RoleAssignment
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT
from tests.doors.graphql.conftest import PATH

pytestmark = pytest.mark.django_db

ME = "{ me { corpUser { urn username type info { displayName email } } } }"
UPDATE = (
    "mutation updatePolicy($urn: String!, $input: PolicyUpdateInput!) {\n  updatePolicy(urn: $urn, input: $input)\n}"
)
DELETE = "mutation deletePolicy($urn: String!) {\n  deletePolicy(urn: $urn)\n}"
ASSIGN = "mutation batchAssignRole($input: BatchAssignRoleInput!) {\n  batchAssignRole(input: $input)\n}"
LIST = """
query listPolicies($input: ListPoliciesInput!) {
  listPolicies(input: $input) {
    total
    policies {
      urn
    }
  }
}"""
URN = "urn:li:dataHubPolicy:tf-stewards"
WANTED = {
    "type": "METADATA",
    "name": "Stewards",
    "state": "ACTIVE",
    "description": "Kept by Terraform",
    "privileges": ["VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"],
    "actors": {
        "users": ["urn:li:corpuser:zoe", "urn:li:corpuser:ada"],
        "groups": [],
        "resourceOwners": False,
        "allUsers": False,
        "allGroups": False,
    },
    "resources": {
        "filter": {
            "criteria": [
                {"field": "TYPE", "values": ["dataset", "chart"], "condition": "EQUALS"},
                {"field": "URN", "values": ["urn:li:tag:"], "condition": "STARTS_WITH"},
            ]
        }
    },
}


def read(caller, kind, urn, aspect):
    """What the provider reads back, None where that is 404."""
    answer = caller.client.get(f"/openapi/v3/entity/{kind}/{urn}")
    if answer.status_code == 404:
        return None
    assert answer.status_code == 200
    return answer.json().get(aspect, {}).get("value")


def test_configure(root):
    assert root.ask(ME)["me"]["corpUser"] == {
        "urn": ROOT,
        "username": "datahub",
        "type": "CORP_USER",
        "info": {"displayName": "DataHub", "email": None},
    }
    assert root.client.get("/config").json()["noCode"] == "true"


def test_a_policy(root):
    assert read(root, "datahubpolicy", URN, "dataHubPolicyInfo") is None
    found = []
    for _ in range(2):
        assert root.ask(UPDATE, urn=URN, input=WANTED)["updatePolicy"] == URN
        document = read(root, "datahubpolicy", URN, "dataHubPolicyInfo")
        document.pop("lastUpdatedTimestamp")
        found.append(document)
    expected = {**WANTED, "displayName": WANTED["name"], "editable": True}
    expected.pop("name")
    assert found == [expected, expected]
    for _ in range(2):
        assert root.ask(DELETE, urn=URN)["deletePolicy"] == URN
        assert read(root, "datahubpolicy", URN, "dataHubPolicyInfo") is None


def test_every_policy(root):
    urns: list[str] = []
    while True:
        page = root.ask(LIST, input={"start": len(urns), "count": 7})["listPolicies"]
        urns += [one["urn"] for one in page["policies"]]
        if len(urns) >= page["total"]:
            break
    assert len(urns) == len(set(urns)) == page["total"]


def test_a_role(root):
    role = "urn:li:dataHubRole:Reader"
    found = read(root, "datahubrole", role, "dataHubRoleInfo")
    assert {"name", "description", "editable"} <= found.keys()
    assert found["editable"] is False


def test_an_assignment(root):
    user = users.create(username="ada", by=authorizer.SYSTEM, channel=DOOR).urn
    group = groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR).urn
    for urn, kind in ((user, "corpuser"), (group, "corpgroup")):
        for role in ("urn:li:dataHubRole:Reader", "urn:li:dataHubRole:Editor"):
            for _ in range(2):
                assert root.ask(ASSIGN, input={"roleUrn": role, "actors": [urn]})["batchAssignRole"] is True
                assert read(root, kind, urn, "roleMembership") == {"roles": [role]}
        for _ in range(2):
            assert root.ask(ASSIGN, input={"actors": [urn]})["batchAssignRole"] is True
            assert not (read(root, kind, urn, "roleMembership") or {}).get("roles")
    assert not RoleAssignment.objects.filter(user__urn=user).exists()


def test_both_paths_are_the_same_door(root):
    body = {"query": UPDATE, "variables": {"urn": URN, "input": WANTED}, "operationName": "updatePolicy"}
    for path in (PATH, "/api/v2/graphql"):
        answer = root.client.post(path, data=body, content_type="application/json")
        assert answer.json() == {"data": {"updatePolicy": URN}}
