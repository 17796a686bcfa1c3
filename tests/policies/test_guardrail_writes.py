"""Guardrails and writes: of two at once that only together break one the second is refused; facts are never held up."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from catalog.models import Finding
from policies.authoring import tasks
from policies.authoring.services import guardrails, policies
from policies.errors import GuardrailBroken
from policies.identity.services import groups
from policies.models import Guardrail, Policy
from policies.pdp import actor_resolution, authorizer, snapshot_store
from tests.catalog.conftest import said, tags, tell
from tests.policies.conftest import DOOR

MIA, TEAM, PII = "urn:li:corpuser:mia", "urn:li:corpGroup:team", "urn:li:tag:PII"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
POLICY = {"displayName": "P", "type": "PLATFORM", "state": "ACTIVE", "actors": {"users": [MIA]}}
BOTH = {"not_both": {"first": {"privileges": ["MANAGE_SECRETS"]}, "second": {"privileges": ["MANAGE_INGESTION"]}}}


@pytest.fixture
def mia(user, system):
    """Somebody who writes policies."""
    user("mia")
    put("urn:li:dataHubPolicy:mia", authorizer.SYSTEM, privileges=["MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS"])
    return actor_resolution.load_actor(urn=MIA)


def put(urn, by, **changes):
    draft = policies.PolicyInput("datahub", POLICY | changes)
    policies.put_many(drafts={urn: draft}, by=by, channel=DOOR)
    snapshot_store.mark_stale()


def make(rule, **more):
    return guardrails.create(name="G", rule=rule, by=authorizer.SYSTEM, channel=DOOR, **more)


@pytest.mark.django_db(transaction=True)
def test_of_two_writes_that_break_it_only_together_the_second_is_refused(mia):
    make(BOTH)
    barrier = threading.Barrier(2)

    def write(privilege):
        try:
            barrier.wait(10)
            put(f"urn:li:dataHubPolicy:{privilege}", mia, privileges=[privilege])
        except GuardrailBroken as refusal:
            return refusal
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(write, ["MANAGE_SECRETS", "MANAGE_INGESTION"]))
    (refusal,) = [outcome for outcome in outcomes if outcome is not None]
    assert refusal.example["actor"]["urn"] == MIA
    assert (
        Policy.objects.filter(urn__in=[f"urn:li:dataHubPolicy:MANAGE_{x}" for x in ("SECRETS", "INGESTION")]).count()
        == 1
    )


@pytest.mark.django_db(transaction=True)
def test_a_policy_and_a_membership_at_once(mia, group):
    group("team")
    put("urn:li:dataHubPolicy:secrets", authorizer.SYSTEM, privileges=["MANAGE_SECRETS"])
    make(BOTH)
    barrier = threading.Barrier(2)

    def join():
        groups.add_members(urn=TEAM, members=[MIA], by=mia, channel=DOOR)

    def give():
        put("urn:li:dataHubPolicy:team", mia, privileges=["MANAGE_INGESTION"], actors={"groups": [TEAM]})

    def run(write):
        try:
            barrier.wait(10)
            write()
        except GuardrailBroken:
            return 1
        finally:
            connection.close()
        return 0

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(run, [join, give])) == 1


def test_facts_are_never_held_up_and_what_they_break_is_found(mia):
    tell(said(ORDERS, "globalTags", tags("other")))
    put(
        "urn:li:dataHubPolicy:open",
        authorizer.SYSTEM,
        type="METADATA",
        privileges=["EDIT_ENTITY"],
        resources={"filter": {"criteria": [{"field": "TAG", "condition": "NOT_EQUALS", "values": [PII]}]}},
    )
    rule = {
        "always": {
            "actors": {"users": [MIA]},
            "privileges": ["EDIT_ENTITY"],
            "resources": {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]}},
        }
    }
    assert make(rule).status == Guardrail.Status.HOLDS
    tell(said(ORDERS, "globalTags", tags("PII")))
    assert tasks.judge_guardrails() == 1
    guardrail = Guardrail.objects.get()
    assert guardrail.status == Guardrail.Status.BROKEN
    assert guardrail.breaches[0]["example"]["resource"]["urn"] == ORDERS
    assert Finding.objects.get(kind="guardrails").state == Finding.State.OPEN
    tell(said(ORDERS, "globalTags", tags("other")))
    assert tasks.judge_guardrails() == 0
    assert Finding.objects.get(kind="guardrails").state == Finding.State.CLOSED
