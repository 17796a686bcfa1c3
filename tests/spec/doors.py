"""The runner that asks over HTTP: the world in a database, the questions through the public contract."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests import oracle
from tests.spec.tables import Asked, Cell
from tests.worlds import World, document

_POLICY = "urn:li:dataHubPolicy:"
_CALLER = "caller-of-the-tables"
_PATHS = {"granted": "/api/v1/granted-privileges", "who": "/api/v1/who", "what": "/api/v1/what"}

_DETAILS = """query($input: GetGrantedPrivilegesInput!) {
    getGrantedPrivileges(input: $input) {privileges evaluationDetails {policyName reason}}}"""
_OBSTACLES = {
    "The policy is not active.": "inactive",
    "The resource does not match.": "resource",
    "The actor does not match.": "actor",
}


def by_http(world: World, questions: Sequence[Asked], _request: pytest.FixtureRequest) -> list[dict[str, Cell]]:
    """Store the world and ask as a service that may check everybody's access."""
    client = _client(world)
    return [_read(asked, _ask(client, asked)) for asked in questions]


def _client(world: World) -> Any:
    from rest_framework.test import APIClient

    from policies.identity.services import access_tokens
    from policies.pdp import authorizer, snapshot_store
    from tests import stored

    caller = f"urn:li:corpuser:{_CALLER}"
    privileges = ["CHECK_ACCESS", "MANAGE_POLICIES"]
    may_check = document(displayName="may-check", type="PLATFORM", privileges=privileges, actors={"users": [caller]})
    guarded = world.having([*world.policies, ("may-check", may_check)])
    guarded.raw = world.raw | {"users": [*world.raw["users"], caller]}
    snapshot_store.reset()
    stored.store(guarded)
    snapshot_store.reset()
    made = access_tokens.create(owner=caller, name="tables", by=authorizer.SYSTEM, channel=stored.DOOR)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.text}")
    return client


def _ask(client: Any, asked: Asked) -> dict[str, Any]:
    if asked.kind == "details":
        return _ask_for_details(client, asked)
    answer = client.post(_PATHS.get(asked.kind, "/api/v1/authorize"), _question(asked), format="json")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def _ask_for_details(client: Any, asked: Asked) -> dict[str, Any]:
    """Ask DataHub's own question, which is the only one that is told why policies do not apply."""
    spec = {"resourceType": "OTHER", "resourceUrn": asked.resource} if asked.resource else None
    sought = {"actorUrn": asked.actor, "resourceSpec": spec, "includeEvaluationDetails": True}
    answer = client.post("/api/graphql", {"query": _DETAILS, "variables": {"input": sought}}, format="json").json()
    assert "errors" not in answer, answer
    found: dict[str, Any] = answer["data"]["getGrantedPrivileges"]
    return found


def _question(asked: Asked) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if asked.kind == "what":
        narrowed = {"type": asked.type} if asked.type else {}
        return {"actor": asked.actor, "privilege": asked.privilege, "page_size": 200, **narrowed}
    if asked.resource or asked.type:
        body["resource"] = {"urn": asked.resource} if asked.resource else {"type": asked.type}
    if asked.kind != "who":
        body["actor"] = asked.actor
    if asked.kind in ("authorize", "who"):
        body["privilege"] = asked.privilege
    if asked.kind == "any_of":
        body["any_of"] = [list(privileges) for privileges in asked.any_of]
    if asked.kind == "operation":
        body["operation"] = asked.operation
        body["related"] = {
            key: named[0] if key in ("parent", "product") else named for key, named in asked.related.items()
        }
    if asked.subresources:
        body["sub_resources"] = list(asked.subresources)
    return body


def _read(asked: Asked, found: dict[str, Any]) -> dict[str, Cell]:
    if asked.kind == "details":
        told = {one["policyName"]: _OBSTACLES[one["reason"]] for one in found["evaluationDetails"]}
        return {"obstacles": sorted(f"{name}: {reason}" for name, reason in told.items() if name != "may-check")}
    if asked.kind == "granted":
        return {"privileges": found["privileges"]}
    if asked.kind == "who":
        return {key.replace("_", " "): value for key, value in found.items() if key != "policy_version"}
    if asked.kind == "what":
        return {"entities": sorted(one["urn"] for one in found["results"])}
    policies = {reason["policy"].removeprefix(_POLICY) for reason in found["reasons"]}
    return {
        "decision": found["decision"],
        "because": sorted(oracle.SELF_POLICY if name == "__view_self" else name for name in policies),
    }
