"""Deciding and writing: who agrees, what is written and ends, and what has moved on meanwhile."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Validity
from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, Membership, Policy, User
from policies.pdp import authorizer
from policies.pdp.due_changes import apply_due_changes
from policies.requests.services.sources import settle_sources
from policies.writes.timed_holders import TimedHolder
from tests.api.conftest import make_client, store_policy
from tests.catalog.conftest import said, tell
from tests.clocks import Move, move_clocks
from tests.requests.conftest import (
    ADA,
    BOB,
    CREW,
    EVE,
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


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Move:
    return move_clocks(monkeypatch)


def whats(request: dict[str, Any]) -> list[str]:
    return [line["what"] for line in request["trail"]]


def test_what_the_owner_approves_is_written_and_ends_by_itself(company: Company, move: Move) -> None:
    request = ask(company["jo"], TAGS, until=days(14)).json()
    way = request["items"][0]["ways"][0]
    assert (way["kind"], way["gains"], way["is_exact"]) == (
        "policy",
        {"pairs": 1, "people": 1, "entities": 1, "platform": 0},
        True,
    )
    assert act(company["jo"], request, "approve").json()["code"] == "request.not_yours"
    done = act(company["ada"], request, "approve", until=days(7), note="fine")
    assert done.status_code == 200, done.content
    body = done.json()
    assert (body["state"], whats(body)) == ("done", ["asked", "agreed", "approved", "done"])
    assert body["steps"][0]["decisions"][0]["by"] == ADA
    assert may(company["admin"], JO)
    policy = Policy.objects.get(name__contains="Edit Tags")
    assert policy.updated_by == "urn:li:corpuser:__datahub_system"
    assert policy.valid_until is not None
    assert policy.valid_until.isoformat()[:10] == days(7)[:10]
    move(timedelta(days=6))
    assert may(company["admin"], JO)
    move(timedelta(days=2))
    assert not may(company["admin"], JO)
    ended = get(company["jo"], request)
    assert (ended["state"], ended["trail"][-1]["what"]) == ("ended", "ended")


def test_agreements_of_all_named_and_of_several_steps(company: Company, make_rule: Callable[..., Any]) -> None:
    groups.create(name="Law", identifier="law", members=[EVE], by=authorizer.SYSTEM, channel="test")
    both = step("Both", groups=[CREW, "urn:li:corpGroup:law"], needs="all")
    make_rule("two steps", steps=[step("Owner", resourceOwners=True), both])
    request = ask(company["jo"], TAGS).json()
    assert act(company["eve"], request, "approve").json()["code"] == "request.not_yours"
    first = act(company["ada"], request, "approve").json()
    assert [one["state"] for one in first["steps"]] == ["agreed", "waiting"]
    second = act(company["eve"], request, "approve").json()
    assert second["state"] == "open"
    assert act(company["eve"], request, "approve").json()["state"] == "open"
    assert not may(company["admin"], JO)
    third = act(company["bob"], request, "approve").json()
    assert (third["state"], [one["state"] for one in third["steps"]]) == ("done", ["agreed", "agreed"])
    assert may(company["admin"], JO)


def test_an_approver_who_lost_the_right_does_not_count(company: Company, make_rule: Callable[..., Any]) -> None:
    make_rule("two", steps=[step("Owner", resourceOwners=True), step("Crew", groups=[CREW])])
    request = ask(company["jo"], TAGS).json()
    act(company["ada"], request, "approve")
    tell(own(ORDERS, EVE))
    reopened = act(company["bob"], request, "approve").json()
    assert (reopened["state"], [one["state"] for one in reopened["steps"]]) == ("open", ["waiting", "agreed"])
    assert not may(company["admin"], JO)
    assert act(company["ada"], request, "approve").status_code in (403, 404)
    assert act(company["eve"], request, "approve").json()["state"] == "done"


def test_notes_comments_and_seats_that_are_given_away(company: Company) -> None:
    request = ask(company["jo"], TAGS).json()
    assert act(company["ada"], request, "deny").status_code == 400
    assert act(company["ada"], request, "hand_over", to=[JO], note="you").json()["code"] == "hand_over.self"
    assert act(company["bob"], request, "comment", text="hm").status_code == 404
    handed = act(company["ada"], request, "hand_over", to=[BOB], note="on holiday").json()
    assert handed["steps"][0]["approvers"] == [ADA, BOB]
    assert act(company["ada"], request, "approve").json()["code"] == "request.not_yours"
    assert act(company["bob"], request, "comment", text="why?").status_code == 200
    denied = act(company["bob"], request, "deny", note="not now").json()
    assert (denied["state"], whats(denied)) == ("denied", ["asked", "handed_over", "comment", "denied"])
    assert act(company["jo"], request, "withdraw").json()["code"] == "request.state"


def test_an_owner_chooses_only_what_lies_on_its_own(company: Company) -> None:
    groups.create(name="Wide", identifier="wide", members=[], by=authorizer.SYSTEM, channel="test")
    store_policy("wide", privileges=["EDIT_ENTITY_TAGS"], actors={"groups": ["urn:li:corpGroup:wide"]})
    body = {"items": [TAGS], "reason": "r"}
    preview = company["admin"].post(f"{REQUESTS}preview/", {**body, "actor": JO}, format="json").json()
    ways = {way["kind"]: way for way in preview["items"][0]["ways"]}
    assert (ways["policy"]["rank"], ways["membership"]["gains"]["entities"] > 1) == (1, True)
    request = ask(company["admin"], TAGS, actor=JO, way=ways["membership"]["id"]).json()
    refused = act(company["ada"], request, "approve")
    assert (refused.status_code, refused.json()["code"]) == (403, "way.too_wide")
    assert act(company["ada"], request, "approve", way="w0").json()["code"] == "way.unknown"
    exact = act(company["ada"], request, "approve", way=ways["policy"]["id"]).json()
    assert (exact["state"], exact["items"][0]["ways"][0]["kind"]) == ("done", "policy")
    store_policy("ada-manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"users": [ADA]})
    wide = ask(company["admin"], TAGS, actor=BOB, way=_find_way(company, BOB, "membership")).json()
    assert act(company["ada"], wide, "approve").json()["state"] == "done"
    assert Membership.objects.filter(user__urn=BOB, group__profile__urn="urn:li:corpGroup:wide").exists()


def _find_way(company: Company, actor: str, kind: str) -> str:
    body = {"items": [TAGS], "reason": "r", "actor": actor}
    answer = company["admin"].post(f"{REQUESTS}preview/", body, format="json").json()
    return next(str(way["id"]) for way in answer["items"][0]["ways"] if way["kind"] == kind)


def test_a_world_that_changed_is_looked_at_again(company: Company) -> None:
    groups.create(name="Wide", identifier="wide", members=[], by=authorizer.SYSTEM, channel="test")
    item = {"group": "urn:li:corpGroup:wide"}
    request = ask(company["jo"], item).json()
    assert request["items"][0]["ways"][0]["gains"]["pairs"] == 0
    store_policy("wide", privileges=["EDIT_ENTITY_TAGS"], actors={"groups": ["urn:li:corpGroup:wide"]})
    changed = act(company["admin"], request, "approve")
    assert (changed.status_code, changed.json()["code"]) == (409, "request.changed")
    seen = get(company["admin"], request)
    assert (seen["state"], seen["version"] > request["version"]) == ("open", True)
    assert seen["items"][0]["ways"][0]["gains"]["pairs"] > 0
    stale = company["admin"].post(
        f"{REQUESTS}{request['urn']}/approve/", {}, format="json", HTTP_IF_MATCH=f'"{request["version"]}"'
    )
    assert stale.status_code == 412
    assert act(company["admin"], request, "approve").json()["state"] == "done"


def test_guardrails_and_suspension_between_asking_and_approving(company: Company) -> None:
    request = ask(company["jo"], TAGS).json()
    rule = {"never": {"actors": {"users": [JO]}, "privileges": ["EDIT_ENTITY_TAGS"]}}
    guardrail = guardrails.create(name="no", rule=rule, by=authorizer.SYSTEM, channel="test")
    refused = act(company["ada"], request, "approve")
    assert refused.status_code == 409
    assert get(company["ada"], request)["state"] == "open"
    assert not may(company["admin"], JO)
    guardrails.delete(urn=guardrail.urn, by=authorizer.SYSTEM, channel="test")
    users.suspend(urn=JO, by=authorizer.SYSTEM, channel="test")
    assert act(company["ada"], request, "approve").json()["code"] == "request.actor_suspended"
    users.activate(urn=JO, by=authorizer.SYSTEM, channel="test")
    assert act(company["ada"], request, "approve").json()["state"] == "done"


def test_an_owner_who_asks_for_somebody_else_has_agreed(company: Company) -> None:
    done = ask(company["ada"], TAGS, actor=JO).json()
    assert (done["state"], done["by"], whats(done)) == ("done", ADA, ["asked", "agreed", "approved", "done"])
    assert may(company["admin"], JO)


def test_a_rule_approves_what_it_covers_by_itself(company: Company, make_rule: Callable[..., Any]) -> None:
    make_rule(
        "tags",
        auto_approve=True,
        auto_approve_longest="P3D",
        steps=[step("Owner", resourceOwners=True)],
        **{"for": {"privileges": ["EDIT_ENTITY_TAGS"]}},
    )
    long = ask(company["jo"], TAGS, until=days(30)).json()
    assert long["state"] == "open"
    short = ask(company["bob"], TAGS, until=days(2)).json()
    assert (short["state"], whats(short)) == ("done", ["asked", "auto", "done"])
    both = ask(company["eve"], TAGS, {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}, until=days(2))
    assert both.json()["state"] == "open"


def test_what_a_source_owns_is_asked_of_it(company: Company, move: Move) -> None:
    groups.create(name="Synced", identifier="synced", members=[], by=authorizer.SYSTEM, channel="test")
    GroupProfile.objects.filter(urn="urn:li:corpGroup:synced").update(origin=GroupProfile.Origin.EXTERNAL)
    # Somebody whose roles change with time is judged for later, too.
    reader = TimedHolder(JO, Validity(ends=timezone.now() + timedelta(days=5)))
    roles.create(name="Guest", identifier="guest", by=authorizer.SYSTEM, channel="test")
    roles.grant(urn="urn:li:dataHubRole:guest", actors=[reader], by=authorizer.SYSTEM, channel="test")
    request = ask(company["jo"], {"group": "urn:li:corpGroup:synced"}).json()
    waiting = act(company["admin"], request, "approve").json()
    assert (waiting["state"], whats(waiting)[-1]) == ("waiting_for_source", "source")
    assert not Membership.objects.filter(user__urn=JO).exists()
    profile = GroupProfile.objects.get(urn="urn:li:corpGroup:synced")
    Membership.objects.create(
        user=User.objects.get(urn=JO), group_id=profile.group_id, is_native=False, is_external=True
    )
    settle_sources()
    assert get(company["jo"], request)["state"] == "done"


def test_more_time_moves_the_end(company: Company, move: Move) -> None:
    request = ask(company["jo"], TAGS, until=days(5)).json()
    act(company["ada"], request, "approve")
    refused = act(company["jo"], request, "renew", until=days(400), reason="more")
    assert refused.json()["code"] == "until.too_long"
    renewal = act(company["jo"], request, "renew", until=days(20), reason="not finished")
    assert renewal.status_code == 201, renewal.content
    assert act(company["jo"], request, "renew", until=days(20), reason="x").json()["code"] == "request.duplicate"
    assert act(company["ada"], renewal.json(), "approve").json()["state"] == "done"
    move(timedelta(days=10))
    assert may(company["admin"], JO)
    assert Policy.objects.filter(name__contains="Edit Tags").count() == 1
    move(timedelta(days=11))
    assert not may(company["admin"], JO)


def test_steps_that_are_due(company: Company, make_rule: Callable[..., Any], move: Move) -> None:
    make_rule(
        "due",
        steps=[
            step("Owner", resourceOwners=True, within="P1D", then="next"),
            step("Crew", groups=[CREW], within="P1D", then="escalate"),
        ],
    )
    make_rule(
        "expire",
        order=5,
        steps=[step("Owner", resourceOwners=True, within="PT4H", then="expire")],
        **{"for": {"privileges": ["EDIT_ENTITY_DOCS"]}},
    )
    request = ask(company["jo"], TAGS).json()
    short = ask(company["jo"], {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}).json()
    move(timedelta(days=1, minutes=1))
    apply_due_changes(wait_seconds=5)
    assert get(company["jo"], short)["state"] == "expired"
    assert [one["state"] for one in get(company["jo"], request)["steps"]] == ["expired", "waiting"]
    move(timedelta(days=1, minutes=1))
    apply_due_changes(wait_seconds=5)
    assert [one["state"] for one in get(company["jo"], request)["steps"]] == ["expired", "expired", "waiting"]
    assert act(company["admin"], request, "approve").json()["state"] == "done"


def test_ownership_is_taken_back_at_its_end(company: Company, move: Move) -> None:
    store_policy("owners", privileges=["EDIT_ENTITY_TAGS"], actors={"resourceOwners": True})
    preview = company["jo"].post(f"{REQUESTS}preview/", {"items": [TAGS], "reason": "r"}, format="json").json()
    way = next(way for way in preview["items"][0]["ways"] if way["kind"] == "owner")
    request = ask(company["jo"], TAGS, until=days(3), way=way["id"]).json()
    assert act(company["ada"], request, "approve").json()["state"] == "done"
    assert may(company["admin"], JO)
    move(timedelta(days=4))
    assert not may(company["admin"], JO)
    assert may(company["admin"], ADA)


def test_an_exception_from_a_deny_is_taken_back_at_its_end(company: Company, move: Move) -> None:
    criteria = [{"field": "URN", "condition": "EQUALS", "values": [ORDERS]}]
    everybody = {"actors": {"allUsers": True}, "resources": {"filter": {"criteria": criteria}}}
    store_policy("all", privileges=["EDIT_ENTITY_TAGS"], **everybody)
    deny = store_policy("deny", privileges=["EDIT_ENTITY_TAGS"], effect="DENY", **everybody)
    request = ask(company["admin"], TAGS, actor=JO, until=days(3)).json()
    assert [way["kind"] for way in request["items"][0]["ways"]] == ["exception"]
    # Only who manages policies is told which one denies it.
    assert [get(company[name], request)["items"][0]["denied_by"] for name in ("admin", "jo", "ada")] == [[deny], [], []]
    previewed = company["admin"].post(f"{REQUESTS}preview/", {"items": [TAGS], "actor": BOB}, format="json").json()
    assert previewed["items"][0]["denied_by"] == [deny]
    assert act(company["ada"], request, "approve").json()["state"] == "done"
    assert may(company["admin"], JO)
    document = {**Policy.objects.get(urn=deny).document, "description": "edited meanwhile"}
    policies.update(urn=deny, draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test")
    move(timedelta(days=4))
    assert not may(company["admin"], JO)
    left = Policy.objects.get(urn=deny).document
    assert (left["description"], left["actors"]["excludedUsers"], "validUntil" in left) == (
        "edited meanwhile",
        [],
        False,
    )


def test_root_alone_decides_for_root(db: None) -> None:
    root = make_client("datahub", "MANAGE_POLICIES")
    tell(said(ORDERS, "datasetProperties", {"name": "orders"}))
    request = ask(root, TAGS).json()
    done = act(root, request, "approve").json()
    assert (done["state"], done["trail"][1]["alone"]) == ("done", True)
    make_client("second", "MANAGE_POLICIES")
    other = ask(root, {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}).json()
    assert act(root, other, "approve").json()["code"] == "request.not_yours"
