"""The short ways of the doors that answer questions lead where the long ones do."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError
from rest_framework.test import APIClient

from policies.decisions.api import request_serializers
from policies.decisions.api.request_serializers import QuestionIn
from policies.http.api import strict_fields
from policies.models.fields import MAX_URN_LENGTH

#: Texts that are URNs, nearly, and not at all.
TEXTS = st.sampled_from(
    [
        "urn:li:corpuser:jo",
        "urn:li:corpGroup:eng",
        "urn:li:dataset:(urn:li:dataPlatform:hive,a b,PROD)",
        "urn:li:corpuser:",
        "urn:li:corpuser: jo",
        "urn:li::jo",
        "urn:li:corpuser:jö",
        "urn:li:corpuser:jo\n",
        "urn:li:corpuser:j\x00",
        "urn:li:corpuser:\ud800",
        "urn:li:corpuser:" + "x" * (MAX_URN_LENGTH - 16),
        "urn:li:corpuser:" + "x" * (MAX_URN_LENGTH - 15),
        "VIEW_ENTITY_PAGE",
        "x" * 255,
        "x" * 256,
        " ",
        "",
        "a\tb",
        "data_product.update",
    ]
)
VALUES: st.SearchStrategy[Any] = TEXTS | st.sampled_from([None, 1, True, [], {}, ["urn:li:tag:a"]])
RESOURCES = VALUES | st.dictionaries(st.sampled_from(["urn", "type", "id", "branch", "unknown"]), VALUES, max_size=3)
QUESTIONS = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "actor": VALUES,
        "privilege": VALUES,
        "operation": VALUES,
        "any_of": VALUES,
        "resource": RESOURCES,
        "explain": VALUES,
        "unknown": VALUES,
    },
)


def outcome(check: Any) -> Any:
    try:
        return dict(check())
    except ValidationError as error:
        return error.get_full_details()


@given(QUESTIONS)
def test_a_plain_question_is_what_the_serializer_makes_of_it(sent: Any) -> None:
    assert outcome(lambda: request_serializers.validate_question(sent)) == outcome(
        lambda: strict_fields.validate(QuestionIn, sent)
    )


def test_most_questions_are_plain() -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    for sent in ({"privilege": "A"}, {"operation": "a.b", "actor": "urn:li:corpuser:jo", "resource": {"urn": urn}}):
        assert request_serializers.is_plain_question(sent)


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "application/json, */*", "application/*"])
def test_an_answer_is_the_same_whatever_leads_to_json(manager: APIClient, accept: str) -> None:
    headers: dict[str, Any] = {"HTTP_ACCEPT": accept} if accept else {}
    answer = manager.post("/api/v1/authorize", {"privilege": "MANAGE_POLICIES"}, **headers)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer.json()["decision"] == "ALLOW"


def test_a_wish_about_its_looks_and_a_format_nobody_has_are_still_heard(manager: APIClient) -> None:
    body = {"privilege": "MANAGE_POLICIES"}
    indented = manager.post("/api/v1/authorize", body, HTTP_ACCEPT="application/json; indent=2")
    assert b"\n" in indented.content
    assert manager.post("/api/v1/authorize", body, HTTP_ACCEPT="text/html").status_code == 406
    assert manager.post("/api/v1/authorize?format=xml", body).status_code == 404


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b'{"privilege": "A", "privilege": "B"}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (json.dumps({"privilege": "A"}).encode(), "application/json; charset=utf-8", 200),
        (json.dumps({"privilege": "A"}).encode(), "application/json", 200),
    ],
)
def test_bodies_are_read_or_refused_as_everywhere(manager: APIClient, body: Any, kind: str, status: int) -> None:
    assert manager.generic("POST", "/api/v1/authorize", body, content_type=kind).status_code == status
