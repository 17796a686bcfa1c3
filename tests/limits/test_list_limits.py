"""Lists that are one member too long are refused as one problem, whichever interface they come through."""

from typing import Any

import pytest
from django.test import Client

from catalog.external_roles.services import MAX_DATASETS
from policies.changes.staging import MAX_CHANGES
from policies.engine.families.datazone import MAX_STATEMENTS
from policies.identity.services.groups import MAX_MEMBERS
from policies.identity.services.roles import MAX_ACTORS
from tests.limits.conftest import EXTERNAL_ROLE, GROUP, ROLE, name_dataset
from tests.limits.shapes import encode

PEOPLE = [f"urn:li:corpuser:n{number}" for number in range(MAX_MEMBERS + 1)]
STATEMENT = {"resource": f"dataset:{1:024x}", "actions": ["dataset:read"], "effect": "allow"}


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("POST", "preview", {"changes": [{"delete_policy": "urn:li:dataHubPolicy:a"}] * (MAX_CHANGES + 1)}, "/changes"),
        ("POST", "groups/", {"name": "Large", "members": PEOPLE}, "/members"),
        ("POST", f"groups/{GROUP}/members/", {"members": PEOPLE}, "/members"),
        ("DELETE", f"groups/{GROUP}/members/", {"members": PEOPLE}, "/members"),
        ("POST", f"roles/{ROLE}/actors/", {"actors": PEOPLE[: MAX_ACTORS + 1]}, "/actors"),
        ("POST", "roles/assign/", {"role": ROLE, "actors": PEOPLE[: MAX_ACTORS + 1]}, "/actors"),
        (
            "PATCH",
            f"external-roles/{EXTERNAL_ROLE}/",
            {"datasets": [name_dataset(number) for number in range(MAX_DATASETS + 1)]},
            "/datasets",
        ),
        (
            "POST",
            "policies/",
            {"family": "datazone", "document": {"name": "Large", "statements": [STATEMENT] * (MAX_STATEMENTS + 1)}},
            "/statements",
        ),
    ],
)
def test_a_list_of_the_api_that_is_too_long(client: Client, method: str, path: str, body: Any, pointer: str) -> None:
    answer = client.generic(method, f"/api/v1/{path}", encode(body), content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert [problem["pointer"] for problem in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("mutation", "key", "count"),
    [("addGroupMembers", "userUrns", MAX_MEMBERS), ("removeGroupMembers", "userUrns", MAX_MEMBERS)],
)
def test_a_list_of_graphql_that_is_too_long(client: Client, mutation: str, key: str, count: int) -> None:
    kind = f"{mutation[0].upper()}{mutation[1:]}Input"
    body = {
        "query": f"mutation m($input: {kind}!) {{{mutation}(input: $input)}}",
        "variables": {"input": {"groupUrn": GROUP, key: PEOPLE[: count + 1]}},
    }
    answer = client.post("/api/graphql", encode(body), content_type="application/json")
    assert [error["extensions"]["code"] for error in answer.json()["errors"]] == [400]


def test_statements_beyond_what_is_compared_are_named(client: Client) -> None:
    document = {"name": "Large", "statements": [STATEMENT] * 1_000, "roles": [ROLE]}
    body = encode({"family": "datazone", "document": document})
    answer = client.post("/api/v1/policies/validate/", body, content_type="application/json").json()
    assert answer["valid"]
    assert "statements.many" in {lint["code"] for lint in answer["lints"]}
    assert len(answer["lints"]) <= 101
