"""Deciding and ordering in a real browser, by keyboard alone; while somebody types, keys are text."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from policies.models import RequestDecision, User
from tests.api.conftest import _fresh_snapshot  # noqa: F401
from tests.journeys.browsing import problems, wait_for_answers
from tests.requests.conftest import ORDERS, TAGS, ask, company, days, make_rule, step  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RULES = "/settings/permissions/approval-rules"
DOCS = {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}


def show(page: Page, server: LiveServer, name: str, path: str) -> None:
    """Open a page as somebody."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": server.url}])
    page.goto(f"{server.url}{path}")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_requests_are_decided_and_rules_are_ordered_by_keyboard(
    company: dict[str, APIClient],  # noqa: F811
    make_rule: Callable[..., Any],  # noqa: F811
    live_server: LiveServer,
    plain_http: None,
    opened: Callable[..., Page],
) -> None:
    for order, name in enumerate(("First", "Second"), 1):
        make_rule(name, order=order, steps=[step("Owner", resourceOwners=True, within="P2D")])
    for name, item in (("jo", TAGS), ("bob", TAGS), ("jo", DOCS)):
        ask(company[name], item, until=days(3))
    page = opened()
    show(page, live_server, "ada", "/requests/to-decide")
    assert problems(page) == []
    boxes = page.locator("input[name=urn]:checked")
    press(page, "j", "x", "j", "x")
    expect(boxes).to_have_count(2)
    press(page, "k", "x")
    expect(boxes).to_have_count(1)

    press(page, "d")
    reason = page.get_by_label("Reason").first
    expect(reason).to_be_focused()
    assert problems(page) == []
    reason.press_sequentially("a duke said no")
    expect(reason).to_have_value("a duke said no")
    press(page, "Tab", "Enter")
    expect(page.get_by_text("You denied it.")).to_be_visible()

    page.goto(f"{live_server.url}/requests/to-decide")
    press(page, "j", "a")
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_focused()
    press(page, "u")
    expect(page).to_have_title("To decide · authzsite")
    press(page, "j", "a")
    expect(approve).to_be_focused()
    press(page, "Enter")
    expect(page.get_by_text("You agreed.")).to_be_visible()
    assert list(RequestDecision.objects.values_list("note", "is_agreement")) == [("a duke said no", False), ("", True)]

    show(page, live_server, "admin", RULES)
    assert problems(page) == []
    press(page, "j", "Alt+ArrowDown")
    announcer = page.locator("#announcer")
    expect(announcer).to_have_text("First is number 2 now.")
    wait_for_answers(page)
    press(page, "Alt+ArrowUp")
    expect(announcer).to_have_text("First is number 1 now.")
    press(page, "k", "j", "Enter")
    expect(page.get_by_role("heading", name="Second")).to_be_visible()
