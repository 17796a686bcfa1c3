"""Explanations say until when something lasts, when it ended, and when it begins."""

from typing import Any

import pytest
from django.utils import timezone

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Validity
from policies.engine.requirements import privilege_requirement
from policies.engine.wording import word_time
from policies.identity.services import groups, roles
from policies.pdp import actor_resolution, authorizer, explanations, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.explanations import Explanation
from policies.writes.timed_holders import TimedHolder
from tests.policies.conftest import DOOR
from tests.policies.test_membership_times import HOUR, PRIVILEGE, add, clock, eng, give

__all__ = ["clock", "eng"]

pytestmark = pytest.mark.django_db


def explain(urn: str) -> Explanation:
    snapshot_store.mark_stale()
    snapshot_store.refresh()
    request = AccessRequest(privilege_requirement(PRIVILEGE), None)
    return explanations.explain_answer(actor=actor_resolution.load_actor(urn=urn), request=request)


def list_times(urn: str) -> list[str]:
    found = explain(urn)
    return [
        condition.sentence
        for miss in found.near_misses
        for condition in miss.failed_conditions
        if condition.part == "time"
    ]


def list_reasons(urn: str) -> list[str]:
    return [reason.explanation for reason in explain(urn).reasons]


def test_a_membership(clock, user, eng):
    jo, begins = user("jo").urn, timezone.now() + HOUR
    add(eng, jo, begins, begins + HOUR)
    assert list_times(jo) == [f"Jo will be in group eng from {word_time(begins)}."]
    clock(HOUR)
    assert list_reasons(jo) == [f"Jo is in group eng until {word_time(begins + HOUR)}."]
    clock(HOUR)
    # The time is that of the event, which this clock does not set.
    assert [sentence.partition(" until ")[0] for sentence in list_times(jo)] == ["Jo was in group eng"]


def test_a_role(clock, user, role):
    jo, steward, begins = user("jo").urn, role("Steward").urn, timezone.now() + HOUR
    give({"roles": [steward]})
    timed = [TimedHolder(jo, Validity(begins, begins + HOUR))]
    roles.grant(urn=steward, actors=timed, by=authorizer.SYSTEM, channel=DOOR)
    assert list_times(jo) == [f"Jo will have the role Steward from {word_time(begins)}."]
    clock(HOUR)
    assert list_reasons(jo) == [f"Jo has the role Steward until {word_time(begins + HOUR)}."]
    clock(HOUR)
    assert [sentence.partition(" until ")[0] for sentence in list_times(jo)] == ["Jo had the role Steward"]


@pytest.mark.parametrize("more", [{}, {"users": ["urn:li:corpuser:kim"]}])
def test_a_policy(clock, user, more: dict[str, Any]):
    jo, begins = user("jo").urn, timezone.now() + HOUR
    give(more or {"users": [jo]}, validFrom=begins.isoformat(), validUntil=(begins + HOUR).isoformat())
    assert list_times(jo) == [f"It begins on {word_time(begins)}."]
    clock(HOUR)
    if not more:
        assert list_reasons(jo) == [f"Jo is named; it ends on {word_time(begins + HOUR)}."]
    clock(HOUR)
    assert list_times(jo) == [f"It ended on {word_time(begins + HOUR)}."]


def test_a_statement_of_datazone(clock, user, role):
    jo, analyst, end = user("jo").urn, role("Analyst").urn, timezone.now() + HOUR
    roles.grant(urn=analyst, actors=[jo], by=authorizer.SYSTEM, channel=DOOR)
    statement = {"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"}
    raw = {"name": "Read", "roles": [analyst], "statements": [statement]}
    draft = PolicyInput("datazone", raw, validity=Validity(None, end))
    policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    request = AccessRequest(privilege_requirement("dataset:read"), ResourceRef("urn:li:dataset:" + "a" * 24))

    def ask() -> Explanation:
        snapshot_store.mark_stale()
        snapshot_store.refresh()
        return explanations.explain_answer(actor=actor_resolution.load_actor(urn=jo), request=request)

    assert f"it ends on {word_time(end)}" in ask().reasons[0].explanation
    for hours in (2, -2):
        clock(hours * HOUR)
        snapshot_store.reset()
        answer = ask()
        assert not answer.decision.is_allowed
        assert answer.near_misses[0].failed_conditions[0].sentence == f"It ended on {word_time(end)}."


def test_an_exception_says_by_what(user, eng):
    jo = user("jo").urn
    groups.add_members(urn=eng, members=[jo], by=authorizer.SYSTEM, channel=DOOR)
    give({"groups": [eng], "excludedUsers": [jo]}, displayName="Other")
    snapshot_store.mark_stale()
    give({"groups": [eng]}, displayName="No", effect="DENY")
    answer = explain(jo)
    assert [(reason.effect, reason.explanation) for reason in answer.reasons] == [("deny", "Jo is in group eng.")]
