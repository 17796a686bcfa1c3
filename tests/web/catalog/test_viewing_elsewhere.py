"""With VIEW_AUTHORIZATION_ENABLED the pages about policies and Why hide what the pages of the catalog hide.

Otto manages policies, may ask about others, and may view one dataset; what he may do does not let him view more.
"""

import html

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import JsonResponse
from django.test.utils import CaptureQueriesContext

from policies.authoring.services import policies, policy_drafts
from policies.changes.pages.net_change_wording import NOBODY
from policies.engine.requirements import privilege_requirement
from policies.http.guard import viewer_context_middleware
from policies.pdp import actor_resolution, authorizer, explanations
from policies.pdp.access_requests import AccessRequest, ResourceRef
from tests.web.catalog.conftest import BOARD, EUROPE, ORDERS, OUTSIDER, OWNER, REVENUE, SALARIES, SALES, SECRET, hide
from tests.web.conftest import DOOR, document_of
from tests.web.policies.writing import BASE, Builder

HIDDEN = "urn:li:dataHubPolicy:about-hidden"
#: Names that stand in no URN of the catalog.
NAMES = ("Secret plans", "Europe", "Sales board")


@pytest.fixture
def client(shelves, settings, write):
    """Return otto, who manages policies and may view orders alone."""
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    privileges = ["MANAGE_POLICIES", "CHECK_ACCESS"]
    write("otto", displayName="O", type="PLATFORM", privileges=privileges, actors={"users": [OUTSIDER]})
    only = [{"field": "URN", "values": [ORDERS]}]
    write(
        "otto-sees",
        displayName="Otto sees orders",
        privileges=["VIEW_ENTITY_PAGE"],
        actors={"users": [OUTSIDER]},
        resources={"filter": {"criteria": only}},
    )
    write(
        "about-hidden",
        displayName="About hidden things",
        actors={"users": [OWNER]},
        resources={"filter": {"criteria": criteria("DOMAIN", SECRET, EUROPE)}},
    )
    return shelves("outsider")


def criteria(field, *values):
    return [{"field": field, "condition": "EQUALS", "values": list(values)}]


def text(response):
    assert response.status_code == 200, response.content
    return html.unescape(response.content.decode())


def test_a_word_suggests_nothing_hidden(client, shelves):
    for path, asked in (
        ("/why", {"privilege": "EDIT_ENTITY"}),
        ("/why/can", {}),
        ("/why/who", {"privilege": "EDIT_ENTITY"}),
    ):
        for word, found in (("salaries", []), ("secret", []), ("orders", [ORDERS])):
            answer = client.get(path, {**asked, "actor": "", "resource": word})
            assert [choice["urn"] for choice in answer.context["choices"]] == found, (path, word)
    seen = shelves("root").get("/why", {"privilege": "EDIT_ENTITY", "resource": "salaries"}).context["choices"]
    assert [choice["urn"] for choice in seen] == [SALARIES]


def test_an_answer_names_nothing_hidden(client, shelves):
    asked = {"privilege": "EDIT_ENTITY_TAGS", "resource": SECRET}
    for path in ("/why", "/why/can", "/why/who"):
        assert "Secret plans" not in text(client.get(path, asked)), path
        assert "Secret plans" in text(shelves("root").get(path, asked)), path


def test_nothing_is_told_about_what_a_refusal_or_permission_rests_on(client, shelves):
    for actor in ("olga", "stella"):
        asked = {"actor": actor, "privilege": "EDIT_ENTITY_TAGS", "resource": SALARIES}
        hidden = client.get("/why", asked)
        absent = client.get("/why", asked | {"resource": SALARIES.replace("salaries", "absences")})
        for page in (hidden, absent):
            assert page.context["form"].errors["resource"][0].startswith("Nothing is known by the URN")
            assert "answer" not in page.context
        seen = shelves("root").get("/why", asked).context["answer"]
        assert seen["nearest"] or all(row["reason"].explanation for row in seen["reasons"])


def test_a_fact_that_is_hidden_is_not_named_in_a_sentence(client, shelves, write):
    write(
        "tags-in-sales",
        displayName="Tags in Sales",
        actors={"users": [OUTSIDER]},
        resources={"filter": {"criteria": criteria("DOMAIN", SALES)}},
    )
    asked = {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS, "actor": "otto"}
    (row,) = client.get("/why", asked).context["answer"]["reasons"]
    assert "something you may not view" in row["reason"].explanation
    assert "sales" not in row["reason"].explanation.lower().replace("something you may not view", "")
    assert "Sales" in shelves("root").get("/why", asked).context["answer"]["reasons"][0]["reason"].explanation


def test_what_somebody_reaches_is_complete_for_who_may_ask_about_others(client, shelves):
    """The answer is about the actor then, and says so; pages that its reader may not view are not linked."""
    asked = {"actor": "datahub", "privilege": "EDIT_ENTITY_TAGS", "type": "dataset"}
    seen = client.get("/why/what", asked)
    assert {row["named"].urn: bool(row["url"]) for row in seen.context["rows"]} == {ORDERS: True, SALARIES: False}
    assert seen.context["answer"]["count"] == "2"
    assert "You may ask about others, so the list is complete" in text(seen)
    assert shelves("root").get("/why/what", asked).context["answer"]["count"] == "2"


