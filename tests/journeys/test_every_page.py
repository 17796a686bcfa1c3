"""Every page of the tables of URLs in a real browser, as root: no barrier of any impact, nothing wider than the window.

A page that is new in the tables is looked at here without another word.
"""

import pytest
from playwright.sync_api import Browser

from tests.journeys.browsing import barriers, sign_in
from tests.web.catalog.conftest import shelves  # noqa: F401  # fixtures, named below
from tests.web.catalog.test_pages import TABLE as CATALOG
from tests.web.cdap.conftest import shop  # noqa: F401
from tests.web.cdap.test_pages import TABLE_OF_PAGES as CDAP
from tests.web.conftest import _fresh_snapshot, world, write  # noqa: F401
from tests.web.people.conftest import crew  # noqa: F401
from tests.web.test_ladder import TABLE as PAGES

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("shelves", "crew", "shop"),
]

#: Routes that answer with a file.
FILES = {"policies-export", "policy-export"}

ADDRESSES = [
    address
    for route, addresses in (PAGES | CATALOG).items()
    if route not in FILES
    for address, statuses in addresses.items()
    if statuses[-1] == 200 and not address.startswith("/admin")
] + [address for address, statuses in CDAP.items() if statuses[-1] == 200]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_page_has_a_barrier(live_server, settings, browser: Browser, scheme, width):
    settings.PLAIN_HTTP = True
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    found: dict[str, list[str]] = {}
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: _note(message, complaints))
    sign_in(page, f"{live_server.url}/why", "datahub", "datahub")
    looked_at = 0
    for address in ADDRESSES:
        answer = page.goto(f"{live_server.url}{address}")
        # What htmx puts into a page is looked at there.
        if answer is None or not answer.text().lstrip().lower().startswith("<!doctype html"):
            continue
        looked_at += 1
        for details in page.locator("main details").all():
            details.evaluate("element => { element.open = true }")
        found[address] = barriers(page)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found[address].append("The page is wider than the window.")
    context.close()
    assert looked_at > 60
    assert {address: problems for address, problems in found.items() if problems} == {}
    assert complaints == []


def _note(message, complaints: list[str]) -> None:
    # A part of a page, opened by itself, names no picture for the tab, so the browser looks for the usual one.
    if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
        complaints.append(f"{message.location['url']}: {message.text}")
