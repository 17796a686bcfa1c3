"""AuthZEN 1.0 (clients.md section 3): evaluations, searches, metadata, and every refusal."""

import json

import pytest
from django.test import Client

from policies.engine.families import load_vocabularies
from policies.identity.services import groups
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT, calling, give, make_person, proposal, refreshing_at_once

pytestmark = pytest.mark.django_db

EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"
SUBJECT, RESOURCE, ACTION = (f"/access/v1/search/{sought}" for sought in ("subject", "resource", "action"))
RECORDS = [f"record-{number}" for number in range(1, 8)]
READ, WRITE = {"name": "read"}, {"name": "write"}
ALICE, BOB, CAROL = ({"type": "user", "id": name} for name in ("alice", "bob", "carol"))


def record(number):
    return {"type": "record", "id": f"record-{number}"}


def ask(subject, action, resource, **more):
    return {"subject": subject, "action": action, "resource": resource} | more


@pytest.fixture(scope="module", autouse=True)
def stored_point(_root_token):
    """An enforcement point that may ask about others; alice, bob and a group of them, and seven records."""
    with refreshing_at_once():
        pep = make_person("pep", "CHECK_ACCESS", type="PLATFORM")
        for name in ("alice", "bob", "carol"):
            make_person(name)
        crew = ["urn:li:corpuser:bob"]
        groups.create(identifier="crew", name="Crew", members=crew, by=authorizer.SYSTEM, channel=DOOR)
        written = [proposal(f"urn:li:record:{one}", "status", {"removed": False}) for one in RECORDS]
        assert calling(ROOT, _root_token).write(*written).status_code == 200
        give("urn:li:corpuser:alice", "EDIT_ENTITY_TAGS", "EDIT_ENTITY", resources=only("record-1", "record-3"))
        give("-", "EDIT_ENTITY_TAGS", actors={"groups": ["urn:li:corpGroup:crew"]}, resources=only(*RECORDS[2:]))
    return pep


@pytest.fixture
def point(stored_point, installed, settings):
    """The enforcement point."""
    settings.AUTHZEN_ACTIONS = {"read": "EDIT_ENTITY_TAGS", "write": "EDIT_ENTITY"}
    return calling(stored_point.urn, stored_point.token)


def only(*records):
    values = [f"urn:li:record:{one}" for one in records]
    return {"filter": {"criteria": [{"field": "URN", "values": values, "condition": "EQUALS"}]}}


# -- evaluations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "action", "number", "decision"),
    [
        (ALICE, READ, 1, True),
        (ALICE, WRITE, 1, True),
        (ALICE, READ, 2, False),
        (BOB, READ, 3, True),
        (BOB, WRITE, 3, False),
        (CAROL, READ, 3, False),
        ({"type": "identity", "id": "alice"}, READ, 1, True),
        ({"type": "user", "id": "urn:li:corpuser:alice"}, READ, 1, True),
        ({"type": "robot", "id": "alice"}, READ, 1, False),
        ({"type": "user", "id": "urn:li:corpGroup:crew"}, READ, 3, False),
        (ALICE, {"name": "EDIT_ENTITY_TAGS"}, 1, True),
        (ALICE, {"name": "fly"}, 1, False),
    ],
)
def test_an_evaluation(point, subject, action, number, decision):
    answer = point.post(EVALUATION, ask(subject, action, record(number)))
    assert (answer.status_code, answer.json()["decision"]) == (200, decision)
    assert None not in answer.json()["context"].values()


def test_the_context_says_until_when_the_answer_can_last(point):
    ends, actors = "2126-01-01T00:00:00Z", {"users": ["urn:li:corpuser:carol"]}
    question = ask(CAROL, {"name": "EDIT_ENTITY_DOCS"}, record(5))
    with refreshing_at_once():
        give("-", "EDIT_ENTITY_DOCS", actors=actors, resources=only("record-5"), validUntil=ends)
    assert point.post(EVALUATION, question).json()["context"]["ends"] == ends
    batch = {"evaluations": [question, ask(ALICE, READ, record(1))]}
    contexts = [answer["context"] for answer in point.post(EVALUATIONS, batch).json()["evaluations"]]
    assert [context.get("ends") for context in contexts] == [ends, None]
    with refreshing_at_once():
        give("-", "EDIT_ENTITY_DOCS", actors=actors, resources=only("record-5"))
    assert "ends" not in point.post(EVALUATION, question).json()["context"]


