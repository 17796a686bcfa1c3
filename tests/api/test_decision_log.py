"""The decision log over the API: which answers come into it, and how it is read."""

import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.models import LoggedDecision
from policies.pdp import authorizer
from policies.pdp.log import decision_log
from tests.api.conftest import DOOR, pointers_of, problem_of

pytestmark = pytest.mark.django_db(transaction=True)

MANAGER, JO = "urn:li:corpuser:manager", "urn:li:corpuser:jo"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
LOG = "/api/v1/audit/?of=decisions"


@pytest.fixture
def written(settings):
    """Keep a log of everything; what it gives ends the log and returns the rows, oldest first."""
    settings.DECISION_LOG_SAMPLE = 1.0
    decision_log.start()

    def end():
        decision_log.stop()
        return list(LoggedDecision.objects.order_by("id"))

    yield end
    decision_log.stop()


def ask(client, **question):
    return client.post("/api/v1/authorize", question, format="json").json()


def test_a_question_comes_into_the_log_with_what_decided_it(client_of, stored, written):
    jo = client_of("jo")
    policy = stored("tags", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]})
    answer = ask(jo, privilege="EDIT_ENTITY_TAGS", resource={"urn": ORDERS}, sub_resources=["urn:li:tag:PII"])
    (row,) = written()
    assert (row.actor, row.by, row.door, row.is_allowed, row.code) == (JO, JO, "api", True, "allowed")
    assert (row.wanted, row.resource, row.resource_type) == ("EDIT_ENTITY_TAGS", ORDERS, "dataset")
    assert row.sub_resources == ["urn:li:tag:PII"]
    assert row.policy_version == answer["policy_version"]
    assert row.statements == [{"policy": policy, "name": "tags", "statement": 0, "effect": "allow"}]
    assert row.milliseconds > 0
    assert row.request_id


def test_each_question_of_a_batch_is_logged_once_also_when_it_is_explained(client_of, written):
    jo = client_of("jo")
    questions = [
        {"privilege": "A"},
        {"privilege": "B", "explain": True},
        {"operation": "stream.get", "resource": {"urn": "urn:li:stream:ns1.x"}},
        {"nonsense": 1},
    ]
    answer = jo.post("/api/v1/authorize/batch", {"questions": questions}, format="json").json()
    assert [one.get("decision") for one in answer["decisions"]] == ["DENY", "DENY", "DENY", None]
    rows = {row.wanted: row for row in written()}
    assert len(rows) == 3
    assert rows.keys() > {"A", "B"}
    assert {row.operation for row in rows.values()} == {"", "stream.get"}
    assert len({row.request_id for row in rows.values()}) == 1


@pytest.mark.parametrize(("semantic", "names"), [("execute_all", ["A", "B", "C"]), ("deny_on_first_deny", ["A"])])
def test_of_a_batch_of_authzen_only_what_was_answered_is_logged(client_of, written, semantic, names):
    jo = client_of("jo")
    body = {
        "subject": {"type": "user", "id": "jo"},
        "resource": {"type": "record", "id": "1"},
        "evaluations": [{"action": {"name": name}} for name in ("A", "B", "C")],
        "options": {"evaluations_semantic": semantic},
    }
    answer = jo.post("/access/v1/evaluations", body, format="json").json()
    assert [one["decision"] for one in answer["evaluations"]] == [False] * len(names)
    assert [row.wanted for row in written()] == names


def test_asking_about_others_is_a_question_itself_and_so_is_what_a_service_enforces(client_of, written):
    jo, manager = client_of("jo"), client_of("manager", "MANAGE_POLICIES")
    assert problem_of(jo.post("/api/v1/authorize", {"actor": MANAGER, "privilege": "X"}, format="json"), 403)
    ask(manager, actor=JO, privilege="X")
    problem_of(jo.post("/api/v1/users/", {"username": "zoe"}, format="json"), 403)
    found = [(row.actor, row.by, row.is_allowed) for row in written()]
    assert found == [(JO, JO, False), (MANAGER, MANAGER, True), (JO, MANAGER, False), (JO, JO, False)]


def test_what_the_house_asks_for_itself_is_not_logged(client_of, written):
    jo = client_of("jo")
    assert jo.get("/api/v1/roles/").status_code == 200
    authorizer.require(by=authorizer.SYSTEM, any_of=[["MANAGE_POLICIES"]])
    assert written() == []


