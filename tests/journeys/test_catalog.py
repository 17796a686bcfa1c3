"""The catalog in a real browser: a steward edits a tag, an outsider sees no control, and view authorization hides."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from policies.authoring.services import policies, policy_drafts
from policies.identity.services import users
from policies.pdp import authorizer
from tests.journeys.browsing import problems, sign_in
from tests.web.catalog.conftest import DOCUMENTS, ORDERS, OWNER, READER, VIEWS_ALL
from tests.web.catalog.conftest import store as write

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse battery"
DOOR = "test"
PLACE = f"/catalog/{quote(ORDERS, safe='')}"


@pytest.fixture
def site(installation: str, settings) -> str:
    """Serve an installation with a small catalog, a steward who may tag orders, and an outsider; give its address."""
    settings.SHOW_ACCESS_MANAGEMENT = True
    for username, name in (("stella", "Stella Steward"), ("otto", "Otto Outsider"), ("olga", "Olga Owner")):
        users.create(username=username, display_name=name, password=PASSWORD, by=authorizer.SYSTEM, channel=DOOR)
    write({**DOCUMENTS, (READER, "actors"): {"users": [{"user": OWNER}]}})
    _give("stella", "EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE")
    return installation


def _give(username: str, *privileges: str) -> None:
    document = {
        "displayName": f"What {username} may do with orders",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": list(privileges),
        "actors": {"users": [f"urn:li:corpuser:{username}"]},
        "resources": {"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}},
        "editable": True,
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)


def test_a_steward_finds_a_dataset_and_tags_it(site, opened):
    page = opened()
    sign_in(page, f"{site}/catalog", "stella", PASSWORD)
    page.get_by_label("Search", exact=True).press_sequentially("ord")
    expect(page.locator("#entities")).to_contain_text("1 of 1")
    page.get_by_role("link", name="orders", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("orders")
    expect(page.get_by_role("link", name="Edit owners")).to_have_count(0)
    page.get_by_role("link", name="Edit tags").click()
    page.get_by_label("Search tags").press_sequentially("gol")
    page.get_by_role("checkbox", name="Gold").check()
    page.get_by_role("checkbox", name="PII").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Tags saved.")).to_be_visible()
    tags = page.get_by_role("region", name="Tags")
    expect(tags).to_contain_text("Gold")
    expect(tags).not_to_contain_text("PII")


def test_the_same_without_scripts(site, opened):
    page = opened(java_script_enabled=False)
    sign_in(page, f"{site}/catalog", "stella", PASSWORD)
    page.goto(f"{site}{PLACE}")
    page.get_by_role("link", name="Edit tags").click()
    page.get_by_text("Paste URNs").click()
    page.get_by_label("Tags: URNs, one a line").fill("urn:li:tag:Gold")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Tags")).to_contain_text("Gold")


def test_an_outsider_sees_no_control_and_then_nothing(site, opened, settings):
    page = opened()
    sign_in(page, f"{site}/catalog", "otto", PASSWORD)
    page.goto(f"{site}{PLACE}")
    expect(page.get_by_role("region", name="Tags")).to_contain_text("PII")
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    page.goto(f"{site}/catalog/edit/tags/{quote(ORDERS, safe='')}")
    expect(page.get_by_role("heading", level=1)).to_have_text("You may not do this")

    settings.VIEW_AUTHORIZATION_ENABLED = True
    policies.set_state(urn=VIEWS_ALL, state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR)
    page.goto(f"{site}{PLACE}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    page.goto(f"{site}/catalog?q=orders")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    other = opened()
    sign_in(other, f"{site}/catalog?q=orders", "stella", PASSWORD)
    expect(other.get_by_role("link", name="orders", exact=True)).to_be_visible()
    other.goto(f"{site}{PLACE}")
    expect(other.get_by_role("region", name="Tags")).to_contain_text("PII")
    expect(other.get_by_text("Sales")).to_have_count(0)


def test_granted_and_request(site, opened):
    page = opened()
    sign_in(page, f"{site}/catalog", "olga", PASSWORD)
    page.goto(f"{site}{PLACE}?show=access")
    expect(page.get_by_role("button", name="Granted")).to_be_disabled()
    page.get_by_text("read more").click()
    expect(page.get_by_text("read more")).to_be_hidden()
    other = opened()
    sign_in(other, f"{site}/catalog", "otto", PASSWORD)
    other.goto(f"{site}{PLACE}?show=access")
    other.get_by_role("link", name="Request access by Shop reader").click()
    expect(other.get_by_role("heading", name="Request access", level=1)).to_be_visible()
    expect(other.get_by_text("Shop reader").first).to_be_visible()


def test_deleting_an_external_role_asks_first(site, opened):
    page = opened()
    sign_in(page, f"{site}/catalog", "datahub", "datahub")
    page.goto(f"{site}/external-roles/{quote(READER, safe='')}")
    page.get_by_role("link", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("removed from the Access tab of 2 entities")
    dialog.get_by_role("button", name="Delete external role").click()
    expect(page.get_by_text("Shop reader was deleted.")).to_be_visible()
    expect(page.get_by_role("table", name="External roles").get_by_role("row")).to_have_count(2)


def test_what_only_a_choice_shows_has_no_barrier(site, opened):
    page = opened()
    sign_in(page, f"{site}/catalog", "datahub", "datahub")
    addresses = [
        "/catalog?q=nothing-at-all",
        *(f"{PLACE}?show={tab}" for tab in ("about", "columns", "access", "documents")),
        f"/external-roles/held/{quote(OWNER, safe='')}",
    ]
    found = {}
    for address in addresses:
        page.goto(f"{site}{address}")
        found[address] = problems(page)
    assert {address: lines for address, lines in found.items() if lines} == {}
