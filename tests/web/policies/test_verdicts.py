"""What pages say of a change beside who gains and loses: proofs, guardrails, and the replay of the decision log."""

import sys
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from policies.changes import proofs
from policies.engine.proofs import sentences
from policies.guardrails.services import guardrails
from policies.models import LoggedDecision
from policies.pdp import authorizer
from tests.web.policies.writing import BASE, Builder

OTTO, STELLA = "urn:li:corpuser:otto", "urn:li:corpuser:stella"
MANAGING_TAGS = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"]}
ASIDE, VERDICTS = ({"HX-Request": "true", "HX-Target": target} for target in ("builder-aside", "builder-verdicts"))


@pytest.fixture
def builder(browse, world, write):
    policy = write("some", actors={"users": [OTTO]}, **MANAGING_TAGS)
    return Builder(browse("root"), f"{BASE}/edit/{policy.urn}")


def guard(rule: dict[str, Any], **fields: Any) -> None:
    guardrails.create(name="Tags", rule=rule, by=authorizer.SYSTEM, channel="test", **fields)


NOT_STELLA = {"never": {"actors": {"users": [STELLA]}, "privileges": ["MANAGE_TAGS"]}}


def log(actor: str, *, days: int = 0, **fields: Any) -> None:
    values: dict[str, Any] = {
        "by": actor,
        "door": "api",
        "request_id": "",
        "operation": "",
        "resource": "",
        "resource_type": "",
    }
    values |= {"wanted": "MANAGE_TAGS", "sub_resources": [], "is_allowed": False, "code": "implicit_deny"}
    values |= {"policy_version": 1, "statements": [], "milliseconds": 1.0, "is_complete": True}
    LoggedDecision.objects.create(actor=actor, at=timezone.now() - timedelta(days=days), **(values | fields))


def test_the_builder_says_what_is_proved_of_the_draft(builder):
    assert builder.response.context["verdicts"]["proofs"] == [sentences.NOTHING_CHANGED]
    assert sentences.NOTHING_CHANGED in builder.text
    builder.press("3")
    builder.press("refresh", users=[OTTO, STELLA])
    assert builder.response.context["verdicts"]["proofs"] == [
        "It gives more: for example Stella Steward: Manage Tags across the platform.",
        sentences.NOTHING_TAKEN,
    ]
    builder.press("refresh", users=[STELLA])
    assert builder.response.context["verdicts"]["proofs"][1] == (
        "It takes something: for example, no longer Otto Outsider: Manage Tags across the platform."
    )


def test_the_verdicts_are_loaded_after_the_rest_of_the_aside(builder):
    builder.press("3")
    aside = builder.press("refresh", users=[OTTO, STELLA], headers=ASIDE).content.decode()
    assert "Being worked out." in aside
    assert 'hx-trigger="load"' in aside
    assert "It gives more" not in aside
    verdicts = builder.press("verdicts", users=[OTTO, STELLA], headers=VERDICTS).content.decode()
    assert verdicts.lstrip().startswith("<section")
    assert "It gives more" in verdicts
    assert 'hx-trigger="load"' not in verdicts


def test_a_draft_that_cannot_be_stored_has_no_verdicts(builder):
    builder.press("refresh", name="")
    assert builder.response.context["verdicts"] == {}
    assert 'hx-trigger="load"' not in builder.text


def test_an_unknown_verdict_is_said_to_be_unknown(builder, monkeypatch):
    monkeypatch.setattr(proofs, "MAX_SECONDS", -1.0)
    builder.press("3")
    builder.press("refresh", users=[OTTO, STELLA])
    assert builder.response.context["verdicts"]["proofs"][0] == sentences.GAIN_UNKNOWN


