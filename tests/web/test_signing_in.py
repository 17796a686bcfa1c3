"""Signing in and out: who gets in, what a refusal tells, and where one lands."""

import pytest
from django.contrib.auth import hashers
from django.test import Client

from policies.identity.services import users
from policies.models import User
from policies.pdp import authorizer
from tests.web.conftest import DOOR, PASSWORD

SUSPENDED = "This account is suspended"
WRONG = "The user name or the password is wrong."


@pytest.fixture
def jo(db: None) -> User:
    return users.create(username="jo", password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)


def sign_in(client: Client, username: str, password: str, **more: str):
    return client.post("/login", {"username": username, "password": password, **more})


def test_the_right_password_leads_to_the_start_page(client, jo):
    response = sign_in(client, "jo", PASSWORD)
    assert (response.status_code, response.headers["Location"]) == (302, "/")
    assert client.get("/why").status_code == 200


@pytest.mark.parametrize(
    ("username", "password"),
    [("jo", "wrong"), ("nobody", PASSWORD), ("", PASSWORD), ("jo", ""), ("x" * 500, "y"), ("jo\x00", PASSWORD)],
)
def test_anything_else_stays_out_and_keeps_the_name(client, jo, username, password):
    response = sign_in(client, username, password)
    assert response.status_code == 200
    assert "_auth_user_id" not in client.session
    assert SUSPENDED not in response.content.decode()


def test_an_unknown_name_and_a_wrong_password_get_the_same_page_for_the_same_work(client, jo, monkeypatch):
    worked: list[str] = []
    hasher = type(hashers.get_hasher())
    for name in ("encode", "verify"):
        work = getattr(hasher, name)

        def noted(*args, work=work):
            worked.append(work.__name__)
            return work(*args)

        monkeypatch.setattr(hasher, name, noted)
    pages, costs = [], []
    for name in ("jo", "unknown"):
        worked.clear()
        pages.append(sign_in(Client(), name, "wrong"))
        costs.append(len(worked))
    assert [WRONG in page.content.decode() for page in pages] == [True, True]
    assert costs[0] == costs[1] > 0


def test_only_who_knows_the_password_learns_of_a_suspension(client, jo):
    users.update(urn=jo.urn, state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    assert SUSPENDED in sign_in(client, "jo", PASSWORD).content.decode()
    told = sign_in(client, "jo", "wrong").content.decode()
    assert SUSPENDED not in told
    assert WRONG in told
    assert "_auth_user_id" not in client.session


def test_a_removed_account_is_as_good_as_unknown(client, jo):
    users.remove(urn=jo.urn, by=authorizer.SYSTEM, channel=DOOR)
    assert SUSPENDED not in sign_in(client, "jo", PASSWORD).content.decode()


def test_suspending_ends_what_is_open(client, jo):
    sign_in(client, "jo", PASSWORD)
    users.update(urn=jo.urn, state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    assert client.get("/why").headers["Location"] == "/login?next=/why"


@pytest.mark.parametrize("wanted", ["/why?privilege=A&actor=jo", "/settings/permissions/policies/urn%3Aa%2Fb"])
def test_next_is_kept_through_a_failed_try(client, jo, wanted):
    page = client.get("/login", {"next": wanted})
    assert page.context["next"] == wanted
    assert sign_in(client, "jo", "wrong", next=wanted).context["next"] == wanted
    assert sign_in(client, "jo", PASSWORD, next=wanted).headers["Location"] == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "https://evil.example/why",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
        "/login",
        "/login?next=/login",
    ],
)
def test_next_leads_nowhere_else_and_not_in_circles(client, jo, wanted):
    assert sign_in(client, "jo", PASSWORD, next=wanted).headers["Location"] == "/"
    assert client.get("/login", {"next": wanted}).headers["Location"] == "/"


def test_signing_out_takes_a_post_and_ends_the_session(client, jo):
    client.force_login(jo, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/logout").status_code == 405
    assert client.get("/why").status_code == 200
    assert client.post("/logout").headers["Location"] == "/login"
    assert client.get("/why").status_code == 302


def test_a_form_without_its_token_changes_nothing(jo):
    careful = Client(enforce_csrf_checks=True)
    assert sign_in(careful, "jo", PASSWORD).status_code == 403
    careful.force_login(jo, backend="django.contrib.auth.backends.ModelBackend")
    assert careful.post("/logout").status_code == 403
    assert careful.get("/why").status_code == 200


@pytest.mark.parametrize(("is_plain", "is_told"), [(True, True), (False, False)])
def test_the_shipped_password_is_told_on_a_trial_only(client, world, settings, is_plain, is_told):
    settings.PLAIN_HTTP = is_plain
    assert ("password datahub" in client.get("/login").content.decode()) is is_told


def test_a_changed_password_is_not_told(client, world, settings):
    settings.PLAIN_HTTP = True
    root = world["root"]
    root.set_password(PASSWORD)
    root.save()
    assert "password datahub" not in client.get("/login").content.decode()
