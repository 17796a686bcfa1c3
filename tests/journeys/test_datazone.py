"""Datazone in a real browser: a policy written as statements and JSON, and what of a table somebody may read."""

import json
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import roles, users
from policies.models import Policy
from policies.pdp import authorizer
from tests.journeys.browsing import barriers, sign_in, wait_for_answers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BASE = "/settings/permissions/policies"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.orders,PROD)"
ORDERS_ID = "507f1f77bcf86cd799439011"
DOOR = "test"
VIEWER = "urn:li:dataHubRole:viewer"


@pytest.fixture
def site(installation: str) -> str:
    """Serve an installation with a dataset, a role and somebody who holds it, and a policy with restrictions."""
    by = authorizer.SYSTEM
    users.create(username="otto", display_name="Otto Outsider", by=by, channel=DOOR)
    roles.create(identifier="viewer", name="Viewer", description="", by=by, channel=DOOR)
    roles.grant(urn=VIEWER, actors=["urn:li:corpuser:otto"], by=by, channel=DOOR)
    fields = [{"fieldPath": name, "nativeDataType": "TEXT"} for name in ("id", "region", "total")]
    documents = {"datasetProperties": {"name": "orders"}, "schemaMetadata": {"schemaName": "orders", "fields": fields}}
    listed = [Proposal(ORDERS, name, json.dumps(value)) for name, value in documents.items()]
    apply.apply(proposals=listed, by=by, channel=DOOR)
    Entity.objects.filter(urn=ORDERS).update(object_id=ORDERS_ID)
    limits = {"row_level_restrictions": ["region = 'EU'"], "column_level_restrictions": ["id", "region"]}
    statements = [
        {
            "resource": f"dataset:{ORDERS_ID}",
            "actions": ["dataset:read"],
            "effect": "allow",
            "extra_constraints": limits,
        },
        {"resource": f"project:{'f' * 24}:*", "actions": ["*:*"], "effect": "deny", "branch": "dev"},
    ]
    document = {"name": "Europe only", "statements": statements, "roles": [VIEWER]}
    draft = policy_drafts.PolicyInput("datazone", document)
    policies.create(urn="urn:li:dataHubPolicy:europe", draft=draft, by=by, channel=DOOR)
    return installation


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    """Open one window."""
    return opened()


def test_a_policy_is_written_and_the_json_follows(site, page):
    sign_in(page, f"{site}{BASE}/statements/new", "datahub", "datahub")
    box = page.locator("#json")
    page.get_by_label("Name", exact=True).fill("Live")
    expect(box).to_have_value(re.compile("Live"))
    page.get_by_label("On", exact=True).select_option("one")
    page.get_by_label("Which one").wait_for()
    wait_for_answers(page)
    page.get_by_label("Which one").press_sequentially("ord")
    page.get_by_role("button", name=re.compile("^orders")).click()
    expect(page.get_by_label("Which one")).to_have_value(ORDERS_ID)
    page.get_by_role("button", name="Add a statement").click()
    expect(page.get_by_role("group", name="Statement 2")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("This cannot be saved yet")).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("button", name="Remove statement 2").click()
    expect(page.get_by_role("group", name="Statement 2")).to_have_count(0)
    page.get_by_role("checkbox", name=re.compile("Read dataset")).check()
    expect(box).to_have_value(re.compile("dataset:read"))
    box.fill(box.input_value().replace("dataset:read", "dataset:write"))
    page.get_by_role("button", name="Apply JSON to the form").click()
    expect(page.get_by_role("checkbox", name=re.compile("Write dataset"))).to_be_checked()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("It is for nobody there is today")
    page.get_by_role("button", name="Save anyway").click()
    expect(page.get_by_text("May write on the dataset orders.")).to_be_visible()
    assert Policy.objects.get(name="Live").document["statements"][0]["actions"] == ["dataset:write"]


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 1300), ("light", 390)])
def test_every_page_is_open_to_everybody_and_fits(site, page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, f"{site}{BASE}", "datahub", "datahub")
    europe = "urn:li:dataHubPolicy:europe"
    question = f"actor=otto&resource={quote(ORDERS)}"
    for address in (
        f"{BASE}/statements/new",
        f"{BASE}/statements/edit/{europe}",
        f"{BASE}/{europe}",
        f"/why/restrictions?{question}",
        f"/why?privilege=dataset:read&{question}",
    ):
        page.goto(f"{site}{address}")
        assert barriers(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address
