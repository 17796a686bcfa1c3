"""The pages of guardrails: the list, what breaks one in words, the form of each rule, and refusals."""

import json

import pytest

from policies.authoring.services import guardrails, policies
from policies.engine.guardrails.rules import RuleKind
from policies.models import Guardrail
from policies.pdp import authorizer, snapshot_store
from tests.web.conftest import DOOR

BASE = "/settings/permissions/guardrails"
PII = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}]}}
ROOT = {"users": ["urn:li:corpuser:datahub"], "roles": ["urn:li:dataHubRole:Admin"]}
RULE = {"never": {"actors": {"everybody_except": ROOT}, "privileges": ["DELETE_ENTITY"], "resources": PII}}
BREAKING = {
    "displayName": "Otto deletes",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["DELETE_ENTITY"],
    "actors": {"users": ["urn:li:corpuser:otto"]},
}


def form(**changes):
    return {"name": "PII stays", "description": "", "mode": "enforce", "rule": json.dumps(RULE)} | changes


def test_one_is_made_shown_changed_and_deleted(browse):
    root = browse("root")
    made = root.post(f"{BASE}/new", form())
    assert made.status_code == 302
    page = root.get(made["Location"]).content.decode()
    assert "may ever Delete on anything tagged" in page
    assert "Holds" in page
    assert "PII stays" in root.get(BASE).content.decode()
    urn = Guardrail.objects.get(name="PII stays").urn
    assert root.post(f"{BASE}/edit/{urn}", form(mode="warn")).status_code == 302
    assert Guardrail.objects.get(urn=urn).mode == "warn"
    assert "no change is refused" in root.get(f"{BASE}/delete/{urn}").content.decode()
    assert root.post(f"{BASE}/delete/{urn}").status_code == 302
    assert not Guardrail.objects.filter(urn=urn).exists()


def test_what_breaks_it_is_told_in_words(browse):
    root = browse("root")
    draft = policies.PolicyInput("datahub", BREAKING)
    policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.mark_stale()
    made = guardrails.create(name="PII", rule=RULE, by=authorizer.SYSTEM, channel=DOOR)
    page = root.get(f"{BASE}/{made.urn}").content.decode()
    assert "Otto deletes" in page
    assert "Otto Outsider: Delete on a dataset tagged" in page


@pytest.mark.parametrize("kind", list(RuleKind))
def test_the_form_begins_from_a_rule_of_each_kind(browse, kind):
    page = browse("root").get(f"{BASE}/new?kind={kind}").content.decode()
    assert f"&quot;{kind}&quot;" in page


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("{", "rule"),
        ("[]", "must be an object"),
        (json.dumps({"never": {"privileges": ["EDIT_ENTITY"]}}), "/never/actors: Say whom"),
    ],
)
def test_problems_stand_at_the_rule(browse, rule, sentence):
    answer = browse("root").post(f"{BASE}/new", form(rule=rule))
    assert answer.status_code == 422
    assert sentence in answer.content.decode()


def test_the_built_in_one_cannot_be_changed(browse):
    root = browse("root")
    assert "Somebody can manage policies" in root.get(BASE).content.decode()
    assert root.post(f"{BASE}/delete/urn:li:guardrail:__manage_policies").status_code == 403


def test_the_import_of_a_policy_that_breaks_one_shows_rule_and_example(browse):
    root = browse("root")
    guardrails.create(name="PII stays", rule=RULE, by=authorizer.SYSTEM, channel=DOOR)
    policies.create(
        draft=policies.PolicyInput("datahub", BREAKING | {"state": "INACTIVE"}),
        urn="urn:li:dataHubPolicy:otto",
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    refused = root.post(
        "/settings/permissions/policies/state/urn:li:dataHubPolicy:otto", {"state": "ACTIVE"}, follow=True
    )
    page = refused.content.decode()
    assert "The guardrail PII stays would be broken" in page
    assert "For example Otto Outsider" in page
