"""What a question about somebody and something that the process never met asks of the database: one statement."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from policies.identity.services import groups, roles
from policies.pdp import authorizer, snapshot_store
from tests.api.conftest import client_of, stored  # noqa: F401  # fixtures
from tests.catalog.conftest import owners, said, tags, tell

pytestmark = pytest.mark.django_db(transaction=True)

BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
AUTHORIZE, BATCH, EVALUATION = "/api/v1/authorize", "/api/v1/authorize/batch", "/access/v1/evaluation"
SALES, WORLD, ENG = "urn:li:domain:sales", "urn:li:domain:world", "urn:li:corpGroup:eng"
STEWARD = "urn:li:dataHubRole:Steward"
PEOPLE, TABLES = 12, 12


@pytest.fixture
def asking(client_of: Callable[..., APIClient], stored: Callable[..., str], monkeypatch: Any) -> APIClient:  # noqa: F811
    """Somebody who asks about others, in a company whose policies look at everything that is stored about entities.

    Each of the people is in a group that has a role; each table has an owner, a tag and a domain inside another one.
    """
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 3600.0)
    asking = client_of("service", "CHECK_ACCESS")
    for number in range(PEOPLE):
        client_of(f"u{number}")
    members = [person(number) for number in range(PEOPLE)]
    groups.create(name="eng", identifier="eng", members=members, **BY)
    roles.create(name="Steward", identifier="Steward", **BY)
    roles.grant(urn=STEWARD, actors=[ENG], **BY)
    tell(said(SALES, "domainProperties", {"name": "Sales", "parentDomain": WORLD}))
    for number in range(TABLES):
        tell(
            said(table(number), "domains", {"domains": [SALES]}),
            said(table(number), "globalTags", tags("a")),
            said(table(number), "ownership", owners(person(number))),
        )
    for name, field, values in (("domain", "DOMAIN", [WORLD]), ("tag", "TAG", ["urn:li:tag:a"])):
        criteria = [{"field": field, "values": values}]
        stored(
            name,
            privileges=[f"EDIT_{'DOMAINS_PRIVILEGE' if name == 'domain' else 'ENTITY_TAGS'}"],
            actors={"roles": [STEWARD]},
            resources={"filter": {"criteria": criteria}},
        )
    stored("owners", privileges=["EDIT_ENTITY_OWNERS"], actors={"resourceOwners": True})
    # Who asks is known, and that it may ask about others.
    assert asking.post(AUTHORIZE, {"privilege": "EDIT_ENTITY_TAGS", "actor": person(0)}).status_code == 200
    return asking


def person(number: int) -> str:
    return f"urn:li:corpuser:u{number}"


def table(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)"


def statements_of(asking: APIClient, path: str, body: dict[str, Any]) -> tuple[list[str], Any]:
    """Return what a call asks of the database, and its answer."""
    with CaptureQueriesContext(connection) as queries:
        answer = asking.post(path, body)
    assert answer.status_code == 200, answer.content
    return [query["sql"] for query in queries], answer.json()


@pytest.mark.parametrize("privilege", ["EDIT_ENTITY_TAGS", "EDIT_DOMAINS_PRIVILEGE", "EDIT_ENTITY_OWNERS"])
def test_a_cold_question_costs_one_statement_and_a_hot_one_none(asking, privilege):
    question = {"privilege": privilege, "actor": person(1), "resource": {"urn": table(1)}}
    cold, answer = statements_of(asking, AUTHORIZE, question)
    assert (len(cold), answer["decision"]) == (1, "ALLOW"), cold
    assert statements_of(asking, AUTHORIZE, question) == ([], answer)
    # Another question about them is hot as well, whatever its policies look at.
    for other in ("EDIT_ENTITY_TAGS", "EDIT_DOMAINS_PRIVILEGE", "EDIT_ENTITY_OWNERS"):
        assert statements_of(asking, AUTHORIZE, {**question, "privilege": other})[0] == []


def test_so_does_one_about_nothing_that_is_stored(asking):
    question = {
        "privilege": "EDIT_ENTITY_TAGS",
        "actor": "urn:li:corpuser:nobody",
        "resource": {"urn": "urn:li:dataset:x"},
    }
    cold, answer = statements_of(asking, AUTHORIZE, question)
    assert (len(cold), answer["decision"]) == (1, "DENY"), cold
    assert statements_of(asking, AUTHORIZE, question) == ([], answer)


def test_only_what_is_missing_is_asked_for(asking):
    about = {"privilege": "EDIT_ENTITY_TAGS", "actor": person(1), "resource": {"urn": table(1)}}
    statements_of(asking, AUTHORIZE, about)
    for changes in ({"actor": person(2)}, {"resource": {"urn": table(2)}}):
        (statement,), _ = statements_of(asking, AUTHORIZE, {**about, **changes})
        assert person(1) not in statement
        assert table(1) not in statement


def test_a_cold_batch_costs_one_statement(asking):
    questions = [
        {"privilege": privilege, "actor": person(number), "resource": {"urn": table(number)}}
        for number in range(PEOPLE)
        for privilege in ("EDIT_ENTITY_TAGS", "EDIT_ENTITY_OWNERS")
    ]
    cold, answer = statements_of(asking, BATCH, {"questions": questions})
    assert len(cold) == 1, cold
    assert {one["decision"] for one in answer["decisions"]} == {"ALLOW"}
    assert statements_of(asking, BATCH, {"questions": questions}) == ([], answer)


def test_a_cold_evaluation_costs_one_statement(asking):
    evaluation = {
        "subject": {"type": "user", "id": "u3"},
        "action": {"name": "EDIT_ENTITY_TAGS"},
        "resource": {"type": "dataset", "id": table(3)},
    }
    cold, answer = statements_of(asking, EVALUATION, evaluation)
    assert (len(cold), answer["decision"]) == (1, True), cold
