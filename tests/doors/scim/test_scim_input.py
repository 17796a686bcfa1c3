"""Lists, filters and what is malformed: one clear answer each, and never a 500."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.identity.services import users
from policies.models import User
from policies.pdp import authorizer
from tests.doors.conftest import refreshing_at_once
from tests.doors.scim.conftest import GROUP, PATCH, USER, Connector

DEEP = 40_000


@pytest.fixture(scope="module", autouse=True)
def five(connector_token):
    """Five users, for the tests of this module: the id of each."""
    connector = Connector(connector_token)
    with refreshing_at_once():
        return {
            name: connector.make(
                name,
                externalId=f"ext-{name}",
                emails=[{"value": f"{name}@corp.local", "type": "work"}],
                active=name != "cy",
            )
            for name in ("ada", "bo", "cy", "dee", "Eve")
        }


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('userName eq "EVE"', ["Eve"]),
        ('userName sw "E"', ["Eve"]),
        ('userName co "e"', ["dee", "Eve"]),
        ('userName ew "a" or userName eq "bo"', ["ada", "bo"]),
        ('userName ne "ada" and active eq true', ["bo", "dee", "Eve"]),
        ("active eq false", ["cy"]),
        ('active eq "False"', ["cy"]),
        ("not (active eq true)", ["cy"]),
        ('externalId eq "ext-bo"', ["bo"]),
        ('externalId eq "EXT-bo"', []),
        ('externalId pr and userName gt "cy"', ["dee", "Eve"]),
        ('emails[type eq "work"].value eq "Ada@CORP.local"', ["ada"]),
        ('emails[type eq "work" and value co "d"]', ["ada", "dee"]),
        ('emails.value eq "bo@corp.local"', ["bo"]),
        ('emails eq "bo@corp.local"', ["bo"]),
        ('meta.created lt "2001-01-01T00:00:00Z"', []),
        ('meta.created gt "2001-01-01T00:00:00Z" and userName eq "ada"', ["ada"]),
        ('urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada"', ["ada"]),
        ('id eq "no uuid"', []),
        ('userName eq "a\\u0000b"', []),
        ('externalId eq "a\\u0000b"', []),
        ('emails.value eq "a\\u0000b"', []),
        ("userName eq null", []),
        ('groups.value eq "00000000-0000-0000-0000-000000000000"', []),
    ],
)
def test_filters(connector, five, asked, found):
    assert connector.names(filter=asked) == found
    assert connector.told("GET", "/Users", filter=asked)["totalResults"] == len(found)


@pytest.mark.parametrize(
    "asked",
    [
        'title eq "x"',
        'shoeSize eq "4"',
        "userName",
        'userName eq "x',
        "userName like x",
        'emails[type eq "home"].value eq "x"',
        "active gt true",
        'active eq "maybe"',
        'id sw "a"',
        'meta.created gt "soon"',
        'meta.created gt "2001-01-01T00:00:00"',
        " or ".join(["userName pr"] * 400),
        "not (" * 700 + "userName pr" + ")" * 700,
        "userName eq 5",
    ],
)
def test_filters_that_are_none(connector, asked):
    assert connector.refused("GET", "/Users", filter=asked)[0] == 400
    assert connector.refused("POST", "/Users/.search", {"filter": asked})[0] == 400


def test_pages_are_exact(connector, five):
    seen = []
    for start in range(1, 7, 2):
        page = connector.told("GET", "/Users", startIndex=start, count=2)
        assert (page["totalResults"], page["startIndex"]) == (5, start)
        assert page["itemsPerPage"] == len(page["Resources"])
        seen += [one["id"] for one in page["Resources"]]
    assert seen == list(five.values())
    connector.make_group("Staff", five["ada"])
    assert [one["meta"]["resourceType"] for one in connector.told("GET", "/", startIndex=5)["Resources"]] == [
        "User",
        "Group",
    ]
    assert connector.told("GET", "/", filter='displayName eq "Staff"')["totalResults"] == 1
    assert connector.told("POST", "/.search", {"count": 1, "startIndex": 6})["Resources"][0]["displayName"] == "Staff"
    for query in ({"count": 0}, {"count": -4}, {"startIndex": 10**30}):
        page = connector.told("GET", "/Users", **query)
        assert (page["totalResults"], page["Resources"]) == (5, [])
    assert len(connector.told("GET", "/Users", startIndex=-3, count=10**30)["Resources"]) == 5


def test_a_list_costs_the_same_whatever_its_length(connector, five):
    connector.make_group("Staff", *five.values())
    connector.make_group("Crew", *five.values())

    def cost(path, **query):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert connector.told("GET", path, **query)["itemsPerPage"] == query["count"]
        return len(asked)

    for path in ("/Users", "/Groups"):
        cost(path, count=1)
        assert cost(path, count=1) == cost(path, count=2)


def test_a_large_change_costs_the_same(connector, five):
    path = f"/Groups/{connector.make_group('Staff')}"
    ids = list(five.values())

    def cost(operation, keys):
        body = {"schemas": [PATCH], "Operations": [{"op": operation, "path": "members", "value": keys}]}
        with CaptureQueriesContext(connection) as asked:
            connector.told("PATCH", path, body, 204)
        return len(asked)

    entries = [{"value": key} for key in ids]
    first = cost("add", entries[:1])
    assert cost("add", entries[1:]) == first
    some = cost("remove", entries[:1])
    assert cost("remove", entries[1:]) == some


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        "5",
        b"\xff\xfe",
        "[" * DEEP,
        '{"a":' * DEEP,
        '{"schemas": ["\\ud800"], "userName": "\\ud800"}',
        json.dumps({"schemas": [USER]}),
        json.dumps({"schemas": ["urn:other"], "userName": "x"}),
        json.dumps({"schemas": [USER], "userName": 10**400}),
        json.dumps({"schemas": [USER], "userName": "x", "emails": "x"}),
        json.dumps({"schemas": [USER], "userName": "x", "active": "perhaps"}),
        json.dumps({"schemas": [USER], "userName": "x", "title": "a\x00b"}),
        json.dumps({"schemas": [USER], "userName": "x", "title": "a" * 256}),
        json.dumps({"schemas": [USER], "userName": "x", "externalId": "a" * 256}),
        json.dumps({"schemas": [USER], "userName": "x", "nickName": "a" * 200_000}),
        json.dumps({"schemas": [USER], "userName": "x", "emails": [{"value": "a", "primary": True}] * 2}),
    ],
    ids=lambda body: str(body[:40]),
)
def test_bodies_that_are_none(connector, five, method, body):
    path = "/Users" if method == "POST" else f"/Users/{five['ada']}"
    assert connector.refused(method, path, body)[0] == 400


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ({"op": "add", "path": "shoeSize", "value": 4}, "invalidPath"),
        ({"op": "add", "path": "urn:other:User:size", "value": 4}, "invalidPath"),
        ({"op": "replace", "path": "name.nobility", "value": "x"}, "invalidPath"),
        ({"op": "remove", "path": "emails[", "value": None}, "invalidPath"),
        ({"op": "remove"}, "noTarget"),
        ({"op": "fly", "path": "title", "value": "x"}, "invalidValue"),
        ({"op": "add", "path": "title"}, "invalidValue"),
        ({"op": "add", "path": "title", "value": {"a": 1}}, "invalidValue"),
        ({"op": "replace", "path": "active", "value": "perhaps"}, "invalidValue"),
        ({"op": "replace", "path": "id", "value": "x"}, "mutability"),
        ({"op": "add", "path": "groups", "value": [{"value": "x"}]}, "mutability"),
        ({"op": "replace", "path": 'emails[type co "x"].value', "value": "y"}, "noTarget"),
    ],
)
def test_patches_that_are_none(connector, five, operation, kind):
    body = {"schemas": [PATCH], "Operations": [{"op": "add", "path": "title", "value": "Kept?"}, operation]}
    assert connector.refused("PATCH", f"/Users/{five['ada']}", body) == (400, kind)
    assert "title" not in connector.told("GET", f"/Users/{five['ada']}")


def test_what_nobody_keeps_is_passed_over_in_values(connector, five):
    path = f"/Users/{five['ada']}"
    answer = connector.patch(path, {"op": "replace", "value": {"shoeSize": 4, "title": "Head", "password": "x"}})
    assert answer["title"] == "Head"
    assert answer.keys().isdisjoint({"shoeSize", "password"})
    assert connector.told("PUT", path, {"schemas": [USER, "urn:other"], "userName": "ada", "urn:other": {"a": 1}})


def test_attributes_are_chosen(connector, five):
    path = f"/Users/{five['ada']}"
    assert connector.told("GET", path, attributes="userName").keys() == {"schemas", "id", "userName"}
    assert "emails" not in connector.told("GET", path, excludedAttributes="emails,nonsense")
    assert connector.told("GET", "/Users", attributes="emails.value", count=1)["Resources"][0]["emails"] == [
        {"value": "ada@corp.local"}
    ]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/Nothing", 404),
        ("GET", "/Users/a/b", 404),
        ("GET", "/Users/%00", 404),
        ("GET", "/Users/%ED%A0%80", 404),
        ("GET", "/Schemas/urn:other", 404),
        ("GET", "/ResourceTypes/Nothing", 404),
        ("GET", "/Schemas?filter=id%20pr", 403),
        ("POST", "/Schemas", 405),
        ("DELETE", "/Users", 405),
        ("HEAD", "/Users", 405),
        ("POST", "/Bulk", 501),
        ("GET", "/Me", 501),
        ("GET", "/Users?sortBy=password", 400),
        ("GET", "/Users?sortBy=name", 400),
        ("GET", "/Groups?sortBy=members", 400),
        ("GET", "/Users?startIndex=x", 400),
        ("GET", "/Users?cursor=x", 501),
    ],
)
def test_paths_and_methods(connector, method, path, status):
    answer = connector.send(method, path)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/scim+json"
    if status == 405:
        assert answer["Allow"]


MANY = {"value": "x"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/Users", {"schemas": [USER], "userName": "x", "emails": [{}] * 21}),
        ("/Users", {"schemas": [USER], "userName": "x", "phoneNumbers": [MANY] * 21}),
        ("/Users", {"schemas": [USER] * 101, "userName": "x"}),
        ("/Users", {"schemas": [USER], "userName": "x", "name": {"a": [1] * 101}}),
        ("/Groups", {"schemas": [GROUP], "displayName": "x", "members": [MANY] * 5_001}),
        ("/Groups", {"schemas": [GROUP], "displayName": "x", "a": [[], []] * 80_000}),
    ],
)
def test_lists_that_are_too_long(connector, five, path, body):
    assert connector.refused("POST", path, body) == (400, "invalidValue")
    assert connector.names("/Users") == list(five)


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "title", "value": "x"}] * 41,
        [{"op": "remove", "path": "members", "value": [MANY]}] * 101,
        [{"op": "Remove", "path": "members", "value": [MANY] * 1_001}] * 2,
        [
            {"op": "add", "path": "members", "value": [MANY] * 2_501},
            {"op": "add", "value": {"members": [MANY] * 2_500}},
        ],
        [{"op": "add", "path": "emails", "value": [MANY] * 21}],
        [{"op": "add", "path": "emails", "value": [MANY] * 11}, {"op": "add", "value": {"phoneNumbers": [MANY] * 10}}],
    ],
)
def test_patches_that_are_too_long(connector, five, operations):
    body = {"schemas": [PATCH], "Operations": operations}
    assert connector.refused("PATCH", f"/Users/{five['ada']}", body) == (400, "invalidValue")


def test_an_attribute_does_not_grow_beyond_what_one_request_may_bring(connector, five):
    path = f"/Users/{five['ada']}"
    add = [
        {"op": "add", "path": "phoneNumbers", "value": [{"value": f"{part}{n}"} for n in range(15)]} for part in (1, 2)
    ]
    connector.patch(path, add[0])
    assert connector.refused("PATCH", path, {"schemas": [PATCH], "Operations": [add[1]]}) == (400, "invalidValue")
    assert len(connector.told("GET", path)["phoneNumbers"]) == 15


def test_a_user_with_more_values_than_allowed_is_still_suspended(connector, five):
    many = {"phoneNumbers": [{"value": str(number)} for number in range(30)]}
    User.objects.filter(username="ada").update(delivered=many)
    found = connector.patch(f"/Users/{five['ada']}", {"op": "replace", "path": "active", "value": False})
    assert (found["active"], len(found["phoneNumbers"])) == (False, 30)


def test_members_that_are_chosen_by_a_condition_are_chosen_by_one_operation(connector, five):
    group = f"/Groups/{connector.make_group('Crew', five['ada'], five['bo'])}"
    either = {"op": "remove", "path": f'members[value eq "{five["ada"]}" or value eq "{five["bo"]}"]'}
    again = {"schemas": [PATCH], "Operations": [either, either]}
    assert connector.refused("PATCH", group, again) == (400, "invalidValue")
    connector.patch(group, either, status=204)
    assert connector.told("GET", group).get("members", []) == []


def test_a_slash_at_the_end_and_plain_json_are_taken(connector, five):
    answer = connector.client.post(
        "/scim/v2/Users/", json.dumps({"schemas": [USER], "userName": "fay"}), content_type="application/json"
    )
    assert answer.status_code == 201
    assert connector.names("/Users/") == [*five, "fay"]
    form = connector.client.post("/scim/v2/Users", {"userName": "gil"})
    assert (form.status_code, form.json()["status"]) == (415, "415")


def test_a_refusal_writes_nothing(connector, five):
    users.remove(urn="urn:li:corpuser:bo", by=authorizer.SYSTEM, channel="test")
    body = {"schemas": [GROUP], "displayName": "Staff", "members": [{"value": five["ada"]}, {"value": five["bo"]}]}
    assert connector.refused("POST", "/Groups", body) == (400, "invalidValue")
    assert connector.names("/Groups", "displayName") == []
