"""How calls arrive at the GraphQL door and what is refused before anything is answered (clients.md 2.1, 2.2, 1.11)."""

import json

import pytest
from django.test import Client
from graphql import GraphQLError, get_introspection_query

from catalog.protocols.datahub_graphql import errors, nodes, query_limits, schema_builder
from policies.models import User
from tests.doors.conftest import ROOT
from tests.doors.graphql.conftest import PATH

pytestmark = pytest.mark.django_db

ME = "{me{corpUser{urn username type}}}"
PATHS = ["/api/graphql", "/api/graphql/", "/api/v2/graphql", "/api/v2/graphql/"]


@pytest.mark.parametrize("path", PATHS)
def test_who_am_i(root, path):
    answer = root.client.post(path, data={"query": ME}, content_type="application/json")
    assert answer.json() == {
        "data": {"me": {"corpUser": {"urn": ROOT, "username": "datahub", "type": "CORP_USER"}}},
    }


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("header", [None, "Bearer", "Bearer invented", "Basic ZGF0YWh1Yg=="])
def test_without_a_good_token_it_is_401(nobody, path, header):
    headers = {} if header is None else {"authorization": header}
    answer = nobody.post(path, data={"query": ME}, content_type="application/json", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["errors"][0]["extensions"]["code"] == 401


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
def test_other_methods(root, method):
    answer = getattr(root.client, method)(PATH)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            '{ createAccessToken(input: {name: "x"}) { accessToken } }',
            "createAccessToken is a mutation: write mutation {",
        ),
        ("query Q { ...F } fragment F on Query { addOwners { x } }", "addOwners is a mutation: write mutation {"),
        ("mutation { me { corpUser { urn } } }", "me is a query: write query { me"),
        ("{ createAccessTokens { x } }", None),
        ("{ me { createAccessToken } }", None),
    ],
)
def test_a_field_of_the_other_kind_of_operation_is_explained(root, query, sentence):
    answer = root.client.post(PATH, data={"query": query}, content_type="application/json").json()
    messages = [error["message"] for error in answer["errors"]]
    assert all(message.startswith("Cannot query field ") for message in messages[:1])
    assert (
        any(sentence in message for message in messages) if sentence else not any(" is a " in one for one in messages)
    )


# -- the session of the pages -----------------------------------------------------------------------------------------


@pytest.fixture
def browser(installed):
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(urn=ROOT), backend="django.contrib.auth.backends.ModelBackend")
    return client


def ask(browser, **headers):
    return browser.post(PATH, data={"query": ME}, content_type="application/json", headers=headers)


@pytest.mark.parametrize("headers", [{}, {"origin": "http://testserver"}, {"sec-fetch-site": "same-origin"}])
def test_a_session_counts_where_no_other_site_can_have_sent_it(browser, headers):
    assert ask(browser, **headers).json()["data"]["me"]["corpUser"]["urn"] == ROOT


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_a_session_that_another_site_uses(browser, headers):
    answer = ask(browser, **headers)
    assert answer.status_code == 403
    assert answer.json()["errors"][0]["extensions"]["type"] == "UNAUTHORIZED"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_session_with_what_a_form_can_send(browser, kind):
    answer = browser.post(PATH, data=json.dumps({"query": ME}), content_type=kind)
    assert answer.status_code == 403


def test_a_session_with_the_token_of_the_pages(browser):
    browser.get("/settings/profile")
    token = browser.cookies["csrftoken"].value if "csrftoken" in browser.cookies else None
    if token is None:
        token = browser.get("/login").cookies["csrftoken"].value
    answer = browser.post(
        PATH, data=json.dumps({"query": ME}), content_type="text/plain", headers={"x-csrftoken": token}
    )
    assert answer.json()["data"]["me"]["corpUser"]["urn"] == ROOT


def test_a_token_goes_before_a_session(browser):
    assert ask(browser, authorization="Bearer invented").status_code == 401