def test_what_has_no_say_is_ignored(point):
    body = ask(
        {**ALICE, "properties": {"age": 7}, "x": 1},
        {**READ, "properties": {}},
        {"type": "record", "id": "urn:li:record:record-1", "properties": {"status": "active"}},
        context={"time": "now"},
        more=[1],
    )
    assert point.post(EVALUATION, body).json()["decision"] is True


MALFORMED = [
    ("", "must be application/json"),
    ("{", "The body is not JSON"),
    ("[]", "must be a JSON object"),
    ("[" * 100_000, "nested too deeply"),
    ('{"subject": NaN}', "not JSON"),
    (b"\xff", "not UTF-8"),
    ({}, "subject is required; action is required; resource is required"),
    (ask("x", READ, record(1)), "subject must be an object"),
    (ask({"type": "user"}, READ, record(1)), "subject.id is required"),
    (ask({"type": "user", "id": 7}, READ, record(1)), "subject.id must be text"),
    (ask({"type": "", "id": "x"}, READ, record(1)), "subject.type is required"),
    (ask(ALICE, {}, {"type": "record"}), "action.name is required; resource.id is required"),
    (ask(ALICE, READ, {"type": "record", "id": "a\x00b"}), "resource.id must be printable text"),
    (ask(ALICE, READ, {"type": "record", "id": "\ud800"}), "resource.id must be printable text"),
    (ask(ALICE, READ, {"type": "record", "id": "x" * 600}), "resource.id must be printable text"),
    (ask(ALICE, READ, {"type": "record", "id": "urn:li:"}), "resource.id"),
    (ask(ALICE, READ, {"type": "dataset", "id": "urn:li:record:record-1"}), "is a record, not a dataset"),
    (ask(ALICE, {"name": "read", "properties": []}, record(1)), "action.properties must be an object"),
    (ask(ALICE, READ, record(1), context=7), "context must be an object"),
]


@pytest.mark.parametrize(("body", "text"), MALFORMED)
def test_what_is_malformed_is_400_with_a_text(point, body, text):
    answer = point.post(EVALUATION, body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert text in answer.content.decode()


def test_another_kind_of_body_is_400(point):
    answer = point.post(EVALUATION, json.dumps(ask(ALICE, READ, record(1))), content_type="text/plain")
    assert answer.status_code == 400


@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS, SUBJECT, RESOURCE, ACTION])
def test_who_calls_and_how(point, person, nobody: Client, path):
    assert nobody.post(path, {}, content_type="application/json").status_code == 401
    stranger = person("stranger")
    body = ask(ALICE, READ, record(1))
    for caller, method, status in ((stranger, "post", 403), (point, "get", 405)):
        answer = getattr(caller.client, method)(
            path,
            **({"data": body, "content_type": "application/json"} if method == "post" else {}),
            headers={"x-request-id": "r-1"},
        )
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (status, "r-1")
    assert calling("urn:li:corpuser:alice").post(EVALUATION, ask(ALICE, READ, record(1))).json()["decision"] is True


# -- batches ----------------------------------------------------------------------------------------------------------


def decisions(answer):
    return [one["decision"] for one in answer.json()["evaluations"]]


def test_defaults_are_replaced_whole(point):
    items = [{}, {"resource": record(2)}, {"subject": BOB, "resource": record(3)}, {"subject": {"id": "bob"}}]
    answer = point.post(EVALUATIONS, ask(ALICE, READ, record(1), evaluations=items))
    assert decisions(answer) == [True, False, True, False]
    assert answer.json()["evaluations"][3]["context"]["error"] == {"status": 400, "message": "subject.type is required"}


