"""Users, groups, roles and tokens over the API."""

from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from policies.aspects import services as aspect_services
from policies.aspects.schemas import GROUP, USER, AspectChange
from policies.pdp import authorizer
from tests.api.conftest import pointers_of, problem_of

API = "/api/v1"
PASSWORD = "Correct-Horse-7-battery"
ALWAYS = {"valid_from": None, "valid_until": None, "phase": "CURRENT"}


def place(kind, urn):
    return f"{API}/{kind}/{quote(urn, safe='')}/"


@pytest.fixture
def made(manager):
    """A user, a group and a role, as the API answered."""
    return {
        "user": manager.post(f"{API}/users/", {"username": "jo@example.com", "display_name": "Jo"}).json(),
        "group": manager.post(f"{API}/groups/", {"id": "eng", "name": "Engineers"}).json(),
        "role": manager.post(f"{API}/roles/", {"id": "steward", "name": "Steward"}).json(),
    }


def test_a_user_is_made_shown_changed_and_deleted(manager, made):
    user = made["user"]
    assert user | {"object_id": ""} == {
        "urn": "urn:li:corpuser:jo@example.com",
        "username": "jo@example.com",
        "display_name": "Jo",
        "email": "",
        "title": "",
        "state": "ACTIVE",
        "object_id": "",
        "groups": [],
        "roles": [],
    }
    here = place("users", user["urn"])
    assert manager.get(here).json() == user
    assert manager.patch(here, {"title": "Engineer"}).json()["title"] == "Engineer"
    assert manager.put(here, {**user, "email": "jo@example.com"}).json()["title"] == ""
    assert pointers_of(manager.patch(here, {"username": "other", "groups": ["urn:li:corpGroup:eng"]})) == {
        ("read_only", "/username"),
        ("read_only", "/groups"),
    }
    assert manager.patch(here, {"password": PASSWORD, "title": "x"}).status_code == 200
    assert manager.patch(here, {"password": "1", "title": "lost"}).status_code == 400
    assert manager.get(here).json()["title"] == "x"
    assert manager.delete(here).status_code == 204
    problem_of(manager.get(here), 404)
    problem_of(manager.delete(here), 404)


def test_users_with_everything(manager, made):
    body = {
        "username": "kim",
        "password": PASSWORD,
        "object_id": "507F1F77BCF86CD799439011",
        "groups": [made["group"]["urn"]],
        "roles": [made["role"]["urn"]],
        "state": "SUSPENDED",
    }
    answer = manager.post(f"{API}/users/", body)
    assert answer.status_code == 201, answer.content
    kim = answer.json()
    assert (kim["object_id"], kim["groups"], kim["roles"]) == (
        "507f1f77bcf86cd799439011",
        [made["group"]["urn"]],
        [made["role"]["urn"]],
    )
    assert "password" not in kim
    problem_of(manager.post(f"{API}/users/", body), 409)
    body |= {"username": "lee", "roles": ["urn:li:dataHubRole:none"]}
    assert pointers_of(manager.post(f"{API}/users/", {**body, "object_id": None})) == {("null", "/object_id")}
    del body["object_id"]
    assert pointers_of(manager.post(f"{API}/users/", body)) == {("unknown", "/roles/0")}
    problem_of(manager.get(place("users", "urn:li:corpuser:lee")), 404)


def test_the_system_actor_can_never_be_made(manager):
    assert manager.post(f"{API}/users/", {"username": "__datahub_system"}).status_code in (400, 403)
    assert manager.post(f"{API}/users/", {"username": "datahub"}).status_code in (400, 403, 409)


def test_writes_need_their_privilege(client_of, made):
    nosy = client_of("nosy")
    assert problem_of(nosy.post(f"{API}/users/", {"username": "x"}), 403)["missing"]
    assert problem_of(nosy.post(f"{API}/groups/", {"name": "x"}), 403)["missing"]
    missing = [{"entity": None, "privilege": "MANAGE_POLICIES"}]
    assert problem_of(nosy.post(f"{API}/roles/", {"name": "x"}), 403)["missing"] == missing
    assert problem_of(nosy.post(f"{API}/roles/assign/", {"role": None, "actors": []}), 403)["missing"] == missing
    assert nosy.get(f"{API}/roles/").status_code == 200


