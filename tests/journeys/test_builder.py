"""A policy's life in a real browser: written in the builder, felt by somebody else, overtaken, restored, deleted."""

import pytest
from playwright.sync_api import Page, expect

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.identity.services import users
from policies.models import Policy
from policies.pdp import authorizer
from tests.journeys.browsing import barriers, find_privileges, problems, refreshing, search, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLICIES = "/settings/permissions/policies"
PASSWORD = "correct horse battery"
DOOR = "test"


@pytest.fixture
def site(installation: str) -> str:
    """Serve a bootstrapped installation with a second person and a tree of domains; give its address."""
    users.create(username="jane", display_name="Jane Doe", password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)
    described = [
        Proposal("urn:li:domain:sales", "domainProperties", '{"name": "Sales", "description": ""}'),
        Proposal(
            "urn:li:domain:shop",
            "domainProperties",
            '{"name": "Shop", "description": "", "parentDomain": "urn:li:domain:sales"}',
        ),
    ]
    apply.apply(proposals=described, by=authorizer.SYSTEM, channel=DOOR)
    return installation


def save(page: Page) -> None:
    page.locator(".site-builder-side").get_by_role("button", name="Save").click()


def save_for_nobody(page: Page) -> None:
    """Save a policy of a pattern, which is for nobody yet, and say so when asked."""
    save(page)
    answer_question(page)


def answer_question(page: Page) -> None:
    expect(page.get_by_role("alert")).to_contain_text("It is for nobody there is today")
    page.get_by_role("button", name="Save anyway").click()


def test_root_writes_a_policy_and_jane_gains_and_loses_the_right(site, opened):
    root, jane = opened(), opened()
    sign_in(root, f"{site}{POLICIES}", "datahub", "datahub")
    sign_in(jane, f"{site}/why", "jane", PASSWORD)
    jane.goto(f"{site}{POLICIES}")
    expect(jane.get_by_text("Manage Policies")).to_be_visible()

    # Three steps; the sentence beside them follows without a reload.
    root.get_by_role("link", name="Create policy").click()
    expect(root.get_by_label("Name")).to_be_visible()
    # What is chosen before the scripts of the page run changes nothing beside it.
    root.wait_for_load_state()
    assert barriers(root) == []
    with refreshing(root):
        root.get_by_label("Name").fill("Jane keeps the policies")
    root.get_by_label("Platform").check()
    expect(root.locator("#builder-aside")).to_contain_text("Not finished: choose people and privileges.")
    root.get_by_label("Name").press("Enter")
    find_privileges(root, "manage policies")
    expect(root.locator("#privileges label")).to_have_count(1)
    root.get_by_label("Manage Policies").check()
    expect(root.locator("#builder-aside")).to_contain_text("Not finished: choose people.")
    assert barriers(root) == []
    root.get_by_role("button", name="Next").last.click()
    with refreshing(root):
        search(root, "users", "jane")
    root.locator("#users-options").get_by_label("Jane Doe").check()
    expect(root.locator("#builder-aside")).to_contain_text("Jane Doe may Manage Policies across the platform.")
    expect(root.locator("#builder-aside")).to_contain_text("Jane Doe gains the platform privilege Manage Policies.")
    assert barriers(root) == []
    save(root)
    expect(root.locator("#toasts")).to_contain_text("Decisions follow it")

    jane.goto(f"{site}{POLICIES}")
    expect(jane.get_by_role("table", name="Policies")).to_be_visible()

    root.get_by_role("link", name="Deactivate").click()
    expect(root.get_by_role("dialog")).to_contain_text("Jane Doe loses the platform privilege Manage Policies.")
    assert barriers(root) == []
    root.get_by_role("dialog").get_by_role("button", name="Deactivate policy").click()
    expect(root.locator("#toasts")).to_contain_text("Jane keeps the policies is inactive now.")
    jane.reload()
    expect(jane.get_by_role("table", name="Policies")).to_have_count(0)

    # The version in which she could is taken up again, after a question.
    root.get_by_role("link", name="History").click()
    root.get_by_role("link", name="version 1", exact=True).click()
    expect(root.get_by_role("link", name="Restore this version")).to_be_visible()
    assert barriers(root) == []
    root.get_by_role("link", name="Restore this version").click()
    expect(root.get_by_role("dialog")).to_contain_text("“State” changes from “INACTIVE” to “ACTIVE”.")
    root.get_by_role("dialog").get_by_role("button", name="Restore this version").click()
    expect(root.locator("#toasts")).to_contain_text("Version 1 of Jane keeps the policies was restored.")
    jane.reload()
    expect(jane.get_by_role("table", name="Policies")).to_be_visible()

    root.get_by_role("link", name="Delete").click()
    expect(root.get_by_role("dialog")).to_contain_text("Jane Doe")
    root.get_by_role("dialog").get_by_role("button", name="Delete policy").click()
    expect(root.locator("#toasts")).to_contain_text("is deleted")
    jane.reload()
    expect(jane.get_by_role("table", name="Policies")).to_have_count(0)


