"""Signing in and up by name and password over DataHub's REST door (clients.md 1.11)."""

import json

import pytest
from django.test import Client

from policies.identity.services import invitations, users
from policies.models import ChangeEvent, InviteToken, User
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
READER = "urn:li:dataHubRole:Reader"
SIGN_UPS = ["/signUp", "/signUp/", "/auth/signUp", "/auth/signUp/"]
SYSTEM_URN = "urn:li:corpuser:__datahub_system"


@pytest.fixture
def visitor():
    """A caller with a jar for cookies, whom nothing is forgiven."""
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def jo(installed):
    return users.create(username="jo", password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def invitation(installed):
    return invitations.create(role=READER, by=authorizer.SYSTEM, channel=DOOR).text


def send(client, path, body, **headers):
    data = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(path, data, content_type="application/json", headers=headers)


def log_in(client, username="jo", password=PASSWORD, **headers):
    return send(client, "/logIn", {"username": username, "password": password}, **headers)


def newcomer(invitation, **changes):
    return {
        "userUrn": "urn:li:corpuser:ada@example.com",
        "email": "ada@example.com",
        "fullName": "Ada Lovelace",
        "password": PASSWORD,
        "title": "Other",
        "inviteToken": invitation,
    } | changes


def said(answer):
    body = answer.json()
    assert answer.headers["Content-Type"] == "application/json"
    assert body.keys() == {"status", "message", "exceptionClass"}
    assert body["status"] == answer.status_code
    return body["message"]


# -- signing in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/logIn", "/logIn/"])
def test_the_right_password_begins_a_session(visitor, jo, path):
    answer = send(visitor, path, {"username": "jo", "password": PASSWORD, "more": 1})
    assert (answer.status_code, answer.json()) == (200, {})
    assert visitor.session["_auth_user_id"] == str(jo.pk)
    assert "no-store" in answer.headers["Cache-Control"]
    assert visitor.get("/why").status_code == 200


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("jo", "wrong"),
        ("nobody", PASSWORD),
        ("", ""),
        ("x" * 300, "x"),
        ("jo\x00", PASSWORD),
        ("\ud800", PASSWORD),
        ("jo", "\ud800"),
        ("__datahub_system", PASSWORD),
    ],
)
def test_anything_else_is_401_and_tells_nothing(visitor, jo, username, password):
    answer = log_in(visitor, username, password)
    assert answer.status_code == 401
    assert said(answer) == said(log_in(Client(), "unknown", "wrong"))
    assert "sessionid" not in answer.cookies