def test_incomplete_defaults_are_fine_when_each_item_is_complete(point):
    items = [{"subject": ALICE, "resource": record(1)}, {"subject": BOB, "resource": record(1)}, 7, {"subject": CAROL}]
    answer = point.post(EVALUATIONS, {"action": READ, "evaluations": items})
    assert decisions(answer) == [True, False, False, False]
    assert [one["context"].get("error", {}).get("status") for one in answer.json()["evaluations"]] == [
        None,
        None,
        400,
        400,
    ]


@pytest.mark.parametrize("evaluations", [{}, {"evaluations": []}, {"evaluations": None}])
def test_without_items_a_batch_is_one_evaluation(point, evaluations):
    answer = point.post(EVALUATIONS, ask(ALICE, READ, record(1)) | evaluations)
    assert answer.json()["decision"] is True


@pytest.mark.parametrize(
    ("semantic", "expected"),
    [
        ("execute_all", [True, True, False, True]),
        ("deny_on_first_deny", [True, True, False]),
        ("permit_on_first_permit", [True]),
        (None, [True, True, False, True]),
    ],
)
def test_when_a_batch_ends(point, semantic, expected):
    items = [{"resource": record(number)} for number in (1, 3, 2, 1)]
    body = {
        "subject": ALICE,
        "action": READ,
        "evaluations": items,
        "options": {"evaluations_semantic": semantic, "x": 1},
    }
    assert decisions(point.post(EVALUATIONS, body)) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"evaluations": {}},
        {"options": 7, "evaluations": [{}]},
        {"options": {"evaluations_semantic": "guess"}, "evaluations": [{}]},
        {"evaluations": [{}] * 1001},
    ],
)
def test_a_broken_batch(point, wrong):
    assert point.post(EVALUATIONS, ask(ALICE, READ, record(1)) | wrong).status_code == 400


def test_a_batch_costs_the_same_number_of_queries_whatever_its_length(point, django_assert_max_num_queries):
    items = [{"subject": {"type": "user", "id": f"u{number}"}, "resource": record(number)} for number in range(200)]
    point.post(EVALUATIONS, {"action": READ, "evaluations": items[:1]})
    with django_assert_max_num_queries(20):
        assert decisions(point.post(EVALUATIONS, {"action": READ, "evaluations": items})) == [False] * 200


# -- searches ---------------------------------------------------------------------------------------------------------


