"""One question, many questions, and the questions turned round."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.pdp import snapshot_store
from policies.pdp.ports import facet_source
from tests.api.conftest import pointers_of, problem_of

JO = "urn:li:corpuser:jo"
SALES = "urn:li:dashboard:(looker,sales)"
EDIT_TAGS = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": SALES}}


@pytest.fixture
def tagging(stored):
    """Jo may tag dashboards."""
    criteria = [{"field": "TYPE", "values": ["dashboard"]}]
    return stored(
        "tagging",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": [JO]},
        resources={"filter": {"criteria": criteria}},
    )


def test_a_caller_asks_about_itself(client_of, tagging):
    answer = client_of("jo").post("/api/v1/authorize", {**EDIT_TAGS, "explain": False})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["policy_version"] > 0
    assert body | {"policy_version": 0} == {
        "decision": "ALLOW",
        "policy_version": 0,
        "reasons": [
            {"policy": tagging, "name": "tagging", "statement": 0, "effect": "allow", "because": "", "ends": None}
        ],
        "code": "allowed",
        "missing": [],
        "missing_any": [],
        "restrictions": None,
        "resultant": [],
    }


def test_a_refusal_is_an_answer(client_of):
    body = client_of("jo").post("/api/v1/authorize", EDIT_TAGS).json()
    assert (body["decision"], body["code"]) == ("DENY", "implicit_deny")
    assert body["missing"] == [{"entity": SALES, "privilege": "EDIT_ENTITY_TAGS"}]
    assert body["missing_any"] == [body["missing"]]


def test_a_refusal_names_every_alternative_the_narrowest_first(client_of):
    asked = {"any_of": [["EDIT_ENTITY"], ["MANAGE_POLICIES"], ["EDIT_ENTITY_TAGS"]], "resource": {"urn": SALES}}
    body = client_of("jo").post("/api/v1/authorize", asked).json()
    assert body["missing"] == [{"entity": SALES, "privilege": "EDIT_ENTITY"}]
    assert [[need["privilege"] for need in one] for one in body["missing_any"]] == [
        ["EDIT_ENTITY_TAGS"],
        ["EDIT_ENTITY"],
        ["MANAGE_POLICIES"],
    ]


def test_both_spellings_of_the_path(client_of):
    assert client_of("jo").post("/api/v1/authorize/", EDIT_TAGS).status_code == 200


def test_asking_about_others_needs_a_privilege(client_of, tagging):
    asked = {**EDIT_TAGS, "actor": JO}
    body = problem_of(client_of("nosy").post("/api/v1/authorize", asked), 403)
    assert body["missing"] == [{"entity": None, "privilege": "CHECK_ACCESS"}]
    for number, privilege in enumerate(("CHECK_ACCESS", "MANAGE_POLICIES")):
        answer = client_of(f"service{number}", privilege).post("/api/v1/authorize", asked)
        assert answer.json()["decision"] == "ALLOW"


def test_unknown_names_are_no_error(client_of):
    asking = client_of("service", "CHECK_ACCESS")
    asked = {"actor": "urn:li:corpuser:nobody", "privilege": "NO_SUCH_THING"}
    assert asking.post("/api/v1/authorize", asked).json()["decision"] == "DENY"


def test_explain_names_the_unknown_and_what_came_close(client_of, tagging):
    asking = client_of("service", "CHECK_ACCESS")
    client_of("jo")
    asked = {
        "actor": "urn:li:corpuser:joe",
        "privilege": "EDIT_ENTITY_TAGZ",
        "resource": {"urn": SALES},
        "explain": True,
    }
    found = {one["what"]: one["did_you_mean"] for one in asking.post("/api/v1/authorize", asked).json()["unknown"]}
    assert "EDIT_ENTITY_TAGS" in found["privilege"]
    assert found["actor"] == [JO]
    near = asking.post("/api/v1/authorize", {**asked, "privilege": "EDIT_ENTITY_TAGS"}).json()["nearest"]
    assert [one["policy"] for one in near] == [tagging]
    (lack,) = near[0]["lacks"]
    assert lack["part"] == "actor"
    assert lack["changed_by"] == {"entity": None, "privilege": "MANAGE_POLICIES"}


def test_explain_gives_a_sentence(client_of, tagging):
    body = client_of("jo").post("/api/v1/authorize", {**EDIT_TAGS, "explain": True}).json()
    assert body["reasons"][0]["because"].endswith(".")
    assert body["nearest"] == []


def test_a_suspended_actor_is_refused(client_of, tagging):
    client_of("jo")
    asking = client_of("service", "CHECK_ACCESS", "MANAGE_USERS_AND_GROUPS")
    assert asking.patch(f"/api/v1/users/{JO}/", {"state": "SUSPENDED"}).status_code == 200
    body = asking.post("/api/v1/authorize", {**EDIT_TAGS, "actor": JO}).json()
    assert (body["decision"], body["code"]) == ("DENY", "actor_suspended")


def test_any_of(client_of, tagging):
    asking = client_of("jo")
    for any_of, decision in (
        ([["EDIT_ENTITY"], ["EDIT_ENTITY_TAGS"]], "ALLOW"),
        ([["EDIT_ENTITY", "EDIT_ENTITY_TAGS"]], "DENY"),
        ([[]], "DENY"),
        ([], "DENY"),
    ):
        body = asking.post("/api/v1/authorize", {"any_of": any_of, "resource": {"urn": SALES}}).json()
        assert body["decision"] == decision, any_of


def test_switched_off_everything_is_allowed(client_of, settings):
    asking = client_of("jo")
    settings.AUTH_POLICIES_ENABLED = False
    body = asking.post("/api/v1/authorize", EDIT_TAGS).json()
    assert (body["decision"], body["code"], body["restrictions"]) == ("ALLOW", "policies_disabled", None)
    assert asking.post("/api/v1/who", {"privilege": "EDIT_ENTITY"}).json()["all_users"] is True


def test_the_system_actor_may_everything(client_of):
    asking = client_of("service", "CHECK_ACCESS")
    body = asking.post("/api/v1/authorize", {"actor": "urn:li:corpuser:__datahub_system", "privilege": "X"}).json()
    assert (body["decision"], body["code"]) == ("ALLOW", "system_actor")
    assert body["policy_version"] > 0


def test_a_version_that_is_not_there_is_unavailable(client_of):
    asking = client_of("jo")
    now = asking.post("/api/v1/authorize", EDIT_TAGS).json()["policy_version"]
    assert asking.post("/api/v1/authorize", {**EDIT_TAGS, "at_least_version": now}).status_code == 200
    problem_of(asking.post("/api/v1/authorize", {**EDIT_TAGS, "at_least_version": now + 1}), 503)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, {("question.empty", "")}),
        ([], {("invalid", "")}),
        ({"privilege": "A", "operation": "query.read"}, {("question.twice", "/operation")}),
        ({"privilege": 1}, {("invalid", "/privilege")}),
        ({"any_of": ["A"]}, {("not_a_list", "/any_of/0")}),
        ({"any_of": [["A", 2]]}, {("invalid", "/any_of/0/1")}),
        ({"operation": "query.burn"}, {("operation.unknown", "/operation")}),
        ({"privilege": "A", "actor": "urn:li:corpGroup:g"}, {("urn.type", "/actor")}),
        ({"privilege": "A", "actor": "jo"}, {("urn.invalid", "/actor")}),
        ({"privilege": "A", "resource": {}}, {("resource.empty", "/resource")}),
        ({"privilege": "A", "resource": {"id": "a" * 24}}, {("required", "/resource/type")}),
        ({"privilege": "A", "resource": {"type": "dataset", "id": "xyz"}}, {("object_id.invalid", "/resource/id")}),
        ({"privilege": "A", "resource": {"urn": "urn:li:"}}, {("urn.invalid", "/resource/urn")}),
        (
            {"privilege": "A", "resource": {"urn": SALES, "type": "dataset"}},
            {("type.mismatch", "/resource/type")},
        ),
        (
            {"privilege": "A", "actr": "x", "resource": {"urn": 5, "colour": "red"}, "explain": "yes"},
            {
                ("field.unknown", "/actr"),
                ("invalid", "/resource/urn"),
                ("field.unknown", "/resource/colour"),
                ("invalid", "/explain"),
            },
        ),
        ({"privilege": "A", "sub_resources": ["tag"]}, {("urn.invalid", "/sub_resources/0")}),
        ({"privilege": "A", "at_least_version": -1}, {("min_value", "/at_least_version")}),
        ({"privilege": "A", "at_least_version": 10**30}, {("max_value", "/at_least_version")}),
        ({"privilege": "A", "at_least_version": True}, {("invalid", "/at_least_version")}),
    ],
)
def test_every_problem_of_a_question_has_its_place(client_of, asked, expected):
    assert pointers_of(client_of("jo").post("/api/v1/authorize", asked)) == expected


def test_a_batch_answers_in_order_and_a_bad_question_in_its_place(client_of, tagging):
    asking = client_of("jo")
    body = asking.post(
        "/api/v1/authorize/batch",
        {
            "questions": [
                EDIT_TAGS,
                {"privilege": 7},
                {**EDIT_TAGS, "actor": "urn:li:corpuser:other"},
                {"privilege": "A", "at_least_version": 10**9},
                "no question",
                {**EDIT_TAGS, "resource": {"urn": "urn:li:dataset:d"}},
            ]
        },
    ).json()
    found = [one.get("decision") or one["error"]["status"] for one in body["decisions"]]
    assert found == ["ALLOW", 400, 403, 503, 400, "DENY"]
    assert body["decisions"][1]["error"]["errors"][0]["pointer"] == "/privilege"
    assert body["policy_version"] == body["decisions"][0]["policy_version"]


@pytest.mark.parametrize("explains", [(False, True), (True, True), (False, False)])
def test_a_batch_is_answered_from_one_version_though_policies_change_meanwhile(
    client_of, tagging, stored, monkeypatch, explains
):
    """A policy is written as soon as the first facts are looked for."""
    written: list[str] = []

    def write_first():
        if not written:
            written.append(stored("meanwhile", privileges=["EDIT_ENTITY_TAGS"], actors={"allUsers": True}))
            snapshot_store.mark_stale()
        return facet_source()

    ask = client_of("jo")
    version = snapshot_store.get_current().version
    monkeypatch.setattr("policies.pdp.request_facts.facet_source", write_first)
    questions = [{**EDIT_TAGS, "explain": explain} for explain in explains]
    body = ask.post("/api/v1/authorize/batch", {"questions": questions}).json()
    assert written
    assert {body["policy_version"], *(answer["policy_version"] for answer in body["decisions"])} == {version}


def test_an_empty_batch_and_one_too_long(client_of):
    asking = client_of("jo")
    assert asking.post("/api/v1/authorize/batch", {"questions": []}).json()["decisions"] == []
    too_long = {"questions": [{"privilege": "A"}] * 10_001}
    assert pointers_of(asking.post("/api/v1/authorize/batch", too_long)) == {("max_length", "/questions")}


def test_a_batch_costs_the_same_number_of_queries_whatever_its_length(client_of, tagging):
    asking = client_of("service", "CHECK_ACCESS")
    client_of("jo")

    def cost(count):
        questions = [
            {
                **EDIT_TAGS,
                "actor": f"urn:li:corpuser:u{number}",
                "resource": {"urn": f"urn:li:dashboard:(looker,{number})"},
                "sub_resources": [f"urn:li:tag:{number}"],
            }
            for number in range(count)
        ]
        with CaptureQueriesContext(connection) as queries:
            assert asking.post("/api/v1/authorize/batch", {"questions": questions}).status_code == 200
        return len(queries)

    cost(1)
    assert cost(5) == cost(50)


def test_explaining_a_batch_costs_the_same_number_of_queries_whatever_its_length(client_of, tagging):
    asking = client_of("service", "CHECK_ACCESS")

    def cost(count):
        by_id = {"type": "dataset", "id": "0" * 24}
        questions = [
            {**EDIT_TAGS, "explain": True, "resource": {**by_id, "id": f"{number:024x}"} if number % 2 else None}
            for number in range(count)
        ]
        with CaptureQueriesContext(connection) as queries:
            answer = asking.post("/api/v1/authorize/batch", {"questions": questions})
        assert all("nearest" in one for one in answer.json()["decisions"])
        return len(queries)

    cost(1)
    assert cost(5) == cost(50)


def test_who(client_of, stored, tagging):
    asking = client_of("service", "CHECK_ACCESS")
    client_of("jo")
    stored(
        "everybody", privileges=["VIEW_ENTITY_PAGE"], actors={"allUsers": True, "roles": ["urn:li:dataHubRole:Reader"]}
    )
    body = asking.post("/api/v1/who", {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": SALES}}).json()
    assert (body["users"], body["all_users"]) == ([JO], False)
    body = asking.post("/api/v1/who", {"privilege": "VIEW_ENTITY_PAGE"}).json()
    assert (body["all_users"], body["roles"]) == (True, ["urn:li:dataHubRole:Reader"])
    problem_of(client_of("nosy").post("/api/v1/who", {"privilege": "A"}), 403)


def test_granted_privileges(client_of, tagging):
    asking = client_of("jo")
    on = {"resource": {"urn": SALES}}
    assert asking.post("/api/v1/granted-privileges", on).json()["privileges"] == ["EDIT_ENTITY_TAGS"]
    assert asking.post("/api/v1/granted-privileges", {}).json()["privileges"] == []
    own = asking.post("/api/v1/granted-privileges", {"resource": {"urn": JO}}).json()
    assert own["privileges"] == []
    problem_of(asking.post("/api/v1/granted-privileges", {"actor": "urn:li:corpuser:x"}), 403)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("explain", [False, True])
def test_a_reason_names_the_earliest_end_on_the_way(client_of, manager, stored, explain):
    jo = client_of("jo")
    manager.post("/api/v1/groups/", {"id": "eng", "name": "Engineers"})
    stored("tagging", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"groups": ["urn:li:corpGroup:eng"]})
    members = {"members": [{"urn": JO, "valid_until": "2126-01-01T01:00:00+01:00"}]}
    assert manager.post("/api/v1/groups/urn:li:corpGroup:eng/members/", members).status_code == 201
    asked = {"privilege": "MANAGE_TAGS", "explain": explain}
    ends = [reason["ends"] for reason in jo.post("/api/v1/authorize", asked).json()["reasons"]]
    assert ends == ["2126-01-01T00:00:00Z"]
    answers = jo.post("/api/v1/authorize/batch", {"questions": [{"privilege": "MANAGE_TAGS"}]}).json()
    assert "2126-01-01T00:00:00Z" in str(answers)
