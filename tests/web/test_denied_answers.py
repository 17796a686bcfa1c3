"""Answers of Why where policies deny, or except somebody."""

import io

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.authoring.services import policies
from policies.pdp import authorizer
from tests.web.conftest import DOOR
from tests.web.test_why import words

OTTO, STELLA, ADA = (f"urn:li:corpuser:{name}" for name in ("otto", "stella", "ada"))
INTERNS = "urn:li:corpGroup:interns"
QUESTION = {"privilege": "EDIT_ENTITY_DOCS", "resource": "urn:li:corpuser:ada"}


@pytest.fixture
def writers(world, write):
    write(
        "writers",
        displayName="Writers",
        privileges=["EDIT_ENTITY_DOCS"],
        actors={"allUsers": True, "excludedUsers": [STELLA]},
    )


def ask_who(client, **changes):
    return client.get("/why/who", QUESTION | changes)


def test_why_names_the_deny_that_decides_and_not_twice(browse, writers, write):
    denying = write(
        "denying", displayName="Hands off", privileges=["EDIT_ENTITY_DOCS"], effect="DENY", actors={"users": [OTTO]}
    )
    page = browse("root").get("/why", QUESTION | {"actor": "otto"})
    (reason,) = page.context["answer"]["reasons"]
    assert reason["reason"].policy == denying.urn
    assert denying.urn not in {row["near"].policy for row in page.context["answer"]["nearest"]}
    text = words(page)
    assert "Denied by Hands off" in text
    assert "Deny Otto Outsider is named." in text
    assert "It denies this, and a deny wins over every allow." in text
    output = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("why", "otto", *QUESTION.values(), stdout=output)
    assert f"- Hands off ({denying.urn}), deny: Otto Outsider is named." in output.getvalue()


def test_why_says_who_is_excepted(browse, writers):
    text = words(browse("root").get("/why", QUESTION | {"actor": "stella"}))
    assert "Writers" in text
    assert "Stella Steward is excepted from it: Stella Steward is named." in text
    allowed = browse("root").get("/why", QUESTION | {"actor": "otto"})
    assert allowed.context["answer"]["is_allowed"]
    assert "Decided by" in words(allowed)


def test_who_names_the_exceptions_and_lists_them(browse, writers, write):
    write("denying", privileges=["EDIT_ENTITY_DOCS"], effect="DENY", actors={"users": [OTTO], "groups": [INTERNS]})
    page = ask_who(browse("root"))
    assert "All users may." in words(page)
    assert f"Except Otto Outsider, Stella Steward and {INTERNS}: a policy denies it to them" in words(page)
    others = browse("root").get(page.context["answer"]["other_list_url"])
    assert [(row["label"], row["urn"]) for row in others.context["rows"]] == [
        ("User", OTTO),
        ("User", STELLA),
        ("Group", INTERNS),
    ]
    back = browse("root").get(others.context["answer"]["other_list_url"])
    assert [row["urn"] for row in back.context["rows"]] == [row["urn"] for row in page.context["rows"]]
    assert ask_who(browse("root"), list="exceptions", privilege="NO_SUCH_PRIVILEGE").status_code == 200


def test_many_exceptions_are_counted_paged_and_cost_the_same(browse, world, write):
    costs = []
    for count in (7, 60):
        groups = [f"urn:li:corpGroup:g{number:02}" for number in range(count)]
        actors = {"allUsers": True, "excludedGroups": groups}
        policy = write(f"wide-{count}", privileges=["EDIT_ENTITY_DOCS"], actors=actors)
        client = browse("root")
        ask_who(client)
        with CaptureQueriesContext(connection) as queries:
            page = ask_who(client)
        costs.append(len(queries))
        assert f"urn:li:corpGroup:g04 and {count - 5} more" in words(page)
        last = ask_who(client, list="exceptions", page="99")
        assert [row["urn"] for row in last.context["rows"]][-1] == groups[-1]
        assert len(last.context["rows"]) < 26
        policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert costs[0] == costs[1]
