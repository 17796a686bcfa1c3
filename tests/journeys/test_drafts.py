"""What somebody types is never lost: the session ends, the page is left or loaded again, two windows write at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Route, expect

from policies.identity.services import roles, users
from policies.models import Draft, Policy
from policies.pdp import authorizer
from tests.journeys.browsing import problems, refreshing, sign_in, wait_for_answers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLICIES = "/settings/permissions/policies"
PASSWORD = "correct horse battery"
DOOR = "test"


@pytest.fixture
def site(installation: str) -> str:
    """Serve a bootstrapped installation with a second administrator; give its address."""
    users.create(username="ada", display_name="Ada", password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:Admin", actors=["urn:li:corpuser:ada"], by=authorizer.SYSTEM, channel=DOOR)
    return installation


def open_builder(page: Page, site: str) -> None:
    sign_in(page, f"{site}{POLICIES}/new", "datahub", "datahub")
    page.wait_for_load_state()


def type_in(page: Page, label: str, text: str) -> None:
    """Type into a field, and return once what is typed is kept, and nothing is asked for any more."""
    with refreshing(page), page.expect_response(lambda answer: answer.url.endswith("/drafts") and answer.ok):
        page.get_by_label(label).fill(text)
    expect(page.locator("form[data-guard='']")).to_have_count(1)


def test_the_form_is_as_it_was_after_the_session_ended(site, opened):
    page = opened()
    open_builder(page, site)
    type_in(page, "Name", "Half a policy")
    Session.objects.all().delete()
    # At once, so that nothing of this sentence is kept before the button is pressed.
    page.get_by_role("button", name="Next").last.evaluate(
        "(button, text) => { button.form.description.value = text; button.click(); }", "Written without a session"
    )
    expect(page.get_by_role("heading", name="Sign in to authzsite")).to_be_visible()
    page.get_by_label("Username").fill("datahub")
    page.get_by_label("Password").fill("datahub")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Name")).to_have_value("Half a policy")
    expect(page.get_by_label("Description")).to_have_value("Written without a session")
    expect(page.get_by_text("This is your draft of")).to_be_visible()
    assert problems(page) == []
    page.get_by_role("button", name="Discard draft").click()
    expect(page.locator("#toasts")).to_contain_text("The draft is discarded.")
    expect(page.get_by_label("Name")).to_have_value("")


def test_whoever_signs_in_instead_sees_nothing_of_it(site, opened):
    page = opened()
    open_builder(page, site)
    type_in(page, "Name", "Root's own")
    Session.objects.all().delete()
    # The sentence beside the fields asks next, and leads to the sign-in by itself.
    page.get_by_label("Description").fill("Nobody else's business")
    expect(page.get_by_role("heading", name="Sign in to authzsite")).to_be_visible()
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Create policy")
    expect(page.get_by_label("Name")).to_have_value("")
    expect(page.locator("body")).not_to_contain_text("Nobody else")
    assert "Nobody+else" in Draft.objects.get().fields


def test_back_and_reload_show_the_form_and_send_nothing_again(site, opened):
    page = opened()
    open_builder(page, site)
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.method) if one.is_navigation_request() else None)
    type_in(page, "Description", "What it is for")
    page.reload()
    expect(page.get_by_label("Description")).to_have_value("What it is for")
    page.get_by_role("button", name="Next").last.click()
    expect(page.get_by_text("This must not be blank.")).to_be_visible()
    address = page.url
    page.reload()
    expect(page.get_by_text("This must not be blank.")).to_be_visible()
    expect(page.get_by_label("Description")).to_have_value("What it is for")
    type_in(page, "Name", "Stepwise")
    page.get_by_role("button", name="Next").last.click()
    expect(page.get_by_role("heading", name="Privileges")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Name")).to_have_value("Stepwise")
    assert page.url == address
    page.go_forward()
    expect(page.get_by_role("heading", name="Privileges")).to_be_visible()
    # A form is sent by its button alone.
    assert sent.count("POST") == 2


def test_two_windows_with_one_draft_keep_what_each_of_them_types(site, opened):
    page = opened()
    open_builder(page, site)
    type_in(page, "Name", "First")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_label("Name")).to_have_value("First")
    type_in(other, "Name", "Second")
    type_in(page, "Description", "Of the first")
    for window, name in ((page, "First"), (other, "Second")):
        window.reload()
        expect(window.get_by_label("Name")).to_have_value(name)
    other.goto(f"{site}{POLICIES}/new")
    expect(other.get_by_text("There are drafts of this that you have not saved")).to_be_visible()
    assert problems(other) == []


@contextmanager
def holding(page: Page, target: str) -> Iterator[None]:
    """Hold the first answer for an element back until what is done inside is done, so that it is older than that."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if not held and route.request.headers.get("hx-target") == target:
            held.append(route)
        else:
            route.continue_()

    page.route("**/*", hold)
    yield
    page.wait_for_function("document.querySelector('.htmx-request') !== null")
    held[0].continue_()
    wait_for_answers(page)
    page.unroute("**/*")