def test_who_may_not_act_does_not_get_in(visitor, jo):
    users.suspend(urn=jo.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert log_in(visitor).status_code == 401
    users.remove(urn=jo.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert log_in(visitor).status_code == 401


def test_suspending_ends_the_session(visitor, jo):
    log_in(visitor)
    users.suspend(urn=jo.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert visitor.get("/why").status_code == 302


BROKEN = ["", "{", "[]", "7", b"\xff", "[" * 20_000, '{"username": NaN}', "{}"]


@pytest.mark.parametrize("body", [*BROKEN, {"username": 7, "password": "x"}, {"username": "jo", "password": None}])
def test_a_broken_sign_in_is_400(visitor, jo, body):
    answer = send(visitor, "/logIn", body)
    assert answer.status_code == 400
    assert said(answer)


@pytest.mark.parametrize("path", ["/logIn", *SIGN_UPS])
def test_other_methods_are_405(visitor, installed, path):
    for method in (visitor.get, visitor.put, visitor.delete, visitor.options):
        answer = method(path)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
        assert said(answer)
    assert visitor.head(path).status_code == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_of_another_site_signs_nobody_in_or_up(visitor, jo, invitation, headers):
    assert said(log_in(visitor, **headers))
    assert log_in(visitor, **headers).status_code == 403
    assert "_auth_user_id" not in visitor.session
    assert send(visitor, "/signUp", newcomer(invitation), **headers).status_code == 403
    assert log_in(visitor, origin="http://testserver").status_code == 200


# -- signing up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SIGN_UPS)
def test_an_invitation_makes_an_account_with_its_role(visitor, invitation, path):
    answer = send(visitor, path, newcomer(invitation))
    assert (answer.status_code, answer.json()) == (200, {})
    ada = User.objects.get(username="ada@example.com")
    assert (ada.display_name, ada.email, ada.title) == ("Ada Lovelace", "ada@example.com", "Other")
    assert ada.role_urns == [READER]
    assert "_auth_user_id" not in visitor.session
    made = ChangeEvent.objects.get(object_urn=ada.urn, verb="CREATED")
    assert (made.by, made.door) == (ada.urn, "gms")
    assert log_in(visitor, "ada@example.com").status_code == 200


def test_what_is_left_out_is_empty(visitor, invitation):
    body = {"userUrn": "urn:li:corpuser:bea", "password": PASSWORD, "inviteToken": invitation, "email": None}
    assert send(visitor, "/signUp", body).status_code == 200
    assert User.objects.get(username="bea").email == ""


def test_without_a_urn_the_address_is_the_name(visitor, invitation):
    body = newcomer(invitation, getDataHubUpdates=False)
    del body["userUrn"]
    assert send(visitor, "/signUp", body).status_code == 200
    assert User.objects.get(username="ada@example.com").email == "ada@example.com"


def test_a_second_time_it_already_exists(visitor, invitation):
    assert send(visitor, "/signUp", newcomer(invitation)).status_code == 200
    again = send(visitor, "/signUp", newcomer(invitation, password="another horse battery"))
    assert again.status_code == 409
    assert "already exists" in said(again)
    assert log_in(visitor, "ada@example.com").status_code == 200


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"inviteToken": "azi_" + "x" * 43}, "no longer valid"),
        ({"inviteToken": ""}, "no longer valid"),
        ({"inviteToken": "\ud800"}, "no longer valid"),
        ({"inviteToken": None}, "/inviteToken"),
        ({"userUrn": None, "email": None}, "/userUrn"),
        ({"userUrn": None, "email": "a,b@example.com"}, "/userUrn"),
        ({"userUrn": "ada"}, "starts urn:li:corpuser:"),
        ({"userUrn": "urn:li:corpGroup:ada"}, "starts urn:li:corpuser:"),
        ({"userUrn": "urn:li:corpuser:"}, "/userUrn"),
        ({"userUrn": "urn:li:corpuser:a\x00"}, "/userUrn"),
        ({"userUrn": "urn:li:corpuser:a,b"}, "/userUrn"),
        ({"userUrn": "urn:li:corpuser:" + "a" * 300}, "/userUrn"),
        ({"userUrn": SYSTEM_URN}, "reserved"),
        ({"userUrn": ROOT}, "reserved"),
        ({"password": "short"}, "/password"),
        ({"password": "\ud800" * 20}, "/password"),
        ({"password": 7}, "/password"),
        ({"fullName": "x" * 300}, "/fullName"),
        ({"fullName": "a\x00"}, "/fullName"),
        ({"email": ["a"]}, "/email"),
        ({"title": {}}, "/title"),
    ],
)
def test_what_makes_no_account(visitor, invitation, changes, told):
    before = User.objects.count()
    answer = send(visitor, "/signUp", newcomer(invitation, **changes))
    assert answer.status_code == 400
    assert told in said(answer)
    assert User.objects.count() == before


def test_every_problem_is_told_at_once_by_the_names_of_the_body(visitor, invitation):
    wrong = newcomer(invitation, fullName="x" * 300, password="short", title="x" * 300)
    message = said(send(visitor, "/signUp", wrong))
    assert all(place in message for place in ("/fullName", "/password", "/title"))


@pytest.mark.parametrize("body", BROKEN)
def test_a_broken_sign_up_is_400(visitor, installed, body):
    assert said(send(visitor, "/signUp", body))


def test_an_invitation_that_has_ended(visitor, invitation):
    invitations.revoke(invite_id=InviteToken.objects.get().pk, by=authorizer.SYSTEM, channel=DOOR)
    assert send(visitor, "/signUp", newcomer(invitation)).status_code == 400
