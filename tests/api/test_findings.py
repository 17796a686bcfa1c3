"""Findings over the API: listed, and decided about one by one or many at once."""

import pytest

from catalog.models import Finding
from policies.aspects import services as aspect_services
from policies.aspects.schemas import AspectChange
from policies.pdp import authorizer
from tests.api.conftest import pointers_of, problem_of

BASE = "/api/v1/reports/findings/"
MANAGER = "urn:li:corpuser:manager"


@pytest.fixture
def found(db):
    rows = [("a", "LOW", "OPEN"), ("b", "CRITICAL", "OPEN"), ("c", "HIGH", "CLOSED")]
    return [
        Finding.objects.create(
            kind="role_mapping_check",
            key=key,
            type="grant_missing",
            severity=severity,
            state=state,
            sentence=f"About {key}.",
            repair="GRANT",
            values={"export": "snowflake"},
        )
        for key, severity, state in rows
    ]


def test_findings_are_listed_the_worst_first_and_narrowed(manager, found):
    def keys(query):
        return [one["key"] for one in manager.get(f"{BASE}?{query}").json()["results"]]

    assert keys("") == ["b", "c", "a"]
    assert keys("state=OPEN") == ["b", "a"]
    assert keys("severity=HIGH&kind=role_mapping_check&type=grant_missing") == ["c"]
    assert keys("q=about+c") == ["c"]
    assert keys("assignee=urn:li:corpuser:jo") == []
    body = manager.get(f"{BASE}{found[0].pk}/").json()
    assert (body["sentence"], body["repair"], body["values"]) == ("About a.", "GRANT", {"export": "snowflake"})
    assert (body["assignee"], body["first_seen"], body["is_concealed"]) == (None, None, False)


def test_one_is_decided_about(manager, found):
    place = f"{BASE}{found[0].pk}/"
    body = manager.patch(place, {"state": "ACCEPTED", "note": "It is meant so."}, format="json").json()
    assert (body["state"], body["note"], body["decided_by"]) == ("ACCEPTED", "It is meant so.", MANAGER)
    body = manager.patch(place, {"state": "ASSIGNED", "assignee": MANAGER}, format="json").json()
    assert (body["state"], body["assignee"], body["note"]) == ("ASSIGNED", MANAGER, "It is meant so.")
    assert manager.patch(place, {"state": "CLOSED"}, format="json").json()["assignee"] is None
    assert manager.patch(place, {"state": "OPEN"}, format="json").json()["state"] == "OPEN"


def test_an_acceptance_can_end_and_everything_decided_is_told(manager, found):
    place = f"{BASE}{found[0].pk}/"
    manager.patch(place, {"state": "ASSIGNED", "assignee": MANAGER, "note": "Look."}, format="json")
    sent = {"state": "ACCEPTED", "note": "For now.", "until": "2099-12-31"}
    body = manager.patch(place, sent, format="json").json()
    assert body["accepted_until"] == "2099-12-31"
    told = [(one["state"], one["by"], one["assignee"], one["note"], one["accepted_until"]) for one in body["trail"]]
    assert told == [
        ("ACCEPTED", MANAGER, None, "For now.", "2099-12-31"),
        ("ASSIGNED", MANAGER, MANAGER, "Look.", None),
    ]
    assert manager.get(place).json() == body
    assert "trail" not in manager.get(BASE).json()["results"][0]
    refused = manager.patch(place, {**sent, "until": "2001-01-01"}, format="json")
    assert pointers_of(refused) == {("date.past", "/until")}
    refused = manager.patch(place, {"state": "CLOSED", "until": "2099-01-01"}, format="json")
    assert pointers_of(refused) == {("field.unused", "/until")}


def test_findings_about_one_subject(manager, found):
    Finding.objects.filter(pk=found[0].pk).update(subject="urn:li:role:reader")
    (only,) = manager.get(f"{BASE}?subject=urn:li:role:reader").json()["results"]
    assert (only["key"], only["subject"]) == ("a", "urn:li:role:reader")


def test_whom_it_is_assigned_to_reads_it_and_no_other(manager, client_of, found):
    jo = client_of("jo")
    manager.patch(f"{BASE}{found[0].pk}/", {"state": "ASSIGNED", "assignee": "urn:li:corpuser:jo"}, format="json")
    assert jo.get(f"{BASE}{found[0].pk}/").json()["trail"][0]["state"] == "ASSIGNED"
    for place in (f"{BASE}{found[1].pk}/", f"{BASE}99999/", BASE):
        problem_of(jo.get(place), 403)
    problem_of(jo.patch(f"{BASE}{found[0].pk}/", {"state": "CLOSED"}, format="json"), 403)


def test_nothing_is_assigned_to_who_was_put_away(manager, client_of, found):
    client_of("jo")
    jo = "urn:li:corpuser:jo"
    change = AspectChange(jo, "corpuser", "status", {"removed": True})
    aspect_services.apply(changes=[change], by=authorizer.SYSTEM, channel="test")
    told = manager.patch(f"{BASE}{found[0].pk}/", {"state": "ASSIGNED", "assignee": jo}, format="json")
    assert pointers_of(told) == {("unknown", "/assignee")}


def test_many_are_decided_about_in_one_act(manager, found):
    ids = [one.pk for one in found]
    answer = manager.patch(BASE, {"ids": [*ids, 2**40], "state": "CLOSED", "note": "Done."}, format="json")
    assert answer.json() == {"changed": 3}
    assert set(Finding.objects.values_list("state", "note")) == {("CLOSED", "Done.")}


@pytest.mark.parametrize(
    ("sent", "problems"),
    [
        ({"state": "ACCEPTED"}, {("required", "/note")}),
        ({"state": "ASSIGNED"}, {("required", "/assignee")}),
        ({"state": "ASSIGNED", "assignee": "urn:li:corpuser:nobody"}, {("unknown", "/assignee")}),
        ({"state": "CLOSED", "assignee": MANAGER}, {("field.unused", "/assignee")}),
        ({"state": "OPEN", "note": "x", "colour": 1}, {("field.unused", "/note"), ("field.unknown", "/colour")}),
        ({}, {("required", "/state")}),
    ],
)
def test_everything_wrong_is_said_at_once(manager, found, sent, problems):
    assert pointers_of(manager.patch(f"{BASE}{found[0].pk}/", sent, format="json")) == problems
    assert Finding.objects.get(pk=found[0].pk).state == "OPEN"


def test_a_finding_that_is_not_there_and_a_caller_who_may_not(manager, client_of, found):
    problem_of(manager.get(f"{BASE}99999/"), 404)
    problem_of(manager.patch(f"{BASE}99999/", {"state": "CLOSED"}, format="json"), 404)
    body = problem_of(client_of("nobody").patch(BASE, {"ids": [1], "state": "CLOSED"}, format="json"), 403)
    assert body["missing"] == [{"entity": None, "privilege": "MANAGE_POLICIES"}]