def test_people_are_shown_to_who_may_look_at_them_on_pages(client_of, made):
    """The page and the API ask for the same; who may not look is not told who there is."""
    group, user, role = made["group"]["urn"], made["user"]["urn"], made["role"]["urn"]
    nosy = client_of("nosy")
    for path, privilege in (
        (f"{API}/users/", "MANAGE_USERS_AND_GROUPS"),
        (f"{API}/groups/", "MANAGE_USERS_AND_GROUPS"),
        (place("roles", role) + "actors/", "MANAGE_POLICIES"),
    ):
        refused = problem_of(nosy.get(path), 403)
        assert refused["missing"] == [{"entity": None, "privilege": privilege}]
    for path in (place("users", user), place("groups", group), place("groups", group) + "members/"):
        assert problem_of(nosy.get(path), 403)["missing"]
        absent = path.replace(quote(user, safe=""), quote(f"{user}x", safe="")).replace(
            quote(group, safe=""), quote(f"{group}x", safe="")
        )
        assert problem_of(nosy.get(absent), 403)["missing"]
    # A write that changes nothing shows nothing either.
    problem_of(nosy.patch(place("users", user), {}), 403)
    own = nosy.get(place("users", "urn:li:corpuser:nosy"))
    assert (own.status_code, own.json()["username"]) == (200, "nosy")
    for number, privilege in enumerate(
        ("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS", "MANAGE_USER_CREDENTIALS")
    ):
        seeing = client_of(f"seeing-{number}", privilege)
        assert seeing.get(f"{API}/users/").status_code == 200
        assert seeing.get(place("users", user)).json()["email"] == made["user"]["email"]


def test_who_was_put_away_is_as_unknown_to_every_write(manager, made):
    user, group, role = (made[kind]["urn"] for kind in ("user", "group", "role"))
    changes = [AspectChange(urn, type_, "status", {"removed": True}) for urn, type_ in ((user, USER), (group, GROUP))]
    aspect_services.apply(changes=changes, by=authorizer.SYSTEM, channel="test")
    members = f"{place('groups', group)}members/"
    for response in (
        manager.post(members, {"members": []}),
        manager.delete(members, {"members": []}),
        manager.patch(place("groups", group), {"name": "x"}),
        manager.patch(place("users", user), {"title": "x"}),
        manager.patch(place("users", user), {"password": PASSWORD}),
    ):
        problem_of(response, 404)
    refused = manager.post(f"{place('roles', role)}actors/", {"actors": [user, group]})
    assert pointers_of(refused) == {("unknown", "/actors/0"), ("unknown", "/actors/1")}
    assigned = manager.post(f"{API}/roles/assign/", {"role": role, "actors": [user, group]}).json()
    assert assigned == {"role": role, "assigned": [], "skipped": [user, group]}
    refused = manager.post(f"{API}/groups/", {"name": "New", "members": [user]})
    assert pointers_of(refused) == {("unknown", "/members/0")}
    refused = manager.post(f"{API}/users/", {"username": "new", "groups": [group]})
    assert pointers_of(refused) == {("unknown", "/groups/0")}


def test_groups_and_members(manager, made):
    group, user = made["group"], made["user"]
    assert group == {
        "urn": "urn:li:corpGroup:eng",
        "id": "eng",
        "name": "Engineers",
        "description": "",
        "origin": "NATIVE",
        "members": [],
        "roles": [],
    }
    members = f"{place('groups', group['urn'])}members/"
    for _ in range(2):
        assert manager.post(members, {"members": [user["urn"]]}).status_code == 201
    assert [one["urn"] for one in manager.get(members).json()["results"]] == [user["urn"]]
    assert manager.get(place("users", user["urn"])).json()["groups"] == [group["urn"]]
    assert pointers_of(manager.post(members, {"members": [user["urn"], "urn:li:corpuser:ghost"]})) == {
        ("unknown", "/members/1")
    }
    assert pointers_of(manager.post(members, {"members": [group["urn"]]})) == {("urn.type", "/members/0")}
    for _ in range(2):
        assert manager.delete(members, {"members": [user["urn"]]}).status_code == 204
    assert manager.get(members).json()["count"] == 0
    assert manager.patch(place("groups", group["urn"]), {"name": "All"}).json()["name"] == "All"
    external = manager.post(f"{API}/groups/", {"name": "Ext", "origin": "EXTERNAL", "members": [user["urn"]]}).json()
    assert external["members"] == [user["urn"]]
    problem_of(manager.post(f"{place('groups', external['urn'])}members/", {"members": []}), 409)
    assert manager.delete(place("groups", external["urn"])).status_code == 204
    problem_of(manager.get(f"{place('groups', external['urn'])}members/"), 404)


