"""What was given: shown by a source, taken away by somebody before its end, and given to others by owners."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog.cdap import grant_services
from catalog.cdap.grant_requests import GrantRequest
from catalog.entities import bootstrap
from catalog.models import Report, ReportRow
from catalog.reports.warehouse_tables import HOLDERS
from policies.authoring.services import policies
from policies.engine.model import Actor
from policies.engine.selectors import OWNER
from policies.identity.services import groups, roles
from policies.models import Policy
from policies.pdp import actor_resolution, authorizer
from policies.pdp.due_changes import apply_due_changes
from policies.pdp.ports import facet_source
from policies.requests.services.sources import settle_sources
from policies.requests.services.taking import end_taken
from tests.api.conftest import store_policy
from tests.catalog.conftest import said, tell
from tests.cdap.conftest import register
from tests.clocks import Move, move_clocks
from tests.requests.conftest import ADA, ADMIN, CREW, EVE, JO, ORDERS, REQUESTS, TAGS, Company, act, ask, days, get, own

ANALYST = "urn:li:role:analyst"
EXTERNAL = {"external_role": ANALYST}
STREAM = "urn:li:stream:ns1.clicks"
LINK = "https://warehouse.example/ask"


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Move:
    return move_clocks(monkeypatch)


@pytest.fixture
def analyst(company: Company) -> Company:
    """The company with a role of the warehouse that ada owns."""
    properties = {"name": "analyst", "type": "READ", "requestUrl": LINK}
    tell(said(ANALYST, "roleProperties", properties), own(ANALYST, ADA))
    return company


def load(urn: str) -> Actor:
    return actor_resolution.load_actor(urn=urn)


def list_declared(client: APIClient) -> list[str]:
    return list(client.get(f"/api/v1/external-roles/{ANALYST}/").json()["users"])


def run_report(*holders: str, at: timedelta) -> None:
    """Store a run of the role mapping check whose export shows these people as holders of the role."""
    now = timezone.now() + at
    run = Report.objects.create(
        kind="role_mapping_check",
        requested_by="test",
        requested_at=now,
        started_at=now,
        finished_at=now,
        as_of=now,
        policy_version=1,
        status=Report.Status.READY,
        parameters={},
        summary={},
    )
    for position, holder in enumerate(holders):
        values = [holder, ANALYST, "USER", None, "main"]
        ReportRow.objects.create(report=run, table=HOLDERS.name, position=position, key=f"{holder}", values=values)


def test_an_external_role_is_done_once_the_next_export_shows_it(analyst: Company, move: Move) -> None:
    run_report(JO, at=timedelta(minutes=-5))
    request = ask(analyst["jo"], EXTERNAL, until=days(9)).json()
    assert request["items"][0]["ways"][0]["source"] == "warehouse"
    waiting = act(analyst["ada"], request, "approve").json()
    line = waiting["trail"][-1]
    assert (waiting["state"], line["what"], line["note"]) == ("waiting_for_source", "source", LINK)
    assert list_declared(analyst["admin"]) == [JO]
    again = ask(analyst["jo"], EXTERNAL, until=days(20)).json()
    assert (again["code"], again["urn"]) == ("request.duplicate", request["urn"])
    # The export was read before it was asked for; the next one does not show jo, the one after that does.
    assert settle_sources() == 0
    run_report(EVE, at=timedelta(minutes=1))
    assert settle_sources() == 0
    run_report(JO, at=timedelta(minutes=2))
    assert (settle_sources(), settle_sources()) == (1, 0)
    assert get(analyst["jo"], request)["state"] == "done"
    again = ask(analyst["jo"], EXTERNAL, until=days(20)).json()
    assert (again["code"], again["through"]) == ("request.not_needed", [JO])
    assert end_taken() == 0
    move(timedelta(days=10))
    apply_due_changes(wait_seconds=5)
    assert get(analyst["jo"], request)["state"] == "ended"
    assert list_declared(analyst["admin"]) == []


def test_what_no_export_shows_fails_at_its_end_and_can_be_withdrawn_before(analyst: Company, move: Move) -> None:
    first = ask(analyst["jo"], EXTERNAL, until=days(9)).json()
    act(analyst["ada"], first, "approve")
    assert act(analyst["jo"], first, "withdraw").json()["state"] == "withdrawn"
    assert list_declared(analyst["admin"]) == []
    second = ask(analyst["jo"], EXTERNAL, until=days(9)).json()
    act(analyst["ada"], second, "approve")
    move(timedelta(days=10))
    apply_due_changes(wait_seconds=5)
    failed = get(analyst["jo"], second)
    assert (failed["state"], failed["trail"][-1]["what"]) == ("failed", "ended")
    assert "did not show it" in failed["trail"][-1]["note"]
    assert list_declared(analyst["admin"]) == []


def give(company: Company, item: dict[str, Any], kind: str, by: str = "jo", **members: Any) -> dict[str, Any]:
    """Ask for an item for jo, by a kind of way, and let ada or the administrator approve it."""
    body = {"items": [item], "reason": "r", "actor": JO}
    ways = company[by].post(f"{REQUESTS}preview/", body, format="json").json()["items"][0]["ways"]
    way = next(way["id"] for way in ways if way["kind"] == kind)
    request = ask(company[by], item, actor=JO, way=way, **members).json()
    decided = any(act(company[name], request, "approve").status_code == 200 for name in ("ada", "admin"))
    assert (decided, get(company["jo"], request)["state"]) == (True, "done")
    return dict(request)


def test_what_is_taken_away_before_its_end_has_ended_and_the_trail_says_who_took_it(company: Company) -> None:
    role = roles.create(name="Reader", identifier="reader", by=authorizer.SYSTEM, channel="test")
    store_policy("people", type="PLATFORM", privileges=["MANAGE_USERS_AND_GROUPS"], actors={"users": [ADMIN]})
    store_policy("owners", privileges=["EDIT_ENTITY_TAGS", "EDIT_ENTITY_OWNERS"], actors={"resourceOwners": True})
    bootstrap.register_cdap_instance(by=authorizer.SYSTEM)
    register(STREAM)
    revocation = [GrantRequest(ADMIN, STREAM, ("ADMIN",)), GrantRequest(JO, STREAM, ("READ",))]
    grant_services.grant(requests=revocation[:1], by=authorizer.SYSTEM, channel="test")
    docs = {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}
    given = {
        "policy": give(company, docs, "policy"),
        "group": give(company, {"group": CREW}, "membership"),
        "role": give(company, {"role": role.urn}, "role"),
        "owner": give(company, TAGS, "owner"),
        "grant": give(company, {"privilege": "READ", "resource": {"urn": STREAM}}, "grant"),
    }
    kept = give(company, {"privilege": "EDIT_LINEAGE", "resource": {"urn": ORDERS}}, "policy")
    assert end_taken() == 0
    policies.delete(urn=Policy.objects.get(name__startswith="Edit Description").urn, by=load(ADMIN), channel="test")
    groups.remove_members(urn=CREW, members=[JO], by=load(ADMIN), channel="test")
    groups.add_members(urn=CREW, members=[ADA], by=authorizer.SYSTEM, channel="test")
    roles.revoke(urn=role.urn, actors=[JO], by=load(ADMIN), channel="test")
    tell(own(ORDERS, ADA), by=load(ADA))
    grant_services.revoke(requests=revocation[1:], by=load(ADMIN), channel="test")
    assert (end_taken(), end_taken()) == (5, 0)
    lines = {name: get(company["jo"], request)["trail"][-1] for name, request in given.items()}
    assert {name: (line["what"], line["by"]) for name, line in lines.items()} == {
        "policy": ("ended", ADMIN),
        "group": ("ended", ADMIN),
        "role": ("ended", ADMIN),
        "owner": ("ended", ADA),
        "grant": ("ended", ADMIN),
    }
    assert get(company["jo"], kept)["state"] == "done"


def test_ends_take_back_what_is_there_and_more_time_moves_them(company: Company, move: Move) -> None:
    store_policy("owners", privileges=["EDIT_ENTITY_TAGS"], actors={"resourceOwners": True})
    deny = store_policy("deny", privileges=["EDIT_LINEAGE"], effect="DENY", actors={"allUsers": True})
    owner = give(company, TAGS, "owner", until=days(5))
    excepted = give(
        company, {"privilege": "EDIT_LINEAGE", "resource": {"urn": ORDERS}}, "exception", "admin", until=days(5)
    )
    renewal = act(company["jo"], owner, "renew", until=days(20), reason="not finished").json()
    assert act(company["ada"], renewal, "approve").json()["state"] == "done"
    policies.delete(urn=deny, by=authorizer.SYSTEM, channel="test")
    move(timedelta(days=6))
    apply_due_changes(wait_seconds=5)
    assert [get(company["jo"], one)["state"] for one in (owner, renewal, excepted)] == ["done", "done", "ended"]
    move(timedelta(days=15))
    apply_due_changes(wait_seconds=5)
    assert [get(company["jo"], one)["state"] for one in (owner, renewal)] == ["ended", "ended"]
    assert [one.actor for one in facet_source().load(urns=[ORDERS], fields={OWNER})[ORDERS].owners] == [ADA]
