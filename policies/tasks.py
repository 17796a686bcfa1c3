"""Work that goes on behind the requests."""

from typing import Any

from celery import shared_task
from celery.worker.control import inspect_command
from django.core.cache import cache

from policies import store

#: Set in the shared cache while a refresh waits in the queue; it runs out by itself, should the message be lost.
QUEUED = "policies:refresh-queued"
QUEUED_SECONDS = 10


@shared_task(name="policies.refresh_policy_cache", ignore_result=True)
def refresh_policy_cache(**_: Any) -> int:
    """Make this worker answer from the newest policies and return their version.

    Queued after every policy write and repeated by the schedule, which heals a message that was lost. What a task then
    asks first costs no load, and a stored policy that cannot be read is in the log before anybody asks. Keyword
    arguments of a later release are accepted, so that a deploy does not lose messages.
    """
    cache.delete(QUEUED)
    return store.refresh()


@inspect_command()
def policy_version(_state: object, **_: Any) -> dict[str, Any]:
    """Say which policy version this worker answers from, and how many seconds ago it looked; for the status page."""
    return {"policy_version": store.current().version, "age_seconds": store.age()}
