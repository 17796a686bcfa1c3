"""Policies are searched by every field that source 001 marks as searchable, over REST, OpenAPI and GraphQL."""

import pytest

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.models import Policy
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, Caller

pytestmark = pytest.mark.django_db

SEARCHED = {
    "displayName": "Searched policy",
    "description": "For searches",
    "type": "METADATA",
    "state": "INACTIVE",
    "editable": True,
    "privileges": ["EDIT_LINEAGE", "DELETE_ENTITY"],
    "actors": {
        "users": ["urn:li:corpuser:jo"],
        "groups": ["urn:li:corpGroup:crew"],
        "roles": ["urn:li:dataHubRole:Reader"],
        "allUsers": False,
        "allGroups": True,
    },
}

#: Criteria of one field, and whether they find the policy.
CRITERIA = [
    ("displayName", "EQUAL", ["Searched policy"], True),
    ("displayName", "CONTAIN", ["searched"], True),
    ("description", "CONTAIN", ["SEARCHES"], True),
    ("type", "EQUAL", ["METADATA"], True),
    ("type", "EQUAL", ["PLATFORM"], False),
    ("state", "EQUAL", ["INACTIVE"], True),
    ("state", "EQUAL", ["ACTIVE"], False),
    ("privileges", "EQUAL", ["EDIT_LINEAGE"], True),
    ("privileges", "IN", ["VIEW_ENTITY", "DELETE_ENTITY"], True),
    ("privileges", "EQUAL", ["EDIT_ENTITY"], False),
    ("privileges", "EXISTS", [], True),
    ("users", "EQUAL", ["urn:li:corpuser:jo"], True),
    ("users", "EQUAL", ["urn:li:corpGroup:crew"], False),
    ("users", "EXISTS", [], True),
    ("groups", "EQUAL", ["urn:li:corpGroup:crew"], True),
    ("groups", "EQUAL", ["urn:li:corpuser:jo"], False),
    ("roles", "EQUAL", ["urn:li:dataHubRole:Reader"], True),
    ("roles", "EQUAL", ["urn:li:dataHubRole:Admin"], False),
    ("allUsers", "EQUAL", ["true"], False),
    ("allUsers", "EQUAL", ["false"], True),
    ("allGroups", "EQUAL", ["true"], True),
    ("allGroups", "IN", ["true", "false"], True),
    ("editable", "EQUAL", ["true"], True),
    ("editable", "EQUAL", ["false"], False),
    ("lastUpdatedTimestamp", "GREATER_THAN", ["0"], True),
    ("lastUpdatedTimestamp", "LESS_THAN", ["NOW"], False),
    ("lastUpdatedTimestamp", "EQUAL", ["NOW"], True),
    ("lastUpdatedTimestamp", "LESS_THAN_OR_EQUAL_TO", ["no number"], False),
]


QUERY = "query l($input: ListPoliciesInput!) {listPolicies(input: $input) {policies {urn}}}"


def search_everywhere(root: Caller, criterion: dict) -> list[set[str]]:
    """Return the policies that each protocol finds."""
    found = root.search(entity="dataHubPolicy", input="*", start=0, count=100, filter={"or": [{"and": [criterion]}]})
    body = {"entities": ["dataHubPolicy"], "aspects": ["status"], "filter": {"and": [{"criteria": [criterion]}]}}
    answer = root.post("/openapi/v3/entity/scroll?count=100", body)
    assert answer.status_code == 200, answer.content
    results = [set(found), {one["urn"] for one in answer.json()["entities"]}]
    # GraphQL's enum of comparisons has none of order.
    if not criterion["condition"].startswith(("GREATER", "LESS")):
        variables = {"input": {"start": 0, "count": 100, "orFilters": [{"and": [criterion]}]}}
        answer = root.post("/api/graphql", {"query": QUERY, "variables": variables})
        results.append({one["urn"] for one in answer.json()["data"]["listPolicies"]["policies"]})
    return results


def test_a_policy_is_found_by_each_of_its_fields(root: Caller) -> None:
    urn = "urn:li:dataHubPolicy:searched"
    policies.create(draft=PolicyInput("datahub", SEARCHED), urn=urn, by=authorizer.SYSTEM, channel=DOOR)
    now = str(int(Policy.objects.get(urn=urn).updated_at.timestamp() * 1000))
    for field, condition, values, is_found in CRITERIA:
        values = [now if value == "NOW" else value for value in values]
        for found in search_everywhere(root, {"field": field, "condition": condition, "values": values}):
            assert (urn in found) is is_found, (field, condition, values)


def test_fields_of_entities_are_not_those_of_policies(root: Caller) -> None:
    for field, condition in (("owners", "EQUAL"), ("state", "GREATER_THAN"), ("allUsers", "CONTAIN")):
        criterion = {"field": field, "condition": condition, "values": ["x"]}
        body = {"entity": "dataHubPolicy", "filter": {"or": [{"and": [criterion]}]}}
        assert root.post("/entities?action=search", body).status_code == 400