def pages(point, path, body, limit):
    """Follow the tokens; return what every page had."""
    found, token = [], ""
    while True:
        answer = point.post(path, body | {"page": {"token": token, "limit": limit}})
        assert answer.status_code == 200, answer.content
        assert next(iter(answer.json())) == "page"
        found.append(answer.json()["results"])
        assert answer.json()["page"]["count"] == len(found[-1]) <= limit
        token = answer.json()["page"]["next_token"]
        if not token:
            return found


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
@pytest.mark.parametrize("subject", [ALICE, BOB, CAROL])
@pytest.mark.parametrize("action", [READ, WRITE])
def test_resources_are_those_that_an_evaluation_permits(point, subject, action, limit):
    found = [one for page in pages(point, RESOURCE, ask(subject, action, {"type": "record"}), limit) for one in page]
    permitted = [
        record(number)
        for number in range(1, 8)
        if point.post(EVALUATION, ask(subject, action, record(number))).json()["decision"]
    ]
    assert found == permitted
    total = point.post(RESOURCE, ask(subject, action, {"type": "record", "id": "ignored"})).json()["page"]["total"]
    assert total == len(permitted)


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_subjects_are_those_that_an_evaluation_permits(point, number, limit):
    found = [one for page in pages(point, SUBJECT, ask({"type": "user"}, READ, record(number)), limit) for one in page]
    assert len({one["id"] for one in found}) == len(found)
    for subject in (ALICE, BOB, CAROL):
        is_permitted = point.post(EVALUATION, ask(subject, READ, record(number))).json()["decision"]
        assert (subject in found) is is_permitted
    assert {"type": "user", "id": "datahub"} in found


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_actions_are_those_that_an_evaluation_permits(point, limit):
    body = {"subject": ALICE, "resource": record(1)}
    names = [one["name"] for page in pages(point, ACTION, body, limit) for one in page]
    assert {"read", "write"} <= set(names)
    assert "EDIT_ENTITY_TAGS" not in names
    assert names == sorted(set(names))
    items = [{"action": {"name": name}} for name in names]
    assert all(decisions(point.post(EVALUATIONS, body | {"evaluations": items})))
    others = sorted(load_vocabularies()["datahub"].names - set(names))
    answer = point.post(EVALUATIONS, body | {"evaluations": [{"action": {"name": name}} for name in others]})
    permitted = [name for name, is_permitted in zip(others, decisions(answer), strict=True) if is_permitted]
    assert permitted == ["EDIT_ENTITY", "EDIT_ENTITY_TAGS"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (RESOURCE, ask({"type": "robot", "id": "r2"}, READ, {"type": "record"})),
        (RESOURCE, ask({"type": "user", "id": "who"}, READ, {"type": "record"})),
        (RESOURCE, ask(ALICE, READ, {"type": "spaceship"})),
        (RESOURCE, ask(ALICE, {"name": "fly"}, {"type": "record"})),
        (SUBJECT, ask({"type": "robot"}, READ, record(1))),
        (ACTION, {"subject": {"type": "robot", "id": "r2"}, "resource": record(1)}),
    ],
)
def test_what_is_unknown_finds_nothing(point, path, body):
    answer = point.post(path, body)
    assert (answer.status_code, answer.json()["results"], answer.json()["page"]["next_token"]) == (200, [], "")


def test_a_token_belongs_to_its_search(point):
    body = ask(BOB, READ, {"type": "record"})
    token = point.post(RESOURCE, body | {"page": {"limit": 1}}).json()["page"]["next_token"]
    assert point.post(RESOURCE, body | {"page": {"limit": 2, "token": token}}).status_code == 200
    for other in (body | {"subject": ALICE}, body | {"action": WRITE}, body | {"context": {}}):
        assert point.post(RESOURCE, other | {"page": {"token": token}}).status_code == 400
    assert point.post(RESOURCE, body | {"page": {"token": f"{token}x"}}).status_code == 400


@pytest.mark.parametrize("page", [7, {"limit": -1}, {"limit": "1"}, {"limit": True}, {"limit": 1.5}, {"token": 7}])
def test_a_page_that_is_none(point, page):
    assert point.post(RESOURCE, ask(BOB, READ, {"type": "record"}, page=page)).status_code == 400


def test_a_page_of_nothing_says_where_it_stands(point):
    body = ask(BOB, READ, {"type": "record"})
    answer = point.post(RESOURCE, body | {"page": {"limit": 0}}).json()
    assert answer["results"] == []
    following = point.post(RESOURCE, body | {"page": {"limit": 100, "token": answer["page"]["next_token"]}})
    assert len(following.json()["results"]) == 5


# -- metadata ---------------------------------------------------------------------------------------------------------


def test_the_document_names_what_is_served(nobody, settings):
    settings.ALLOWED_HOSTS = ["pdp.example"]
    answer = nobody.get("/.well-known/authzen-configuration", headers={"host": "pdp.example"}).json()
    assert answer["policy_decision_point"] == "http://pdp.example"
    assert answer["access_evaluation_endpoint"] == f"http://pdp.example{EVALUATION}"
    settings.PUBLIC_URL = "https://authz.example"
    answer = nobody.get("/.well-known/authzen-configuration", headers={"host": "pdp.example"}).json()
    assert answer.pop("capabilities") == ["urn:openid:authzen:capability:access-request"]
    paths = (EVALUATION, EVALUATIONS, SUBJECT, RESOURCE, ACTION, "/access/v1/requests")
    assert set(answer.values()) == {"https://authz.example"} | {f"https://authz.example{path}" for path in paths}
