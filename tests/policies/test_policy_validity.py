"""Policies begin and end by themselves, on time, and once: with no message, no task, and whatever the clock does."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from policies.authoring.services import lints, policies, policy_drafts
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Phase, Validity
from policies.engine.model import Actor, Question
from policies.errors import Invalid
from policies.models import Policy, PolicyEvent, PolicyVersion, Verb
from policies.pdp import active_policies, authorizer, snapshot_store
from tests.clocks import Move, move_clocks

JO = Actor("urn:li:corpuser:jo")
PRIVILEGE = "MANAGE_TAGS"
HOUR = timedelta(hours=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Set the clocks on or back: `clock(HOUR)`."""
    return move_clocks(monkeypatch)


def document(**changes: Any) -> dict[str, Any]:
    return {
        "displayName": "For a time",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": [PRIVILEGE],
        "actors": {"users": [JO.urn]},
    } | changes


def make(**changes: Any) -> Policy:
    return policies.create(
        draft=PolicyInput("datahub", document(**changes)), by=authorizer.SYSTEM, channel="test"
    ).policy


def is_allowed() -> bool:
    snapshot = snapshot_store.get_current()
    return bool(snapshot.match(Question(JO, PRIVILEGE)))


def verbs(policy: Policy) -> list[str]:
    return list(PolicyEvent.objects.filter(policy_urn=policy.urn).order_by("id").values_list("verb", flat=True))


@pytest.mark.django_db
def test_a_policy_counts_from_its_beginning_until_its_end(clock):
    begins = timezone.now() + HOUR
    policy = make(validFrom=begins.isoformat(), validUntil=(begins + HOUR).isoformat())
    assert (policy.phase, is_allowed()) == (Phase.PENDING, False)
    clock(HOUR)
    assert is_allowed()
    policy.refresh_from_db()
    assert policy.phase == Phase.CURRENT
    clock(HOUR)
    assert not is_allowed()
    policy.refresh_from_db()
    assert (policy.phase, policy.version) == (Phase.ENDED, 1)
    assert verbs(policy) == [Verb.CREATED, Verb.BEGAN, Verb.ENDED]
    assert PolicyVersion.load_numbers().next_boundary is None


@pytest.mark.django_db
def test_one_that_begins_and_ends_while_nobody_asks_has_ended(clock):
    begins = timezone.now() + HOUR
    policy = make(validFrom=begins.isoformat(), validUntil=(begins + HOUR).isoformat())
    clock(3 * HOUR)
    assert not is_allowed()
    assert verbs(policy) == [Verb.CREATED, Verb.ENDED]


@pytest.mark.django_db
def test_a_clock_that_is_set_back_revives_nothing(clock):
    policy = make(validUntil=(timezone.now() + HOUR).isoformat())
    assert is_allowed()
    clock(2 * HOUR)
    assert not is_allowed()
    clock(-2 * HOUR)
    assert not is_allowed()
    snapshot_store.reset()
    assert not is_allowed()
    policies.set_state(urn=policy.urn, state="INACTIVE", by=authorizer.SYSTEM, channel="test")
    policies.set_state(urn=policy.urn, state="ACTIVE", by=authorizer.SYSTEM, channel="test")
    snapshot_store.mark_stale()
    assert not is_allowed()
    new_end = (timezone.now() + 5 * HOUR).isoformat()
    draft = PolicyInput("datahub", document(validUntil=new_end))
    policies.update(urn=policy.urn, draft=draft, by=authorizer.SYSTEM, channel="test")
    snapshot_store.mark_stale()
    assert is_allowed()


@pytest.mark.django_db
def test_every_boundary_is_known(clock):
    now = timezone.now()
    make(validUntil=(now + 3 * HOUR).isoformat())
    make(displayName="Other", validFrom=(now + HOUR).isoformat(), validUntil=(now + 2 * HOUR).isoformat())
    boundaries = []
    for _ in range(3):
        boundary = PolicyVersion.load_numbers().next_boundary
        assert boundary is not None
        boundaries.append(round((boundary / 1000 - now.timestamp()) / 3600))
        clock(HOUR)
        snapshot_store.refresh()
    assert boundaries == [1, 2, 3]
    assert PolicyVersion.load_numbers().next_boundary is None


@pytest.mark.django_db
def test_a_deny_that_has_ended_denies_no_longer(clock):
    make(displayName="Allowed")
    deny = make(displayName="Denied", effect="DENY", validUntil=(timezone.now() + HOUR).isoformat())

    def deciding() -> frozenset[str]:
        snapshot = snapshot_store.get_current()
        matching = snapshot.match(Question(JO, PRIVILEGE))
        return frozenset(item.origin.policy for item in snapshot.select(snapshot.filter_denies(matching)))

    assert deciding() == {deny.urn}
    clock(HOUR)
    assert deciding() == frozenset()


