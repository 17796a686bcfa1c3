"""A request for what Datazone's statements give: asked, approved by an owner, written, and over by itself."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from catalog.models import Entity
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import roles
from policies.models import Policy, Role, RoleAssignment, User
from policies.pdp import authorizer
from policies.requests.services.taking import end_taken
from tests.catalog.conftest import tell
from tests.clocks import move_clocks
from tests.requests.conftest import ADA, ADMIN, BOB, ITEMS, JO, ORDERS, REQUESTS, act, ask, days, own

READ, OBJECT_IDS = "dataset:read", {ORDERS: "a" * 24, ITEMS: "b" * 24}
SHARED = "urn:li:dataHubRole:Reader"


@pytest.fixture
def datazone(company: dict[str, APIClient]) -> dict[str, APIClient]:
    """The company, where both datasets are objects of Datazone and Bob has a role that reads all of them.

    The administrator owns orders, too.
    """
    tell(own(ORDERS, ADA, ADMIN))
    for urn, object_id in OBJECT_IDS.items():
        Entity.objects.filter(urn=urn).update(object_id=object_id)
    roles.create(name="Reader", identifier="Reader", by=authorizer.SYSTEM, channel="test")
    roles.grant(urn=SHARED, actors=[BOB], by=authorizer.SYSTEM, channel="test")
    statement = {"resource": "dataset:*", "actions": [READ], "effect": "allow"}
    draft = PolicyInput("datazone", {"name": "All", "statements": [statement], "roles": [SHARED]})
    policies.create(draft=draft, by=authorizer.SYSTEM, channel="test")
    return company


def may_read(client: APIClient, actor: str, **members: bool) -> dict[str, Any]:
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
    assert request["steps"][0]["approvers"] == [ADA, ADMIN]
    assert not Role.objects.filter(urn=way["changes"][0]["put_role"]["urn"]).exists()
    client.force_login(User.objects.get(urn=ADA))
    assert b"A Datazone statement" in client.get(f"/requests/{request['urn']}").content

    # Bob comes to hold a role with this URN before anybody approves: it is never given to Jo as well.
    taken = way["changes"][0]["put_role"]["urn"]
    roles.create(name="Taken", identifier=taken.rpartition(":")[2], by=authorizer.SYSTEM, channel="test")
    roles.grant(urn=taken, actors=[BOB], by=authorizer.SYSTEM, channel="test")
    assert act(admin, request, "approve").json()["code"] == "request.changed"
    other = may_read(admin, JO, explain=True)["way"]
    replaced = act(admin, request, "comment", text="Another role.").json()["items"][0]["ways"][0]
    assert replaced["id"] == other["id"]
    assert other["changes"][0]["put_role"]["urn"] == f"{taken}-2"

    shorter, longer = days(7), days(20)
    done = act(ada, request, "approve", way=other["id"], until=shorter).json()
    assert done["state"] == "done", done
    role = Role.objects.get(urn=f"{taken}-2")
    policy = Policy.objects.get(name=role.name)
    assignment = RoleAssignment.objects.get(role=role)
    assert assignment.holder_row.urn == JO
    assert {policy.valid_until, assignment.valid_until} == {datetime.fromisoformat(shorter)}
    assert {actor: may_read(admin, actor)["decision"] for actor in (JO, ADA, BOB)} == {
        JO: "ALLOW",
        ADA: "DENY",
        BOB: "ALLOW",
    }
    assert end_taken() == 0
    again = ask(jo, item, until=days(5)).json()
    assert (again["code"], again["through"]) == ("request.not_needed", [policy.urn])

    more = jo.post(f"{REQUESTS}{request['urn']}/renew/", {"until": longer, "reason": "more"}, format="json").json()
    assert act(ada, more, "approve").json()["state"] == "done"
    policy.refresh_from_db()
    assignment.refresh_from_db()
    assert {policy.valid_until, assignment.valid_until} == {datetime.fromisoformat(longer)}

    move = move_clocks(monkeypatch)
    move(timedelta(days=8))
    assert may_read(admin, JO)["decision"] == "ALLOW"
    move(timedelta(days=13))
    assert may_read(admin, JO)["decision"] == "DENY"
    ended = jo.get(f"{REQUESTS}{more['urn']}/").json()
    assert (ended["state"], ended["trail"][-1]["what"]) == ("ended", "ended")
    # The role is left with its ended policy, and others may hold it by then: the next way makes another one.
    request = ask(jo, item, until=days(40)).json()
    (next_way,) = request["items"][0]["ways"]
    assert next_way["changes"][0]["put_role"]["urn"] == f"{taken}-3"
    assert (next_way["gains"]["people"], next_way["gives_only_this"]["verdict"]) == (1, "yes")

    act(ada, request, "approve")
    roles.revoke(urn=f"{taken}-3", actors=[JO], by=authorizer.SYSTEM, channel="test")
    assert end_taken() == 1
    assert jo.get(f"{REQUESTS}{request['urn']}/").json()["state"] == "ended"
