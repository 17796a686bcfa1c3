"""What goes wrong between here and the provider ends on a page that says so, and lets nobody in."""

import pytest
import requests
from django.test import Client

from authzsite.oidc_settings import OidcProvider
from policies.models import User
from tests.doors.oidc.conftest import consent, leave, path_of, sign_in
from tests.doors.oidc.test_arriving import is_in, jane, reason

ENDED = "This sign-in has ended, was used already or was begun in another browser. Begin again."
NOT_NOW = "the provider did not answer as it should"


@pytest.fixture(autouse=True)
def _jane(provider):
    jane(provider)


@pytest.mark.parametrize(
    "how",
    [
        "other-nonce",
        "no-nonce",
        "other-audience",
        "other-party",
        "other-issuer",
        "expired",
        "never-expires",
        "other-subject",
        "no-subject",
        "strange-subject",
        "unsigned",
        "public-key",
        "stranger",
        "nonsense",
        "no-token",
        "page",
        "list",
    ],
)
def test_a_token_that_does_not_hold_lets_nobody_in(provider, client, how):
    path = consent(leave(client), "0001")
    provider.goes_wrong(how)
    response = client.get(path)
    assert response.status_code == 503
    assert NOT_NOW in reason(response)
    assert not is_in(client)
    assert not User.objects.filter(username="jane").exists()


def test_a_provider_that_calls_itself_otherwise_is_not_asked(provider, client):
    provider.goes_wrong("other-provider")
    response = client.get("/login/oidc")
    assert (response.status_code, NOT_NOW in reason(response)) == (503, True)


@pytest.mark.parametrize("where", ["http://127.0.0.1:9", "{issuer}/nothing-here"])
def test_a_provider_that_is_down_or_moved_is_named_on_a_page(provider, client, configured, where):
    path = consent(leave(client), "0001")
    configured(issuer=where.format(issuer=provider.issuer))
    for response in (client.get("/login/oidc"), client.get(path)):
        assert response.status_code == 503
        assert reason(response).startswith("Signing in with Acme ID does not work at the moment")
    assert not is_in(client)


def test_who_declines_is_told_so(provider, client):
    done = requests.post(leave(client), data={"action": "deny"}, allow_redirects=False, timeout=10)
    response = client.get(path_of(done.headers["Location"]))
    # The provider leaves the state out of this answer, so it could be anybody's.
    assert (response.status_code, reason(response)) == (400, ENDED)
    state = leave(client).partition("state=")[2].partition("&")[0]
    response = client.get("/login/oidc/callback", {"error": "access_denied", "state": state})
    assert (response.status_code, "was cancelled" in reason(response)) == (403, True)


def test_an_error_of_the_provider_is_no_fault_of_ours(provider, client):
    state = leave(client).partition("state=")[2].partition("&")[0]
    asked = {"error": "server_error", "error_description": "<b>\x00", "state": state}
    response = client.get("/login/oidc/callback", asked)
    assert (response.status_code, reason(response)) == (503, "The provider could not sign you in. Try again later.")


@pytest.mark.parametrize(
    "query", ["", "?code=x", "?state=x&code=y", "?state=%00&code=%00", "?state=\ud800", "?error=x"]
)
def test_coming_back_without_having_left_is_refused(client, query):
    response = client.get(f"/login/oidc/callback{query}".encode("utf-8", "surrogatepass").decode("latin-1"))
    assert (response.status_code, reason(response)) == (400, ENDED)


def test_a_way_back_works_once_and_in_its_own_browser_only(provider, client):
    path = consent(leave(client), "0001")
    other = Client()
    assert (other.get(path).status_code, is_in(other)) == (400, False)
    assert client.get(path).status_code == 302
    client.logout()
    assert (client.get(path).status_code, is_in(client)) == (400, False)


def test_a_code_of_another_sign_in_is_refused(provider, client):
    other = Client()
    theirs = consent(leave(other), "0001")
    state = leave(client).partition("state=")[2].partition("&")[0]
    code = theirs.partition("code=")[2].partition("&")[0]
    response = client.get("/login/oidc/callback", {"state": state, "code": code})
    assert (response.status_code, is_in(client)) == (503, False)


@pytest.mark.parametrize("path", ["/login/oidc", "/login/oidc/callback"])
def test_only_get_and_only_where_a_provider_is_named(client, settings, path):
    assert client.post(path).status_code == 405
    settings.OIDC = OidcProvider()
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path", ["accounts/login/", "accounts/signup/", "accounts/password/reset/", "accounts/social/"]
)
def test_pages_of_the_library_are_not_there(client, path):
    assert client.get(f"/{path}").status_code == 404


def test_the_sign_in_page_shows_the_way_only_where_there_is_one(client, settings):
    page = client.get("/login?next=/why%3Fa%3D1%26b%3D2").content.decode()
    assert 'href="/login/oidc?next=/why%3Fa%3D1%26b%3D2"' in page
    assert "Sign in with Acme ID" in page
    settings.OIDC = OidcProvider()
    assert "Sign in with" not in client.get("/login").content.decode()


def test_signing_out_shows_the_way_out_there(provider, client, settings):
    sign_in(client, "0001")
    page = client.post("/logout").content.decode()
    assert not is_in(client)
    assert f'href="{provider.issuer}/oauth2/end_session?client_id=authzsite"' in page
    assert client.post("/logout").status_code == 302


def test_what_the_provider_says_of_itself_is_fetched_once_when_it_sends_somebody_back(provider, client, monkeypatch):
    back = consent(leave(client), "0001")
    fetched = []
    fetch = requests.Session.get

    def count(session, url, **more):
        fetched.append(url)
        return fetch(session, url, **more)

    monkeypatch.setattr(requests.Session, "get", count)
    client.get(back)
    assert is_in(client)
    assert sum(url.endswith("openid-configuration") for url in fetched) == 1
