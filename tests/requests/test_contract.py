"""Sentences of contract-requests.md (sections 2 and 4), each tried as somebody would who wants more than it gives."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone
from rest_framework.test import APIClient

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, Membership, Policy, RequestItem, RequestTrail, SubmittedRequest
from policies.pdp import authorizer
from policies.pdp.due_changes import apply_due_changes
from tests.api.conftest import make_client, store_policy
from tests.catalog.conftest import said, tell
from tests.clocks import Move, move_clocks
from tests.requests.conftest import (
    ADA,
    ADMIN,
    BOB,
    CREW,
    EVE,
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
    get,
    may,
    own,
    step,
)

MakeRule = Callable[..., dict[str, Any]]

DOCS = {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}
ITEM_TAGS = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": ITEMS}}


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Move:
    return move_clocks(monkeypatch)


def states(request: dict[str, Any]) -> list[str]:
    return [one["state"] for one in request["steps"]]


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def make_group(name: str, *members: str) -> str:
    groups.create(name=name, identifier=name, members=list(members), by=authorizer.SYSTEM, channel="test")
    return f"urn:li:corpGroup:{name}"


def look(client: APIClient, *items: dict[str, Any], **members: Any) -> dict[str, Any]:
    answer = client.post(f"{REQUESTS}preview/", {"items": list(items), "reason": "r", **members}, format="json")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def find_way(client: APIClient, item: dict[str, Any], kind: str, **members: Any) -> str:
    ways = look(client, item, **members)["items"][0]["ways"]
    return next(str(way["id"]) for way in ways if way["kind"] == kind)


# -- what is asked for ------------------------------------------------------------------------------------------------


def test_the_same_is_the_same_however_it_is_written(company: Company) -> None:
    jo = company["jo"]
    lists = {"any_of": [["EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS"], ["EDIT_ENTITY_TAGS"]], "resource": {"urn": ORDERS}}
    first = ask(jo, lists, DOCS).json()
    assert first["items"][0]["any_of"] == [["EDIT_ENTITY_TAGS"]]
    assert [code(ask(jo, *items)) for items in ((DOCS, TAGS), (TAGS, DOCS))] == [(409, "request.duplicate")] * 2
    assert code(ask(jo, TAGS, {"any_of": [["EDIT_ENTITY_TAGS"]], "resource": {"urn": ORDERS}})) == (
        400,
        "item.repeated",
    )
    platform = {"privilege": "MANAGE_TAGS"}
    assert ask(jo, platform).status_code == 201
    assert code(ask(jo, {**platform, "resource": None})) == (409, "request.duplicate")
    assert code(ask(jo, {**platform, "resource": {}})) == (409, "request.duplicate")
    assert look(jo, ITEM_TAGS, until=None, reason="")["missing"] == ["until.missing", "reason.missing"]


def test_what_somebody_has_until_the_asked_end_is_not_needed_and_longer_can_be_had(company: Company) -> None:
    group, second = make_group("wide"), make_client("second", "MANAGE_POLICIES")
    role = roles.create(name="Boss", identifier="Boss", by=authorizer.SYSTEM, channel="test").urn
    admin = company["admin"]
    for item in ({"group": group}, {"role": role}, TAGS):
        assert ask(admin, item, actor=JO, until=days(5)).status_code == 201
    for row in admin.get(f"{REQUESTS}?state=open").json()["results"]:
        done = act(company["ada"] if "privilege" in row["items"][0] else second, row, "approve")
        assert done.json()["state"] == "done", done.content
    for item in ({"group": group}, {"role": role}, TAGS):
        assert code(ask(company["jo"], item, until=days(4))) == (409, "request.not_needed")
        longer = ask(company["jo"], item, until=days(20)).json()
        assert len(longer["items"][0]["ways"]) == 1, item
        assert act(company["ada"] if item is TAGS else admin, longer, "approve").json()["state"] == "done"
        assert code(ask(company["jo"], item, until=days(19))) == (409, "request.not_needed")
    policy = store_policy("reach", privileges=["VIEW_ENTITY_PAGE"], actors={"groups": [group]})
    assert code(ask(admin, {"policy": policy}, actor=JO, until=days(19))) == (409, "request.not_needed")
    assert ask(admin, {"policy": policy}, actor=JO, until=days(30)).status_code == 201


def test_what_one_may_not_view_tells_nothing_by_any_filter_member_or_time(
    company: Company, make_rule: MakeRule, move: Move
) -> None:
    absent = "urn:li:dataset:(urn:li:dataPlatform:hive,nothing,PROD)"
    tell(said(ITEMS, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}))
    tagged = {"filter": {"criteria": [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:pii"]}]}}
    closed = make_rule("closed", order=1, requestable=False, **{"for": {"resources": tagged}})
    of_orders = {"filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [ORDERS]}]}}
    strict = make_rule(
        "strict",
        order=2,
        longest="P3D",
        ticket="required",
        steps=[step("Owner", resourceOwners=True)],
        **{"for": {"resources": of_orders}},
    )
    with override_settings(VIEW_AUTHORIZATION_ENABLED=True):
        jo = company["jo"]
        bodies, previews = [], []
        for urn in (ORDERS, ITEMS, absent):
            item = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": urn}}
            previews.append({**look(jo, item, until=days(30)), "items": None, "until": None})
            answer = ask(jo, item, until=days(30))
            assert answer.status_code == 201
            bodies.append(
                (
                    answer.json(),
                    {k: v for k, v in answer.headers.items() if k not in ("Content-Length", "X-Request-ID")},
                )
            )
            assert code(ask(jo, item, until=days(30))) == (409, "request.duplicate")
            assert code(ask(jo, {**item, "privilege": "EDIT_ENTITY_DOCS"}, until=None)) == (400, "until.missing")
            assert code(ask(jo, {**item, "privilege": "EDIT_ENTITY_DOCS"}, way="w1")) == (400, "way.unknown")
        assert previews[0] == previews[1] == previews[2]
        varying = {"urn", "items", "created", "until", "trail"}
        told = [{k: v for k, v in body.items() if k not in varying} for body, _ in bodies]
        assert told[0] == told[1] == told[2]
        assert bodies[0][1] == bodies[1][1] == bodies[2][1]
        assert [{**body["items"][0], "resource": None} for body, _ in bodies[1:]] == [
            {**bodies[0][0]["items"][0], "resource": None}
        ] * 2
        for rule in (closed, strict):
            assert jo.get(f"{REQUESTS}?rule={rule['urn']}").json()["count"] == 0
        assert company["ada"].get(f"{REQUESTS}?rule={strict['urn']}").json()["count"] == 1
        answers = [ask(jo, {"policy": f"urn:li:dataHubPolicy:{name}"}) for name in ("of-admin", "no-such-policy")]
        assert [(one.status_code, one.json()["rule"], one.json()["steps"]) for one in answers] == [(201, None, [])] * 2
    # The rule holds all the same: a shorter end than was asked for, and a denial of what nobody may ask for.
    granted = act(company["ada"], bodies[0][0], "approve").json()
    assert granted["state"] == "done", granted
    assert granted["items"][0]["ends"] < days(4)
    move(timedelta(hours=1, minutes=1))
    apply_due_changes(wait_seconds=5)
    denied = get(company["jo"], bodies[1][0])
    assert (denied["state"], denied["trail"][-1]["what"]) == ("denied", "denied")
    assert get(company["jo"], bodies[2][0])["state"] == "open"


def test_strangers_learn_nothing_of_whom_they_ask_for(company: Company) -> None:
    users.suspend(urn=BOB, by=authorizer.SYSTEM, channel="test")
    for actor in (BOB, EVE, "urn:li:corpuser:nobody"):
        assert code(ask(company["jo"], TAGS, actor=actor)) == (403, "request.for_others")
    assert code(ask(company["ada"], TAGS, actor="urn:li:corpuser:nobody")) == (400, "actor.unknown")
    assert code(ask(company["ada"], TAGS, actor=BOB)) == (409, "request.actor_suspended")


# -- rules that approve by themselves ---------------------------------------------------------------------------------


def test_a_rule_approves_by_itself_only_what_it_covers_wholly(company: Company, make_rule: MakeRule) -> None:
    tagged = {"criteria": [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:public"]}]}
    owner = [step("Owner", resourceOwners=True)]
    make_rule(
        "view",
        auto_approve=True,
        steps=owner,
        **{"for": {"privileges": ["VIEW_ENTITY_PAGE"], "resources": {"filter": tagged}}},
    )
    jo = company["jo"]
    tell(said(ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:public"}]}))
    both = {"any_of": [["VIEW_ENTITY_PAGE", "DELETE_ENTITY"]], "resource": {"urn": ORDERS}}
    either = {"any_of": [["DELETE_ENTITY"], ["VIEW_ENTITY_PAGE"]], "resource": {"urn": ORDERS}}
    wide = {"privileges": ["VIEW_ENTITY_PAGE"], "scope": {"criteria": []}}
    more = {"privileges": ["VIEW_ENTITY_PAGE", "DELETE_ENTITY"], "scope": tagged}
    within = {"privileges": ["VIEW_ENTITY_PAGE"], "scope": tagged}
    for item in (both, either, wide, more):
        assert ask(jo, item).json()["state"] == "open", item
    assert not may(company["admin"], JO, "DELETE_ENTITY")
    assert ask(jo, within).json()["state"] == "done"
    make_rule("members", order=1, auto_approve=True, steps=owner, **{"for": {"groups": ["urn:li:corpGroup:ops"]}})
    ops = make_group("ops")
    store_policy("ops", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"groups": [ops]})
    assert ask(jo, {"group": ops}).json()["state"] == "open"


# -- steps ------------------------------------------------------------------------------------------------------------


def test_nothing_is_written_that_no_step_agreed_to(company: Company, make_rule: MakeRule, move: Move) -> None:
    tell(said(ORDERS, "domains", {"domains": [FINANCE]}), own(FINANCE, EVE))
    make_rule(
        "lapse",
        steps=[step("Owner", resourceOwners=True, within="P1D", then="next"), step("Domain", domainOwners=True)],
    )
    request = ask(company["jo"], TAGS, ITEM_TAGS).json()
    move(timedelta(days=1, minutes=1))
    apply_due_changes(wait_seconds=5)
    assert states(get(company["jo"], request)) == ["expired", "waiting", "later"]
    part = act(company["eve"], request, "approve").json()
    assert ([item["state"] for item in part["items"]], part["state"]) == (["done", "open"], "open")
    assert not may(company["admin"], JO, urn=ITEMS)
    assert states(part) == ["expired", "agreed", "waiting"]
    assert act(company["admin"], request, "approve").json()["state"] == "done"


def test_a_step_that_expires_leaves_other_items_as_they_are(company: Company, make_rule: MakeRule, move: Move) -> None:
    tell(said(ITEMS, "domains", {"domains": [FINANCE]}), own(FINANCE, EVE))
    make_rule(
        "expire",
        steps=[step("Owner", resourceOwners=True), step("Domain", domainOwners=True, within="P1D", then="expire")],
    )
    request = ask(company["jo"], TAGS, ITEM_TAGS).json()
    one = act(company["ada"], request, "approve").json()
    assert [item["state"] for item in one["items"]] == ["done", "open"]
    assert states(act(company["bob"], request, "approve").json()) == ["agreed", "waiting"]
    move(timedelta(days=1, minutes=1))
    apply_due_changes(wait_seconds=5)
    ended = get(company["jo"], request)
    assert (ended["state"], [item["state"] for item in ended["items"]]) == ("partial", ["done", "expired"])
    assert code(act(company["eve"], request, "approve")) == (409, "request.state")


def test_steps_after_an_escalated_one_still_decide(company: Company, make_rule: MakeRule, move: Move) -> None:
    make_rule(
        "and",
        steps=[step("Owner", resourceOwners=True, within="P1D", then="escalate"), step("Crew", groups=[CREW])],
    )
    request = ask(company["jo"], TAGS).json()
    move(timedelta(days=1, minutes=1))
    apply_due_changes(wait_seconds=5)
    assert states(act(company["admin"], request, "approve").json()) == ["expired", "waiting", "agreed"]
    assert not may(company["admin"], JO)
    assert act(company["bob"], request, "approve").json()["state"] == "done"


def test_a_step_whose_approvers_are_gone_falls_to_those_who_manage_policies(
    company: Company, make_rule: MakeRule
) -> None:
    make_rule("two", steps=[step("Owner", resourceOwners=True), step("Bob", users=[BOB])])
    request = ask(company["jo"], TAGS).json()
    assert code(act(company["admin"], request, "approve")) == (403, "request.not_yours")
    tell(own(ORDERS, EVE))
    assert act(company["ada"], request, "approve").json()["code"] == "request.not_yours"
    assert company["bob"].get(f"{REQUESTS}{request['urn']}/").status_code == 200
    users.suspend(urn=BOB, by=authorizer.SYSTEM, channel="test")
    # Whoever owns it now decides, and what Bob would decide falls to administrators.
    assert states(act(company["eve"], request, "approve").json()) == ["agreed", "skipped", "waiting"]
    assert company["admin"].get(f"{REQUESTS}?to_decide=true").json()["count"] == 1
    assert act(company["admin"], request, "approve").json()["state"] == "done"
    other = ask(company["jo"], {**DOCS, "resource": {"urn": ITEMS}}).json()
    groups.remove_members(urn=CREW, members=[BOB, EVE], by=authorizer.SYSTEM, channel="test")
    assert act(company["admin"], other, "deny", note="nobody is left").json()["state"] == "denied"


def test_all_are_those_who_can_decide_and_nobody_is_two(company: Company, make_rule: MakeRule) -> None:
    tell(own(ORDERS, ADA, JO, EVE))
    alone = make_group("alone", JO)
    make_rule("all", steps=[step("Owners", resourceOwners=True, groups=[alone], needs="all")])
    request = ask(company["jo"], TAGS).json()
    assert (request["steps"][0]["needs"], act(company["ada"], request, "approve").json()["state"]) == ("all", "open")
    assert act(company["eve"], request, "approve").json()["state"] == "done"
    refused = company["admin"].post(
        "/api/v1/approval-rules/",
        {"name": "x", "steps": [step("Admins", privilege="MANAGE_POLICIES", needs="all")]},
        format="json",
    )
    assert {error["code"] for error in refused.json()["errors"]} == {"needs.all"}


def test_an_agreement_is_to_the_way_that_was_seen(company: Company, make_rule: MakeRule) -> None:
    wide = make_group("wide")
    store_policy("wide", privileges=["EDIT_ENTITY_TAGS"], actors={"groups": [wide]})
    make_rule("two", steps=[step("Owner", resourceOwners=True), step("Admins", privilege="MANAGE_POLICIES")])
    request = ask(company["jo"], TAGS).json()
    act(company["ada"], request, "approve")
    way = find_way(company["admin"], TAGS, "membership", actor=EVE)
    assert way != request["items"][0]["ways"][0]["id"]
    chosen = find_way_of(company["admin"], request, "membership")
    other = act(company["admin"], request, "approve", way=chosen).json()
    assert (other["state"], states(other)) == ("open", ["waiting", "agreed"])
    assert code(act(company["ada"], request, "approve")) == (403, "way.too_wide")
    narrow = act(company["ada"], request, "approve", way=request["items"][0]["ways"][0]["id"]).json()
    assert states(narrow) == ["agreed", "waiting"]
    assert act(company["admin"], request, "approve").json()["state"] == "done"
    assert not Membership.objects.filter(user__urn=JO, group__profile__urn=wide).exists()


def find_way_of(client: APIClient, request: dict[str, Any], kind: str) -> str:
    """Return the id of a way to what a stored request asks for: ids are the same wherever they are worked out."""
    SubmittedRequest.objects.filter(urn=request["urn"]).update(state="withdrawn")
    way = find_way(client, TAGS, kind, actor=request["actor"])
    SubmittedRequest.objects.filter(urn=request["urn"]).update(state="open")
    return way


# -- nobody gives more than they may ----------------------------------------------------------------------------------


def test_a_seat_is_handed_over_for_what_its_giver_decides_and_to_people_who_can(company: Company) -> None:
    request = ask(company["jo"], TAGS, ITEM_TAGS).json()
    alone = make_group("alone", JO)
    for receiver in (JO, alone, "urn:li:corpGroup:none", "urn:li:corpuser:none"):
        assert act(company["ada"], request, "hand_over", to=[receiver], note="n").status_code == 400, receiver
    admin = company["admin"]
    assert act(company["ada"], request, "hand_over", to=[ADMIN], note="holiday").status_code == 200
    assert code(act(admin, request, "approve", items=[1])) == (403, "request.not_yours")
    assert code(act(company["ada"], request, "approve", items=[0])) == (403, "request.not_yours")
    assert act(admin, request, "hand_over", to=[ADA], note="back").status_code == 200
    done = act(company["ada"], request, "approve").json()
    assert [item["state"] for item in done["items"]] == ["done", "open"]


def test_platform_privileges_come_from_people_who_hold_them_whatever_the_way(company: Company) -> None:
    holder = make_client("holder", "MANAGE_TAGS")
    tags = {"privilege": "MANAGE_TAGS"}
    ops = make_group("ops")
    store_policy("ops", type="PLATFORM", privileges=["MANAGE_TAGS", "MANAGE_GUARDRAILS"], actors={"groups": [ops]})
    ways = {way["kind"]: way["id"] for way in look(company["admin"], tags, actor=JO)["items"][0]["ways"]}
    request = ask(company["admin"], tags, actor=JO, way=ways["membership"]).json()
    second = make_client("second", "MANAGE_POLICIES")
    for client in (holder, second):
        assert act(client, request, "approve").status_code == 403
        assert get(company["jo"], request)["state"] == "open"
    assert not may(company["admin"], JO, "MANAGE_GUARDRAILS", None)
    assert act(holder, request, "approve", way=ways["policy"]).json()["state"] == "done"


def test_an_owner_agrees_by_asking_only_to_what_an_approver_may_give(company: Company, make_rule: MakeRule) -> None:
    ops = make_group("ops", JO)
    tell(own(ops, ADA))
    store_policy("ops", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"groups": [ops]})
    deep = make_group("deep")
    tell(own(deep, ADA))
    store_policy("deep", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"groups": [deep]})
    make_rule("owners", steps=[step("Owner", resourceOwners=True)])
    request = ask(company["ada"], {"group": deep}, actor=JO).json()
    assert (request["state"], [line["what"] for line in request["trail"]]) == ("open", ["asked"])
    assert not may(company["admin"], JO, "MANAGE_POLICIES", None)


def test_nobody_decides_who_would_gain_by_the_way(company: Company) -> None:
    # Members of a group that owns a thing may edit it; as one of its owners Jo makes bob's policy reach it.
    store_policy("owners", privileges=["EDIT_ENTITY_TAGS"], actors={"resourceOwners": True})
    by_owner = {"criteria": [{"field": "OWNER", "condition": "EQUALS", "values": [JO]}]}
    store_policy("of-jos", privileges=["DELETE_ENTITY"], actors={"users": [ADMIN]}, resources={"filter": by_owner})
    way = find_way(company["jo"], TAGS, "owner")
    request = ask(company["jo"], TAGS, way=way).json()
    assert code(act(company["ada"], request, "approve")) == (403, "way.too_wide")
    store_policy("ada-manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"users": [ADA]})
    tell(own(ORDERS, ADA, ADMIN))
    refused = act(company["admin"], request, "approve")
    refused = act(company["admin"], request, "approve") if refused.json()["code"] == "request.changed" else refused
    assert code(refused) == (403, "request.not_yours")
    assert act(company["ada"], request, "approve").json()["state"] == "done"


# -- the world moves on between asking and approving ------------------------------------------------------------------


def test_a_way_that_is_none_any_more_is_replaced_and_never_written(company: Company) -> None:
    admin, second = company["admin"], make_client("second", "MANAGE_POLICIES")
    policy = store_policy("named", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [BOB]})
    make_permanent = {"name": "ever", "allows_permanent": True, "steps": [step("Admins", privilege="MANAGE_POLICIES")]}
    assert admin.post("/api/v1/approval-rules/", make_permanent, format="json").status_code == 201
    edited = ask(admin, {"policy": policy}, actor=JO, until=None).json()
    document = {**Policy.objects.get(urn=policy).document, "privileges": ["EDIT_ENTITY_DOCS"]}
    policies.update(urn=policy, draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test")
    assert code(act(second, edited, "approve")) == (409, "request.changed")
    assert act(second, edited, "approve").json()["state"] == "done"
    stored = Policy.objects.get(urn=policy).document
    assert (stored["privileges"], set(stored["actors"]["users"])) == (["EDIT_ENTITY_DOCS"], {BOB, JO})
    deleted = ask(admin, {"policy": policy}, actor=EVE, until=None).json()
    policies.delete(urn=policy, by=authorizer.SYSTEM, channel="test")
    assert code(act(second, deleted, "approve")) == (409, "request.changed")
    assert code(act(second, deleted, "approve")) == (409, "request.no_way")
    assert not Policy.objects.filter(urn=policy).exists()
    assert act(second, deleted, "deny", note="gone").json()["state"] == "denied"


def test_what_somebody_got_meanwhile_and_what_a_source_took_over(company: Company) -> None:
    admin = company["admin"]
    until = days(9)
    first, both = (ask(company["jo"], *items, until=until).json() for items in ((TAGS,), (TAGS, DOCS)))
    assert act(company["ada"], first, "approve").json()["state"] == "done"
    twice = act(company["ada"], both, "approve", items=[0])
    assert code(twice) == (409, "request.not_needed")
    assert twice.json()["through"] == [Policy.objects.get(name__contains="Edit Tags").urn]
    assert act(company["ada"], both, "approve", items=[1]).json()["state"] == "open"
    assert act(company["ada"], both, "deny", items=[0], note="has it").json()["state"] == "partial"
    assert Policy.objects.filter(name__contains="Edit Tags").count() == 1
    synced = make_group("synced")
    request = ask(company["jo"], {"group": synced}).json()
    GroupProfile.objects.filter(urn=synced).update(origin=GroupProfile.Origin.EXTERNAL)
    assert code(act(admin, request, "approve")) == (409, "request.changed")
    assert act(admin, request, "approve").json()["state"] == "waiting_for_source"
    assert not Membership.objects.filter(user__urn=JO, group__profile__urn=synced).exists()


def test_versions_states_and_suspension(company: Company, move: Move) -> None:
    ada, request = company["ada"], ask(company["jo"], TAGS, until=days(2)).json()
    users.suspend(urn=JO, by=authorizer.SYSTEM, channel="test")
    assert code(act(ada, request, "approve")) == (409, "request.actor_suspended")
    assert act(ada, request, "deny", note="left").json()["state"] == "denied"
    users.activate(urn=JO, by=authorizer.SYSTEM, channel="test")
    for name in ("approve", "deny", "hand_over"):
        body = {"note": "n", "to": [BOB]} if name == "hand_over" else {"note": "n"}
        url = f"{REQUESTS}{request['urn']}/{name}/"
        assert code(ada.post(url, body, format="json", HTTP_IF_MATCH='"1"')) == (409, "request.state")
    assert code(act(ada, request, "approve", way="w1")) == (409, "request.state")
    withdrawn = company["jo"].post(f"{REQUESTS}{request['urn']}/withdraw/", {}, format="json", HTTP_IF_MATCH='"1"')
    assert code(withdrawn) == (409, "request.state")
    open_request = ask(company["jo"], TAGS, until=days(2)).json()
    stale = company["jo"].post(f"{REQUESTS}{open_request['urn']}/withdraw/", {}, format="json", HTTP_IF_MATCH='"7"')
    assert stale.status_code == 412
    assert [getattr(ada, verb)(f"{REQUESTS}{request['urn']}/").status_code for verb in ("put", "patch", "delete")] == [
        405
    ] * 3
    move(timedelta(days=2, minutes=1))
    expired = get(company["jo"], open_request)
    assert (expired["state"], expired["steps"][0]["state"], expired["trail"][-1]["what"]) == (
        "expired",
        "skipped",
        "expired",
    )
    assert ask(company["jo"], TAGS, until=days(10)).status_code == 201


def test_more_time_is_given_only_to_what_is_still_given(company: Company) -> None:
    request = ask(company["jo"], TAGS, until=days(5)).json()
    act(company["ada"], request, "approve")
    renewal = act(company["jo"], request, "renew", until=days(20), reason="more").json()
    duplicate = act(company["jo"], request, "renew", until=days(20), reason="x")
    assert (code(duplicate), duplicate.json()["urn"]) == ((409, "request.duplicate"), renewal["urn"])
    assert code(ask(company["jo"], TAGS, until=days(30))) == (409, "request.duplicate")
    users.suspend(urn=JO, by=authorizer.SYSTEM, channel="test")
    users.activate(urn=JO, by=authorizer.SYSTEM, channel="test")
    policies.delete(urn=Policy.objects.get(name__contains="Edit Tags").urn, by=authorizer.SYSTEM, channel="test")
    RequestItem.objects.filter(request__urn=request["urn"]).update(state="ended")
    assert code(act(company["ada"], renewal, "approve")) == (409, "request.changed")
    assert get(company["ada"], renewal)["items"][0]["ways"][0]["gains"]["pairs"] == 1


# -- bounds and input -------------------------------------------------------------------------------------------------


def test_what_one_person_can_pile_up_is_bounded(company: Company, move: Move) -> None:
    jo = company["jo"]
    first = ask(jo, TAGS).json()
    assert act(jo, first, "withdraw").status_code == 200
    asked = SubmittedRequest.objects.get(urn=first["urn"])
    RequestTrail.objects.bulk_create(RequestTrail(request=asked, by=JO, what="asked") for _ in range(28))
    last = ask(jo, TAGS).json()
    assert {code(ask(jo, TAGS)) for _ in range(20)} == {(409, "request.duplicate")}
    assert act(jo, last, "withdraw").status_code == 200
    assert {code(ask(jo, TAGS)) for _ in range(3)} == {(409, "request.too_many")}
    move(timedelta(minutes=1, seconds=1))
    request = ask(jo, TAGS).json()
    row = SubmittedRequest.objects.get(urn=request["urn"])
    RequestTrail.objects.bulk_create(RequestTrail(request=row, by=JO, what="comment") for _ in range(199))
    assert code(act(jo, request, "comment", text="one more")) == (409, "request.too_many")
    assert code(act(company["ada"], request, "hand_over", to=[BOB], note="n")) == (409, "request.too_many")
    assert act(company["ada"], request, "approve").json()["state"] == "done"


@pytest.mark.parametrize(
    "text",
    [
        "ж" * 2000,
        "漢字" * 1000,
        "👩‍👩‍👧" * 400,
        "مرحبا " * 330,
        "\u202eabc\u2066",
        "a\nb\tc",
        "<script>alert(1)</script>",
        "'; --",
    ],
)
def test_reasons_of_every_script_are_kept_as_they_are(company: Company, text: str) -> None:
    answer = ask(company["jo"], TAGS, reason=text)
    assert answer.status_code == 201, answer.content
    assert get(company["ada"], answer.json())["reason"] == text.strip()
    denied = act(company["ada"], answer.json(), "deny", note=text)
    assert denied.json()["trail"][-1]["note"] == text.strip() or denied.json()["trail"][-1]["note"] == text


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", 7, ["a"], {"a": 1}, True, "x" * 2001])
def test_what_cannot_be_kept_is_refused_everywhere(company: Company, text: Any) -> None:
    request = ask(company["jo"], DOCS).json()

    def send(name: str, action: str, **body: Any) -> Any:
        url = f"{REQUESTS}{request['urn']}/{action}/" if action else REQUESTS
        # As escapes, for the client writes no half of a pair.
        return company[name].post(url, json.dumps(body), content_type="application/json")

    asked = {"items": [TAGS], "reason": "r"}
    answers = [
        send("jo", "", **{**asked, "reason": text}),
        send("jo", "", **asked, ticket=text),
        send("jo", "", **asked, confirmed=text if isinstance(text, list) else [text], way="w"),
        send("jo", "", **asked, actor=text),
        send("jo", "", **asked, way=text),
        send("jo", "", **{**asked, "items": [{"privilege": text, "resource": {"urn": ORDERS}}]}),
        send("jo", "", **{**asked, "items": [{"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": text}}]}),
        send("jo", "", **{**asked, "items": [{"group": text}]}),
        send("ada", "deny", note=text),
        send("ada", "approve", note=text, way="w"),
        send("ada", "approve", way=text),
        send("ada", "approve", until=text),
        send("ada", "hand_over", to=[text], note="n"),
        send("jo", "comment", text=text),
        send("jo", "renew", reason=text),
    ]
    assert {answer.status_code for answer in answers} <= {400, 409}, [answer.content for answer in answers]
    assert get(company["jo"], request)["state"] == "open"
    assert SubmittedRequest.objects.count() == 1


@pytest.mark.parametrize(
    "ticket",
    [
        "javascript:alert(1)",
        "JaVaScRiPt://x/%0aalert(1)",
        "data:text/html,x",
        "//x",
        "https://",
        "http://[",
        "https://a\nb",
    ],
)
def test_a_ticket_is_an_address(company: Company, ticket: str) -> None:
    assert code(ask(company["jo"], TAGS, ticket=ticket)) == (400, "ticket.invalid")


def test_a_request_that_cannot_be_read_holds_nothing_up(company: Company, make_rule: MakeRule, move: Move) -> None:
    make_rule("due", steps=[step("Owner", resourceOwners=True, within="P1D", then="escalate")])
    broken, other = ask(company["jo"], TAGS).json(), ask(company["jo"], DOCS).json()
    RequestItem.objects.filter(request__urn=broken["urn"]).update(document={"privilege": "NO_LONGER_KNOWN"})
    move(timedelta(days=1, minutes=1))
    assert get(company["jo"], broken)["state"] == "failed"
    assert states(get(company["jo"], other)) == ["expired", "waiting"]
    assert timezone.now().isoformat() < get(company["jo"], other)["until"]
