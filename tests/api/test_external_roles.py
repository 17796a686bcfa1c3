"""External roles over the API: who reads and writes them, and what of the aspects they are made of stays."""

import json
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.access import aspect_documents
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.identity.services import groups
from policies.pdp import authorizer
from tests.api.conftest import DOOR, pointers_of, problem_of

ROLES = "/api/v1/external-roles/"
READER = "urn:li:role:shop_reader"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
BILLS = "urn:li:dataset:(urn:li:dataPlatform:hive,bills,PROD)"
BOARD = "urn:li:dashboard:(looker,sales)"
KEEPER, JO = "urn:li:corpuser:keeper", "urn:li:corpuser:jo"
BODY = {
    "urn": READER,
    "name": "Shop reader",
    "description": "Reads the shop",
    "type": "READ",
    "request_url": "https://access.example/reader",
    "users": [KEEPER],
    "groups": ["urn:li:corpGroup:analysts"],
    "datasets": [ORDERS],
}


def place(urn):
    return f"{ROLES}{quote(urn, safe='')}/"


def access(urn):
    return f"/api/v1/entities/{quote(urn, safe='')}/access/"


def put(urn, aspect, document):
    """Store a document as an earlier release may have kept it."""
    proposal = Proposal(urn, aspect, json.dumps(document), keeps_unknown=True)
    apply.apply(proposals=[proposal], by=authorizer.SYSTEM, channel=DOOR)


def said(urn, aspect):
    found = aspect_documents.load_aspect(urn=urn, name=aspect)
    return None if found is None else found.value


@pytest.fixture
def keeper(client_of, stored):
    """Somebody who may edit every entity, beside two datasets, a dashboard and a group with jo in it."""
    stored("keepers", privileges=["EDIT_ENTITY", "VIEW_ENTITY_PAGE"], actors={"users": [KEEPER]})
    client = client_of("keeper")
    for urn in (ORDERS, BILLS):
        put(urn, "datasetProperties", {"name": urn.split(",")[1]})
    put(BOARD, "dashboardInfo", {"title": "Sales", "description": ""})
    return client


@pytest.fixture
def jo(client_of):
    client = client_of("jo")
    groups.create(identifier="analysts", name="Analysts", members=[JO], by=authorizer.SYSTEM, channel=DOOR)
    return client


def test_the_whole_life_of_one(keeper, jo):
    made = keeper.post(ROLES, BODY)
    assert made.status_code == 201, made.content
    assert made.json() == {**BODY, "assigned_to_me": True}
    assert jo.get(place(READER)).json() == {**BODY, "assigned_to_me": True}
    assert said(ORDERS, "access") == {"roles": [{"urn": READER}]}
    assert said(READER, "actors") == {
        "users": [{"user": KEEPER}],
        "groups": [{"group": "urn:li:corpGroup:analysts"}],
    }
    assert said(READER, "roleProperties")["created"]["actor"] == KEEPER
    problem_of(keeper.post(ROLES, BODY), 409)

    changed = keeper.patch(place(READER), {"datasets": [BILLS, BOARD], "groups": [], "request_url": None})
    assert changed.status_code == 200, changed.content
    assert changed.json() == {
        **BODY,
        "groups": [],
        "datasets": [BOARD, BILLS],
        "request_url": None,
        "assigned_to_me": True,
    }
    assert said(ORDERS, "access") == {"roles": []}
    assert jo.get(place(READER)).json()["assigned_to_me"] is False
    replaced = keeper.put(place(READER), {"name": "R", "type": "WRITE"}).json()
    assert (replaced["name"], replaced["users"], replaced["datasets"], replaced["description"]) == ("R", [], [], "")

    put(ORDERS, "access", {"roles": [{"urn": READER}, {"urn": "urn:li:role:other"}]})
    assert keeper.delete(place(READER)).status_code == 204
    assert said(ORDERS, "access") == {"roles": [{"urn": "urn:li:role:other"}]}
    problem_of(keeper.get(place(READER)), 404)
    problem_of(keeper.delete(place(READER)), 404)


