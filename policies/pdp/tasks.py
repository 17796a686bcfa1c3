"""Work that goes on behind the requests."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from celery import shared_task
from celery.worker.control import inspect_command
from django.conf import settings
from django.core.cache import cache
from django.db import close_old_connections
from django.utils import timezone

from policies.pdp import decision_log_queries, retention, snapshot_store

#: Set in the shared cache while a refresh waits in the queue; it runs out by itself, should the message be lost.
REFRESH_QUEUED_KEY = "policies:refresh-queued"
REFRESH_QUEUED_SECONDS = 10

#: How many rows one statement deletes.
DELETE_BATCH_SIZE = 1_000


@shared_task(name="policies.refresh_policy_cache", ignore_result=True)
def refresh_policy_cache(**_: Any) -> int:
    """Make this worker answer from the newest policies and return their version.

    Queued after every policy write and repeated by the schedule, which heals a message that was lost. What a task then
    asks first costs no load, and a stored policy that cannot be read is in the log before anybody asks. Keyword
    arguments of a later release are accepted, so that a deploy does not lose messages.
    """
    cache.delete(REFRESH_QUEUED_KEY)
    return snapshot_store.refresh()


@shared_task(name="policies.forget_decisions", ignore_result=True)
def forget_decisions(**_: Any) -> int:
    """Delete what has been in the decision log too long (DECISION_LOG_DAYS), in batches; return how many."""
    before = timezone.now() - timedelta(days=settings.DECISION_LOG_DAYS)
    return delete_all(lambda: decision_log_queries.delete_old_decisions(before=before, batch=DELETE_BATCH_SIZE))


@shared_task(name="policies.forget_sessions", ignore_result=True)
def forget_sessions(**_: Any) -> int:
    """Delete the sessions that have run out, in batches; return how many."""
    now = timezone.now()
    return delete_all(lambda: retention.delete_expired_sessions(now=now, batch=DELETE_BATCH_SIZE))


@shared_task(name="policies.forget_changes", ignore_result=True)
def forget_changes(**_: Any) -> int:
    """Delete what has been in the record of changes too long, in batches; return how many.

    CHANGE_LOG_DAYS and POLICY_HISTORY_DAYS say how long that is; 0 keeps everything.
    """
    total = 0
    for days, delete in (
        (settings.CHANGE_LOG_DAYS, retention.delete_changes),
        (settings.POLICY_HISTORY_DAYS, retention.delete_policy_changes),
    ):
        if days:
            total += delete_all(partial(delete, before=timezone.now() - timedelta(days=days), batch=DELETE_BATCH_SIZE))
    return total


def delete_all(delete: Callable[[], int]) -> int:
    """Delete batch after batch until one of them finds nothing; return how many rows were deleted."""
    total = 0
    while deleted_count := delete():
        total += deleted_count
    return total


@inspect_command()
def policy_version(_state: object, **_: Any) -> dict[str, Any]:
    """Say which policy version this worker answers from, and how many seconds ago it looked; for the status page."""
    try:
        return {"policy_version": snapshot_store.get_current().version, "age_seconds": snapshot_store.age()}
    finally:
        # The thread that answers does no task, after which this would be done: it would hold one connection for good,
        # and go on holding it after the database has ended that.
        close_old_connections()
