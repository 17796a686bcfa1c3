"""After a write the worker is asked for a fresh bundle: once, however many writes come before it begins."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache

from authzsite.celery import app
from policies import announce, store, tasks
from policies.models import PolicyVersion

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
    cache.delete(tasks.QUEUED)
    for _ in range(5):
        announce.policies_changed()
    assert waiting() == 1


def test_a_refresh_that_began_lets_the_next_write_queue_another(waiting: Callable[[], int]) -> None:
    cache.delete(tasks.QUEUED)
    announce.policies_changed()
    assert tasks.refresh_policy_cache() == PolicyVersion.current()
    announce.policies_changed()
    assert waiting() == 2


def test_the_bundle_in_the_cache_is_of_the_current_version() -> None:
    version = store.rebuild()
    assert cache.get("policies:pointer") == version
    assert cache.get(f"policies:{version}") is not None
