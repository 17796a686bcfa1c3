"""Asking: what is refused at once, who decides, and what a blind request tells (contract-requests.md section 2)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import groups
from policies.models import SubmittedRequest
from policies.pdp import authorizer
from tests.api.conftest import document_of, store_policy
from tests.catalog.conftest import said, tell
from tests.requests.conftest import (
    ADA,
    ADMIN,
    BOB,
    CREW,
    FINANCE,
    ITEMS,
    JO,
    ORDERS,
    REQUESTS,
    TAGS,
    Company,
    act,
    ask,
    days,
    own,
    step,
)


def codes(answer: Any) -> set[str]:
    return {error["code"] for error in answer.json()["errors"]}


def test_an_owner_is_asked_and_nobody_else_reads_it(company: Company) -> None:
    answer = ask(company["jo"], TAGS, until=days(14), ticket="https://tickets.example/1")
    assert answer.status_code == 201, answer.content
    request = answer.json()
    assert (request["state"], request["actor"], request["by"], request["rule"]) == ("open", JO, JO, None)
    assert [(one["name"], one["approvers"], one["state"]) for one in request["steps"]] == [("Owner", [ADA], "waiting")]
    assert [line["what"] for line in request["trail"]] == ["asked"]
    assert answer["ETag"] == '"1"'
    path = f"{REQUESTS}{request['urn']}/"
    assert [company[name].get(path).status_code for name in ("jo", "ada", "admin", "bob")] == [200, 200, 200, 404]
    assert [company["ada"].delete(path).status_code, company["ada"].put(path).status_code] == [405, 405]
    urns = {
        name: [row["urn"] for row in company[name].get(f"{REQUESTS}?to_decide=true").json()["results"]]
        for name in ("ada", "jo", "bob", "admin")
    }
    assert urns == {"ada": [request["urn"]], "jo": [], "bob": [], "admin": []}
    assert company["jo"].get(f"{REQUESTS}?mine=true&state=open&entity={ORDERS}").json()["count"] == 1


def test_without_owners_the_domain_decides_and_at_last_who_manages_policies(company: Company) -> None:
    tell(own(ORDERS), said(ORDERS, "domains", {"domains": [FINANCE]}), own(FINANCE, BOB))
    first = ask(company["jo"], TAGS).json()
    assert [(one["name"], one["approvers"]) for one in first["steps"]] == [("Owner of the domain", [BOB])]
    tell(own(FINANCE, JO))
    second = ask(company["jo"], {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}).json()
    assert [(one["name"], one["approvers"]) for one in second["steps"]] == [("Administrator of policies", [])]
    assert company["admin"].get(f"{REQUESTS}?to_decide=true").json()["count"] == 1


def test_items_with_different_owners_have_a_decider_each(company: Company) -> None:
    request = ask(company["jo"], TAGS, {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": ITEMS}}).json()
    assert [one["approvers"] for one in request["steps"]] == [[CREW, ADA] if CREW < ADA else [ADA, CREW]]
    denied = act(company["bob"], request, "deny", note="no")
    assert [item["state"] for item in denied.json()["items"]] == ["open", "denied"]
    assert act(company["bob"], request, "deny", note="no", items=[0]).json()["code"] == "request.not_yours"
    final = act(company["ada"], request, "deny", note="no").json()
    assert (final["state"], final["steps"][0]["state"]) == ("denied", "denied")
    assert act(company["ada"], request, "deny", note="again").json()["code"] == "request.state"


def test_a_group_that_gives_what_everybody_has_is_decided_by_its_owner(company: Company) -> None:
    store_policy("base", type="PLATFORM", privileges=["VIEW_ANALYTICS"], actors={"allUsers": True})
    tell(own(CREW, ADA))
    request = ask(company["jo"], {"group": CREW}).json()
    assert [(one["name"], one["approvers"]) for one in request["steps"]] == [("Owner", [ADA])]
    assert act(company["eve"], request, "approve").status_code == 404
    assert act(company["ada"], request, "approve").json()["state"] == "done"


def test_platform_privileges_are_decided_by_their_holders(company: Company) -> None:
    store_policy("root-of-eve", type="PLATFORM", privileges=["MANAGE_GUARDRAILS"], actors={"users": [BOB]})
    guardrails = ask(company["jo"], {"privilege": "MANAGE_GUARDRAILS"}).json()
    counts = {name: company[name].get(f"{REQUESTS}?to_decide=true").json()["count"] for name in ("bob", "ada")}
    assert counts == {"bob": 1, "ada": 0}
    assert act(company["admin"], guardrails, "deny", note="no").json()["code"] == "request.not_yours"
    assert act(company["bob"], guardrails, "deny", note="no").json()["state"] == "denied"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"items": []}, "required"),
        ({"items": [{"privilege": "EDIT_ENTITY_TAGZ", "resource": {"urn": ORDERS}}]}, "privilege.unknown"),
        ({"items": [{"privilege": "EDIT_ENTITY_TAGS", "role": "urn:li:dataHubRole:Editor"}]}, "item.one"),
        ({"items": [{"role": "urn:li:dataHubRole:nobody"}]}, "role.unknown"),
        ({"items": [TAGS], "until": "yesterday"}, "type.time"),
        ({"items": [TAGS], "until": "2001-01-01T00:00:00Z"}, "until.past"),
        ({"items": [TAGS], "until": days(91)}, "until.too_long"),
        ({"items": [TAGS], "until": None}, "until.missing"),
        ({"items": [TAGS], "reason": ""}, "reason.missing"),
        ({"items": [TAGS], "reason": "x" * 2001}, "text.long"),
        ({"items": [TAGS], "ticket": "javascript:alert(1)"}, "ticket.invalid"),
        ({"items": [TAGS], "way": "w0"}, "way.unknown"),
        ({"items": [TAGS, TAGS]}, "item.repeated"),
        ({"items": [TAGS] * 21}, "list.too_long"),
    ],
)
def test_bad_input_has_its_code_and_stores_nothing(company: Company, body: dict[str, Any], code: str) -> None:
    answer = company["jo"].post(REQUESTS, {"reason": "r", **body}, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["code"] == code
    assert code in codes(answer)
    assert not SubmittedRequest.objects.exists()


def test_what_one_has_is_not_asked_for_and_nothing_twice(company: Company) -> None:
    urn = "urn:li:dataHubPolicy:tags"
    document = document_of(privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]})
    draft = PolicyInput("datahub", document | {"validUntil": days(10)})
    policies.create(draft=draft, by=authorizer.SYSTEM, channel="test", urn=urn)
    shorter = ask(company["jo"], TAGS, until=days(9)).json()
    assert (shorter["code"], shorter["through"]) == ("request.not_needed", [urn])
    first = ask(company["jo"], TAGS, until=days(20)).json()
    again = ask(company["jo"], TAGS, until=days(30))
    assert (again.status_code, again.json()["code"], again.json()["urn"]) == (409, "request.duplicate", first["urn"])
    member = ask(company["bob"], {"group": CREW}).json()
    assert (member["code"], member["through"]) == ("request.not_needed", [CREW])
    assert act(company["jo"], first, "withdraw").json()["state"] == "withdrawn"
    assert ask(company["jo"], TAGS, until=days(30)).status_code == 201


def test_the_first_rule_that_fits_an_item_decides(company: Company, make_rule: Callable[..., Any]) -> None:
    make_rule("closed", order=5, requestable=False, **{"for": {"privileges": ["DELETE_ENTITY"]}})
    rule = make_rule(
        "tags",
        order=10,
        steps=[step("First", users=[BOB]), step("Owner", resourceOwners=True)],
        ticket="required",
        longest="P3D",
        conditions=[{"id": "purpose", "text": "Only for the audit."}],
        **{"for": {"privileges": ["EDIT_ENTITY_TAGS"]}},
    )
    make_rule("all", order=20, steps=[step("Admins", privilege="MANAGE_POLICIES")])
    deletion = ask(company["jo"], {"privilege": "DELETE_ENTITY", "resource": {"urn": ORDERS}})
    assert (deletion.status_code, deletion.json()["code"]) == (403, "request.not_requestable")
    lacking = ask(company["jo"], TAGS)
    assert codes(lacking) == {"ticket.missing", "condition.missing"}
    preview = company["jo"].post(f"{REQUESTS}preview/", {"items": [TAGS]}, format="json").json()
    assert preview["missing"] == ["reason.missing", "ticket.missing", "condition.missing"]
    assert [one["state"] for one in preview["steps"]] == ["waiting", "later"]
    request = ask(company["jo"], TAGS, ticket="https://t.example/1", confirmed=["purpose"]).json()
    assert (request["rule"], [one["approvers"] for one in request["steps"]]) == (rule["urn"], [[BOB], [ADA]])
    usual = ask(company["jo"], {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}).json()
    assert [one["name"] for one in usual["steps"]] == ["Admins"]


def test_a_step_of_nobody_but_the_asker_is_left_out(company: Company, make_rule: Callable[..., Any]) -> None:
    make_rule("all", steps=[step("Jo", users=[JO]), step("Owner", resourceOwners=True)])
    request = ask(company["jo"], TAGS).json()
    assert [one["name"] for one in request["steps"]] == ["Owner"]
    alone = ask(company["ada"], {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}).json()
    assert [one["name"] for one in alone["steps"]] == ["Jo"]
    assert act(company["ada"], alone, "deny", note="n").json()["code"] == "request.not_yours"


def test_who_may_ask_for_others(company: Company) -> None:
    assert ask(company["jo"], TAGS, actor=BOB).json()["code"] == "request.for_others"
    assert ask(company["ada"], TAGS, actor=BOB).status_code == 201
    other = {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ITEMS}}
    assert ask(company["ada"], other, actor=JO).json()["code"] == "request.for_others"
    assert ask(company["admin"], other, actor=JO).status_code == 201
    groups.create(name="Led", identifier="led", members=[JO], by=authorizer.SYSTEM, channel="test")
    tell(own("urn:li:corpGroup:led", BOB))
    assert ask(company["bob"], TAGS, actor=JO).status_code == 201


def test_hidden_and_absent_things_are_asked_for_alike(company: Company) -> None:
    absent = "urn:li:dataset:(urn:li:dataPlatform:hive,nothing,PROD)"
    with override_settings(VIEW_AUTHORIZATION_ENABLED=True):
        answers = [
            ask(company["jo"], {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": urn}}) for urn in (ORDERS, absent)
        ]
        assert [answer.status_code for answer in answers] == [201, 201]
        hidden, missing = ({**answer.json()} for answer in answers)
        for body in (hidden, missing):
            assert (body["rule"], body["steps"], [item["ways"] for item in body["items"]]) == (None, [], [[]])
        varying = {"urn", "items", "created", "until", "trail"}
        assert {k: v for k, v in hidden.items() if k not in varying} == {
            k: v for k, v in missing.items() if k not in varying
        }
    seen = company["ada"].get(f"{REQUESTS}{hidden['urn']}/").json()
    assert [one["approvers"] for one in seen["steps"]] == [[ADA]]
    assert ADMIN not in str(seen["steps"])
