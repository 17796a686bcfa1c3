"""A guardrail in a real browser: written with the keyboard in its form, in the way of a policy, broken, and listed."""

import pytest
from playwright.sync_api import Page, expect

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.identity.services import users
from policies.models import Guardrail
from policies.pdp import authorizer
from tests.journeys.browsing import find_privileges, problems, search, sign_in, wait_for_answers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GUARDRAILS, POLICIES = "/settings/permissions/guardrails", "/settings/permissions/policies"
DOOR = "test"


@pytest.fixture
def site(installation: str) -> str:
    """Serve an installation with a tag and somebody beside root; give its address."""
    users.create(username="jane", display_name="Jane Doe", by=authorizer.SYSTEM, channel=DOOR)
    described = [Proposal("urn:li:tag:PII", "tagProperties", '{"name": "Personal data", "description": ""}')]
    apply.apply(proposals=described, by=authorizer.SYSTEM, channel=DOOR)
    return installation


def pick(page: Page, picker: str, label: str, name: str) -> None:
    """Search in a picker and choose the option with the keyboard alone."""
    search(page, label, name.lower())
    option = page.locator(f"#{picker}-options").get_by_label(name)
    expect(option).to_be_visible()
    page.keyboard.press("Tab")
    expect(option).to_be_focused()
    page.keyboard.press("Space")


def save(page: Page) -> None:
    page.locator(".site-builder-side").get_by_role("button", name="Save").click()


def save_policy_for_jane(page: Page, site: str) -> None:
    """Write a policy that lets Jane delete everything in the builder, and save it."""
    page.goto(f"{site}{POLICIES}/new")
    page.get_by_label("Name").fill("Jane cleans up")
    page.get_by_role("button", name="Next").last.click()
    find_privileges(page, "delete")
    page.locator("#privileges").get_by_label("DELETE_ENTITY").check()
    page.get_by_role("button", name="Next").last.click()
    pick(page, "users", "users", "Jane Doe")
    save(page)


def test_a_guardrail_is_written_refuses_a_policy_and_lists_what_breaks_it(site, opened):
    root = opened()
    sign_in(root, f"{site}{GUARDRAILS}", "datahub", "datahub")
    assert problems(root) == []
    root.get_by_role("link", name="Nobody may ever").click()
    aside = root.locator("#builder-aside")
    expect(aside).to_contain_text("Nobody but … may ever …")

    # Problems stand at their fields; the form keeps what was typed.
    root.get_by_label("Name", exact=True).fill("Personal data stays")
    save(root)
    expect(root.get_by_role("alert")).to_contain_text("This cannot be saved yet")
    expect(root.locator("#notes-actors")).to_contain_text("This names nobody")
    expect(root.locator("#notes-first-privileges")).to_contain_text("Name at least one privilege")
    assert problems(root) == []

    pick(root, "actors-users", "users", "DataHub")
    pick(root, "actors-roles", "roles", "Admin")
    find_privileges(root, "delete")
    root.locator("#first-privileges").get_by_label("DELETE_ENTITY").check()
    root.get_by_label("What meets all conditions below").check()
    root.get_by_label("Add a condition on").select_option("Tag")
    root.get_by_role("button", name="Add a condition").click()
    pick(root, "first-c0_values", "tag", "Personal data")
    expect(aside).to_contain_text("may ever Delete on anything tagged Personal data.")
    expect(aside).to_contain_text("Nothing breaks it.")
    assert problems(root) == []

    # The same as JSON, and back.
    root.get_by_role("button", name="Write the rule as JSON").click()
    expect(root.get_by_label("Rule as JSON")).to_contain_text('"everybody_except"')
    assert problems(root) == []
    root.get_by_role("button", name="Back to the form").click()
    expect(root.locator("#first-privileges").get_by_label("DELETE_ENTITY")).to_be_checked()
    save(root)
    expect(root.locator("#toasts")).to_contain_text("is saved")
    assert problems(root) == []

    # A policy that breaks it is refused, with the rule, an example and the way to the guardrail.
    save_policy_for_jane(root, site)
    refusal = root.get_by_role("alert")
    expect(refusal).to_contain_text("The guardrail Personal data stays would be broken by this")
    expect(refusal).to_contain_text("For example Jane Doe: Delete on a dataset tagged Personal data.")
    assert problems(root) == []
    refusal.get_by_role("link", name="See this guardrail").click()
    expect(root.get_by_role("heading", name="Personal data stays")).to_be_visible()

    # One that only warns lets it through, and says what breaks it.
    root.get_by_role("link", name="Edit").click()
    root.get_by_label("Mode", exact=True).select_option("warn")
    save(root)
    expect(root.locator("#toasts")).to_contain_text("is saved")
    save_policy_for_jane(root, site)
    expect(root.locator("#toasts")).to_contain_text("Decisions follow it")
    root.goto(f"{site}{GUARDRAILS}/{Guardrail.objects.get(name='Personal data stays').urn}")
    expect(root.locator("#breaches")).to_contain_text("Jane Doe: Delete on a dataset tagged Personal data.")
    expect(root.locator("#breaches").get_by_role("link", name="Jane cleans up")).to_be_visible()
    assert problems(root) == []


@pytest.mark.parametrize("kind", ["always", "at_least", "not_both", "no_policy"])
def test_the_form_of_each_kind_has_no_barriers_and_follows_the_choice_of_kind(site, opened, kind):
    root = opened()
    sign_in(root, f"{site}{GUARDRAILS}/new", "datahub", "datahub")
    chosen = root.locator(f"[name=kind][value={kind}]")
    chosen.check()
    wait_for_answers(root)
    expect(chosen).to_be_checked()
    count = root.locator("[name=kind]:checked")
    expect(count).to_have_value(kind)
    fields = {"at_least": "#number", "not_both": "#second-privileges", "always": "#actors-users-pasted"}
    if kind in fields:
        expect(root.locator(fields[kind])).to_be_attached()
    assert problems(root) == []