def test_roles_and_holders(manager, made, stored):
    role, user, group = made["role"], made["user"], made["group"]
    actors = f"{place('roles', role['urn'])}actors/"
    assert manager.post(actors, {"actors": [user["urn"], group["urn"]]}).status_code == 201
    assert manager.get(actors).json()["results"] == [
        {"urn": user["urn"], "type": "corpuser", **ALWAYS},
        {"urn": group["urn"], "type": "corpGroup", **ALWAYS},
    ]
    one = f"{actors}{quote(group['urn'], safe='')}/"
    assert manager.delete(one).status_code == 204
    assert manager.get(actors).json()["count"] == 1
    problem_of(manager.delete(f"{actors}urn:li:corpuser:ghost/"), 404)
    naming = stored("naming", actors={"roles": [role["urn"]]})
    assert manager.get(place("roles", role["urn"])).json()["policies"] == [naming]
    problem_of(manager.delete(place("roles", role["urn"])), 409)
    problem_of(manager.post(f"{API}/roles/", {"id": "steward", "name": "Again"}), 409)


def test_assigning_replaces(manager, made):
    role, user = made["role"], made["user"]
    other = manager.post(f"{API}/roles/", {"id": "other", "name": "Other"}).json()
    manager.post(f"{place('roles', other['urn'])}actors/", {"actors": [user["urn"]]})
    body = {"role": role["urn"], "actors": [user["urn"], "urn:li:corpuser:ghost"]}
    assert manager.post(f"{API}/roles/assign/", body).json() == {
        "role": role["urn"],
        "assigned": [user["urn"]],
        "skipped": ["urn:li:corpuser:ghost"],
    }
    assert manager.get(place("users", user["urn"])).json()["roles"] == [role["urn"]]
    problem_of(manager.post(f"{API}/roles/assign/", {**body, "role": "urn:li:dataHubRole:none"}), 404)
    assert manager.get(place("users", user["urn"])).json()["roles"] == [role["urn"]]
    assert manager.post(f"{API}/roles/assign", {**body, "role": None}).json()["role"] is None
    assert manager.get(place("users", user["urn"])).json()["roles"] == []
    assert pointers_of(manager.post(f"{API}/roles/assign/", {"actors": []})) == {("required", "/role")}


def test_a_token_is_shown_once_and_works(client_of, manager):
    asking = client_of("jo", "GENERATE_PERSONAL_ACCESS_TOKENS")
    answer = asking.post(f"{API}/tokens/", {"name": "laptop", "duration": "ONE_HOUR"})
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert set(made) == {"id", "token", "name", "actor", "expires_at"}
    other = APIClient()
    other.credentials(HTTP_AUTHORIZATION=f"bearer {made['token']}")
    rows = other.get(f"{API}/tokens/").json()["results"]
    assert {row["name"] for row in rows} == {"laptop", "test"}
    assert made["token"] not in str(rows)
    assert pointers_of(asking.post(f"{API}/tokens/", {"duration": "ONE_AEON"})) == {
        ("required", "/name"),
        ("invalid_choice", "/duration"),
    }
    assert asking.delete(f"{API}/tokens/{made['id']}/").status_code == 204
    problem_of(other.get(f"{API}/tokens/"), 401)
    problem_of(asking.delete(f"{API}/tokens/{made['id']}/"), 403)
    problem_of(manager.delete(f"{API}/tokens/{made['id']}/"), 404)
    problem_of(asking.delete(f"{API}/tokens/nonsense/"), 404)


def test_tokens_of_others(client_of, manager):
    client_of("jo")
    body = {"name": "for jo", "actor": "urn:li:corpuser:jo"}
    missing = problem_of(client_of("kim").post(f"{API}/tokens/", body), 403)["missing"]
    assert missing == [{"entity": None, "privilege": "MANAGE_ACCESS_TOKENS"}]
    assert manager.post(f"{API}/tokens/", body).status_code == 201
    assert manager.get(f"{API}/tokens/?actor=urn:li:corpuser:jo").json()["count"] == 2
    ghost = {**body, "actor": "urn:li:corpuser:ghost"}
    assert pointers_of(manager.post(f"{API}/tokens/", ghost)) == {("unknown", "/actor")}
    system = {**body, "actor": "urn:li:corpuser:__datahub_system"}
    assert pointers_of(manager.post(f"{API}/tokens/", system)) == {("actor.system", "/actor")}


