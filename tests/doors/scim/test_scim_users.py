"""Users as Okta and Entra keep them."""

import uuid

import pytest
from django.test import Client

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.identity.queries import users_groups_roles
from policies.identity.services import access_tokens, users
from policies.models import ChangeEvent, User, documents
from policies.pdp import authorizer
from tests.doors.conftest import calling, token_of
from tests.doors.scim.conftest import ENTERPRISE, PATCH, USER

ADA = "ada@example.com"
URN = f"urn:li:corpuser:{ADA}"

#: A whole user as Okta sends it.
OKTA = {
    "schemas": [USER, ENTERPRISE],
    "userName": ADA,
    "name": {"givenName": "Ada", "familyName": "Lovelace", "middleName": "King"},
    "emails": [
        {"primary": True, "value": "ada@corp.local", "type": "work"},
        {"primary": False, "value": "ada@home.example", "type": "home"},
    ],
    "title": "Analyst",
    "displayName": "Ada Lovelace",
    "locale": "en-GB",
    "externalId": "00ujl29u0le5T6Aj10h7",
    "groups": [],
    "password": "1mz050nq",
    "active": True,
    ENTERPRISE: {"department": "Engines", "employeeNumber": "7", "manager": {"value": "charles"}},
}


def info(urn=URN):
    return documents.to_aspects(users_groups_roles.get_user(urn=urn))[documents.USER_INFO]


def session_of(user):
    client = Client()
    client.force_login(user)
    return client


def test_okta_looks_up_creates_and_replaces(connector):
    asked = {"filter": f'userName eq "{ADA}"', "startIndex": 1, "count": 100}
    found = connector.told("GET", "/Users", **asked)
    assert (found["totalResults"], found["Resources"]) == (0, [])
    answer = connector.send("POST", "/Users", OKTA)
    made = answer.json()
    assert answer.status_code == 201, answer.content
    assert answer["Location"] == made["meta"]["location"] == f"http://testserver/scim/v2/Users/{made['id']}"
    assert uuid.UUID(made["id"])
    assert made["emails"] == [
        {"value": "ada@corp.local", "type": "work", "primary": True},
        {"value": "ada@home.example", "type": "home", "primary": False},
    ]
    assert made[ENTERPRISE] == {"department": "Engines", "employeeNumber": "7", "manager": {"value": "charles"}}
    assert "password" not in made
    assert info() == {
        "active": True,
        "displayName": "Ada Lovelace",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "title": "Analyst",
        "email": "ada@corp.local",
        "departmentName": "Engines",
    }
    assert not users_groups_roles.get_user(urn=URN).has_usable_password()
    assert connector.told("GET", "/Users", **asked)["Resources"] == [made]
    assert connector.refused("POST", "/Users", OKTA) == (409, "uniqueness")
    assert connector.refused("POST", "/Users", OKTA | {"userName": "ADA@example.com"}) == (409, "uniqueness")
    replaced = connector.told("PUT", f"/Users/{made['id']}", OKTA | {"title": "Countess", "name": {"givenName": "Ada"}})
    assert (replaced["title"], replaced["name"], replaced["id"]) == ("Countess", {"givenName": "Ada"}, made["id"])
    assert replaced["meta"]["lastModified"] > made["meta"]["lastModified"]
    assert "lastName" not in info()
    same = {"title": "Countess", "name": {"givenName": "Ada"}}
    again = connector.told("PUT", f"/Users/{made['id']}", OKTA | same)
    assert again["meta"] == replaced["meta"]
    changed = connector.told("PUT", f"/Users/{made['id']}", OKTA | same | {"phoneNumbers": [{"value": "+44 1"}]})
    assert changed["meta"]["lastModified"] > replaced["meta"]["lastModified"]
    assert "+44 1" not in str(list(ChangeEvent.objects.values("before", "after")))


