"""Signing in with a provider of identities, in a real browser: there, back, and out again."""

import pytest
from playwright.sync_api import Page, expect

from authzsite.oidc_settings import OidcProvider
from policies.identity.services import users
from policies.pdp import authorizer
from tests.doors.oidc.conftest import Place, place  # noqa: F401  # a fixture, named below
from tests.journeys.browsing import problems

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def site(installation: str, settings, place: Place) -> str:  # noqa: F811
    """Serve a bootstrapped installation that trusts the provider."""
    settings.OIDC = OidcProvider(
        issuer=place.issuer, client_id="authzsite", client_secret="s3cret", label="Acme ID", groups_claim="groups"
    )
    place.goes_wrong("")
    place.knows("0001", preferred_username="jane", name="Jane Doe", groups=["engineers"])
    return installation


def authorize(page: Page, subject: str) -> None:
    """Say at the provider who one is, and agree."""
    page.locator("input[name=sub]").fill(subject)
    page.locator("input[name=sub]").press("Enter")


def test_there_and_back_and_out(site, opened):
    page = opened()
    page.goto(f"{site}/why?x=1")
    assert problems(page) == []
    page.get_by_role("link", name="Sign in with Acme ID").click()
    authorize(page, "0001")
    page.wait_for_url(f"{site}/why?x=1")

    page.locator(".site-menu summary", has_text="Jane Doe").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You are signed out")
    assert problems(page) == []
    way_out = page.get_by_role("link", name="Sign out of Acme ID").get_attribute("href")
    assert "/oauth2/end_session?client_id=authzsite" in str(way_out)
    page.goto(f"{site}/why")
    expect(page.get_by_label("Username")).to_be_visible()


def test_who_is_refused_reads_why_and_finds_the_way_back(site, opened, place):  # noqa: F811
    users.create(username="sam", by=authorizer.SYSTEM, channel="test", state="SUSPENDED")
    place.knows("0002", preferred_username="sam")
    page = opened()
    page.goto(f"{site}/login/oidc")
    authorize(page, "0002")
    expect(page.get_by_role("alert")).to_contain_text("This account is suspended.")
    assert problems(page) == []
    page.get_by_role("link", name="Back to the sign-in page").click()
    expect(page.get_by_role("link", name="Sign in with Acme ID")).to_be_visible()