def test_without_a_solver_the_verdict_is_unknown(builder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    builder.press("3")
    assert builder.press("refresh", users=[OTTO, STELLA]).status_code == 200
    assert builder.response.context["verdicts"]["proofs"] == [sentences.GAIN_UNKNOWN, sentences.LOSS_UNKNOWN]
    assert builder.press("save", users=[OTTO, STELLA]).status_code == 302


def test_guardrails_are_judged_before_saving(builder):
    assert builder.response.context["verdicts"]["guardrails"] == ["Every guardrail holds."]
    guard(NOT_STELLA)
    builder.press("3")
    builder.press("refresh", users=[OTTO, STELLA])
    (sentence, others) = builder.response.context["verdicts"]["guardrails"]
    assert sentence == (
        "The guardrail Tags would be broken by this, so this cannot be saved."
        " None of Stella Steward may ever Manage Tags. For example Stella Steward: Manage Tags across the platform."
    )
    assert others == "1 other guardrail holds."
    builder.press("save", users=[OTTO, STELLA])
    assert builder.is_refused


def test_a_later_break_is_said_with_its_time(builder, browse, write):
    promise = {"always": {"actors": {"users": [OTTO]}, "privileges": ["MANAGE_TAGS"]}}
    guard(promise, mode="warn")
    builder.press("refresh", validUntil="2099-01-01T00:00")
    (sentence, _) = builder.response.context["verdicts"]["guardrails"]
    assert sentence == (
        "The guardrail Tags would be broken by this from 1 Jan 2099, 00:00 UTC on, which is saved and reported."
        " Otto Outsider must always be able to Manage Tags."
        " For example Otto Outsider: Manage Tags across the platform."
    )
    assert builder.press("save").status_code == 302
    # From then on it was due before.
    other = Builder(browse("root"), f"{BASE}/edit/{write('other', actors={'users': [STELLA]}, **MANAGING_TAGS).urn}")
    (sentence, _) = other.response.context["verdicts"]["guardrails"]
    assert sentence == (
        "The guardrail Tags holds until 1 Jan 2099, 00:00 UTC, with or without this, and is broken then."
        " For example Otto Outsider: Manage Tags across the platform."
    )


def test_the_decision_log_is_replayed_on_request(builder):
    log(STELLA)
    log(STELLA, days=20)
    log(OTTO, is_allowed=True)
    builder.press("3")
    assert builder.response.context["verdicts"]["replay"] is None
    week = builder.press("replay:7", users=[STELLA], headers=VERDICTS).content.decode()
    assert "1 would now be refused and 1 would now be allowed" in week
    assert "Otto Outsider: Manage Tags: 1 request refused" in week
    assert "The log has every refusal, but only 1% of what was allowed" in week
    month = builder.press("replay:30", users=[STELLA])
    assert "Stella Steward: Manage Tags: 2 requests allowed" in builder.text
    assert month.status_code == 200
    for go in ("replay:9999", "replay:x", "replay"):
        builder.press(go, users=[STELLA])
        assert builder.response.context["verdicts"]["replay"] is None


def test_deleting_and_deactivating_say_what_is_proved_and_what_guardrails_say(browse, world, write):
    guard({"at_least": {"number": 1, "privileges": ["MANAGE_TAGS"]}}, mode="warn")
    policy = write("one", displayName="One", actors={"users": [OTTO]}, **MANAGING_TAGS)
    write("same", displayName="Same", actors={"users": [OTTO]}, **MANAGING_TAGS)
    client = browse("root")
    for url in (f"{BASE}/delete/{policy.urn}", f"{BASE}/state/{policy.urn}?state=INACTIVE"):
        effect = client.get(url).context["effect"]
        assert effect[-2:] == ["Every guardrail holds.", sentences.NOTHING_CHANGED]


def test_a_version_is_restored_with_its_verdicts(browse, world, write):
    policy = write("one", displayName="One", actors={"users": [OTTO]}, **MANAGING_TAGS)
    client = browse("root")
    builder = Builder(client, f"{BASE}/edit/{policy.urn}")
    builder.press("3")
    builder.press("save", users=[OTTO, STELLA])
    effect = client.get(f"{BASE}/restore/1/{policy.urn}").context["effect"]
    assert effect[-2:] == [
        sentences.NOTHING_NEW,
        "It takes something: for example, no longer Stella Steward: Manage Tags across the platform.",
    ]
