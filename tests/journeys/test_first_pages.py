"""The first pages in a real browser: root looks policies up and asks why; somebody else is refused."""

import pytest
from playwright.sync_api import Page, expect

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import users
from policies.pdp import authorizer
from tests.journeys.browsing import problems, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLICIES = "/settings/permissions/policies"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
LONG = f"urn:li:dataset:(urn:li:dataPlatform:hive,{'orders_of_every_country_' * 12},PROD)"
PASSWORD = "correct horse battery"
DOOR = "test"


@pytest.fixture
def site(installation: str) -> str:
    """Serve a bootstrapped installation with datasets, more policies and a second person; give its address."""
    users.create(username="jane", display_name="Jane Doe", password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)
    described = [Proposal(urn, "datasetProperties", '{"name": "orders"}') for urn in (DATASET, LONG)]
    apply.apply(proposals=described, by=authorizer.SYSTEM, channel=DOOR)
    for number in range(30):
        document = {
            "displayName": f"Taggers {number:02}",
            "description": "Put tags on datasets",
            "type": "METADATA",
            "state": "ACTIVE" if number % 2 else "INACTIVE",
            "privileges": ["EDIT_ENTITY_TAGS"],
            "actors": {"users": [f"urn:li:corpuser:tagger-{place}" for place in range(number)]},
            "resources": {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]}},
        }
        draft = policy_drafts.PolicyInput("datahub", document)
        policies.create(urn=f"urn:li:dataHubPolicy:t{number}", draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    return installation


def shows(page: Page, first: int, last: int, *, of: int) -> None:
    expect(page.locator("#policies")).to_contain_text(f"Policies {first}\N{EN DASH}{last} of {of}")


def test_a_list_is_printed_with_its_title_and_who_printed_it_and_without_menus(site, opened):
    page = opened()
    page.emulate_media(color_scheme="dark")
    sign_in(page, f"{site}{POLICIES}", "datahub", "datahub")
    expect(page.get_by_text("Printed ")).to_be_hidden()
    page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = document.documentElement.dataset.bsTheme; })"
    )
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("[window.printed, document.documentElement.dataset.bsTheme]") == ["light", "dark"]
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Policies", level=1)).to_be_visible()
    expect(page.get_by_text("Printed ")).to_contain_text("UTC by DataHub")
    expect(page.get_by_role("table", name="Policies")).to_be_visible()
    for menu in ("Main", "Settings"):
        expect(page.get_by_role("navigation", name=menu)).to_have_count(0)


def test_root_lists_filters_reads_and_asks_why_and_somebody_else_may_not(site, opened):
    page = opened()
    sign_in(page, f"{site}{POLICIES}", "datahub", "datahub")
    table = page.get_by_role("table", name="Policies")
    expect(table.get_by_role("row")).to_have_count(26)

    # While one types, the list follows without a reload, and the address can be shared.
    page.evaluate("window.untouched = true")
    with page.expect_response(lambda answer: "q=taggers" in answer.url):
        page.get_by_label("Search", exact=True).press_sequentially("taggers")
    shows(page, 1, 25, of=30)
    page.get_by_label("State").select_option("Inactive")
    shows(page, 1, 15, of=15)
    page.get_by_role("link", name="Name").click()
    expect(table.get_by_role("row").nth(1)).to_contain_text("Taggers 28")
    page.get_by_label("State").select_option("All")
    shows(page, 1, 25, of=30)
    expect(table.get_by_role("row").nth(1)).to_contain_text("Taggers 29")
    page.get_by_role("link", name="Next page").click()
    shows(page, 26, 30, of=30)
    assert page.evaluate("window.untouched") is True
    assert "q=taggers" in page.url
    assert "sort=-name" in page.url

    page.get_by_role("link", name="Taggers 04").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Taggers 04")
    expect(page.get_by_text("EDIT_ENTITY_TAGS", exact=True)).to_be_visible()
    page.go_back()
    shows(page, 26, 30, of=30)

    page.get_by_role("navigation", name="Main").get_by_role("link", name="Why").click()
    page.get_by_label("Who").fill("jane")
    page.get_by_label("May use").fill("EDIT_ENTITY_TAGS")
    page.get_by_label("On", exact=True).fill(DATASET)
    page.get_by_role("button", name="Ask").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("Nothing allows it.")
    expect(answer).to_contain_text("Jane Doe is not")

    other = opened()
    sign_in(other, f"{site}/why", "jane", PASSWORD)
    other.get_by_role("link", name="Settings").click()
    expect(other.get_by_role("link", name="Access tokens")).to_be_visible()
    expect(other.get_by_role("link", name="Policies")).to_have_count(0)
    other.goto(f"{site}{POLICIES}")
    expect(other.get_by_role("heading", level=1)).to_have_text("You may not do this")
    expect(other.get_by_text("MANAGE_POLICIES")).to_be_visible()
    other.get_by_role("link", name="Why?").click()
    expect(other.get_by_role("region", name="Answer")).to_contain_text("Nothing allows it.")
    other.get_by_text("Jane Doe").first.click()
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url(f"{site}/login")
    other.goto(f"{site}/why")
    expect(other.get_by_role("heading", level=1)).to_contain_text("Sign in")


