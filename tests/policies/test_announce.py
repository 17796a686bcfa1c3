"""After a write the workers are asked to compare: once, however many writes come before they begin."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache

from authzsite.celery import app
from policies.models import PolicyVersion
from policies.pdp import policy_change_events
from policies.pdp import tasks as pdp_tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting() -> Iterator[Callable[[], int]]:
    """How many messages wait in the queue of the workers, which is empty before and after the test."""
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        channel.queue_declare("celery", durable=True)
        channel.queue_purge("celery")
        yield lambda: int(channel.queue_declare("celery", durable=True).message_count)
        channel.queue_purge("celery")


def test_many_writes_queue_one_refresh(waiting: Callable[[], int]) -> None:
    cache.delete(policy_change_events.REFRESH_QUEUED_KEY)
    for _ in range(5):
        policy_change_events.publish_policy_change()
    assert waiting() == 1


def test_a_refresh_that_began_lets_the_next_write_queue_another(waiting: Callable[[], int]) -> None:
    cache.delete(policy_change_events.REFRESH_QUEUED_KEY)
    policy_change_events.publish_policy_change()
    assert pdp_tasks.refresh_policy_cache() == PolicyVersion.load_version()
    policy_change_events.publish_policy_change()
    assert waiting() == 2


@pytest.mark.django_db(transaction=True)
def test_a_cache_that_is_away_does_not_undo_what_is_committed(settings):
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "no_such_table"}
    }
    policy_change_events.publish_policy_change()
