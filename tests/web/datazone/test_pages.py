"""What the pages show of Datazone policies: their statements in words, their roles, and what of a table is read."""

from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.authoring.services import policies, policy_drafts, role_with_policies
from policies.pdp import authorizer
from tests.web.conftest import DOOR
from tests.web.datazone.conftest import EDITOR, ORDERS, OTHER, VIEWER, statement
from tests.web.policies.writing import BASE
from tests.web.test_markup import HOSTILE, check

ROLES = "/settings/permissions/roles"
AT = f"/why/restrictions?actor=otto&resource={quote(ORDERS)}"


def limited(orders, **constraints):
    return statement(f"dataset:{orders}", "dataset:read", extra_constraints=constraints)


def test_statements_are_sentences_with_names(browse, crew, orders, state):
    policy = state(
        "said",
        statement(f"dataset:{orders}", "dataset:read", "dataset:write", branch="dev"),
        statement(f"project:{OTHER}:*", "*:*", effect="deny"),
        statement("notebook", "notebook:create"),
    )
    found = browse("root").get(f"{BASE}/{policy.urn}").context["statements"]
    assert [one["sentence"] for one in found] == [
        "May read and write on the dataset Orders, on the branch dev.",
        f"May not do everything on everything in the project {OTHER}, and on creating in it.",
        "May create on creating a new notebook.",
    ]


def test_a_role_names_its_policies(browse, crew, state):
    policy = state("bound", statement("dataset:*", "dataset:read"), name="Bound to viewers", roles=[VIEWER])
    client = browse("root")
    page = client.get(f"{ROLES}/{VIEWER}").content.decode()
    assert "Bound to viewers" in page
    assert policy.urn in page
    assert "Bound to viewers" not in client.get(f"{ROLES}/{EDITOR}").content.decode()


def test_one_role_stacks(browse, crew, orders, state):
    state("rows", limited(orders, row_level_restrictions=["region = 'EU'"]), roles=[VIEWER])
    state("columns", limited(orders, column_level_restrictions=["id", "total"]), roles=[VIEWER])
    response = browse("root").get(AT)
    answer = response.context["answer"]
    assert answer["sql"] == "SELECT id, total FROM Orders WHERE (region = 'EU')"
    assert answer["combination"].startswith("One part decides")
    (part,) = answer["parts"]
    assert part["role"]["name"] == "Viewer"
    assert [one["policy"] for one in part["statements"]] == ["columns", "rows"]
    assert "region = &#x27;EU&#x27;" in response.content.decode()


def test_several_roles_add_up_and_one_without_restriction_lifts(browse, crew, orders, state):
    state("viewers", limited(orders, row_level_restrictions=["region = 'EU'"]), roles=[VIEWER])
    state("editors", limited(orders, column_level_restrictions=["id"]), roles=[EDITOR])
    answer = browse("root").get(AT).context["answer"]
    assert answer["combination"].startswith("2 parts add up")
    assert "CASE WHEN" in answer["sql"]
    state("more", statement("dataset:*", "dataset:read"), roles=[EDITOR])
    assert browse("root").get(AT).context["answer"]["combination"].startswith("2 parts add up")


def test_a_role_without_restriction_lifts_all(browse, crew, orders, state):
    state("viewers", limited(orders, row_level_restrictions=["region = 'EU'"]), roles=[VIEWER])
    state("editors", statement("dataset:*", "dataset:read"), roles=[EDITOR])
    answer = browse("root").get(AT).context["answer"]
    assert answer["sql"] == "SELECT * FROM Orders"
    assert "lifts" in answer["combination"]
    assert [part["verdict"] for part in answer["parts"]] == ["Shows all of it.", "Lifted by another role."]


def test_why_leads_to_the_restrictions(browse, crew, orders, state):
    client = browse("root")
    address = f"/why?actor=otto&privilege=dataset:read&resource={quote(ORDERS)}"
    assert "/why/restrictions" not in client.get(address).content.decode()
    state("viewers", limited(orders, row_level_restrictions=["region = 'EU'"]), roles=[VIEWER])
    assert client.get(client.get(address).context["answer"]["restrictions_url"]).context["answer"]["sql"]


def test_what_may_not_be_read_is_refused_in_words(browse, crew, orders):
    response = browse("root").get(AT)
    assert response.status_code == 200
    assert response.context["answer"]["is_allowed"] is False
    assert "sql" not in response.context["answer"]
    assert browse("outsider").get(f"/why/restrictions?actor=ada&resource={quote(ORDERS)}").status_code == 403


@pytest.mark.parametrize(
    "resource", ["urn:li:domain:x", "urn:li:dataset:none", "", "nonsense", "urn:li:", HOSTILE, "Orders"]
)
def test_what_is_no_table_is_said_beside_the_field(browse, crew, orders, resource):
    response = browse("root").get("/why/restrictions", {"resource": resource, "actor": "otto", "table": HOSTILE})
    assert response.status_code == 200
    check(response)


def test_hostile_texts_stay_texts(browse, crew, orders, state):
    text = "region = '<script>alert(1)</script>'"
    policy = state(
        "hostile",
        limited(orders, row_level_restrictions=[text], column_level_restrictions=[HOSTILE, "id"]),
        name=HOSTILE[:200],
        roles=[VIEWER],
    )
    for address in (AT, f"{AT}&table=a.b.c.d.e", f"{AT}&table={quote(HOSTILE)}", f"{BASE}/{policy.urn}"):
        response = browse("root").get(address)
        assert response.status_code == 200
        check(response)
        assert "<script>alert" not in response.content.decode()


def test_the_view_costs_the_same_whatever_is_bound(browse, crew, orders, state):
    costs = []
    for size in (5, 50):
        drafts = {}
        for number in range(size):
            limits = limited(orders, row_level_restrictions=[f"total > {number}"])
            document = {"name": f"p{size}-{number}", "statements": [limits], "roles": [VIEWER]}
            drafts[f"urn:li:dataHubPolicy:p{size}-{number}"] = policy_drafts.PolicyInput("datazone", document)
        policies.put_many(drafts=drafts, by=authorizer.SYSTEM, channel=DOOR)
        client = browse("root")
        client.get(AT)
        with CaptureQueriesContext(connection) as found:
            assert client.get(AT).status_code == 200
        costs.append(len(found))
    assert costs[0] == costs[1] <= 45


@pytest.mark.parametrize("document", [{}, {"roles": None}, {"roles": [VIEWER]}])
def test_a_policy_is_bound_to_a_role_as_it_is_made(crew, state, document):
    policy = state("open", statement("dataset:*", "dataset:read"), **document)
    role = role_with_policies.create(
        name="Reader", description="", policy_urns=[policy.urn], by=authorizer.SYSTEM, channel=DOOR
    )
    policy.refresh_from_db()
    assert policy.document["roles"] == [*(document.get("roles") or ()), role.urn]
