"""Every page of the tables of URLs in a real browser, as root: no barrier of any impact, nothing wider than the window.

A page that is new in the tables is looked at here without another word. `make test` draws half of them.
"""

import pytest

from tests import depth
from tests.journeys.browsing import problems, sign_in
from tests.web.catalog.conftest import shelves, shelves_of_module  # noqa: F401  # fixtures, named below
from tests.web.catalog.test_pages import TABLE as CATALOG
from tests.web.cdap.conftest import shop, shop_of_module  # noqa: F401
from tests.web.cdap.test_pages import TABLE_OF_PAGES as CDAP
from tests.web.conftest import _fresh_snapshot, ladder_of_module, world, write  # noqa: F401
from tests.web.people.conftest import crew, crew_of_module  # noqa: F401
from tests.web.test_ladder import TABLE as PAGES

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("shelves", "crew", "shop"),
]

#: Routes that answer with a file.
FILES = {"policies-export", "policy-export", "report-file", "warehouse-access-file"}

ADDRESSES = [
    address
    for route, addresses in (PAGES | CATALOG).items()
    if route not in FILES
    for address, statuses in addresses.items()
    if statuses[-1] == 200 and not address.startswith("/admin")
] + [address for address, statuses in CDAP.items() if statuses[-1] == 200]


def test_no_page_has_a_barrier(live_server, plain_http, opened, request):
    parts = 2 if depth.DRAWS_CASES else 1
    found: dict[str, list[str]] = {}
    page = opened()
    sign_in(page, f"{live_server.url}/why", "datahub", "datahub")
    looked_at = 0
    for address in depth.draw_part(ADDRESSES, parts=parts, seed=str(request.config.option.hypothesis_seed)):
        answer = page.goto(f"{live_server.url}{address}")
        # What htmx puts into a page is looked at there.
        if answer is None or not answer.text().lstrip().lower().startswith("<!doctype html"):
            continue
        looked_at += 1
        found[address] = problems(page)
    assert looked_at > 60 // parts
    assert {address: lines for address, lines in found.items() if lines} == {}