def test_okta_takes_a_user_away_and_brings_it_back(connector):
    key = connector.make(ADA)
    user = users_groups_roles.get_user(urn=URN)
    text = token_of(URN)
    page = session_of(user)
    assert page.get("/catalog").status_code == 200
    answer = connector.patch(f"/Users/{key}", {"op": "replace", "value": {"active": False}})
    assert answer["active"] is False
    assert access_tokens.authenticate(text=text) is None
    assert page.get("/catalog").status_code == 302
    assert users_groups_roles.get_user(urn=URN).state == User.State.SUSPENDED
    assert info()["active"] is False
    assert documents.to_aspects(users_groups_roles.get_user(urn=URN))[documents.USER_STATUS]["status"] == "SUSPENDED"
    assert ChangeEvent.objects.filter(object_urn=URN, door="scim", verb="SUSPENDED").count() == 1
    assert connector.patch(f"/Users/{key}", {"op": "replace", "value": {"active": True}})["active"] is True
    assert access_tokens.authenticate(text=text) == user
    assert page.get("/catalog").status_code == 302


def test_entra_patches_with_its_own_spellings(connector):
    key = connector.make(ADA, emails=[{"value": "ada@corp.local", "type": "work", "primary": True}])
    answer = connector.patch(
        f"/Users/{key}",
        {"op": "Replace", "path": "displayName", "value": "Ada L."},
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "ada.l@corp.local"},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "+44 1"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Analysis"},
        {"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "5d8b"},
        {"op": "Replace", "value": {"name.givenName": "Augusta", f"{ENTERPRISE}:costCenter": "9", "active": "False"}},
    )
    assert (answer["displayName"], answer["name"], answer["active"]) == ("Ada L.", {"givenName": "Augusta"}, False)
    assert answer["emails"] == [{"value": "ada.l@corp.local", "type": "work", "primary": True}]
    assert answer["phoneNumbers"] == [{"value": "+44 1", "type": "mobile"}]
    assert answer[ENTERPRISE] == {"department": "Analysis", "costCenter": "9", "manager": {"value": "5d8b"}}
    assert connector.patch(f"/Users/{key}", {"op": "Replace", "path": "active", "value": "True"})["active"] is True
    cleared = connector.patch(
        f"/Users/{key}",
        {"op": "Remove", "path": "displayName"},
        {"op": "Remove", "path": 'emails[type eq "work"]'},
        {"op": "Remove", "path": f"{ENTERPRISE}:department"},
    )
    assert cleared.keys().isdisjoint({"displayName", "emails"})
    assert info().keys().isdisjoint({"displayName", "email", "departmentName"})


def test_who_was_suspended_here_is_not_let_in_by_the_provider(connector):
    key = connector.make(ADA, title="Analyst", active=True)
    users.suspend(urn=URN, by=authorizer.SYSTEM, channel="test")
    assert connector.told("GET", f"/Users/{key}")["active"] is False
    connector.patch(f"/Users/{key}", {"op": "replace", "value": {"title": "Countess"}})
    connector.patch(f"/Users/{key}", {"op": "replace", "value": {"active": True}})
    assert users_groups_roles.get_user(urn=URN).state == User.State.SUSPENDED
    users.activate(urn=URN, by=authorizer.SYSTEM, channel="test")
    assert connector.told("GET", f"/Users/{key}")["active"] is True


def test_what_is_edited_elsewhere_is_read_here(connector):
    key = connector.make(ADA, emails=[{"value": "a@x.example", "type": "work"}, {"value": "b@x.example"}])
    users.update(urn=URN, email="new@x.example", title="Head", by=authorizer.SYSTEM, channel="test")
    found = connector.told("GET", f"/Users/{key}")
    assert found["title"] == "Head"
    assert [one["value"] for one in found["emails"]] == ["new@x.example", "b@x.example"]
    strange = AspectChange(URN, "corpuser", "corpUserInfo", {"active": True, "firstName": 5, "mine": [1]})
    aspect_services.apply(changes=[strange], by=authorizer.SYSTEM)
    assert "name" not in connector.told("GET", f"/Users/{key}")
    connector.patch(f"/Users/{key}", {"op": "add", "path": "title", "value": "Back"})
    assert info()["mine"] == [1]


