"""Guardrails over the API: kept by who may, judged, and in the way of writes that break them."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from catalog.models import Finding
from policies import bootstrap
from policies.errors import Invalid
from policies.guardrails.services import guardrails
from policies.models import ChangeEvent, Guardrail, Policy, User
from policies.pdp import authorizer
from tests.catalog.conftest import said, tell

API = "/api/v1/guardrails/"
KEEPER = ("MANAGE_GUARDRAILS", "MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS")
GROUP = "urn:li:corpGroup:stewards"
OF_DATASETS = {"field": "TYPE", "values": ["dataset"]}
PII = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}, OF_DATASETS]}}
RULE = {
    "never": {
        "actors": {"everybody_except": {"groups": [GROUP]}},
        "privileges": ["DELETE_ENTITY"],
        "resources": PII,
    }
}


@pytest.fixture
def keeper(client_of: Callable[..., APIClient]) -> APIClient:
    return client_of("keeper", *KEEPER)


def make(client: APIClient, **changes: Any) -> Any:
    body = {"urn": "urn:li:guardrail:pii", "name": "PII", "rule": RULE, **changes}
    response = client.post(API, body, format="json")
    assert response.status_code == 201, response.content
    return response.json()


def policy_body(**changes: Any) -> dict[str, Any]:
    document = {
        "displayName": "Deleting",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["DELETE_ENTITY"],
        "actors": {"users": ["urn:li:corpuser:keeper"]},
    }
    return {"family": "datahub", "document": document | changes}


def test_a_guardrail_is_kept_like_a_policy(keeper: APIClient) -> None:
    made = make(keeper)
    assert (made["mode"], made["status"], made["breaches"], made["version"]) == ("enforce", "holds", [], 1)
    one = f"{API}urn%3Ali%3Aguardrail%3Apii/"
    response = keeper.get(one)
    assert (response.json(), response["ETag"]) == (made, '"1"')
    assert keeper.get(API).json()["results"] == [made]
    changed = keeper.patch(one, {"mode": "warn"}, format="json", HTTP_IF_MATCH='"1"')
    assert (changed.json()["mode"], changed.json()["version"]) == ("warn", 2)
    assert keeper.patch(one, {"mode": "off"}, format="json", HTTP_IF_MATCH='"1"').status_code == 412
    replaced = keeper.put(one, {"name": "Other", "rule": RULE}, format="json").json()
    assert (replaced["name"], replaced["mode"], replaced["version"]) == ("Other", "enforce", 3)
    assert keeper.delete(one, HTTP_IF_MATCH='"3"').status_code == 204
    assert keeper.get(one).status_code == 404
    verbs = ChangeEvent.objects.filter(object_urn="urn:li:guardrail:pii").values_list("verb", flat=True)
    assert list(verbs) == ["DELETED", "UPDATED", "UPDATED", "CREATED"]


def test_a_policy_manager_alone_touches_no_guardrail(keeper: APIClient, client_of: Callable[..., APIClient]) -> None:
    make(keeper)
    manager = client_of("pm", "MANAGE_POLICIES")
    one = f"{API}urn:li:guardrail:pii/"
    for response in (
        manager.get(API),
        manager.get(one),
        manager.post(API, {"name": "x", "rule": RULE}, format="json"),
        manager.put(one, {"name": "x", "rule": RULE}, format="json"),
        manager.patch(one, {"mode": "off"}, format="json"),
        manager.delete(one),
    ):
        assert response.status_code == 403
        assert response.json()["missing"] == [{"entity": None, "privilege": "MANAGE_GUARDRAILS"}]


def test_only_its_holders_give_the_power_over_guardrails(
    keeper: APIClient, client_of: Callable[..., APIClient], stored: Callable[..., str]
) -> None:
    manager = client_of("pm", "MANAGE_POLICIES")
    giving = policy_body(type="PLATFORM", privileges=["MANAGE_GUARDRAILS"], actors={"users": ["urn:li:corpuser:pm"]})
    refused = manager.post("/api/v1/policies/", giving, format="json")
    assert (refused.status_code, refused.json()["missing"][0]["privilege"]) == (403, "MANAGE_GUARDRAILS")
    role = manager.post("/api/v1/roles/", {"id": "guards", "name": "Guards"}, format="json").json()["urn"]
    stored("guards", type="PLATFORM", privileges=["MANAGE_GUARDRAILS"], actors={"roles": [role]})
    body = {"actors": ["urn:li:corpuser:pm"]}
    assert manager.post(f"/api/v1/roles/{role}/actors/", body, format="json").status_code == 403
    assert keeper.post(f"/api/v1/roles/{role}/actors/", body, format="json").status_code == 201
    denying = stored(
        "deny", type="PLATFORM", privileges=["MANAGE_GUARDRAILS"], actors={"allUsers": True}, effect="DENY"
    )
    assert manager.delete(f"/api/v1/policies/{denying}/").status_code == 403


def test_a_policy_that_breaks_one_is_refused_with_the_example_and_not_stored(keeper: APIClient) -> None:
    make(keeper)
    refused = keeper.post("/api/v1/policies/", policy_body(), format="json")
    problem = refused.json()
    assert refused.status_code == 409
    assert problem["type"].endswith("/guardrail")
    assert problem["guardrail"] == "urn:li:guardrail:pii"
    assert problem["example"]["actor"]["urn"] == "urn:li:corpuser:keeper"
    assert (problem["example"]["privilege"], problem["example"]["resource"]["tags"]) == (
        "DELETE_ENTITY",
        ["urn:li:tag:PII"],
    )
    assert not Policy.objects.filter(name="Deleting").exists()
    harmless = policy_body(
        resources={"filter": {"criteria": [{**PII["filter"]["criteria"][0], "condition": "NOT_EQUALS"}]}}
    )
    created = keeper.post("/api/v1/policies/", harmless, format="json")
    assert created.status_code == 201
    one = f"/api/v1/policies/{created.json()['urn']}/"
    assert keeper.put(one, policy_body(), format="json").status_code == 409
    assert keeper.get(one).json()["version"] == 1
    inactive = keeper.post("/api/v1/policies/", policy_body(state="INACTIVE"), format="json").json()
    activated = keeper.patch(f"/api/v1/policies/{inactive['urn']}/", {"state": "ACTIVE"}, format="json")
    assert activated.status_code == 409
    assert (
        keeper.post("/api/v1/policies/", policy_body(validFrom="2199-01-01T00:00:00Z"), format="json").status_code
        == 409
    )


def test_a_membership_that_breaks_one_is_refused(keeper: APIClient) -> None:
    keeper.post("/api/v1/groups/", {"id": "stewards", "name": "Stewards"}, format="json")
    make(keeper)
    allowed = keeper.post("/api/v1/policies/", policy_body(actors={"groups": [GROUP]}), format="json")
    assert allowed.status_code == 201
    members = f"/api/v1/groups/{GROUP}/members/"
    one = {"members": ["urn:li:corpuser:keeper"]}
    assert keeper.post(members, one, format="json").status_code == 201
    # Outside of the group the same policy would break it.
    both = policy_body(actors={"groups": [GROUP, "urn:li:corpGroup:others"]}, displayName="Both")
    assert keeper.post("/api/v1/policies/", both, format="json").status_code == 201
    keeper.post("/api/v1/groups/", {"id": "others", "name": "Others"}, format="json")
    keeper.post("/api/v1/users/", {"username": "carl"}, format="json")
    refused = keeper.post(
        "/api/v1/groups/urn:li:corpGroup:others/members/", {"members": ["urn:li:corpuser:carl"]}, format="json"
    )
    assert (refused.status_code, refused.json()["guardrail"]) == (409, "urn:li:guardrail:pii")
    # Who is in both is excepted, until leaving the one that is.
    joined = keeper.post("/api/v1/groups/urn:li:corpGroup:others/members/", one, format="json")
    assert joined.status_code == 201
    left = keeper.delete(members, one, format="json")
    assert left.status_code == 409
    assert keeper.delete(f"/api/v1/groups/{GROUP}/").status_code == 409


def test_what_breaks_one_already_is_listed_and_only_additions_are_refused(
    keeper: APIClient, stored: Callable[..., str]
) -> None:
    urn = stored("deleting", privileges=["DELETE_ENTITY"], actors={"users": ["urn:li:corpuser:keeper"]})
    made = make(keeper)
    assert made["status"] == "broken"
    (breach,) = made["breaches"]
    assert (breach["policy"], breach["people"]) == (urn, ["urn:li:corpuser:keeper"])
    assert Finding.objects.get(kind="guardrails").state == "OPEN"
    one = f"/api/v1/policies/{urn}/"
    narrower = policy_body(
        actors={"users": ["urn:li:corpuser:keeper"]},
        resources={"filter": {"criteria": [{"field": "DOMAIN", "values": ["urn:li:domain:finance"]}]}},
    )
    assert keeper.put(one, narrower, format="json").status_code == 200
    assert keeper.put(one, policy_body(), format="json").status_code == 409
    assert keeper.patch(one, {"state": "INACTIVE"}, format="json").status_code == 200
    assert keeper.get(f"{API}urn:li:guardrail:pii/").json()["status"] == "holds"
    assert Finding.objects.get(kind="guardrails").state == "CLOSED"


def test_a_guardrail_of_an_earlier_release_that_an_umbrella_breaks_refuses_nothing_that_was_there(
    keeper: APIClient, stored: Callable[..., str]
) -> None:
    urn = stored("editing", privileges=["EDIT_ENTITY"], actors={"users": ["urn:li:corpuser:keeper"]})
    tagging = RULE["never"] | {"privileges": ["EDIT_ENTITY_TAGS"]}
    make(keeper, rule={"never": tagging})
    assert keeper.post("/api/v1/users/", {"username": "carl"}, format="json").status_code == 201
    # As a release stored it that knew nothing of umbrellas.
    Guardrail.objects.update(status="holds", breaches=[])
    one = f"/api/v1/policies/{urn}/"
    renamed = policy_body(displayName="Other name", privileges=["EDIT_ENTITY"])
    assert keeper.put(one, renamed, format="json").status_code == 200
    refused = keeper.put(
        one, renamed | {"document": renamed["document"] | {"actors": {"allUsers": True}}}, format="json"
    )
    assert (refused.status_code, refused.json()["example"]["privilege"]) == (409, "EDIT_ENTITY")
    (breach,) = keeper.get(f"{API}urn:li:guardrail:pii/").json()["breaches"]
    assert (breach["policy"], breach["privilege"]) == (urn, "EDIT_ENTITY")


def test_one_that_warns_lets_the_write_through_and_raises_a_finding(keeper: APIClient) -> None:
    make(keeper, mode="warn")
    assert keeper.post("/api/v1/policies/", policy_body(), format="json").status_code == 201
    finding = Finding.objects.get(kind="guardrails")
    assert (finding.state, finding.type) == ("OPEN", "GUARDRAIL_BROKEN")
    assert keeper.get(API).json()["results"][0]["status"] == "broken"


def test_so_many_must_hold_a_privilege(keeper: APIClient) -> None:
    refused = keeper.post(
        API, {"name": "x", "rule": {"at_least": {"number": 9, "privileges": ["MANAGE_SECRETS"]}}}, format="json"
    )
    assert refused.json()["errors"][0]["code"] == "rule.unsatisfiable"
    rule = {"at_least": {"number": 1, "privileges": ["MANAGE_SECRETS"]}}
    holding = policy_body(type="PLATFORM", privileges=["MANAGE_SECRETS"])
    created = keeper.post("/api/v1/policies/", holding, format="json").json()
    assert make(keeper, rule=rule)["status"] == "holds"
    refused = keeper.delete(f"/api/v1/policies/{created['urn']}/")
    assert (refused.status_code, refused.json()["guardrail"]) == (409, "urn:li:guardrail:pii")


def test_somebody_must_always_be_able_to(keeper: APIClient, stored: Callable[..., str]) -> None:
    rule = {
        "always": {
            "actors": {"users": ["urn:li:corpuser:keeper"]},
            "privileges": ["MANAGE_POLICIES"],
        }
    }
    assert make(keeper, rule=rule)["status"] == "holds"
    changed = policy_body(type="PLATFORM", privileges=["MANAGE_GUARDRAILS"], displayName="Of keeper")
    assert keeper.put("/api/v1/policies/urn:li:dataHubPolicy:of-keeper/", changed, format="json").status_code == 409
    assert Guardrail.objects.get().status == "holds"


def test_problems_have_their_places(keeper: APIClient) -> None:
    response = keeper.post(API, {"name": " ", "rule": {"never": {"privileges": ["NONE"]}}}, format="json")
    assert response.status_code == 400
    assert {"/name", "/rule/never/actors", "/rule/never/privileges/0"} <= {
        problem["pointer"] for problem in response.json()["errors"]
    }
    gone = {"always": {"actors": {"users": ["urn:li:corpuser:nobody"]}, "privileges": ["MANAGE_POLICIES"]}}
    refused = keeper.post(API, {"name": "x", "rule": gone}, format="json").json()
    assert "no active user" in refused["errors"][0]["detail"]


ALWAYS = {"always": {"actors": {"users": ["urn:li:corpuser:keeper"]}, "privileges": ["MANAGE_POLICIES"]}}


def test_one_that_contradicts_another_is_refused_and_names_it(keeper: APIClient) -> None:
    make(keeper, rule=ALWAYS)
    never = {"never": {"actors": {"allUsers": True}, "privileges": ["MANAGE_POLICIES"]}}
    body = {"urn": "urn:li:guardrail:other", "name": "Other", "rule": never}
    refused = keeper.post(API, body, format="json").json()["errors"]
    assert [(problem["code"], problem["pointer"]) for problem in refused] == [("rule.unsatisfiable", "/rule/never")]
    assert "The guardrail PII (urn:li:guardrail:pii) says the opposite" in refused[0]["detail"]
    # One that is off may wait for the other to go, and is then judged when it is switched on.
    assert keeper.post(API, body | {"mode": "off"}, format="json").status_code == 201
    one = f"{API}urn:li:guardrail:other/"
    assert keeper.patch(one, {"mode": "warn"}, format="json").json()["errors"][0]["code"] == "rule.unsatisfiable"
    assert keeper.patch(f"{API}urn:li:guardrail:pii/", {"mode": "off"}, format="json").status_code == 200
    assert keeper.patch(one, {"mode": "warn"}, format="json").status_code == 200
    # A guardrail does not contradict what it said before.
    at_least = {"at_least": {"number": 1, "privileges": ["MANAGE_GUARDRAILS"]}}
    assert keeper.put(one, {"name": "Other", "rule": at_least}, format="json").status_code == 200


def test_two_parts_that_are_one_are_refused(keeper: APIClient) -> None:
    part = {"privileges": ["EDIT_ENTITY"], "resources": PII}
    response = keeper.post(API, {"name": "x", "rule": {"not_both": {"first": part, "second": part}}}, format="json")
    (problem,) = response.json()["errors"]
    assert (problem["code"], problem["pointer"]) == ("rule.unsatisfiable", "/rule/not_both/second")


def test_a_suspended_user_can_always_do_nothing(keeper: APIClient) -> None:
    User.objects.filter(urn="urn:li:corpuser:keeper").update(state="SUSPENDED")
    with pytest.raises(Invalid) as refusal:
        guardrails.create(name="x", rule=ALWAYS, by=authorizer.SYSTEM, channel="test")
    (problem,) = refusal.value.problems
    assert (problem.code, problem.pointer) == ("rule.unsatisfiable", "/rule/always/actors/users")


def test_what_policies_give_that_cannot_be_changed_has_to_be_left_out(db: None) -> None:
    bootstrap.run(is_restricted=True)
    both = {"first": {"privileges": ["MANAGE_POLICIES"]}, "second": {"privileges": ["MANAGE_SECRETS"]}}
    for rule, pointer, way_out in (
        ({"not_both": both}, "/rule/not_both/except", "(except)"),
        (
            {"never": {"actors": {"allUsers": True}, "privileges": ["MANAGE_SECRETS"]}},
            "/rule/never/actors",
            "(everybody_except)",
        ),
    ):
        with pytest.raises(Invalid) as refusal:
            guardrails.create(name="x", rule=rule, by=authorizer.SYSTEM, channel="test")
        (problem,) = refusal.value.problems
        assert (problem.pointer, way_out in problem.detail) == (pointer, True)
    rule = {"not_both": both | {"except": {"users": ["urn:li:corpuser:datahub"]}}}
    assert guardrails.create(name="x", rule=rule, by=authorizer.SYSTEM, channel="test").status == "holds"


def test_the_list_is_searched_filtered_and_paged(keeper: APIClient) -> None:
    make(keeper, description="Personal data")
    make(keeper, urn="urn:li:guardrail:b", name="Warns", mode="warn")
    make(keeper, urn="urn:li:guardrail:c", name="Off", mode="off")
    Guardrail.objects.filter(urn="urn:li:guardrail:b").update(status="broken")

    def find(**query: Any) -> list[str]:
        found = keeper.get(API, query).json()
        return [guardrail["name"] for guardrail in found["results"]]

    assert find() == ["Warns", "Off", "PII"]
    assert find(q="personal") == ["PII"]
    assert find(q="%") == []
    assert find(mode="warn") == ["Warns"]
    assert find(status="broken") == ["Warns"]
    # One that is off has no status.
    assert find(status="holds") == ["PII"]
    assert find(mode="off", status="holds") == []
    assert find(page_size=1, page=2) == ["Off"]
    refused = keeper.get(API, {"mode": "none", "status": "1", "other": "x"})
    assert refused.status_code == 400
    assert len(refused.json()["errors"]) == 3


def test_asking_about_an_entity_made_like_the_example_gives_what_it_says(keeper: APIClient) -> None:
    domain = {"field": "DOMAIN", "values": ["urn:li:domain:finance"]}
    document = policy_body(resources={"filter": {"criteria": [domain]}})
    assert keeper.post("/api/v1/policies/", document, format="json").status_code == 201
    (breach,) = make(keeper)["breaches"]
    example, resource = breach["example"], breach["example"]["resource"]
    question = {"privilege": example["privilege"], "resource": {"urn": resource["urn"]}}
    tell(said(resource["urn"], "globalTags", {"tags": [{"tag": urn} for urn in resource["tags"]]}))
    assert keeper.post("/api/v1/authorize", question, format="json").json()["decision"] == "DENY"
    tell(said(resource["urn"], "domains", {"domains": resource["domains"]}))
    assert keeper.post("/api/v1/authorize", question, format="json").json()["decision"] == "ALLOW"
    assert example["actor"]["urn"] == "urn:li:corpuser:keeper"


@pytest.mark.parametrize("mode", ["enforce", "warn"])
def test_one_whose_rule_cannot_be_read_any_more_is_answered_everywhere(
    keeper: APIClient, settings: Any, mode: str
) -> None:
    settings.CUSTOM_PRIVILEGES = ["TODO_READ"]
    rule = {"never": {"actors": {"allUsers": True}, "privileges": ["TODO_READ"]}}
    one = f"{API}{make(keeper, rule=rule, mode=mode)['urn']}/"
    settings.CUSTOM_PRIVILEGES = []
    shown = keeper.get(one).json()
    (breach,) = shown["breaches"]
    assert (shown["status"], breach["policy"], breach["example"]) == ("unknown", None, None)
    assert "TODO_READ" in breach["reason"]
    assert keeper.get(API).json()["results"] == [shown]
    stored = keeper.post("/api/v1/policies/", policy_body(), format="json")
    if mode == "enforce":
        assert (stored.status_code, stored.json()["guardrail"]) == (409, "urn:li:guardrail:pii")
        assert "TODO_READ" in stored.json()["detail"]
    else:
        assert stored.status_code == 201
    change = {"put_policy": {"urn": "urn:li:dataHubPolicy:other", **policy_body()}}
    preview = keeper.post("/api/v1/preview", {"changes": [change]}, format="json").json()
    verdicts = {verdict["urn"]: verdict for verdict in preview["guardrails"]}
    assert (verdicts["urn:li:guardrail:pii"]["verdict"], verdicts["urn:li:guardrail:pii"]["is_added"]) == (
        "unknown",
        True,
    )
    other = keeper.post(API, {"name": "Other", "rule": RULE, "mode": "warn"}, format="json")
    assert other.status_code == 201
    refused = keeper.patch(one, {"name": "Renamed"}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/rule/never/privileges/0")
    assert keeper.patch(one, {"rule": RULE}, format="json").status_code == 200