def test_the_second_editor_is_told_and_leaving_with_changes_asks(site, opened):
    root, other = opened(), opened()
    for page in (root, other):
        sign_in(page, f"{site}{POLICIES}", "datahub", "datahub")
    root.goto(f"{site}{POLICIES}/new?template=domains")
    save(root)
    expect(root.get_by_role("alert")).to_contain_text("It is for nobody there is today")
    assert barriers(root) == []
    answer_question(root)
    expect(root.locator("#toasts")).to_contain_text("Decisions follow it")
    policy = Policy.objects.get(name="See the domains")
    for page in (root, other):
        page.goto(f"{site}{POLICIES}/edit/{policy.urn}")
    other.get_by_label("Name").fill("Theirs")
    save_for_nobody(other)
    expect(other.locator("#toasts")).to_contain_text("Decisions follow it")

    root.get_by_label("Description").fill("Mine")
    asked: list[str] = []

    def stay(dialog):
        asked.append(dialog.type)
        dialog.dismiss()

    root.on("dialog", stay)
    root.get_by_role("link", name="Cancel").click()
    expect(root.get_by_label("Description")).to_have_value("Mine")
    assert asked == ["beforeunload"]
    save(root)
    told = root.get_by_role("alert")
    expect(told).to_contain_text("Somebody else saved version 2 in the meantime")
    expect(told).to_contain_text("Theirs")
    assert barriers(root) == []
    root.get_by_role("button", name="Save my version over version 2").click()
    answer_question(root)
    expect(root.locator("#toasts")).to_contain_text("Decisions follow it")
    policy.refresh_from_db()
    assert (policy.name, policy.description, policy.version) == ("See the domains", "Mine", 3)


@pytest.mark.parametrize("with_scripts", [True, False])
def test_a_domain_is_chosen_from_the_tree_with_and_without_scripts(site, opened, with_scripts):
    page = opened(java_script_enabled=with_scripts, color_scheme="dark", viewport={"width": 390, "height": 800})
    sign_in(page, f"{site}{POLICIES}", "datahub", "datahub")
    page.goto(f"{site}{POLICIES}/new?template=domains")
    page.get_by_role("button", name="2. Resources and privileges").click()
    page.locator("#c_new").select_option("DOMAIN")
    page.locator("button[value='add:c']").click()
    page.get_by_text("Browse: domain").click()
    if not with_scripts:
        page.get_by_role("button", name="Show").click()
    page.get_by_text("In Sales").click()
    if not with_scripts:
        page.get_by_role("button", name="Show").click()
    page.get_by_label("Shop").check()
    if with_scripts:
        assert barriers(page) == []
        expect(page.locator("#builder-aside")).to_contain_text("domains in the domain Shop")
    save_for_nobody(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("See the domains")
    criteria = Policy.objects.get(name="See the domains").document["resources"]["filter"]["criteria"]
    assert criteria[1] == {"field": "DOMAIN", "condition": "EQUALS", "values": ["urn:li:domain:shop"]}


def test_a_condition_on_a_property_is_added_and_compared(site, opened):
    page = opened()
    sign_in(page, f"{site}{POLICIES}", "datahub", "datahub")
    page.goto(f"{site}{POLICIES}/new")
    page.get_by_label("Name").fill("The own department")
    page.get_by_role("button", name="Next").last.click()
    page.get_by_label("Resources that meet all conditions below").check()
    page.get_by_label("Add a condition on", exact=True).select_option("Property of the resource")
    page.get_by_role("button", name="Add a condition").first.click()
    page.get_by_label("Name of the property").fill("department")
    page.get_by_label("Values, one a line").fill("${ACTOR.PROPERTY.department}")
    expect(page.locator("#builder-aside")).to_contain_text("whose department is the user's department")
    assert problems(page) == []
