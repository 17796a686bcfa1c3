"""Whatever is sent, there is one clear answer, nothing is half-stored, and nothing answers 500."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from policies.models import AccessToken, Policy, User
from tests.api.conftest import document_of, pointers_of, problem_of

ASK = "/api/v1/authorize"
POLICIES = "/api/v1/policies/"

NUL, SURROGATE = "\\u0000", "\\ud800"


def raw(client, body, path=ASK, content_type="application/json", method="post"):
    return client.generic(method.upper(), path, body, content_type=content_type)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nothing",
        b'{"privilege": }',
        b"\xff\xfe",
        b'{"privilege": NaN}',
        b'{"privilege": 1e999}',
        b'{"privilege": ' + b"9" * 5000 + b"}",
        b'{"privilege": "A", "privilege": "B"}',
        b"[" * 60_000,
        b"[" * 80 + b"]" * 80,
        b'{"a":' * 500 + b"1" + b"}" * 500,
        b'"text"',
        b"null",
        b"17",
    ],
)
def test_what_is_no_question(client_of, body):
    assert pointers_of(raw(client_of("jo"), body))


def test_nul_and_lone_surrogates_are_named(client_of):
    body = f'{{"privilege": "a{NUL}", "any_of": [["{SURROGATE}"]], "{SURROGATE}": 1, "resource": {{"urn": "x"}}}}'
    expected = {("text.invalid", "/privilege"), ("text.invalid", "/any_of/0/0"), ("text.invalid", "")}
    assert pointers_of(raw(client_of("jo"), body.encode())) == expected


def test_a_pair_of_surrogates_is_a_character(client_of):
    assert raw(client_of("jo"), rb'{"privilege": "\ud83d\ude00"}').status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
def test_other_content_types(client_of, content_type):
    problem_of(raw(client_of("jo"), b"privilege=A", content_type=content_type), 415)


def test_other_media_types_of_the_answer(client_of):
    problem_of(client_of("jo").get(POLICIES, HTTP_ACCEPT="text/csv"), 406)


def test_methods_that_a_path_does_not_know(client_of):
    answer = client_of("jo").delete(ASK)
    problem_of(answer, 405)
    assert "POST" in answer["Allow"]
    problem_of(client_of("joe").options(ASK), 405)


@pytest.mark.parametrize("path", ["/api/v1/", "/api/v1/nothing", "/api/nothing/", "/api/v1/policies", "/api/v1/users"])
def test_paths_that_nothing_is_at(client_of, path):
    problem_of(client_of("jo").get(path), 404)


def test_a_body_above_the_limit(client_of):
    problem_of(raw(client_of("jo"), b'{"a": "' + b"x" * 65_536 + b'"}'), 413)


def test_a_body_of_unknown_keys(client_of):
    body = json.dumps({f"k{number}": None for number in range(4_000)}).encode()
    problem = problem_of(raw(client_of("jo"), body), 400)
    assert len(problem["errors"]) == 101
    assert problem["errors"][-1]["code"] == "problems.more"


def test_what_takes_long_to_read_is_refused_before_it_is_read(manager):
    assert pointers_of(raw(manager, b"[" + b"{}," * 125_000 + b"{}]", POLICIES)) == {("json.large", "")}
    names = json.dumps({f"k{number}": 1 for number in range(10_001)}).encode()
    assert pointers_of(raw(manager, names, POLICIES)) == {("json.invalid", "")}


LONG = ["x"] * 1_001


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"any_of": [1] * 51}, "/any_of"),
        ({"any_of": [LONG]}, "/any_of/0"),
        ({"privilege": "A", "sub_resources": LONG}, "/sub_resources"),
        ({"privilege": "A", "related": {"assets": LONG}}, "/related/assets"),
        ({"operation": "A", "related": {"programs": [1] * 1_001}}, "/related/programs"),
        ({"privilege": "A", "resource": {"type": "dataset", "columns": [1] * 1_001}}, "/resource/columns"),
    ],
)
def test_a_list_that_is_too_long_is_one_problem_whatever_is_in_it(client_of, body, pointer):
    assert pointers_of(client_of("jo").post(ASK, body)) == {("max_length", pointer)}


def test_problems_end_after_a_hundred_and_the_answer_says_so(client_of):
    problem = problem_of(client_of("jo").post(ASK, {"any_of": [[1] * 50] * 30}), 400)
    assert problem["errors"][-1]["code"] == "problems.more"
    assert len(problem["errors"]) == 101
    assert "More than 100 problems" in problem["detail"]


def test_what_was_sent_is_repeated_no_further_than_anybody_reads(client_of):
    answer = client_of("jo").post(ASK, {"x" * 60_000: 1, "privilege": "A"})
    assert pointers_of(answer)
    assert len(answer.content) < 3_000


@pytest.mark.parametrize(
    ("question", "pointer"),
    [
        ({"privilege": "A", "sub_resources": [f"urn:li:tag:{n}" for n in range(1_000)]}, "/questions"),
        ({"privilege": "A", "related": {"assets": [f"urn:li:tag:{n}" for n in range(1_000)]}}, "/questions"),
        ({"any_of": [["A"] * 50] * 20}, "/questions"),
        ({f"k{number}": 1 for number in range(99)}, "/questions/100"),
    ],
)
def test_what_the_questions_of_a_batch_bring_together_is_bounded(client_of, question, pointer):
    answer = client_of("jo").post(f"{ASK}/batch", {"questions": [question] * 110})
    ((code, found),) = pointers_of(answer)
    assert (found, code) in ((pointer, "list.too_long"), (pointer, "problems.more"))
    assert len(answer.content) < 1_000


# -- who calls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer x", "Bearer azs_" + "A" * 43, "Basic am86am8=", "Bearer é"])
def test_no_token_or_an_invented_one(client, db, header):
    answer = client.post(ASK, {"privilege": "A"}, content_type="application/json", HTTP_AUTHORIZATION=header)
    problem_of(answer, 401)
    assert answer["WWW-Authenticate"].startswith('Bearer realm="authzsite"')


def test_expired_and_revoked_tokens(client_of):
    asking = client_of("jo")
    token = AccessToken.objects.get(user__username="jo")
    AccessToken.objects.update(created_at=timezone.now() - timedelta(days=2))
    AccessToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert problem_of(asking.post(ASK, {"privilege": "A"}), 401)["code"] == "invalid_token"
    AccessToken.objects.update(expires_at=None)
    assert asking.post(ASK, {"privilege": "A"}).status_code == 200
    assert asking.delete(f"/api/v1/tokens/{token.pk}/").status_code == 204
    problem_of(asking.post(ASK, {"privilege": "A"}), 401)


def test_tokens_of_suspended_and_removed_users(client_of, manager):
    asking = client_of("jo")
    assert manager.patch("/api/v1/users/urn:li:corpuser:jo/", {"state": "SUSPENDED"}).status_code == 200
    problem_of(asking.post(ASK, {"privilege": "A"}), 401)
    assert manager.patch("/api/v1/users/urn:li:corpuser:jo/", {"state": "ACTIVE"}).status_code == 200
    assert asking.post(ASK, {"privilege": "A"}).status_code == 200
    assert manager.delete("/api/v1/users/urn:li:corpuser:jo/").status_code == 204
    problem_of(asking.post(ASK, {"privilege": "A"}), 401)


def test_a_session_needs_its_csrf_token(client_of, settings):
    from rest_framework.test import APIClient

    client_of("jo")
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(User.objects.get(username="jo"), backend="django.contrib.auth.backends.ModelBackend")
    assert browser.get("/api/v1/roles/").status_code == 200
    assert problem_of(browser.post(ASK, {"privilege": "A"}), 403)["missing"] == []


# -- policies ---------------------------------------------------------------------------------------------------------


def test_every_problem_of_a_policy_at_once_and_nothing_stored(manager):
    before = Policy.objects.count()
    document = document_of(
        type="SOMETHING",
        privileges=["EDIT_ENTITY_TAGZ", 3],
        actors={"users": ["jo"], "colour": "red"},
        resources={"filter": {"criteria": [{"field": "COLOUR", "condition": "LIKE", "values": "x", "weight": 1}]}},
    )
    answer = manager.post(POLICIES, {"family": "datahub", "document": document})
    place = "/resources/filter/criteria/0"
    assert pointers_of(answer) == {
        ("choice", "/type"),
        ("privilege.unknown", "/privileges/0"),
        ("type.text", "/privileges/1"),
        ("urn.type", "/actors/users/0"),
        ("field.unknown", "/actors/colour"),
        ("choice", f"{place}/field"),
        ("choice", f"{place}/condition"),
        ("type.list", f"{place}/values"),
        ("field.unknown", f"{place}/weight"),
    }
    assert Policy.objects.count() == before


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {("required", "/family"), ("required", "/document")}),
        ({"family": "xacml", "document": {}}, {("family.unknown", "/family")}),
        ({"family": "datahub", "document": []}, {("type.object", "")}),
        ({"family": "datahub", "document": None}, {("null", "/document")}),
        ({"family": "datahub", "document": document_of(), "state": "INACTIVE"}, {("state.disagrees", "/state")}),
        ({"family": "datahub", "document": document_of(), "name": "Other"}, {("name.disagrees", "/name")}),
        ({"family": "datahub", "document": document_of(), "urn": "urn:li:tag:x"}, {("urn.invalid", "/urn")}),
        ({"family": "datahub", "document": document_of(), "colour": 1}, {("field.unknown", "/colour")}),
        (
            {"family": "datahub", "document": document_of(lastUpdatedTimestamp=10**30)},
            {("type.time", "/lastUpdatedTimestamp")},
        ),
    ],
)
def test_a_policy_that_is_none(manager, body, expected):
    assert pointers_of(manager.post(POLICIES, body)) == expected


# -- query strings and paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("page=0", {("min_value", "/page")}),
        ("page=-1", {("invalid", "/page")}),
        ("page=two", {("invalid", "/page")}),
        ("page=%00", {("invalid", "/page")}),
        ("page=1&page=2", {("parameter.twice", "/page")}),
        ("page_size=201", {("max_value", "/page_size")}),
        (
            "page_size=0&state=ASLEEP&colour=red",
            {("min_value", "/page_size"), ("invalid_choice", "/state"), ("field.unknown", "/colour")},
        ),
        ("q=%00", {("null_characters_not_allowed", "/q")}),
    ],
)
def test_a_query_string_that_is_wrong(manager, query, expected):
    assert pointers_of(manager.get(f"{POLICIES}?{query}")) == expected


@pytest.mark.parametrize("page", ["2", "10000000", "1" + "0" * 30, "0" * 50 + "7"])
def test_a_page_past_the_end_is_empty(manager, page):
    body = manager.get(f"{POLICIES}?page={page}").json()
    assert (body["results"], body["next"]) == ([], None)
    assert body["count"] == 1


@pytest.mark.parametrize(
    "urn", ["urn:li:dataHubPolicy:%00", "urn:li:dataHubPolicy:%FF", "urn:li:dataHubPolicy:none", "x"]
)
@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_a_policy_that_is_not_there(manager, urn, method):
    body = {"state": "ACTIVE"} if method == "patch" else {"family": "datahub", "document": document_of()}
    problem_of(getattr(manager, method)(f"{POLICIES}{urn}/", *([body] if method in ("put", "patch") else [])), 404)