def test_everything_works_without_scripts(site, opened):
    page = opened(java_script_enabled=False)
    sign_in(page, f"{site}{POLICIES}", "datahub", "datahub")
    page.get_by_label("Search", exact=True).fill("taggers")
    page.get_by_label("State").select_option("Active")
    page.get_by_role("button", name="Search").click()
    shows(page, 1, 15, of=15)
    page.get_by_role("link", name="Name").click()
    shows(page, 1, 15, of=15)
    page.get_by_role("link", name="Taggers 29").click()
    page.get_by_text("17 more").click()
    expect(page.get_by_text("urn:li:corpuser:tagger-28", exact=True)).to_be_visible()
    page.get_by_role("link", name="Why").click()
    page.get_by_label("May use").fill("MANAGE_POLICIES")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("A policy allows it.")
    page.get_by_role("link", name="Root User - All Platform Privileges").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Root User - All Platform Privileges")


def test_everything_works_by_keyboard(site, opened):
    page = opened()
    page.goto(f"{site}/login")
    page.get_by_label("Username").focus()
    for keys in ("datahub", "Tab", "datahub", "Enter"):
        page.keyboard.press(keys) if keys[0].isupper() else page.keyboard.type(keys)
    page.wait_for_url(f"{site}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    page.goto(f"{site}{POLICIES}")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    page.get_by_label("Search", exact=True).focus()
    page.keyboard.type("taggers 04")
    shows(page, 1, 1, of=1)
    # Leaving the search box asks for nothing new: an answer would take the link away under the key.
    # The browser loads images, such as the icon of the site, when it likes.
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.resource_type == "xhr" else None)
    page.get_by_role("link", name="Taggers 04").focus()
    page.evaluate("new Promise(resolve => setTimeout(resolve))")
    assert asked == []
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Taggers 04")


@pytest.mark.drawn(2)
def test_no_page_has_a_barrier_or_runs_out_of_the_window(site, opened):
    page = opened()
    found = {}

    def look(address: str) -> None:
        page.goto(f"{site}{address}")
        found[address] = problems(page)

    look("/login")
    page.get_by_label("Username").fill("datahub")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    found["/login, wrong"] = problems(page)
    sign_in(page, f"{site}/why", "datahub", "datahub")
    for address in (
        POLICIES,
        f"{POLICIES}?q=taggers&page=2",
        f"{POLICIES}?state=BOGUS&privilege=EDIT_TAGS",
        f"{POLICIES}/urn:li:dataHubPolicy:t29",
        f"{POLICIES}/urn:li:dataHubPolicy:1",
        f"{POLICIES}/urn:li:dataHubPolicy:none",
        "/why",
        "/why?privilege=",
        f"/why?privilege=EDIT_ENTITY_TAGS&actor=jane&resource={DATASET}",
        "/why?privilege=EDIT_TAGS&actor=jan&resource=urn:li:dataset:absent&sub_resources=urn:li:tag:x",
        "/why?privilege=EDIT_ENTITY_TAGS&resource=orders",
        f"/why?privilege=EDIT_ENTITY_TAGS&resource={LONG}",
        "/why?privilege=MANAGE_POLICIES",
    ):
        look(address)
    page.locator(".site-menu summary").click()
    found["the account menu"] = problems(page)
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, f"{site}/why", "jane", PASSWORD)
    look(POLICIES)
    assert {address: lines for address, lines in found.items() if lines} == {}