def test_what_is_ticked_while_privileges_are_found_stays_ticked(site, opened):
    page = opened()
    open_builder(page, site)
    page.get_by_label("Platform").check()
    type_in(page, "Name", "Patient")
    page.get_by_role("button", name="Next").last.click()
    page.wait_for_load_state()
    with holding(page, "privileges"):
        page.get_by_label("Find privileges").fill("manage")
        expect(page.locator("#find.htmx-request")).to_have_count(1)
        page.locator("input[value=GENERATE_PERSONAL_ACCESS_TOKENS]").evaluate("element => element.click()")
        page.locator("input[value=MANAGE_POLICIES]").evaluate("element => element.click()")
    expect(page.locator("#privileges details").first).to_have_attribute("open", "")
    ticked = page.locator("#privileges input:checked")
    expect(ticked).to_have_count(2)
    expect(page.locator("#privileges")).not_to_contain_text("View Analytics")


def test_what_is_changed_while_the_sentence_is_asked_for_is_asked_for_next(site, opened):
    page = opened()
    open_builder(page, site)
    with holding(page, "builder-aside"):
        page.get_by_label("Name").fill("Patient")
        expect(page.locator("#builder-aside.htmx-request")).to_have_count(1)
        page.get_by_label("Platform").check()
    expect(page.locator("#builder-aside")).to_contain_text("across the platform")


def test_leaving_asks_only_where_nothing_could_be_kept(site, opened, complaints):
    page = opened()
    open_builder(page, site)
    asked: list[str] = []

    def stay(dialog):
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.route("**/drafts", lambda route: route.fulfill(status=422, json={}))
    page.get_by_label("Name").fill("Not kept")
    expect(page.locator("[data-draft-text]")).to_have_text("What you typed could not be kept as a draft.")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_label("Name")).to_have_value("Not kept")
    assert asked == ["beforeunload"]
    page.unroute("**/drafts")
    type_in(page, "Description", "Kept")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("table", name="Policies")).to_be_visible()
    assert asked == ["beforeunload"]


def test_without_scripts_a_refused_form_and_a_session_that_ended_lose_nothing(site, opened):
    page = opened(java_script_enabled=False, color_scheme="dark", viewport={"width": 390, "height": 800})
    sign_in(page, f"{site}{POLICIES}/new", "datahub", "datahub")
    page.get_by_label("Description").fill("Without scripts")
    page.get_by_role("button", name="Next").last.click()
    expect(page.get_by_text("This must not be blank.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Description")).to_have_value("Without scripts")
    Session.objects.all().delete()
    page.get_by_label("Name").fill("Now with a name")
    page.locator(".site-builder-side").get_by_role("button", name="Save").click()
    page.get_by_label("Username").fill("datahub")
    page.get_by_label("Password").fill("datahub")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Name")).to_have_value("Now with a name")
    assert not Policy.objects.filter(name="Now with a name").exists()
    page.get_by_role("button", name="Discard draft").click()
    expect(page.get_by_label("Name")).to_have_value("")