def test_status(client_of):
    told = client_of("nosy").get(f"{API}/status/").json()
    assert told.pop("policy_version") > 0
    assert set(told.values()) == {None}
    body = client_of("jo", "MANAGE_POLICIES").get(f"{API}/status/").json()
    assert body["policy_version"] == body["processes"][0]["policy_version"]
    assert body["broker"]["reachable"] is True


@pytest.mark.parametrize("kind", ["users", "groups", "roles"])
def test_a_list_costs_the_same_number_of_queries_whatever_its_length(manager, made, kind):
    for number in range(51):
        body = {"username": f"u{number}", "groups": ["urn:li:corpGroup:eng"]} if kind == "users" else {"name": "x"}
        assert manager.post(f"{API}/{kind}/", body).status_code == 201

    def cost(size):
        with CaptureQueriesContext(connection) as queries:
            assert len(manager.get(f"{API}/{kind}/?page_size={size}").json()["results"]) == size
        return len(queries)

    cost(1)
    assert cost(5) == cost(50)


def test_the_last_who_can_manage_policies_stays(manager, made):
    here = place("users", "urn:li:corpuser:manager")
    assert manager.patch(here, {"password": PASSWORD}).status_code == 200
    for refused in (manager.patch(here, {"state": "SUSPENDED"}), manager.delete(here)):
        problem = problem_of(refused, 409)
        assert problem["code"] == "conflict"
        assert problem["detail"] == "Nobody who can sign in could manage policies without the account of manager."
    assert manager.get(here).json()["state"] == "ACTIVE"


def test_members_for_a_time(manager, made):
    user, members = made["user"]["urn"], f"{place('groups', made['group']['urn'])}members/"
    bad = [
        {"urn": user, "valid_until": 1_893_456_000, "valid_from": "2026-01-01T00:00", "since": 1},
        {"valid_from": None},
    ]
    assert pointers_of(manager.post(members, {"members": bad})) == {
        ("type.time", "/members/0/valid_until"),
        ("type.time", "/members/0/valid_from"),
        ("field.unknown", "/members/0/since"),
        ("required", "/members/1/urn"),
    }
    times = {"valid_from": "2126-01-01T01:00:00+01:00", "valid_until": 4_955_000_000_000}
    shown = {"valid_from": "2126-01-01T00:00:00Z", "valid_until": "2127-01-07T12:53:20Z"}
    answer = manager.post(members, {"members": [{"urn": user, **times, "reason": "Audit"}]})
    assert (answer.status_code, answer.json()) == (201, {"members": [{"urn": user, **shown, "reason": "Audit"}]})
    page = manager.get(members).json()
    assert page["count"] == 1
    assert page["results"][0].items() >= {"urn": user, "groups": [], **shown, "phase": "PENDING"}.items()
    assert manager.get(place("groups", made["group"]["urn"])).json()["members"] == []
    manager.post(members, {"members": [{"urn": user, "valid_until": times["valid_until"]}]})
    row = manager.get(members).json()["results"][0]
    assert (row["valid_from"], row["valid_until"], row["phase"]) == (None, shown["valid_until"], "CURRENT")
    assert manager.delete(members, {"members": [user]}).status_code == 204
    assert manager.get(members).json()["count"] == 0


def test_roles_for_a_time(manager, made):
    user, group, actors = made["user"]["urn"], made["group"]["urn"], f"{place('roles', made['role']['urn'])}actors/"
    assert pointers_of(manager.post(actors, {"actors": [{"urn": user, "valid_until": 1_893_456_000}]})) == {
        ("type.time", "/actors/0/valid_until")
    }
    begins, ends = "2126-01-01T00:00:00Z", "2127-01-01T00:00:00Z"
    given = [{"urn": group, "valid_until": ends}, {"urn": user, "valid_from": begins}]
    assert manager.post(actors, {"actors": given}).status_code == 201
    assert manager.get(actors).json()["results"] == [
        {"urn": user, "type": "corpuser", "valid_from": begins, "valid_until": None, "phase": "PENDING"},
        {"urn": group, "type": "corpGroup", "valid_from": None, "valid_until": ends, "phase": "CURRENT"},
    ]
    assert manager.get(place("users", user)).json()["roles"] == []