@pytest.mark.django_db(transaction=True)
def test_no_answer_relies_on_what_ended_more_than_a_second_ago():
    snapshot_store.refresh()
    end = round(time.time() + 2, 3)
    make(validUntil=round(end * 1000))
    assert is_allowed()
    last_allowed_at = 0.0
    while time.time() < end + 1.5:
        asked_at = time.time()
        if is_allowed():
            last_allowed_at = asked_at
    assert last_allowed_at < end


@pytest.mark.django_db(transaction=True)
def test_inside_a_transaction_nothing_comes_due(clock):
    policy = make(validUntil=(timezone.now() + HOUR).isoformat())
    clock(HOUR)
    with transaction.atomic():
        snapshot_store.refresh()
        assert verbs(policy) == [Verb.CREATED]
    assert not is_allowed()
    assert verbs(policy) == [Verb.CREATED, Verb.ENDED]


@pytest.mark.django_db
def test_what_has_come_due_is_written_once(clock):
    policies_made = [
        make(displayName=f"P{number}", validUntil=(timezone.now() + HOUR).isoformat()) for number in range(3)
    ]
    version = snapshot_store.refresh()
    clock(HOUR)
    for _ in range(3):
        snapshot_store.mark_stale()
        assert snapshot_store.refresh() == version + 1
    assert [verbs(policy) for policy in policies_made] == [[Verb.CREATED, Verb.ENDED]] * 3
    assert not active_policies.list_active_policies().filter(urn__in=[policy.urn for policy in policies_made]).exists()


@pytest.mark.django_db
def test_the_validity_of_a_datazone_policy_stands_beside_its_document(clock, role):
    role("Analyst")
    statement = {"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"}
    raw = {"name": "Read", "roles": ["urn:li:dataHubRole:Analyst"], "statements": [statement]}
    now = datetime(2026, 12, 1, tzinfo=UTC)
    draft = PolicyInput("datazone", raw, validity=Validity(None, now + 1000 * HOUR))
    policy = policies.create(draft=draft, by=authorizer.SYSTEM, channel="test").policy
    assert (policy.valid_from, policy.valid_until) == (None, now + 1000 * HOUR)
    kept = policies.update(
        urn=policy.urn, draft=PolicyInput("datazone", raw), by=authorizer.SYSTEM, channel="test"
    ).policy
    assert kept.valid_until == now + 1000 * HOUR
    policies.update(
        urn=policy.urn, draft=PolicyInput("datazone", raw, validity=Validity()), by=authorizer.SYSTEM, channel="test"
    )
    policy.refresh_from_db()
    assert policy.valid_until is None
    policies.restore(urn=policy.urn, version=1, by=authorizer.SYSTEM, channel="test")
    policy.refresh_from_db()
    assert policy.valid_until == now + 1000 * HOUR


@pytest.mark.django_db
def test_what_stands_beside_a_document_has_to_agree_with_it():
    end = datetime(2027, 1, 1, tzinfo=UTC)
    draft = PolicyInput("datahub", document(validUntil=end.isoformat()), validity=Validity(end, end + HOUR))
    with pytest.raises(Invalid) as refused:
        policy_drafts.validate_draft(draft)
    assert [problem.pointer for problem in refused.value.problems] == ["/valid_from", "/valid_until"]


@pytest.mark.django_db
def test_an_end_in_the_past_is_stored_with_a_lint():
    raw = document(validUntil=10**11)
    policy = make(validUntil=10**11)
    assert (policy.phase, is_allowed()) == (Phase.ENDED, False)
    found = lints.find_lints(draft=PolicyInput("datahub", raw))
    assert ("validity.ended", "/validUntil") in [(problem.code, problem.pointer) for problem in found]


@pytest.mark.django_db
def test_a_policy_of_an_earlier_release_can_be_switched_off():
    policy = make(validFrom=10**11)
    # As it was taken then: in January 1970.
    Policy.objects.filter(pk=policy.pk).update(document=document(validFrom=1_893_456_000))
    policies.set_state(urn=policy.urn, state="INACTIVE", by=authorizer.SYSTEM, channel="test")
    policy.refresh_from_db()
    assert (policy.state, policy.document["validFrom"]) == ("INACTIVE", "1970-01-22T21:57:36+00:00")


@pytest.mark.django_db
def test_a_policy_without_times_costs_no_query_more(django_assert_num_queries):
    make()
    snapshot_store.refresh()
    with django_assert_num_queries(1):
        snapshot_store.mark_stale()
        snapshot_store.refresh()
    with django_assert_num_queries(0):
        snapshot_store.get_current()