def test_without_sampling_only_refusals_are_logged(client_of, stored, written, settings):
    settings.DECISION_LOG_SAMPLE = 0.0
    jo = client_of("jo", "MANAGE_TAGS")
    assert [ask(jo, privilege=name)["decision"] for name in ("MANAGE_TAGS", "OTHER")] == ["ALLOW", "DENY"]
    assert [row.wanted for row in written()] == ["OTHER"]


def test_the_log_is_read_in_pages_and_narrowed(client_of, written, settings):
    settings.CUSTOM_PRIVILEGES = [f"P{number}" for number in range(5)]
    jo, manager = client_of("jo"), client_of("manager", "MANAGE_POLICIES")
    for number in range(5):
        ask(jo, privilege=f"P{number}", resource={"urn": ORDERS} if number < 2 else None)
    written()
    body = manager.get(f"{LOG}&page_size=2").json()
    assert (body["count"], body["previous"]) == (5, None)
    assert [row["wanted"] for row in body["results"]] == ["P4", "P3"]
    older = manager.get(body["next"]).json()
    assert [row["wanted"] for row in older["results"]] == ["P2", "P1"]
    last = manager.get(older["next"]).json()
    assert ([row["wanted"] for row in last["results"]], last["next"]) == (["P0"], None)
    assert manager.get(last["previous"]).json()["results"] == older["results"]
    assert "before" not in urlsplit(last["previous"]).query

    def wanted(query):
        return [row["wanted"] for row in manager.get(f"{LOG}&{query}").json()["results"]]

    assert wanted("privilege=P3&decision=DENY") == ["P3"]
    assert wanted(f"resource={ORDERS}&actor={JO}&by={JO}&door=api") == ["P1", "P0"]
    assert wanted("decision=ALLOW") == wanted("until=2020-01-01T00:00:00Z") == wanted("door=pages") == []
    assert len(wanted("since=2020-01-01T00:00:00Z")) == 5
    (row,) = manager.get(f"{LOG}&privilege=P1").json()["results"]
    assert row["resource"] == ORDERS
    assert (row["decision"], row["code"], row["statements"]) == ("DENY", "implicit_deny", [])


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("of=decisions&page=2", ("parameter.unused", "/page")),
        ("of=decisions&verb=CREATED", ("parameter.unused", "/verb")),
        ("of=policies&decision=DENY", ("parameter.unused", "/decision")),
        ("before=1-1", ("parameter.unused", "/before")),
        ("of=decisions&before=x", ("place.invalid", "/before")),
        ("of=decisions&before=1-1&after=1-1", ("place.twice", "/after")),
        ("of=decisions&since=yesterday", ("invalid", "/since")),
    ],
)
def test_filters_of_another_part_and_places_that_are_none_are_refused(client_of, query, problem):
    manager = client_of("manager", "MANAGE_POLICIES")
    assert problem in pointers_of(manager.get(f"/api/v1/audit/?{query}"))