def test_who_was_put_away_is_not_added_and_stays_until_taken_off(keeper, jo):
    assert keeper.post(ROLES, {**BODY, "users": [JO]}).status_code == 201
    put(JO, "status", {"removed": True})
    put("urn:li:corpGroup:analysts", "status", {"removed": True})
    assert keeper.patch(place(READER), {"users": [JO, KEEPER]}).json()["users"] == [JO, KEEPER]
    assert keeper.patch(place(READER), {"users": [KEEPER], "groups": []}).status_code == 200
    for field, urn in (("users", JO), ("groups", "urn:li:corpGroup:analysts")):
        assert pointers_of(keeper.patch(place(READER), {field: [urn]})) == {("unknown", f"/{field}/0")}


def test_a_urn_is_made_when_none_is_given(keeper):
    made = keeper.post(ROLES, {"name": "R", "type": "ADMIN"}).json()
    assert made["urn"].startswith("urn:li:role:")
    assert keeper.get(place(made["urn"])).json() == made
    assert (made["request_url"], made["users"], made["assigned_to_me"]) == (None, [], False)


def test_reading_is_for_everybody_and_writing_is_not(keeper, jo):
    keeper.post(ROLES, BODY)
    assert jo.get(ROLES).json()["count"] == 1
    for answer in (
        jo.post(ROLES, {"name": "R", "type": "READ"}),
        jo.put(place(READER), {"name": "R", "type": "READ"}),
        jo.patch(place(READER), {"name": "R"}),
        jo.delete(place(READER)),
    ):
        assert {need["privilege"] for need in problem_of(answer, 403)["missing"]} <= {"EDIT_ENTITY", "CREATE_ENTITY"}
    assert said(READER, "roleProperties")["name"] == "Shop reader"


def test_naming_it_on_a_dataset_needs_what_editing_the_dataset_needs(keeper, jo, client_of, stored):
    keeper.post(ROLES, BODY)
    stored(
        "one",
        privileges=["EDIT_ENTITY"],
        actors={"users": ["urn:li:corpuser:ann"]},
        resources={"filter": {"criteria": [{"field": "TYPE", "values": ["role"]}]}},
    )
    ann = client_of("ann")
    missing = problem_of(ann.patch(place(READER), {"datasets": [ORDERS, BILLS]}), 403)["missing"]
    assert missing == [{"entity": BILLS, "privilege": "EDIT_ENTITY"}]
    assert said(BILLS, "access") is None
    assert ann.patch(place(READER), {"name": "Other"}).json()["name"] == "Other"


def test_unknown_fields_of_the_documents_stay(keeper, jo):
    keeper.post(ROLES, BODY)
    put(READER, "roleProperties", {**said(READER, "roleProperties"), "kept": [1]})
    put(READER, "actors", {"users": [{"user": KEEPER, "since": 5}], "kept": True})
    put(ORDERS, "access", {"roles": [{"urn": READER, "kept": 1}], "kept": 2})
    keeper.patch(place(READER), {"name": "Other", "users": [KEEPER], "datasets": [ORDERS, BILLS]})
    assert said(READER, "roleProperties")["kept"] == [1]
    assert said(READER, "actors") == {"users": [{"user": KEEPER, "since": 5}], "kept": True}
    assert said(ORDERS, "access") == {"roles": [{"urn": READER, "kept": 1}], "kept": 2}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"request_url": "javascript:alert(1)"}, {("url.invalid", "/request_url")}),
        ({"request_url": "ftp://x.example"}, {("url.invalid", "/request_url")}),
        ({"users": ["urn:li:corpuser:none"]}, {("unknown", "/users/0")}),
        ({"groups": ["urn:li:corpGroup:none"]}, {("unknown", "/groups/0")}),
        ({"datasets": [ORDERS, "urn:li:dataset:none"]}, {("unknown", "/datasets/1")}),
        ({"datasets": ["urn:li:tag:x"]}, {("type.mismatch", "/datasets/0")}),
        ({"name": " ", "type": " "}, {("required", "/name"), ("required", "/type")}),
    ],
)
def test_what_is_wrong_is_said_at_its_place_and_nothing_is_stored(keeper, jo, change, found):
    put("urn:li:tag:x", "tagProperties", {"name": "x"})
    assert pointers_of(keeper.post(ROLES, {**BODY, **change})) == found
    assert not Entity.objects.filter(type="role").exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {**BODY, "colour": 1},
        {**BODY, "urn": "urn:li:tag:x"},
        {**BODY, "users": ["urn:li:corpGroup:x"]},
        {**BODY, "users": "x"},
        {**BODY, "name": 5},
        {**BODY, "name": "\x00"},
        {**BODY, "assigned_to_me": True},
    ],
)
def test_bodies_of_another_shape(keeper, body):
    pointers_of(keeper.post(ROLES, body))