# -- bodies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'"x"', b"[" * 100_000, b'{"query": "\\ud800"}'])
def test_what_is_no_body(root, body):
    answer = root.client.post(PATH, data=body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["extensions"]["type"] == "BAD_REQUEST"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": None},
        {"query": 7},
        {"query": ME, "variables": []},
        {"query": ME, "operationName": 7},
        {"query": ""},
        {"query": "{me{"},
        {"query": "{nothing}"},
        {"query": "{me{corpUser{urn}}} fragment x on CorpUser {urn}"},
        {"query": "query a {me{corpUser{urn}}} query b {me{corpUser{urn}}}"},
        {"query": "query a {me{corpUser{urn}}}", "operationName": "c"},
        {"query": "subscription {me{corpUser{urn}}}"},
        {"query": '{entityExists(urn: "urn:li:tag:\\u0000")}'},
        {"query": "query($urn: String!) {entityExists(urn: $urn)}"},
        {"query": "query($urn: String!) {entityExists(urn: $urn)}", "variables": {"urn": {"a": 1}}},
    ],
)
def test_a_body_that_was_read_is_answered_with_200(root, body):
    answer = root.client.post(PATH, data=json.dumps(body), content_type="application/json")
    assert answer.status_code == 200
    assert "data" not in answer.json()
    for error in answer.json()["errors"]:
        assert error["extensions"]["code"] == 400
        assert error["extensions"]["type"] == "BAD_REQUEST"
        assert error["extensions"]["classification"] in ("ValidationError", "InvalidSyntax")


def test_one_of_several_operations(root):
    query = f"query a {ME} query b {{entityExists(urn: {json.dumps(ROOT)})}}"
    assert root.send(query, operationName="b").json() == {"data": {"entityExists": True}}


def test_a_field_that_is_refused_leaves_the_others(root):
    answer = root.send('{bad: entity(urn: "nothing") none: entity(urn: "urn:li:tag:none"){urn} me{corpUser{urn}}}')
    answer = root.send(
        '{bad: entity(urn: "nothing"){urn} none: entity(urn: "urn:li:tag:none"){urn} me{corpUser{urn}}}'
    ).json()
    assert answer["data"] == {"bad": None, "none": None, "me": {"corpUser": {"urn": ROOT}}}
    found = {error["path"][0]: error["extensions"] for error in answer["errors"]}
    assert found == {
        "bad": {"code": 400, "type": "BAD_REQUEST", "classification": "DataFetchingException"},
        "none": {"code": 404, "type": "NOT_FOUND", "classification": "DataFetchingException"},
    }


def test_introspection(root):
    answer = root.ask(get_introspection_query())
    assert "CorpUser" in {one["name"] for one in answer["__schema"]["types"]}


# -- bombs ------------------------------------------------------------------------------------------------------------