def test_what_the_reader_may_not_view_is_not_named(client_of, stored, written, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    proposal = Proposal(ORDERS, "datasetProperties", '{"name": "orders"}')
    apply.apply(proposals=[proposal], by=authorizer.SYSTEM, channel=DOOR)
    jo, manager = client_of("jo"), client_of("manager", "MANAGE_POLICIES")
    ask(jo, privilege="EDIT_ENTITY_TAGS", resource={"urn": ORDERS})
    written()
    (row,) = manager.get(f"{LOG}&privilege=EDIT_ENTITY_TAGS").json()["results"]
    assert (row["resource"], row["is_concealed"]) == (None, True)
    stored("viewers", privileges=["VIEW_ENTITY_PAGE"], actors={"users": [MANAGER]})
    (row,) = manager.get(f"{LOG}&privilege=EDIT_ENTITY_TAGS").json()["results"]
    assert (row["resource"], row["is_concealed"]) == (ORDERS, False)


def test_a_change_that_names_what_the_reader_may_not_view_is_concealed(client_of, stored, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    lines = "urn:li:dataset:(urn:li:dataPlatform:hive,lines,PROD)"
    lineage = {"upstreams": [{"dataset": ORDERS, "type": "COPY"}]}
    told = [
        Proposal(ORDERS, "datasetProperties", '{"name": "orders"}'),
        Proposal(lines, "upstreamLineage", json.dumps(lineage)),
    ]
    apply.apply(proposals=told, by=authorizer.SYSTEM, channel=DOOR)
    manager = client_of("manager", "MANAGE_POLICIES")

    def change(urn):
        (row,) = manager.get(f"/api/v1/audit/?of=people&object={urn}").json()["results"]
        return row

    concealed = [row for row in manager.get("/api/v1/audit/?of=people").json()["results"] if row["is_concealed"]]
    assert len(concealed) == 2
    for row in concealed:
        assert (row["object"], row["name"], row["before"], row["after"]) == (None, "", None, None)
    for urn in (ORDERS, lines):
        assert manager.get(f"/api/v1/audit/?of=people&object={urn}").json()["results"] == []
    view = {"filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [lines]}]}}
    policy = {"privileges": ["VIEW_ENTITY_PAGE"], "actors": {"users": [MANAGER]}}
    stored("viewers", resources=view, **policy)
    # It may be viewed by now, but what was said about it names what may not.
    assert change(lines)["is_concealed"]
    stored("all", **policy)
    row = change(lines)
    assert (row["object"], row["after"], row["is_concealed"]) == (lines, {"upstreamLineage": lineage}, False)


def test_an_unknown_privilege_is_answered_as_such_and_is_no_refusal(client_of, stored, written, settings):
    jo, manager = client_of("jo"), client_of("manager", "MANAGE_POLICIES")
    settings.CUSTOM_PRIVILEGES = ["TODO_READ", "THEIR_OWN"]
    stored("lost", privileges=["THEIR_OWN"], actors={"users": [JO]})
    settings.CUSTOM_PRIVILEGES = ["TODO_READ"]
    assert ask(jo, privilege="THEIR_OWN")["code"] == "allowed"
    asked: list[tuple[dict[str, Any], str]] = [
        ({"privilege": "EDIT_ENTTY_TAGS"}, "privilege_unknown"),
        ({"any_of": [["EDIT_ENTTY_TAGS"], ["MANAGE_TAGS", "EDIT_TGAS"]]}, "privilege_unknown"),
        ({"any_of": [["EDIT_ENTTY_TAGS"], ["EDIT_ENTITY_TAGS"]]}, "implicit_deny"),
        ({"any_of": []}, "implicit_deny"),
        ({"privilege": "EDIT_ENTITY_TAGS"}, "implicit_deny"),
        ({"privilege": "dataset:read"}, "implicit_deny"),
        ({"privilege": "TODO_READ"}, "implicit_deny"),
        ({"operation": "stream.get", "resource": {"urn": "urn:li:stream:ns1.x"}}, "implicit_deny"),
    ]
    answers = [ask(jo, **question) for question, _ in asked]
    assert [(answer["decision"], answer["code"]) for answer in answers] == [("DENY", code) for _, code in asked]
    explained = ask(jo, privilege="EDIT_ENTTY_TAGS", explain=True)
    assert explained["code"] == "privilege_unknown"
    assert "EDIT_ENTITY_TAGS" in explained["unknown"][0]["did_you_mean"]
    evaluation = {"subject": {"type": "user", "id": "jo"}, "action": {"name": "raed"}}
    body = evaluation | {"resource": {"type": "record", "id": "1"}}
    answer = jo.post("/access/v1/evaluation", body, format="json").json()
    told = answer["context"]
    evaluation_id = told.pop("evaluation_id")
    assert told.pop("evaluated_at")
    assert answer == {
        "decision": False,
        "context": {
            "code": "privilege_unknown",
            "policy_version": answers[0]["policy_version"],
            "reason": "privilege_unknown",
        },
    }
    written()
    (row,) = manager.get(f"{LOG}&evaluation_id={evaluation_id}").json()["results"]
    assert (row["wanted"], row["actor"], row["evaluation_id"]) == ("raed", JO, evaluation_id)
    found = {
        outcome: [row["wanted"] for row in manager.get(f"{LOG}&decision={outcome}&actor={JO}").json()["results"]]
        for outcome in ("UNKNOWN", "DENY")
    }
    assert found["UNKNOWN"] == [
        "raed",
        "EDIT_ENTTY_TAGS",
        "EDIT_ENTTY_TAGS or MANAGE_TAGS and EDIT_TGAS",
        "EDIT_ENTTY_TAGS",
    ]
    assert len(found["DENY"]) == 6
    assert {row["decision"] for row in manager.get(f"{LOG}&actor={JO}").json()["results"]} == {
        "UNKNOWN",
        "DENY",
        "ALLOW",
    }
