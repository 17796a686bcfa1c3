"""What was kept long enough is deleted, in batches, and nothing else."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import users
from policies.models import ChangeEvent, ChangeSet, OutboxEvent, PolicyEvent, PolicyVersion
from policies.pdp import tasks as pdp_tasks
from policies.pdp.authorizer import SYSTEM
from policies.pdp.log import retention
from tests.worlds import document

pytestmark = pytest.mark.django_db

GOING, STAYING = "urn:li:dataHubPolicy:going", "urn:li:dataHubPolicy:staying"


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdp_tasks, "DELETE_BATCH_SIZE", 2)


def test_sessions_that_ran_out_are_deleted() -> None:
    now = timezone.now()
    for number in range(5):
        Session.objects.create(session_key=f"old-{number}", session_data="", expire_date=now - timedelta(hours=1))
    Session.objects.create(session_key="new", session_data="", expire_date=now + timedelta(hours=1))
    assert pdp_tasks.forget_sessions() == 5
    assert [one.session_key for one in Session.objects.all()] == ["new"]
    assert pdp_tasks.forget_sessions() == 0


def write_history() -> None:
    """Write a policy that is still there three times, and one that is gone; all of it forty days ago."""
    for urn in (STAYING, GOING):
        policies.create(urn=urn, draft=PolicyInput("datahub", document(displayName="0")), by=SYSTEM, channel="test")
    for number in (1, 2):
        draft = PolicyInput("datahub", document(displayName=f"{number}"))
        policies.update(urn=STAYING, draft=draft, by=SYSTEM, channel="test")
    policies.delete(urn=GOING, by=SYSTEM, channel="test")
    for number in range(5):
        users.create(username=f"jo-{number}", by=SYSTEM, channel="test")
    long_ago = timezone.now() - timedelta(days=40)
    PolicyEvent.objects.update(at=long_ago)
    ChangeEvent.objects.update(at=long_ago)


def test_by_default_every_change_is_kept() -> None:
    write_history()
    assert pdp_tasks.forget_changes() == 0


def test_of_a_policy_that_is_there_the_newest_change_stays(settings: Any) -> None:
    settings.POLICY_HISTORY_DAYS = 30
    write_history()
    count = ChangeEvent.objects.count()
    assert pdp_tasks.forget_changes() == 4
    (left,) = PolicyEvent.objects.filter(policy_urn__in=(GOING, STAYING))
    assert (left.policy_urn, left.after["document"]["displayName"]) == (STAYING, "2")
    assert [event.version for event in policy_queries.list_versions(urn=STAYING)] == [left.version]
    assert ChangeEvent.objects.count() == count
    assert pdp_tasks.forget_changes() == 0


def test_changes_of_people_go_by_their_own_setting(settings: Any) -> None:
    settings.CHANGE_LOG_DAYS = 30
    write_history()
    users.create(username="new", by=SYSTEM, channel="test")
    assert pdp_tasks.forget_changes() == 5
    assert [event.object_urn for event in ChangeEvent.objects.all()] == ["urn:li:corpuser:new"]
    # Their numbers stay for as long as the outbox has events of these writes.
    assert set(OutboxEvent.objects.values_list("change_set", flat=True)) == set(
        ChangeSet.objects.values_list("pk", flat=True)
    )
    OutboxEvent.objects.exclude(subject="urn:li:corpuser:new").delete()
    retention.delete_empty_change_sets(ChangeSet.objects.values_list("pk", flat=True))
    assert [one.change_seq for one in ChangeSet.objects.all()] == [PolicyVersion.load_last_change()]
    assert PolicyEvent.objects.filter(policy_urn__in=(GOING, STAYING)).count() == 5
