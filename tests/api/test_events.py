"""The stream of events and the caller's notices in the API."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.events import tasks as event_tasks
from policies.identity.services import groups
from policies.models import EventType, Notice, OutboxEvent, open_event_write
from policies.models.outbox import build_event
from policies.pdp.authorizer import SYSTEM
from tests.api.conftest import DOOR, make_client, pointers_of, problem_of, store_policy

pytestmark = pytest.mark.django_db

STREAM, NOTICES = "/api/v1/events", "/api/v1/notifications/"
JO = "urn:li:corpuser:jo"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


def read(client: APIClient, url: str) -> tuple[list[dict[str, Any]], str]:
    """Return the events of an address, and the next one."""
    response = client.get(url)
    assert response.status_code == 200, response.content
    assert response.headers["Content-Type"] == "application/jsonl"
    link = response.headers["Link"].removeprefix("<").partition(">")[0]
    return [json.loads(line) for line in response.content.decode().splitlines()], link.partition("testserver")[2]


def test_the_stream_is_read_to_its_end_and_goes_on_from_there():
    reader = make_client("reader", "VIEW_EVENTS")
    group = groups.create(name="Eng", by=SYSTEM, channel=DOOR).urn
    groups.add_members(urn=group, members=["urn:li:corpuser:reader"], by=SYSTEM, channel=DOOR)
    url, found = f"{STREAM}?limit=2", []
    while True:
        events, url = read(reader, url)
        if not events:
            break
        found += events
    assert [event["type"] for event in found] == [
        "user.created",
        "policy.created",
        "token.created",
        "group.created",
        "membership.added",
    ]
    assert found[-1] == found[-1] | {
        "subject": "urn:li:corpuser:reader",
        "actor": SYSTEM.urn,
        "through": DOOR,
        "data": {"group": group, "group_name": "Eng"},
        "schema": "authzsite.events/1",
    }
    groups.remove_members(urn=group, members=["urn:li:corpuser:reader"], by=SYSTEM, channel=DOOR)
    assert [event["type"] for event in read(reader, url)[0]] == ["membership.removed"]
    chosen, url = read(reader, f"{STREAM}?types=membership.*,token.created&after={found[1]['id']}")
    assert [event["type"] for event in chosen] == ["token.created", "membership.added", "membership.removed"]
    assert read(reader, url)[0] == []
    assert reader.get(STREAM, HTTP_ACCEPT="application/jsonl").status_code == 200


def test_who_reads_the_stream_and_what_a_wrong_question_gets():
    manager, nobody = make_client("manager", "MANAGE_POLICIES"), make_client("nobody")
    assert read(manager, STREAM)[0]
    assert nobody.get(STREAM).status_code == 403
    assert APIClient().get(STREAM).status_code == 401
    wrong = manager.get(f"{STREAM}?after=x&types=role.assigned,what&limit=0&more=1", HTTP_ACCEPT="application/jsonl")
    assert {pointer for _, pointer in pointers_of(wrong)} == {"/after", "/types", "/limit", "/more"}
    first = read(manager, f"{STREAM}?limit=1")[0][0]["id"]
    OutboxEvent.objects.update(time=timezone.now() - timedelta(days=100))
    event_tasks.deliver_events()
    event_tasks.forget_events()
    gone = problem_of(manager.get(f"{STREAM}?after={first}"), 410)
    assert read(manager, f"{STREAM}?after={gone['oldest']}")[0] == read(manager, STREAM)[0] == []


def test_what_the_reader_may_not_view_is_left_out(settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    reader, steward = make_client("reader", "VIEW_EVENTS"), make_client("steward", "VIEW_EVENTS")
    store_policy("view", privileges=["VIEW_ENTITY_PAGE"], actors={"users": ["urn:li:corpuser:steward"]})
    proposal = Proposal(ORDERS, "datasetProperties", json.dumps({"name": "orders"}))
    apply.apply(proposals=[proposal], by=SYSTEM, channel=DOOR)
    with open_event_write() as write:
        data = {"entity": ORDERS, "privileges": ["READ"]}
        write.emit([build_event(EventType.GRANT_ADDED, subject=JO, actor=SYSTEM.urn, through=DOOR, data=data)])
    found = {name: read(client, f"{STREAM}?types=grant.*")[0][0] for name, client in (("r", reader), ("s", steward))}
    assert (found["s"]["subject"], found["s"]["data"]) == (JO, data)
    assert found["r"] == found["s"] | {"subject": None, "data": {"is_concealed": True}}


def test_notices_are_read_by_those_they_are_for_alone():
    jo, ann = make_client("jo"), make_client("ann")
    with open_event_write() as write:
        for name in ("A", "B", "C"):
            data = {"group": f"urn:li:corpGroup:{name}", "group_name": name}
            write.emit([build_event("membership.ended", subject=JO, through="clock", data=data)])
    event_tasks.deliver_events()
    page = jo.get(NOTICES).json()
    assert [notice["title"] for notice in page["results"]] == [
        f"Your membership of {name} has ended" for name in ("C", "B", "A")
    ]
    assert page["results"][0] == page["results"][0] | {"type": "membership.ended", "path": "/profile", "read": False}
    assert ann.get(NOTICES).json()["results"] == []
    number = page["results"][0]["id"]
    assert ann.patch(f"{NOTICES}{number}/", {"read": True}, format="json").status_code == 404
    assert jo.patch(f"{NOTICES}{number}/", {"read": True}, format="json").json()["read"] is True
    assert jo.get(f"{NOTICES}?unread=true").json()["count"] == 2
    assert jo.patch(f"{NOTICES}{number}/", {"read": False}, format="json").json()["read"] is False
    assert {pointer for _, pointer in pointers_of(jo.patch(f"{NOTICES}{number}/", {"read": 1}))} == {"/read"}
    assert ann.post(f"{NOTICES}read-all/").json() == {"count": 0}
    assert jo.post(f"{NOTICES}read-all/").json() == {"count": 3}
    assert Notice.objects.filter(read_at=None).count() == 0
