"""Writes to users."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import SESSION_KEY, authenticate, get_user, get_user_model
from django.db import connection
from django.http import HttpRequest
from django.test import Client

from policies.aspects import queries as aspect_queries
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.identity.queries import users_groups_roles
from policies.identity.services import access_tokens, users
from policies.models import AccessToken, ChangeEvent, Membership, PolicyVersion, RoleAssignment, User
from policies.pdp import actor_resolution

pytestmark = pytest.mark.django_db

STRONG = "correct horse battery"
DOOR = "test"


def codes(refusal):
    return {(problem.pointer, problem.code) for problem in refusal.value.problems}


def test_a_user_is_made_with_groups_roles_and_a_password(system, user, group, role):
    team, steward = group("eng").urn, role("Steward").urn
    made = user(
        "ann@site.example",
        display_name="Ann",
        email="ann@site.example",
        title="Analyst",
        description="Counts",
        password=STRONG,
        object_id="ABCDEF0123456789ABCDEF01",
        groups=[team],
        roles=[steward],
    )
    stored = users_groups_roles.get_user(urn="urn:li:corpuser:ann@site.example")
    assert stored == made
    assert (stored.name, stored.title, stored.description, stored.state) == ("Ann", "Analyst", "Counts", "ACTIVE")
    assert stored.object_id == "abcdef0123456789abcdef01"
    assert stored.check_password(STRONG)
    assert stored.password.startswith("argon2")
    assert (stored.group_urns, stored.role_urns) == ([team], [steward])
    event = ChangeEvent.objects.get(object_urn=made.urn, verb="CREATED")
    assert (event.by, event.door, event.before) == (SYSTEM_ACTOR, DOOR, None)
    assert event.after["display_name"] == "Ann"
    assert event.change_set.change_seq == PolicyVersion.load_last_change()
    assert STRONG not in str(event.after)


@pytest.mark.parametrize(
    "username",
    ["", " ", " jo", "jo ", "a,b", "a(b", "a)b", "a\x00b", "a\ud800", "a\nb", "x" * 201, "a\u241fb", 7, None],
)
def test_a_name_that_no_user_can_have(user, username):
    with pytest.raises(Invalid) as refusal:
        user(username)
    assert {pointer for pointer, _ in codes(refusal)} == {"/username"}
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "username", ["jo", "Jo Doe", "a@b.example", "DOM\\jo", "o'neil", "\u00e9\U0001f600", "x" * 200]
)
def test_a_name_that_a_user_can_have(user, username):
    assert users_groups_roles.get_user(urn=user(username).urn).username == username


def test_every_problem_is_named_at_once(user):
    with pytest.raises(Invalid) as refusal:
        user("a,b", display_name="x" * 256, email=5, state="AWAY", object_id="12", password="short")
    assert {"/username", "/display_name", "/email", "/state", "/object_id", "/password"} == {
        pointer for pointer, _ in codes(refusal)
    }


def test_unknown_groups_and_roles_are_problems_and_leave_nothing(user, group):
    known = group("eng").urn
    with pytest.raises(Invalid) as refusal:
        user("jo", groups=[known, "urn:li:corpGroup:none", "\x00"])
    assert codes(refusal) == {("/groups/1", "unknown"), ("/groups/2", "unknown")}
    with pytest.raises(Invalid) as refusal:
        user("jo", roles=["urn:li:dataHubRole:none"])
    assert codes(refusal) == {("/roles/0", "unknown")}
    assert not User.objects.exists()
    assert not ChangeEvent.objects.filter(object_urn="urn:li:corpuser:jo").exists()


def test_a_known_name_or_object_id_is_a_conflict(user):
    user("jo", object_id="a" * 24)
    with pytest.raises(Conflict, match="already exists"):
        user("jo")
    with pytest.raises(Conflict, match="object id"):
        user("bea", object_id="A" * 24)


def test_nobody_makes_the_system_actor_and_nobody_from_outside_the_root_user(system, user, holding):
    with pytest.raises(Invalid, match="reserved"):
        user("__datahub_system")
    manager = holding("MANAGE_USERS_AND_GROUPS")
    for name in ("datahub", "__datahub_system"):
        with pytest.raises(Invalid, match="reserved"):
            users.create(username=name, by=manager, channel="scim")
    assert user("datahub").is_root


def test_the_root_user_stays(system, user):
    root = user("datahub")
    for write in (users.suspend, users.remove):
        with pytest.raises(Forbidden, match="root user"):
            write(urn=root.urn, by=system, channel=DOOR)
    with pytest.raises(Forbidden):
        users.update(urn=root.urn, state="SUSPENDED", by=system, channel=DOOR)
    assert users_groups_roles.get_user(urn=root.urn).is_active


def test_fields_left_out_stay_and_the_change_is_recorded(system, user):
    jo = user("jo", display_name="Jo", title="Boss")
    users.update(urn=jo.urn, display_name="Joe", email="jo@x.example", by=system, channel=DOOR)
    stored = users_groups_roles.get_user(urn=jo.urn)
    assert (stored.display_name, stored.title, stored.email) == ("Joe", "Boss", "jo@x.example")
    event = ChangeEvent.objects.get(object_urn=jo.urn, verb="UPDATED")
    assert (event.before["display_name"], event.after["display_name"]) == ("Jo", "Joe")
    users.update(urn=jo.urn, display_name="Joe", by=system, channel=DOOR)
    assert ChangeEvent.objects.filter(object_urn=jo.urn, verb="UPDATED").count() == 1
    users.update(urn=jo.urn, title="", by=system, channel=DOOR)
    assert users_groups_roles.get_user(urn=jo.urn).title == ""
    composed = aspect_queries.load_aspects(urn=jo.urn)
    assert composed is not None
    assert "title" not in composed["corpUserInfo"]


@pytest.mark.parametrize("urn", ["urn:li:corpuser:nobody", "\x00"])
def test_a_user_that_is_not_there(system, urn):
    for write in (users.suspend, users.activate, users.remove):
        with pytest.raises(NotFound):
            write(urn=urn, by=system, channel=DOOR)
    with pytest.raises(NotFound):
        users.set_password(urn=urn, password=STRONG, by=system, channel=DOOR)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def is_signed_in(client: Client) -> bool:
    request = HttpRequest()
    request.session = client.session
    return get_user(request).is_authenticated


def test_suspending_ends_sessions_for_good_and_tokens_meanwhile(system, user):
    jo = user("jo", password=STRONG)
    client = signed_in(jo)
    token = access_tokens.create(owner=jo.urn, name="t", by=system, channel=DOOR).text
    assert is_signed_in(client)
    users.suspend(urn=jo.urn, by=system, channel=DOOR)
    assert not is_signed_in(client)
    assert access_tokens.authenticate(text=token) is None
    assert authenticate(HttpRequest(), username="jo", password=STRONG) is None
    users.activate(urn=jo.urn, by=system, channel=DOOR)
    assert access_tokens.authenticate(text=token) == jo
    assert SESSION_KEY in client.session
    assert not is_signed_in(client)
    assert list(ChangeEvent.objects.filter(object_urn=jo.urn).order_by("id").values_list("verb", flat=True)) == [
        "CREATED",
        "TOKEN_CREATED",
        "SUSPENDED",
        "ACTIVATED",
    ]


def test_a_new_password_ends_sessions(system, user):
    jo = user("jo", password=STRONG)
    client = signed_in(jo)
    users.set_password(urn=jo.urn, password=f"{STRONG} 2", by=actor_resolution.load_actor(urn=jo.urn), channel=DOOR)
    assert not is_signed_in(client)
    assert users_groups_roles.get_user(urn=jo.urn).check_password(f"{STRONG} 2")
    event = ChangeEvent.objects.get(verb="PASSWORD_SET")
    assert (event.before, event.after) == (None, None)


def test_passwords_of_others_services_and_weak_ones(system, user, holding):
    jo, service = user("jo"), user("svc", kind="SERVICE")
    with pytest.raises(Forbidden) as refusal:
        users.set_password(urn=jo.urn, password=STRONG, by=holding("MANAGE_USERS_AND_GROUPS"), channel=DOOR)
    assert [item.privilege for item in refusal.value.missing] == ["MANAGE_USER_CREDENTIALS"]
    keeper = holding("MANAGE_USER_CREDENTIALS", username="keeper")
    users.set_password(urn=jo.urn, password=STRONG, by=keeper, channel=DOOR)
    with pytest.raises(Invalid, match="no password"):
        users.set_password(urn=service.urn, password=STRONG, by=keeper, channel=DOOR)
    with pytest.raises(Invalid):
        users.set_password(urn=jo.urn, password="12345678", by=keeper, channel=DOOR)


def test_a_suspended_actor_does_nothing_even_to_itself(user, holding):
    jo = user("jo", state="SUSPENDED")
    actor = actor_resolution.load_actor(urn=jo.urn)
    with pytest.raises(Forbidden):
        users.set_password(urn=jo.urn, password=STRONG, by=actor, channel=DOOR)
    with pytest.raises(Forbidden):
        users.update(urn=jo.urn, display_name="x", by=actor, channel=DOOR)


def test_removing_ends_memberships_assignments_tokens_and_sessions(system, user, group, role):
    jo = user("jo", groups=[group("eng").urn], roles=[role("Steward").urn])
    client = signed_in(jo)
    token = access_tokens.create(owner=jo.urn, name="t", by=system, channel=DOOR).text
    users.remove(urn=jo.urn, by=system, channel=DOOR)
    assert access_tokens.authenticate(text=token) is None
    for model in (Membership, RoleAssignment, AccessToken, get_user_model()):
        assert not model.objects.exists()
    user("jo")
    assert not is_signed_in(client)
    assert ChangeEvent.objects.get(object_urn=jo.urn, verb="DELETED").before["username"] == "jo"


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_makes_the_user_and_the_other_hears_of_it(system):
    def attempt(number):
        try:
            users.create(username="jo", display_name=str(number), by=system, channel=DOOR)
        except Conflict:
            return "conflict"
        finally:
            connection.close()
        return "made"

    before = PolicyVersion.load_last_change()
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4))) == ["conflict"] * 3 + ["made"]
    assert User.objects.count() == 1
    assert PolicyVersion.load_last_change() == before + 1


@pytest.mark.parametrize(
    ("privilege", "create", "update", "remove"),
    [
        ("MANAGE_USERS_AND_GROUPS", True, True, True),
        ("UPDATE_USERS", True, True, True),
        ("UPDATE_USERS_AND_GROUPS", False, True, False),
        ("CREATE_USERS", True, False, False),
        ("CREATE_USERS_AND_GROUPS", True, False, False),
        ("UPDATE_GROUPS", False, False, False),
        ("MANAGE_POLICIES", False, False, False),
    ],
)
def test_what_each_write_needs(user, holding, privilege, create, update, remove):
    jo, by = user("jo"), holding(privilege)
    for is_allowed, write in (
        (create, lambda: users.create(username="new", by=by, channel=DOOR)),
        (update, lambda: users.update(urn=jo.urn, email="a@b.example", by=by, channel=DOOR)),
        (update, lambda: users.suspend(urn=jo.urn, by=by, channel=DOOR)),
        (remove, lambda: users.remove(urn=jo.urn, by=by, channel=DOOR)),
    ):
        if is_allowed:
            write()
        else:
            with pytest.raises(Forbidden) as refusal:
                write()
            assert refusal.value.missing
    assert User.objects.filter(username="new").exists() is create
    assert User.objects.filter(username="jo").exists() is not remove


def test_everybody_edits_the_own_names_and_nothing_else(user):
    jo, bea = user("jo"), user("bea")
    by = actor_resolution.load_actor(urn=jo.urn)
    users.update(urn=jo.urn, display_name="Jo", title="Boss", description="Hi", by=by, channel=DOOR)
    for urn, given in (
        (jo.urn, {"email": "root@x.example"}),
        (jo.urn, {"state": "ACTIVE"}),
        (bea.urn, {"display_name": "Bad"}),
    ):
        with pytest.raises(Forbidden):
            users.update(urn=urn, by=by, channel=DOOR, **given)
    with pytest.raises(Forbidden):
        users.remove(urn=jo.urn, by=by, channel=DOOR)


def test_roles_at_creation_need_manage_policies(user, holding, role):
    admin = role("Admin").urn
    by = holding("MANAGE_USERS_AND_GROUPS")
    with pytest.raises(Forbidden) as refusal:
        users.create(username="mole", roles=[admin], by=by, channel=DOOR)
    assert [item.privilege for item in refusal.value.missing] == ["MANAGE_POLICIES"]
    assert not User.objects.filter(username="mole").exists()


def test_services_are_made_by_who_manages_services(holding):
    with pytest.raises(Forbidden):
        users.create(username="svc", kind="SERVICE", by=holding("MANAGE_USERS_AND_GROUPS"), channel=DOOR)
    by = holding("MANAGE_SERVICE_ACCOUNTS", username="keeper")
    service = users.create(username="svc", kind="SERVICE", by=by, channel=DOOR)
    users.remove(urn=service.urn, by=by, channel=DOOR)
