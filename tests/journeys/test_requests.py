"""Asking for access and giving it in a real browser: the panel follows what is typed, on a phone and by keyboard."""

from datetime import date, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.identity.services import users
from policies.models import SubmittedRequest
from policies.pdp import authorizer
from tests.journeys.browsing import problems, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ORDERS, ITEMS = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "order_items"))
OWNERS = '{"owners": [{"owner": "urn:li:corpuser:ada", "type": "TECHNICAL_OWNER"}]}'
PASSWORD = "correct horse battery"


def write_date(page: Page, *, days: int) -> date:
    """Choose by keyboard that a date is written, and write the one in this many days."""
    page.get_by_label("2 weeks").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    last_day = timezone.now().date() + timedelta(days=days)
    page.get_by_label("Last day").fill(last_day.isoformat())
    return last_day


def test_somebody_asks_on_a_phone_and_the_owner_gives(installation, opened):
    for name in ("jo", "ada"):
        users.create(username=name, display_name=name.title(), password=PASSWORD, by=authorizer.SYSTEM, channel="test")
    described = [Proposal(urn, "datasetProperties", '{"name": "orders"}') for urn in (ORDERS, ITEMS)]
    apply.apply(proposals=[*described, Proposal(ORDERS, "ownership", OWNERS)], by=authorizer.SYSTEM, channel="test")

    phone = opened(viewport={"width": 390, "height": 844}, has_touch=True)
    sign_in(phone, f"{installation}/requests/new", "jo", PASSWORD)
    outlook = phone.get_by_role("region", name="Ways and who decides")
    phone.get_by_label("Privileges").fill("EDIT_ENTITY_TAGS")
    phone.get_by_label("On", exact=True).fill("orders")
    # A name that several things have: one of them is chosen.
    outlook.get_by_role("listitem").filter(has_text=ORDERS).get_by_role("link").click()
    expect(phone.get_by_role("heading", level=2).first).to_have_text("Edit Tags on orders")
    expect(outlook).to_contain_text("A new policy for this alone")
    expect(outlook).to_contain_text("Owner: Ada")
    expect(phone.get_by_label("Last day")).to_be_hidden()
    last_day = write_date(phone, days=20)
    expect(outlook).to_contain_text(f"For you, until {last_day:%-d %b %Y}, 23:59 UTC.")
    assert problems(phone) == []
    phone.get_by_label("Reason").fill("for the audit")
    phone.get_by_role("button", name="Send the request").press("Enter")
    expect(phone.get_by_text("The request is sent.")).to_be_visible()

    page = opened()
    sign_in(page, f"{installation}/catalog/{ORDERS}", "ada", PASSWORD)
    page.get_by_role("link", name="Give access").click()
    page.get_by_label("Give to").fill("jo")
    page.get_by_label("Privileges").fill("EDIT_ENTITY_DOCS")
    outlook = page.get_by_role("region", name="Ways and who decides")
    expect(outlook).to_contain_text("you agree by sending this")
    # The end of the form is asked about, too, and a reason that is being written is left alone.
    page.get_by_label("Reason").fill("for the audit")
    page.get_by_label("1 day").check()
    expect(outlook).to_contain_text(f"{timezone.now() + timedelta(days=1):%-d %b %Y}")
    expect(page.get_by_label("Reason")).to_have_value("for the audit")
    page.get_by_role("button", name="Give access").click()
    expect(page.get_by_text("Access is given.")).to_be_visible()
    assert list(SubmittedRequest.objects.order_by("pk").values_list("by", "state")) == [
        ("urn:li:corpuser:jo", "open"),
        ("urn:li:corpuser:ada", "done"),
    ]