def test_search_filters_and_pages(keeper, jo):
    for name, kind in (("Shop reader", "READ"), ("Shop writer", "WRITE"), ("Bank reader", "read")):
        keeper.post(ROLES, {"name": name, "type": kind, "users": [JO] if kind == "WRITE" else []})

    def names(query):
        return [one["name"] for one in keeper.get(f"{ROLES}{query}").json()["results"]]

    assert names("") == ["Bank reader", "Shop reader", "Shop writer"]
    assert names("?q=shop") == ["Shop reader", "Shop writer"]
    assert names("?type=READ") == ["Bank reader", "Shop reader"]
    assert names(f"?holder={JO}") == ["Shop writer"]
    assert names("?page=2&page_size=2") == ["Shop writer"]
    assert names("?page=9") == []
    pointers_of(keeper.get(f"{ROLES}?colour=1"))


def test_access_of_an_entity(keeper, jo):
    keeper.post(ROLES, BODY)
    put(BOARD, "access", {"roles": [{"urn": READER}, {"urn": "urn:li:role:undescribed"}]})
    found = jo.get(access(BOARD)).json()
    assert (found["count"], found["next"]) == (2, None)
    assert [(one["urn"], one["assigned_to_me"], one["request_url"]) for one in found["results"]] == [
        (READER, True, BODY["request_url"]),
        ("urn:li:role:undescribed", False, None),
    ]
    assert jo.get(access(BILLS)).json()["results"] == []
    problem_of(jo.get(access("urn:li:dataset:none")), 404)
    problem_of(jo.get(access("urn:li:tag:x")), 404)


def test_only_some_types_have_external_roles(keeper):
    urn = "urn:li:chart:(looker,x)"
    body = {"type": "chart", "urn": urn, "aspects": {"access": {"roles": [{"urn": READER}]}}}
    assert {code for code, _ in pointers_of(keeper.post("/api/v1/entities/", body))} == {"type.mismatch"}


def test_what_the_caller_may_not_view_is_not_named_and_stays(keeper, client_of, stored, settings):
    keeper.post(ROLES, {**BODY, "groups": [], "datasets": [ORDERS, BILLS]})
    settings.VIEW_AUTHORIZATION_ENABLED = True
    stored(
        "partly",
        privileges=["EDIT_ENTITY"],
        actors={"users": ["urn:li:corpuser:ann"]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [ORDERS, READER]}]}},
    )
    ann = client_of("ann")
    assert ann.get(place(READER)).json()["datasets"] == [ORDERS]
    problem_of(ann.get(access(BILLS)), 404)
    assert pointers_of(ann.patch(place(READER), {"datasets": [BILLS]})) == {("unknown", "/datasets/0")}
    assert ann.patch(place(READER), {"datasets": []}).json()["datasets"] == []
    assert said(ORDERS, "access") == {"roles": []}
    assert said(BILLS, "access") == {"roles": [{"urn": READER}]}


def test_a_page_costs_the_same_whatever_its_length(keeper, jo):
    def cost(address):
        keeper.get(address)
        with CaptureQueriesContext(connection) as found:
            assert keeper.get(address).status_code == 200
        return len(found)

    def fill(count):
        for number in range(count):
            keeper.post(
                ROLES, {"urn": f"urn:li:role:r{count}.{number}", "name": "r", "type": "READ", "datasets": [ORDERS]}
            )

    fill(5)
    addresses = [ROLES, access(ORDERS)]
    few = [cost(address) for address in addresses]
    fill(45)
    assert [cost(address) for address in addresses] == few


def test_nobody_without_a_token(db, client):
    problem_of(client.get(ROLES), 401)
    problem_of(client.get(access(ORDERS)), 401)
