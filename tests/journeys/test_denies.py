"""A deny with an exception in a real browser: written in the builder, felt on the pages of Why."""

import pytest
from playwright.sync_api import Page, expect

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests.journeys.browsing import find_privileges, problems, search, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLICIES = "/settings/permissions/policies"
DOOR = "test"
JANE, OTTO = "urn:li:corpuser:jane", "urn:li:corpuser:otto"

#: Everybody may describe everything; the deny of the test is for interns.
DESCRIBING = {
    "displayName": "Everybody describes",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["EDIT_ENTITY_DOCS"],
    "actors": {"allUsers": True},
}


@pytest.fixture
def site(installation: str) -> str:
    """Serve an installation with two interns, where everybody may describe everything; give its address."""
    users.create(username="jane", display_name="Jane Doe", by=authorizer.SYSTEM, channel=DOOR)
    users.create(username="otto", display_name="Otto Olsen", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="interns", name="Interns", members=[JANE, OTTO], by=authorizer.SYSTEM, channel=DOOR)
    policies.create(draft=PolicyInput("datahub", DESCRIBING), by=authorizer.SYSTEM, channel=DOOR)
    return installation


def ask(page: Page, site: str, actor: str) -> None:
    page.goto(f"{site}/why?privilege=EDIT_ENTITY_DOCS&resource=urn:li:dataHubRole:Reader&actor={actor}")


def pick(page: Page, picker: str, label: str, name: str) -> None:
    search(page, label, name.lower())
    page.locator(f"#{picker}-options").get_by_label(name).check()


def test_a_deny_with_an_exception_takes_from_one_and_not_from_the_other(site, opened):
    root = opened()
    sign_in(root, f"{site}{POLICIES}", "datahub", "datahub")
    ask(root, site, "otto")
    expect(root.get_by_text("Decided by")).to_be_visible()

    root.goto(f"{site}{POLICIES}/new")
    root.get_by_label("Name").fill("Interns do not describe")
    expect(root.locator("[name=effect][value=ALLOW]")).to_be_checked()
    root.get_by_label("Deny").check()
    assert problems(root) == []
    root.get_by_role("button", name="Next").last.click()
    find_privileges(root, "edit description")
    root.locator("#privileges").get_by_label("EDIT_ENTITY_DOCS").check()
    root.get_by_role("button", name="Next").last.click()
    root.get_by_label("All users").check()
    expect(root.locator("#notes-allUsers")).to_contain_text("to all users without exception")
    root.get_by_label("All users").uncheck()
    pick(root, "groups", "groups", "Interns")
    pick(root, "excludedUsers", "except users", "Jane Doe")
    aside = root.locator("#builder-aside")
    expect(aside).to_contain_text("Nobody in Interns may Edit Description on anything, even where other policies")
    expect(aside).to_contain_text("It leaves out Jane Doe.")
    expect(aside).to_contain_text("Otto Olsen loses Edit Description")
    assert problems(root) == []
    root.locator(".site-builder-side").get_by_role("button", name="Save").click()
    expect(root.locator("#toasts")).to_contain_text("Decisions follow it")
    assert problems(root) == []

    ask(root, site, "otto")
    expect(root.get_by_text("Denied by")).to_be_visible()
    expect(root.get_by_role("link", name="Interns do not describe")).to_be_visible()
    assert problems(root) == []
    ask(root, site, "jane")
    expect(root.get_by_text("Decided by")).to_be_visible()
    expect(root.get_by_role("link", name="Everybody describes")).to_be_visible()
    root.get_by_role("link", name="Who can do this here?").click()
    expect(root.get_by_text("Except Otto Olsen")).to_be_visible()
    assert problems(root) == []

    root.goto(f"{site}{POLICIES}?effect=DENY")
    row = root.get_by_role("row", name="Interns do not describe")
    expect(row).to_contain_text("except")
    expect(row).to_contain_text("Jane Doe")
    assert problems(root) == []