def test_a_user_goes(connector):
    key = connector.make(ADA)
    text = token_of(URN)
    assert connector.send("DELETE", f"/Users/{key}").status_code == 204
    assert access_tokens.authenticate(text=text) is None
    assert connector.refused("GET", f"/Users/{key}") == (404, None)
    assert connector.refused("DELETE", f"/Users/{key}") == (404, None)
    assert connector.make(ADA) != key


@pytest.mark.parametrize("name", ["datahub", "__datahub_system", "", " ada", "a,b", "a(b)", "x" * 201, "a\x00b"])
def test_names_that_nobody_gets(connector, name):
    status, _ = connector.refused("POST", "/Users", {"schemas": [USER], "userName": name})
    assert status in (400, 409)
    assert set(User.objects.values_list("username", flat=True)) >= {"datahub"}
    assert not User.objects.filter(username__in=["__datahub_system", " ada", ""]).exists()


def test_the_root_user_and_programs_are_not_there(connector):
    hidden = User.objects.filter(username="datahub") | User.objects.filter(kind=User.Kind.SERVICE)
    assert hidden.count() == 2
    assert connector.names() == []
    for user in hidden:
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            body = {"schemas": [PATCH], "Operations": [{"op": "replace", "value": {"active": False}}]}
            body = {"schemas": [USER], "userName": user.username} if method == "PUT" else body
            assert connector.refused(method, f"/Users/{user.scim_id}", body) == (404, None)
    assert users_groups_roles.get_user(urn="urn:li:corpuser:datahub").is_active


def test_a_name_never_changes(connector):
    key = connector.make(ADA)
    for body in (
        {"op": "replace", "path": "userName", "value": "eve"},
        {"op": "replace", "value": {"userName": "eve"}},
    ):
        sent = {"schemas": [PATCH], "Operations": [body]}
        assert connector.refused("PATCH", f"/Users/{key}", sent) == (400, "mutability")
    put = {"schemas": [USER], "userName": "eve"}
    assert connector.refused("PUT", f"/Users/{key}", put) == (400, "mutability")


def test_the_last_who_can_manage_policies_stays(connector, person):
    manager = person("boss", "MANAGE_POLICIES", type="PLATFORM")
    users.set_password(urn=manager.urn, password="a long word 17", by=authorizer.SYSTEM, channel="test")
    User.objects.filter(username="datahub").update(password="!")
    key = str(users_groups_roles.get_user(urn=manager.urn).scim_id)
    for method, body in (
        ("DELETE", None),
        ("PATCH", {"schemas": [PATCH], "Operations": [{"op": "replace", "value": {"active": False}}]}),
    ):
        assert connector.refused(method, f"/Users/{key}", body) == (409, None)
    assert users_groups_roles.get_user(urn=manager.urn).is_active


def test_who_may(connector, person, nobody):
    for caller in (person("jo"), person("ed", "MANAGE_POLICIES", type="PLATFORM")):
        for method in ("GET", "POST"):
            answer = caller.client.generic(method, "/scim/v2/Users", "{}", content_type="application/json")
            assert (answer.status_code, answer.json()["status"]) == (403, "403")
    answer = nobody.get("/scim/v2/Users")
    assert (answer.status_code, answer.json()["status"]) == (401, "401")
    assert answer["WWW-Authenticate"].startswith("Bearer")
    answer = nobody.get("/scim/v2/Users", headers={"authorization": "Bearer azs_invented"})
    assert 'error="invalid_token"' in answer["WWW-Authenticate"]
    assert calling("urn:li:corpuser:datahub").client.get("/scim/v2/Users").status_code == 200
