"""Lists and their filters in a real browser: one scrollbar, whole words in selects, and a console without errors."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from catalog.reports.services import assertions
from policies.pdp import authorizer
from tests.journeys.browsing import barriers, sign_in
from tests.web.catalog.conftest import shelves, shelves_of_module  # noqa: F401  # fixtures, named below
from tests.web.conftest import _fresh_snapshot, ladder_of_module, world, write  # noqa: F401

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("shelves"),
]

POLICIES = "/settings/permissions/policies"
LISTS = (POLICIES, "/settings/permissions/roles", "/catalog", "/reports", "/reports/findings", "/settings/audit")

#: What scrolls up and down although only its width is too large, and every choice that its select cuts.
_FAULTS = """() => {
  const faults = [...document.querySelectorAll('.table-responsive')]
    .filter(list => list.scrollHeight > list.clientHeight)
    .map(list => `${list.ariaLabel} scrolls by ${list.scrollHeight - list.clientHeight} pixels`);
  document.querySelectorAll('.site-filters select').forEach(select => [...select.options].forEach(option => {
    const alone = select.cloneNode(false);
    alone.style.cssText = 'width: max-content; position: absolute';
    alone.append(option.cloneNode(true));
    select.parentElement.append(alone);
    if (alone.offsetWidth > select.offsetWidth + 1) faults.push(`${select.name} cuts ${option.text}`);
    alone.remove();
  }));
  return faults;
}"""


@pytest.fixture
def root(live_server, plain_http, opened) -> Page:
    page: Page = opened()
    sign_in(page, f"{live_server.url}/why", "datahub", "datahub")
    return page


def test_lists_scroll_one_way_and_selects_show_whole_words(root, live_server):
    found = {}
    for width in (1280, 1024, 390):
        root.set_viewport_size({"width": width, "height": 900})
        for address in LISTS:
            root.goto(f"{live_server.url}{address}")
            found[width, address] = root.evaluate(_FAULTS)
    assert {place: faults for place, faults in found.items() if faults} == {}


def test_typing_and_then_enter_breaks_no_request_off(root, live_server):
    root.goto(f"{live_server.url}{POLICIES}")
    errors: list[str] = []
    root.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    waiting: list[Route] = []
    is_held = True
    root.route("**/policies?*", lambda route: waiting.append(route) if is_held else route.continue_())
    search = root.get_by_label("Search", exact=True)
    with root.expect_request("**/policies?*"):
        search.press_sequentially("reader")
    search.press("Enter")
    search.press("End")
    search.press_sequentially("s")
    search.press("Enter")
    assert len(waiting) == 1, "the second request waits for the first"
    is_held = False
    waiting[0].continue_()
    expect(root).to_have_url(re.compile(r"[?&]q=readers&"))
    assert errors == []


def test_the_page_of_assertions_with_versions_has_no_barrier(root, live_server):
    text = "- name: Nobody edits\n  nobody: {may: EDIT_ENTITY, on: {tag: urn:li:tag:PII}}\n"
    assertions.save(text=text, expected_version=0, by=authorizer.SYSTEM)
    root.goto(f"{live_server.url}/reports/assertions")
    expect(root.get_by_role("link", name="Version 1")).to_be_visible()
    assert barriers(root) == []
