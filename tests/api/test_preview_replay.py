"""Replay: the requests of the decision log that a change would have answered differently."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes import replay
from policies.identity.services import groups, users
from policies.models import LoggedDecision
from policies.pdp import authorizer
from policies.pdp.log import decision_log
from tests.api.conftest import document_of, problem_of
from tests.api.test_preview import ADA, CREW, ITEMS, JO, NEW, OLD, ORDERS, PREVIEW, granting, put, store
from tests.catalog.conftest import said, tell

AUTHORIZE = "/api/v1/authorize"
BO = "urn:li:corpuser:bo"
TAGS, TERMS, DELETE = "EDIT_ENTITY_TAGS", "EDIT_ENTITY_GLOSSARY_TERMS", "DELETE_ENTITY"
SALES = "urn:li:domain:sales"


@pytest.fixture(autouse=True)
def _world(client_of: Callable[..., APIClient], settings: Any, transactional_db: None) -> Iterator[None]:
    settings.DECISION_LOG_SAMPLE = 1.0
    for name in ("jo", "ada", "bo"):
        client_of(name)
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel="test")
    tell(*[said(urn, "datasetProperties", {"name": urn}) for urn in (ORDERS, ITEMS)])
    yield
    decision_log.stop()


@pytest.fixture
def asker(client_of: Callable[..., APIClient]) -> APIClient:
    return client_of("asker", "CHECK_ACCESS")


def ask(client: APIClient, *questions: dict[str, Any]) -> None:
    """Ask questions with the decision log running, until all of them are written."""
    decision_log.start()
    for question in questions:
        response = client.post(AUTHORIZE, question, format="json")
        assert response.status_code == 200, response.content
    decision_log.stop()


def question(actor: str, what: str | list[list[str]] = TAGS, urn: str | None = ORDERS, **fields: Any) -> dict[str, Any]:
    named = {"privilege": what} if isinstance(what, str) else {"any_of": what}
    return {"actor": actor, **named, **({"resource": {"urn": urn}} if urn else {}), **fields}


def replayed(client: APIClient, *changes: dict[str, Any], **options: Any) -> dict[str, Any]:
    response = client.post(PREVIEW, {"changes": list(changes), "replay_days": 30, **options}, format="json")
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()["replay"]
    return body


def test_the_requests_that_would_be_answered_differently_are_counted(manager: APIClient, asker: APIClient) -> None:
    store(OLD, granting(JO))
    ask(
        asker,
        *[question(JO)] * 3,
        question(JO, urn=ITEMS),
        *[question(ADA)] * 2,
        question(BO),
        question(JO, DELETE),
        question(ADA, "MANAGE_TAGS", None),
    )
    asked = LoggedDecision.objects.count()
    body = replayed(manager, put(granting(ADA, BO), OLD))
    times = {item.pop("actor"): item.pop("last_asked") for item in body["items"]}
    numbers = [tuple(item.values()) for item in body.pop("items")]
    assert body == {
        "since": body["since"],
        "sample": 1.0,
        "is_exact": True,
        "asked": asked,
        "left_out": 0,
        "now_allowed": 3,
        "now_denied": 4,
    }
    assert numbers == [
        (TAGS, 4, 0, 4, 2, [ITEMS, ORDERS]),
        (TAGS, 2, 2, 0, 1, [ORDERS]),
        (TAGS, 1, 1, 0, 1, [ORDERS]),
    ]
    assert list(times) == [JO, ADA, BO]
    assert replayed(manager, put(granting(JO), OLD))["items"] == []
    assert len(replayed(manager, put(granting(ADA, BO), OLD), limit=1)["items"]) == 1


@pytest.mark.parametrize("number", range(6))
def test_it_is_what_authorize_says_before_and_after(manager: APIClient, asker: APIClient, number: int) -> None:
    """Every question of a small world is asked, the change is made, and every question is asked again."""
    store(OLD, granting(JO))
    store(f"{OLD}-crew", granting(privileges=[TAGS, TERMS], actors={"groups": [CREW]}))
    store(
        f"{OLD}-members",
        granting(actors={"users": [ADA]}, privileges=["VIEW_ENTITY_PAGE"])
        | {"resources": {"filter": {"criteria": [{"field": "GROUP_MEMBERSHIP", "values": [CREW]}]}}},
    )
    groups.add_members(urn=CREW, members=[ADA], by=authorizer.SYSTEM, channel="test")
    actors, wanted = (JO, ADA, BO), (TAGS, TERMS, [[TAGS], ["EDIT_ENTITY"]], [[TAGS, TERMS]])
    questions = [question(actor, what, urn) for actor in actors for what in wanted for urn in (ORDERS, ITEMS)]
    questions += [question(ADA, "VIEW_ENTITY_PAGE", urn) for urn in (JO, BO)]
    questions += [question(BO, "MANAGE_TAGS", None), question(JO, urn=ORDERS, sub_resources=["urn:li:tag:PII"])]
    ask(asker, *questions)
    changes: list[dict[str, Any]] = [
        put(granting(ADA, BO), OLD),
        {"delete_policy": f"{OLD}-crew"},
        {"add_members": {"group": CREW, "members": [JO, BO]}},
        {"suspend": JO},
        put(granting(privileges=["EDIT_ENTITY"], effect="DENY", actors={"users": [JO, ADA]})),
        put(document_of(type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"users": [BO]})),
    ]
    body = replayed(manager, changes[number], limit=1000)
    before = [asker.post(AUTHORIZE, item, format="json").json()["decision"] for item in questions]
    make(changes[number])
    after = [asker.post(AUTHORIZE, item, format="json").json()["decision"] for item in questions]
    expected = Counter[tuple[str, str]]()
    for item, was, now in zip(questions, before, after, strict=True):
        if was != now:
            expected[item["actor"], now] += 1
    assert expected
    found = Counter({(item["actor"], "ALLOW"): 0 for item in body["items"]})
    for item in body["items"]:
        found[item["actor"], "ALLOW"] += item["now_allowed"]
        found[item["actor"], "DENY"] += item["now_denied"]
    assert +found == expected
    assert (body["now_allowed"], body["now_denied"]) == tuple(
        sum(count for (_, decision), count in expected.items() if decision == answer) for answer in ("ALLOW", "DENY")
    )
    assert (body["left_out"], body["is_exact"]) == (0, True)


def test_facts_are_those_after_the_change(manager: APIClient, asker: APIClient) -> None:
    pii = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}]}}
    store(OLD, granting(JO) | {"resources": pii})
    store(f"{OLD}-owners", granting(actors={"resourceOwners": True}))
    tell(said("urn:li:tag:PII", "tagProperties", {"name": "PII"}))
    ask(asker, question(JO), question(JO, urn=ITEMS), question(ADA), question(ADA, DELETE))
    tag = {"add_tags": {"entity": ORDERS, "tags": ["urn:li:tag:PII"]}}
    own = {"add_owners": {"entity": ORDERS, "owners": [{"owner": ADA}]}}
    editor = grant_editing(manager)
    assert [(item["actor"], item["examples"]) for item in replayed(editor, tag)["items"]] == [(JO, [ORDERS])]
    assert [(item["actor"], item["examples"]) for item in replayed(editor, own)["items"]] == [(ADA, [ORDERS])]
    assert replayed(editor, tag, own)["now_allowed"] == 2
    gone = replayed(editor, tag, own, {"delete_policy": OLD})
    assert [item["actor"] for item in gone["items"]] == [ADA]


def grant_editing(client: APIClient) -> APIClient:
    """Let the manager edit what entities carry."""
    manager = "urn:li:corpuser:manager"
    store(f"{OLD}-editing", granting(manager) | {"privileges": ["EDIT_ENTITY"], "resources": {}})
    return client


def make(change: dict[str, Any]) -> None:
    ((kind, value),) = change.items()
    origin: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
    match kind:
        case "put_policy":
            draft = PolicyInput("datahub", value["document"])
            if value["urn"] == OLD:
                policies.update(urn=OLD, draft=draft, **origin)
            else:
                policies.create(urn=NEW, draft=draft, **origin)
        case "delete_policy":
            policies.delete(urn=value, **origin)
        case "add_members":
            groups.add_members(urn=value["group"], members=value["members"], **origin)
        case _:
            users.suspend(urn=value, **origin)


def test_requests_of_which_the_log_lacks_a_part_are_left_out_and_counted(manager: APIClient, asker: APIClient) -> None:
    many = [f"urn:li:tag:{number}" for number in range(decision_log.MAX_LOGGED_ITEMS + 1)]
    ask(
        asker,
        question(JO, sub_resources=many),
        question(JO, resource={"urn": ORDERS, "columns": ["a"]}),
        {"actor": JO, "operation": "data_product.create", "resource": {"type": "dataProduct"},
         "related": {"domains": [SALES]}},
        question(JO),
        question(JO, DELETE),
    )  # fmt: skip
    evaluation = {
        "subject": {"type": "user", "id": "jo", "properties": {"department": "Sales"}},
        "action": {"name": TAGS},
        "resource": {"type": "dataset", "id": ORDERS},
    }
    decision_log.start()
    assert (
        asker.post("/access/v1/evaluation", json.dumps(evaluation), content_type="application/json").status_code == 200
    )
    decision_log.stop()
    body = replayed(manager, put(granting(JO)))
    assert (body["now_allowed"], body["left_out"]) == (1, 3)
    assert LoggedDecision.objects.filter(actor=JO, is_complete=False).count() == 4


def test_it_looks_back_so_many_days_and_no_further_than_the_log(manager: APIClient, asker: APIClient) -> None:
    ask(asker, question(JO), question(ADA))
    LoggedDecision.objects.filter(actor=ADA).update(at=timezone.now() - timedelta(days=3))
    both, one = (replayed(manager, put(granting(JO, ADA)), replay_days=days) for days in (4, 2))
    assert (both["now_allowed"], one["now_allowed"]) == (2, 1)
    first = LoggedDecision.objects.earliest("at").at
    assert both["since"][:19] == first.isoformat()[:19]
    assert one["asked"] < both["asked"]


def test_many_questions_are_cut_off_and_it_says_so(
    manager: APIClient, asker: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(asker, question(ADA), question(JO))
    monkeypatch.setattr(replay, "MAX_QUESTIONS", 1)
    body = replayed(manager, put(granting(JO, ADA)))
    assert (body["is_exact"], body["now_allowed"], body["items"][0]["actor"]) == (False, 1, JO)
    monkeypatch.undo()
    monkeypatch.setattr(replay, "MAX_SECONDS", -1.0)
    body = replayed(manager, put(granting(JO, ADA)))
    assert (body["is_exact"], body["now_allowed"], body["items"]) == (False, 0, [])


def test_it_needs_what_the_decision_log_needs(client_of: Callable[..., APIClient], manager: APIClient) -> None:
    crew_keeper = client_of("keeper", "MANAGE_USERS_AND_GROUPS")
    change = {"changes": [{"add_members": {"group": CREW, "members": [JO]}}]}
    assert crew_keeper.post(PREVIEW, change, format="json").status_code == 200
    refusal = problem_of(crew_keeper.post(PREVIEW, {**change, "replay_days": 30}, format="json"), 403)
    assert [item["privilege"] for item in refusal["missing"]] == ["MANAGE_POLICIES"]
    for days in (0, -1, 100_000, "30", None, 1.5):
        problem_of(manager.post(PREVIEW, {**change, "replay_days": days}, format="json"), 400)
