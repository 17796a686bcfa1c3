"""Grants begin and end by themselves, on time, and once; an entity never stays without an administrator."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog.ingest import deletes
from catalog.models import EntityUserGrant, ScheduledGrant
from policies.events import tasks as event_tasks
from policies.models import ChangeEvent, Notice, OutboxEvent, PolicyVersion
from policies.pdp import snapshot_store
from tests.api.conftest import pointers_of
from tests.cdap.conftest import DOOR, ROOT, register, urn
from tests.policies.test_membership_times import clock

__all__ = ["clock"]

GRANTS = "/api/v1/grants"
HOUR = timedelta(hours=1)
STREAM = "stream:ns1.clicks"

ClientOf = Callable[..., APIClient]


def post(client: APIClient, *privileges: str, entity: str = STREAM, principal: str = "alice", **more: Any) -> Any:
    sent = {"principal": urn(principal), "entity": urn(entity), "privileges": list(privileges), **more}
    return client.post(GRANTS, sent, format="json")


def iso(hours: int) -> str:
    return (timezone.now() + hours * HOUR).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def rows(client: APIClient) -> list[tuple[list[str], str | None, str | None, str]]:
    results = client.get(GRANTS, {"principal": urn("alice")}).json()["results"]
    return [(row["privileges"], row["valid_from"], row["valid_until"], row["phase"]) for row in results]


@pytest.fixture
def alice(client_of: ClientOf) -> APIClient:
    """A user; the namespace ns1 and the stream ns1.clicks are there, granted to nobody."""
    register("namespace:ns1", STREAM)
    return client_of("alice")


@pytest.mark.parametrize("entity", [STREAM, "stream:ns1.*"])
def test_a_grant_counts_from_its_beginning_until_its_end(clock, root: APIClient, alice: APIClient, entity: str):
    begins, ends = iso(1), iso(2)
    answer = post(root, "READ", entity=entity, valid_from=begins, valid_until=ends, reason="Audit")
    assert (answer.status_code, answer.json()["valid_from"], answer.json()["valid_until"]) == (201, begins, ends)
    assert rows(root) == [(["READ"], begins, ends, "PENDING")]
    clock(HOUR)
    snapshot_store.refresh()
    assert rows(root) == [(["READ"], begins, ends, "CURRENT")]
    assert not ScheduledGrant.objects.exists()
    clock(HOUR)
    snapshot_store.refresh()
    assert rows(root) == []
    clock(-2 * HOUR)
    snapshot_store.refresh()
    assert rows(root) == []
    events = ChangeEvent.objects.filter(object_urn=urn(entity), door="clock").order_by("id")
    alice_urn = {"principal": urn("alice")}
    assert [(event.before, event.after) for event in events] == [
        (alice_urn | {"privileges": []}, alice_urn | {"privileges": ["READ"]}),
        (alice_urn | {"privileges": ["READ"]}, alice_urn | {"privileges": []}),
    ]
    assert PolicyVersion.load_numbers().next_boundary is None


@pytest.mark.parametrize("entity", [STREAM, "stream:ns1.*"])
def test_the_holder_is_told_a_day_before_a_grant_ends_and_after(clock, root: APIClient, alice: APIClient, entity: str):
    assert post(root, "READ", entity=entity, valid_until=iso(20)).status_code == 201
    for _ in range(2):
        event_tasks.remind_of_endings()
    clock(21 * HOUR)
    snapshot_store.refresh()
    event_tasks.deliver_events()
    titles = list(Notice.objects.filter(user__urn=urn("alice")).order_by("pk").values_list("title", flat=True))
    assert [title.partition(" on 2")[0] for title in titles] == [
        f"READ on {urn(entity)} ends",
        f"READ on {urn(entity)} has ended",
    ]
    types = OutboxEvent.objects.filter(type__startswith="grant.").order_by("pk").values_list("type", "through")
    assert list(types) == [("grant.added", "api"), ("grant.ended", "clock")]


def test_times_are_set_where_they_are_sent(root: APIClient, alice: APIClient):
    ends, later = iso(1), iso(2)
    assert post(root, "READ", valid_until=ends).status_code == 201
    assert "valid_until" not in post(root, "READ", "WRITE").json()
    assert sorted(rows(root)) == [(["READ"], None, ends, "CURRENT"), (["WRITE"], None, None, "CURRENT")]
    post(root, "READ", "WRITE", valid_until=later)
    assert rows(root) == [(["READ", "WRITE"], None, later, "CURRENT")]
    post(root, "READ", "WRITE", valid_until=None)
    assert rows(root) == [(["READ", "WRITE"], None, None, "CURRENT")]
    post(root, "EXECUTE", valid_from=later)
    assert rows(root)[1] == (["EXECUTE"], later, None, "PENDING")
    post(root, "EXECUTE")
    assert rows(root) == [(["READ", "WRITE", "EXECUTE"], None, None, "CURRENT")]


def test_bad_times_are_refused(root: APIClient, alice: APIClient):
    post(root, "READ")
    assert pointers_of(post(root, "READ", valid_from=iso(1))) == {("validity.held", "/valid_from")}
    assert pointers_of(post(root, "WRITE", valid_from=iso(2), valid_until=iso(1))) == {
        ("validity.empty", "/valid_until")
    }
    assert pointers_of(post(root, "WRITE", valid_until=iso(-1))) == {("validity.ended", "/valid_until")}
    for bad in ("soon", "2036-12-01T00:00:00+99:99", 1_893_456_000):
        assert pointers_of(post(root, "WRITE", valid_until=bad)) == {("type.time", "/valid_until")}
    assert rows(root) == [(["READ"], None, None, "CURRENT")]


def test_revoking_cancels_what_has_not_begun(root: APIClient, alice: APIClient):
    post(root, "READ", valid_from=iso(1))
    sent = {"principal": urn("alice"), "entity": urn(STREAM)}
    assert root.delete(GRANTS, sent, format="json").status_code == 204
    assert not ScheduledGrant.objects.exists()
    post(root, "READ", entity="stream:ns1.*", valid_from=iso(1))
    post(root, "READ", valid_from=iso(1))
    deletes.delete_entities(urns=[urn("namespace:ns1")], by=ROOT, channel=DOOR)
    assert not ScheduledGrant.objects.exists()


def test_the_last_administrator_leaves_the_entity_to_those_of_the_instance(clock, root: APIClient, alice: APIClient):
    post(root, "ADMIN", valid_until=iso(1))
    clock(HOUR)
    snapshot_store.refresh()
    assert list(EntityUserGrant.objects.values_list("user__urn", "permission__codename")) == [(ROOT, "ADMIN")]


def test_what_cannot_begin_is_dropped_with_an_event(clock, root: APIClient, alice: APIClient):
    post(root, "READ", valid_from=iso(1), valid_until=iso(2))
    clock(3 * HOUR)
    snapshot_store.refresh()
    assert not ScheduledGrant.objects.exists()
    assert rows(root) == []
    event = ChangeEvent.objects.filter(object_urn=urn(STREAM), door="clock").get()
    assert event.after["dropped"] == "It had ended before anything could begin."


def test_a_reason_names_the_end_of_the_grant(root: APIClient, alice: APIClient):
    ends = iso(1)
    post(root, "READ", valid_until=ends)
    question = {"privilege": "READ", "resource": {"urn": urn(STREAM)}}
    answer = alice.post("/api/v1/authorize", question, format="json").json()
    assert [reason["ends"] for reason in answer["reasons"]] == [ends]


def test_a_refusal_says_that_a_grant_has_ended(clock, root: APIClient, alice: APIClient):
    post(root, "READ", valid_until=iso(1))
    question = {"privilege": "READ", "resource": {"urn": urn(STREAM)}, "explain": True}
    (reason,) = alice.post("/api/v1/authorize", question, format="json").json()["reasons"]
    assert "it ends on" in reason["because"]
    clock(HOUR)
    snapshot_store.refresh()
    answer = alice.post("/api/v1/authorize", question, format="json").json()
    assert [lack["part"] for near in answer["nearest"] for lack in near["lacks"]] == ["time", "actor"]
    assert answer["nearest"][0]["lacks"][0]["detail"].startswith("A grant ended on ")
