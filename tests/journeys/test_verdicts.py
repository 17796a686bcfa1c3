"""What is proved of a draft, what guardrails say of it, and the replay of the decision log, in a real browser."""

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.guardrails.services import guardrails
from policies.identity.services import users
from policies.models import LoggedDecision
from policies.pdp import authorizer
from tests.journeys.browsing import problems, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLICY, JANE = "urn:li:dataHubPolicy:tags", "urn:li:corpuser:jane"
EDIT = f"/settings/permissions/policies/edit/{POLICY}"


@pytest.fixture
def site(installation: str) -> str:
    """Serve an installation with a policy, a guardrail against some of its users, and a logged request; its address."""
    origin: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
    users.create(username="jane", display_name="Jane Doe", **origin)
    users.create(username="max", display_name="Max Mustermann", **origin)
    document = {
        "displayName": "Tags",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS"],
        "actors": {"users": ["urn:li:corpuser:max"]},
    }
    policies.create(draft=PolicyInput("datahub", document), urn=POLICY, **origin)
    rule = {"never": {"actors": {"users": [JANE]}, "privileges": ["MANAGE_TAGS"]}}
    guardrails.create(name="Jane reads", rule=rule, mode="warn", **origin)
    LoggedDecision.objects.create(
        at=timezone.now(),
        actor=JANE,
        by=JANE,
        door="api",
        wanted="MANAGE_TAGS",
        sub_resources=[],
        is_allowed=False,
        code="implicit_deny",
        policy_version=1,
        statements=[],
        milliseconds=1.0,
        is_complete=True,
    )
    return installation


def test_verdicts_follow_the_draft_and_the_log_is_replayed_on_a_click(site, opened):
    root = opened()
    sign_in(root, f"{site}{EDIT}", "datahub", "datahub")
    verdicts = root.locator("#builder-verdicts")
    expect(verdicts).to_contain_text("gives nobody anything new and takes nothing from anybody")
    expect(verdicts).to_contain_text("Every guardrail holds.")
    assert problems(root) == []
    root.get_by_role("button", name="3. ").click()
    root.get_by_label("All users").check()
    expect(verdicts).to_contain_text("It gives more: for example")
    expect(verdicts).to_contain_text("The guardrail Jane reads would be broken by this, which is saved and reported.")
    verdicts.get_by_role("button", name="Replay 30 days").click()
    expect(verdicts).to_contain_text("1 would now be allowed")
    expect(verdicts).to_contain_text("Jane Doe: Manage Tags: 1 request allowed")
    expect(root.get_by_label("All users")).to_be_checked()
    assert problems(root) == []