def test_pickers_and_trees_offer_nothing_hidden(client, shelves):
    for field, word, urn in (("URN", "salaries", SALARIES), ("DOMAIN", "secret", SECRET), ("GLOSSARY", "rev", REVENUE)):
        address = f"{BASE}/options/{field}"
        assert urn not in text(client.get(address, {"q": word})), field
        assert urn in text(shelves("root").get(address, {"q": word})), field
    assert ORDERS in text(client.get(f"{BASE}/options/URN", {"q": "orders"}))
    assert "urn:li:domain:" not in text(client.get(f"{BASE}/branches/DOMAIN", {"name": "c0"}))
    roots = shelves("root").get(f"{BASE}/branches/DOMAIN", {"name": "c0"}).context["branches"]
    assert {branch["urn"]: branch["is_parent"] for branch in roots} == {EUROPE: True, SECRET: False}


def test_a_branch_whose_parent_is_hidden_is_a_root(client, write):
    write(
        "otto-sees-sales",
        displayName="Otto sees Sales",
        privileges=["VIEW_ENTITY_PAGE"],
        actors={"users": [OUTSIDER]},
        resources={"filter": {"criteria": criteria("URN", SALES)}},
    )
    roots = client.get(f"{BASE}/branches/DOMAIN", {"name": "c0"}).context["branches"]
    assert [branch["urn"] for branch in roots] == [SALES]


@pytest.mark.parametrize("address", ["", "edit/", "history/", "delete/", "versions/2/"])
def test_the_pages_of_a_policy_name_nothing_hidden(client, shelves, address):
    document = document_of(
        displayName="About hidden things",
        actors={"users": [OWNER]},
        resources={"filter": {"criteria": criteria("DOMAIN", SECRET) + criteria("URN", BOARD)}},
    )
    draft = policy_drafts.PolicyInput("datahub", document)
    policies.update(urn=HIDDEN, draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    page = text(client.get(f"{BASE}/{address}{HIDDEN}"))
    assert [name for name in NAMES if name in page] == []
    seen = text(shelves("root").get(f"{BASE}/{address}{HIDDEN}"))
    assert address in ("delete/", "history/") or "Secret plans" in seen


def test_what_saving_and_deleting_change_counts_what_is_hidden_and_does_not_name_it(client, shelves):
    draft = document_of(
        displayName="All datasets",
        privileges=["EDIT_ENTITY_DOCS"],
        actors={"users": [OWNER]},
        resources={"filter": {"criteria": criteria("TYPE", "dataset")}},
    )
    policies.update(urn=HIDDEN, draft=policy_drafts.PolicyInput("datahub", draft), by=authorizer.SYSTEM, channel=DOOR)
    lost = "Olga Owner loses Edit Description on 1 entity"
    for reader, named in ((client, f"{lost}."), (shelves("root"), f"{lost}, salaries.")):
        builder = Builder(reader, f"{BASE}/edit/{HIDDEN}")
        assert builder.response.context["net_change"] == [NOBODY]
        builder.press("refresh", state="INACTIVE")
        assert named in builder.response.context["net_change"], "she owns the other one"
        assert named in text(reader.get(f"{BASE}/delete/{HIDDEN}"))


def test_the_deepest_domains_are_found_among_those_that_may_be_viewed(client, shelves):
    assert [one.urn for one in authorizer.directory().list_deepest_nodes(type="domain", limit=5)] == [SALES]
    with authorizer.bind_viewer(lambda: actor_resolution.load_actor(urn=OUTSIDER)):
        assert authorizer.directory().list_deepest_nodes(type="domain", limit=5) == []
    assert [name for name in NAMES if name in text(client.get("/settings/status"))] == []


def test_the_api_explains_as_the_pages_do(client):
    asked = {
        "actor": "urn:li:corpuser:stella",
        "privilege": "EDIT_ENTITY_TAGS",
        "resource": {"urn": SALARIES},
        "explain": True,
    }
    answer = client.post("/api/v1/authorize", asked, "application/json").json()
    assert (answer["decision"], answer["nearest"]) == ("DENY", [])
    answer = client.post("/api/v1/authorize", asked | {"resource": {"urn": ORDERS}}, "application/json").json()
    assert answer["decision"] == "ALLOW"
    assert answer["reasons"][0]["because"]


def test_outside_of_requests_the_system_reads(client):
    stella = actor_resolution.load_actor(urn="urn:li:corpuser:stella")
    ask = AccessRequest(privilege_requirement("EDIT_ENTITY_TAGS"), ResourceRef(SALARIES))
    assert explanations.explain_answer(actor=stella, request=ask).near_misses
    assert authorizer.load_names(urns=[SECRET]) == {SECRET: "Secret plans"}


def test_who_is_not_signed_in_reads_nothing(client, rf):
    request = rf.get("/")
    request.user = AnonymousUser()
    answer = viewer_context_middleware(lambda _: JsonResponse(authorizer.load_names(urns=[SECRET, ORDERS])))(request)
    assert answer.content == b"{}"


def test_hiding_costs_the_same_number_of_queries_whatever_is_named(client, write):
    def count(urns):
        draft = document_of(
            displayName="About hidden things", resources={"filter": {"criteria": criteria("DOMAIN", *urns)}}
        )
        policies.update(
            urn=HIDDEN, draft=policy_drafts.PolicyInput("datahub", draft), by=authorizer.SYSTEM, channel=DOOR
        )
        client.get(f"{BASE}/{HIDDEN}")
        with CaptureQueriesContext(connection) as queries_made:
            client.get(f"{BASE}/{HIDDEN}")
        return len(queries_made)

    assert count([SECRET]) == count([SECRET, EUROPE, SALES])
