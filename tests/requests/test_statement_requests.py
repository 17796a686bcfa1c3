"""A request for what Datazone's statements give: asked, approved by an owner, written, and over by itself."""

from datetime import timedelta

import pytest
from django.test import Client
from rest_framework.test import APIClient

from catalog.models import Entity
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import roles
from policies.models import Policy, Role, RoleAssignment, User
from policies.pdp import authorizer
from tests.clocks import move_clocks
from tests.requests.conftest import ADA, BOB, ITEMS, JO, ORDERS, REQUESTS, act, ask, days

READ, OBJECT_IDS = "dataset:read", {ORDERS: "a" * 24, ITEMS: "b" * 24}
SHARED = "urn:li:dataHubRole:Reader"


@pytest.fixture
def datazone(company: dict[str, APIClient]) -> dict[str, APIClient]:
    """The company, where both datasets are objects of Datazone and Bob has a role that reads all of them."""
    for urn, object_id in OBJECT_IDS.items():
        Entity.objects.filter(urn=urn).update(object_id=object_id)
    roles.create(name="Reader", identifier="Reader", by=authorizer.SYSTEM, channel="test")
    roles.grant(urn=SHARED, actors=[BOB], by=authorizer.SYSTEM, channel="test")
    statement = {"resource": "dataset:*", "actions": [READ], "effect": "allow"}
    draft = PolicyInput("datazone", {"name": "All", "statements": [statement], "roles": [SHARED]})
    policies.create(draft=draft, by=authorizer.SYSTEM, channel="test")
    return company


def may_read(client: APIClient, actor: str, **members: bool) -> dict[str, object]:
    body = {"actor": actor, "privilege": READ, "resource": {"urn": ORDERS}, **members}
    answer = client.post("/api/v1/authorize", body, format="json")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_a_statement_is_asked_for_approved_and_ends(
    datazone: dict[str, APIClient], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    jo, ada, admin = (datazone[name] for name in ("jo", "ada", "admin"))
    item = {"privilege": READ, "resource": {"urn": ORDERS}}
    explained = may_read(admin, JO, explain=True)["way"]
    body = {"items": [item], "actor": JO, "until": days(14)}
    preview = admin.post(f"{REQUESTS}preview/", body, format="json").json()["items"][0]["ways"]
    asked = ask(jo, item, until=days(14))
    assert asked.status_code == 201, asked.content
    request = asked.json()
    (way,) = request["items"][0]["ways"]
    # The role by which Bob reads everything is nothing that Jo may see; the statement has the same id for both.
    assert [one["kind"] for one in preview] == ["statement", "role"]
    assert {way["id"], preview[0]["id"]} == {explained["id"]}
    assert (way["kind"], way["gives_only_this"]["verdict"]) == ("statement", "yes")
    assert way["gains"] == {"pairs": 1, "people": 1, "entities": 1, "platform": 0}
    assert request["steps"][0]["approvers"] == [ADA]
    assert not Role.objects.filter(urn=way["changes"][0]["put_role"]["urn"]).exists()
    client.force_login(User.objects.get(urn=ADA))
    assert b"A Datazone statement" in client.get(f"/requests/{request['urn']}").content

    done = act(ada, request, "approve", until=days(7)).json()
    assert done["state"] == "done", done
    role = Role.objects.get(urn=way["changes"][0]["put_role"]["urn"])
    policy = Policy.objects.get(name=role.name)
    assignment = RoleAssignment.objects.get(role=role)
    assert assignment.holder_row.urn == JO
    assert policy.valid_until == assignment.valid_until
    assert days(7)[:10] == policy.valid_until.isoformat()[:10]
    assert {actor: may_read(admin, actor)["decision"] for actor in (JO, ADA, BOB)} == {
        JO: "ALLOW",
        ADA: "DENY",
        BOB: "ALLOW",
    }
    again = ask(jo, item, until=days(5)).json()
    assert (again["code"], again["through"]) == ("request.not_needed", [policy.urn])

    # Somebody else holds the role by the time of the end: the next way makes another one.
    roles.grant(urn=role.urn, actors=[BOB], by=authorizer.SYSTEM, channel="test")
    move_clocks(monkeypatch)(timedelta(days=8))
    assert may_read(admin, JO)["decision"] == "DENY"
    ended = jo.get(f"{REQUESTS}{request['urn']}/").json()
    assert (ended["state"], ended["trail"][-1]["what"]) == ("ended", "ended")
    (next_way,) = ask(jo, item, until=days(20)).json()["items"][0]["ways"]
    assert next_way["changes"][0]["put_role"]["urn"] == f"{role.urn}-2"
    assert (next_way["gains"]["people"], next_way["gives_only_this"]["verdict"]) == (1, "yes")