DOUBLING = "".join(f"fragment f{n} on CorpUser {{...f{n + 1} a{n}: urn ...f{n + 1}}}" for n in range(60))
SILENT = "".join(f"fragment f{n} on CorpUser {{...f{n + 1} ...f{n + 1}}}" for n in range(60))
END = "fragment f60 on CorpUser {urn}"
BOMBS = {
    "deep": "{" * 50 + "}" * 50,
    "deeper": "{me" * 3000 + "}" * 3000,
    "nested": "{me{corpUser" + "{relationships(input: {types: [], direction: INCOMING}){relationships{entity" * 12,
    "doubling fragments": "{me{corpUser{...f0}}}" + DOUBLING + END,
    "fragments without fields": "{me{corpUser{...f0}}}" + SILENT + END,
    "fragments that nobody uses": ME + DOUBLING + END,
    "a fragment of itself": "{me{corpUser{...a}}} fragment a on CorpUser {...b} fragment b on CorpUser {...a}",
    "repeated": "{me{corpUser{" + "urn " * 3000 + "}}}",
    "overlapping": "{" + "".join(f"a{n}: me{{corpUser{{{'urn ' * 249}}}}}" for n in range(4)) + "}",
    "aliases": "{" + "".join(f"a{n}: me{{corpUser{{urn}}}}" for n in range(101)) + "}",
    "schemas": "{" + "".join(f"a{n}: __schema{{types{{name}}}}" for n in range(6)) + "}",
    "long": "{me{corpUser{urn}}}" + " " * 200_000,
    "many words": "{me{corpUser{" + "urn " * 11_000 + "}}}",
    "inline fragments": "{me{corpUser{" + "... on CorpUser {" * 400 + "urn" + "}" * 400 + "}}}",
    "values": "{entityExists(urn: [" + "1 " * 9_000 + "])}",
    "fields of a value": "{entityExists(urn: {" + "a: 1 " * 3_000 + "})}",
    "lists": "{entity(urn: " + "[" * 2000 + "]" * 2000 + "){urn}}",
    "directives": "{me" + " @include(if: true)" * 2500 + "{corpUser{urn}}}",
    "introspection": "{__schema" + "{types{fields{type" * 8 + "{name}" + "}}}" * 8 + "}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_answered(root, name):
    query = BOMBS[name]
    answer = root.send(query + "}" * (query.count("{") - query.count("}")))
    assert answer.status_code == 200
    assert "data" not in answer.json()
    assert {error["extensions"]["code"] for error in answer.json()["errors"]} == {400}
    assert len(answer.content) < 200_000


@pytest.mark.parametrize(
    "variables", [{"urn": ["x"] * 10_001}, {"urn": {"a": [1] * 10_001}}, {"urn": [[1] * 1_000] * 101}]
)
def test_lists_in_variables_have_a_bound(root, variables):
    answer = root.send("query($urn: String!) {entityExists(urn: $urn)}", variables)
    assert {error["extensions"]["code"] for error in answer.json()["errors"]} == {400}
    assert len(answer.content) < 1_000


def test_a_message_repeats_no_more_than_anybody_reads(root):
    answer = root.send("{entityExists(urn: [" + '"x" ' * 900 + "])}")
    assert len(answer.content) < 2_000


def test_what_nobody_anticipated_is_masked(caplog):
    error = GraphQLError("secret", path=["me"], original_error=ValueError("a secret"))
    shown = errors.format_error(error, request_id="r-1")
    assert shown == {
        "message": "This failed; the log has it under r-1.",
        "path": ["me"],
        "extensions": {"code": 500, "type": "SERVER_ERROR", "classification": "DataFetchingException"},
    }
    (record,) = [one for one in caplog.records if one.name == "catalog.protocols.datahub_graphql.errors"]
    assert "r-1" in record.getMessage()


def test_an_answer_has_a_bound(root, monkeypatch):
    monkeypatch.setattr(query_limits, "MAX_ANSWERED_FIELDS", 10)
    answer = root.send("{listRoles(input: {}) {roles {urn type name editable}}}").json()
    assert "data" not in answer
    assert answer["errors"][0]["extensions"]["code"] == 400


def test_the_names_of_types(root):
    values = {one["name"] for one in root.ask('{__type(name: "EntityType"){enumValues{name}}}')["__type"]["enumValues"]}
    known = {"POLICY", "DATAHUB_POLICY", "CORP_USER", "CORP_GROUP", "DATAHUB_ROLE", "ROLE", "MLMODEL", "ML_MODEL"}
    assert known <= values
    kinds = ["dataset", "corpuser", "corpGroup", "dataHubPolicy", "dataHubRole", "role", "mlModelGroup", "dataFlow"]
    kinds += ["dataHubAccessToken", "dataHubIngestionSource", "dataHubView", "glossaryNode", "ownershipType"]
    for kind in kinds:
        name = nodes.type_name(kind, schema_builder.build_schema())
        assert name != "OTHER"
        assert nodes.parse_type_name(name) == kind
    assert nodes.type_name("namespace", schema_builder.build_schema()) == "OTHER"
