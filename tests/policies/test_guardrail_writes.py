"""Guardrails and writes: of two at once that only together break one the second is refused; facts are never held up."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pysat.solvers
import pytest
from django.db import connection

from catalog.models import Finding
from policies.authoring.services import policies, policy_drafts
from policies.errors import GuardrailBroken
from policies.guardrails import tasks
from policies.guardrails.services import guardrails
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
    draft = policy_drafts.PolicyInput("datahub", POLICY | changes)
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


#: A deny that owners of a type escape: whether it leaves anything, the solver has to tell.
EXEMPT_OWNERS = {"allUsers": True, "excludedResourceOwnersTypes": ["urn:li:ownershipType:technical"]}
SOLVER_RULE = {"never": {"actors": {"users": [MIA]}, "privileges": ["EXECUTE_ENTITY"]}}
OWNERS_POLICY = "urn:li:dataHubPolicy:owners"


@pytest.fixture(params=["is missing", "fails"])
def solver(request, monkeypatch):
    """A solver that does not work; why."""
    if request.param == "is missing":
        monkeypatch.setitem(sys.modules, "pysat.solvers", None)
        return "The solver for proofs (python-sat) cannot be loaded."

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(pysat.solvers.Minisat22, "solve_limited", fail)
    return "The solver for proofs (python-sat) failed."


def give_owners(by):
    put(OWNERS_POLICY, by, type="METADATA", privileges=["EXECUTE_ENTITY"], actors={"resourceOwners": True})


@pytest.fixture
def deny(mia):
    """A policy that leaves owners of one type what others are denied."""
    values = {"type": "METADATA", "privileges": ["EXECUTE_ENTITY"], "actors": EXEMPT_OWNERS, "effect": "DENY"}
    put("urn:li:dataHubPolicy:deny", authorizer.SYSTEM, **values)


def test_without_a_solver_what_needs_one_is_refused(mia, deny, solver):
    make(SOLVER_RULE)
    before = snapshot_store.get_current().version
    with pytest.raises(GuardrailBroken) as refusal:
        give_owners(mia)
    assert (
        str(refusal.value) == "The guardrail G could not be shown to hold after this, so nothing is stored."
        f" None of mia may ever Execute Entity. {solver}"
    )
    assert refusal.value.example is None
    assert not Policy.objects.filter(urn=OWNERS_POLICY).exists()
    assert not Finding.objects.filter(kind="guardrails").exists()
    snapshot_store.mark_stale()
    assert snapshot_store.get_current().version == before


def test_without_a_solver_one_that_warns_is_unknown(mia, deny, solver):
    make(SOLVER_RULE, mode="warn")
    give_owners(mia)
    assert Policy.objects.filter(urn=OWNERS_POLICY).exists()
    for _ in range(2):
        assert Guardrail.objects.get().status == Guardrail.Status.UNKNOWN
        finding = Finding.objects.get(kind="guardrails")
        assert (finding.state, finding.sentence) == ("OPEN", "The guardrail G could not be shown to hold in 1 way.")
        assert tasks.judge_guardrails() == 0


def test_with_the_solver_the_same_write_is_refused_with_an_example(mia, deny):
    make(SOLVER_RULE)
    with pytest.raises(GuardrailBroken, match="would be broken by this") as refusal:
        give_owners(mia)
    example = refusal.value.example
    assert example is not None
    assert example["resource"]["owners"][0]["type"] == "urn:li:ownershipType:technical"


@pytest.fixture
def unreadable(mia, settings):
    """A function that makes a guardrail of a custom privilege, which the settings do not name any more."""

    def make_unreadable(**more):
        settings.CUSTOM_PRIVILEGES = ["TODO_READ"]
        guardrail = make({"never": {"actors": {"users": [MIA]}, "privileges": ["TODO_READ"]}}, **more)
        assert guardrail.status == Guardrail.Status.HOLDS
        settings.CUSTOM_PRIVILEGES = []
        return guardrail

    return make_unreadable


def test_one_whose_rule_cannot_be_read_any_more_refuses_and_says_what_to_do(mia, unreadable):
    guardrail = unreadable()
    with pytest.raises(GuardrailBroken) as refusal:
        put("urn:li:dataHubPolicy:p", mia, privileges=["MANAGE_SECRETS"])
    assert (refusal.value.guardrail, refusal.value.example) == (guardrail.urn, None)
    words = str(refusal.value)
    assert words.startswith("The guardrail G could not be shown to hold after this, so nothing is stored.")
    assert "Its rule cannot be read any more: /rule/never/privileges/0: " in words
    assert "TODO_READ" in words
    assert words.endswith("Change the rule, or delete the guardrail.")
    assert not Policy.objects.filter(urn="urn:li:dataHubPolicy:p").exists()
    guardrails.delete(urn=guardrail.urn, by=authorizer.SYSTEM, channel=DOOR)
    put("urn:li:dataHubPolicy:p", mia, privileges=["MANAGE_SECRETS"])


def test_one_whose_rule_cannot_be_read_any_more_is_unknown_and_the_others_are_judged(mia, unreadable):
    guardrail = unreadable(mode="warn")
    put("urn:li:dataHubPolicy:p", mia, privileges=["MANAGE_SECRETS"])
    guardrail.refresh_from_db()
    assert guardrail.status == Guardrail.Status.UNKNOWN
    other = make({"never": {"actors": {"users": [MIA]}, "privileges": ["MANAGE_SECRETS"]}})
    Guardrail.objects.update(status=Guardrail.Status.HOLDS)
    assert tasks.judge_guardrails() == 1
    statuses = dict(Guardrail.objects.values_list("urn", "status"))
    assert (statuses[guardrail.urn], statuses[other.urn]) == (Guardrail.Status.UNKNOWN, Guardrail.Status.BROKEN)
    assert Finding.objects.get(kind="guardrails", key=guardrail.urn).state == Finding.State.OPEN
