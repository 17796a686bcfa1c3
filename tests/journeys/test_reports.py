"""Reports in a real browser: one is started, followed until its worker has done with it, and its results are read."""

import pytest
from playwright.sync_api import expect

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.run import result_loader, run_state
from catalog.reports.storage import parse_address
from policies.identity.services import users
from policies.pdp import authorizer
from tests import finished
from tests.finished import KIND, SUMMARY, TABLE
from tests.journeys.browsing import barriers, sign_in
from tests.web.catalog.conftest import DOCUMENTS
from tests.web.catalog.conftest import store as write

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DOOR = "test"
OTTO, DATAHUB = "urn:li:corpuser:otto", "urn:li:corpuser:datahub"


@pytest.fixture
def site(installation: str, settings, tmp_path) -> str:
    """Serve an installation with a small catalog and no worker; give its address."""
    settings.REPORTS_DIR = tmp_path / "reports"
    users.create(username="otto", display_name="Otto Outsider", by=authorizer.SYSTEM, channel=DOOR)
    write(DOCUMENTS)
    return installation


def row(person, entities):
    return {"privilege": "VIEW_ENTITY_PAGE", "person": person, "entities": entities}


def work_on(found, folder):
    """Do what a worker does with a run that it claimed."""
    finished.write(KINDS[KIND], {TABLE: [row(OTTO, 3), row(DATAHUB, 20)]}, folder)
    result_loader.load(found, KINDS[KIND], parse_address(folder), on_progress=lambda _: None)
    finished.end(found, SUMMARY)


def test_a_report_is_started_followed_and_read(site, opened, tmp_path):
    page = opened()
    sign_in(page, f"{site}/reports", "datahub", "datahub")
    page.get_by_role("link", name="Start Effective access").click()
    page.get_by_role("checkbox", name="Edit Tags", exact=True).check()
    page.get_by_role("button", name="Start report").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()

    run = run_state.claim(Report.objects.get().pk)
    assert run is not None
    assert sorted(run.parameters["privileges"]) == ["EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE"]
    assert run_state.update_progress(run, stage="Counting", done=3, total=12, log="slice 3 of 12")
    # What the page asks for by itself.
    expect(page.get_by_text("3 of 12 (25%)")).to_be_visible()
    expect(page.get_by_text("slice 3 of 12")).to_be_visible()
    assert barriers(page) == []

    work_on(run, tmp_path)
    expect(page.get_by_role("heading", name="Access by domain")).to_be_visible()
    expect(page.get_by_role("row", name="Sales")).to_contain_text("1,200")
    page.get_by_role("link", name="People by reach").click()
    page.get_by_role("link", name="Entities", exact=True).click()
    expect(page.get_by_role("columnheader", name="Entities")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Entities", exact=True).click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("20")
    page.get_by_label("Search", exact=True).press_sequentially("otto")
    expect(page.locator("#result")).to_contain_text("1–1 of 1")  # noqa: RUF001 - as the pager writes it
    assert barriers(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    assert download.value.path().read_text(encoding="utf-8").splitlines()[1:] == [f"VIEW_ENTITY_PAGE,{OTTO},3"]


def test_the_same_without_scripts_and_a_report_that_is_cancelled(site, opened, tmp_path):
    page = opened(java_script_enabled=False, viewport={"width": 390, "height": 900})
    sign_in(page, f"{site}/reports/new/{KIND}", "datahub", "datahub")
    page.get_by_role("button", name="Start report").click()
    page.get_by_role("link", name="Cancel report").click()
    page.get_by_role("button", name="Cancel report").click()
    expect(page.get_by_text("This report was cancelled.")).to_be_visible()
    earlier = finished.ready(tmp_path, KIND, {TABLE: [row(OTTO, 1)]})
    page.goto(f"{site}/reports/new/{KIND}?again={earlier.pk}")
    page.get_by_role("button", name="Start report").click()
    run = run_state.claim(Report.objects.get(status=Report.Status.QUEUED).pk)
    work_on(run, tmp_path)
    page.get_by_role("link", name="Refresh").click()
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="Changed (1)").click()
    expect(page.get_by_role("row", name="Otto Outsider")).to_contain_text("Is:")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
