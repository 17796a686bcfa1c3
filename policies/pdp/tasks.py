"""Background tasks: policy refresh and retention."""

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

from policies.pdp import policy_change_events, snapshot_store
from policies.pdp.log import decision_log_queries, retention, use_queries

#: Rows deleted by one statement.
DELETE_BATCH_SIZE = 1_000


@shared_task(name=policy_change_events.REFRESH_TASK, ignore_result=True)
def refresh_policy_cache(**_: Any) -> int:
    """Refresh the snapshot of this worker and return its policy version.

    Queued after every policy write and repeated by the schedule, in case a message is lost. The first question of a
    later task then costs no load, and a stored policy that cannot be read is logged early. Unknown keyword arguments
    are ignored, so that messages of a later release do not fail during a deploy.
    """
    cache.delete(policy_change_events.REFRESH_QUEUED_KEY)
    return snapshot_store.refresh()


@shared_task(name="policies.forget_decisions", ignore_result=True)
def forget_decisions(**_: Any) -> int:
    """Delete logged decisions older than DECISION_LOG_DAYS, in batches; return their number."""
    before = timezone.now() - timedelta(days=settings.DECISION_LOG_DAYS)
    return delete_all(lambda: decision_log_queries.delete_old_decisions(before=before, batch=DELETE_BATCH_SIZE))


@shared_task(name="policies.forget_uses", ignore_result=True)
def forget_uses(**_: Any) -> int:
    """Delete counts of uses older than DECISION_USE_DAYS, in batches; return their number.

    Days of which a process that is gone has not written everything are marked as incomplete, too.
    """
    now = timezone.now()
    use_queries.close_gaps(now=now)
    before = now.date() - timedelta(days=settings.DECISION_USE_DAYS)
    use_queries.mark_deleted(before=before)
    return delete_all(lambda: use_queries.delete_old_uses(before=before, batch=DELETE_BATCH_SIZE))


@shared_task(name="policies.forget_sessions", ignore_result=True)
def forget_sessions(**_: Any) -> int:
    """Delete expired sessions, in batches; return their number."""
    now = timezone.now()
    return delete_all(lambda: retention.delete_expired_sessions(now=now, batch=DELETE_BATCH_SIZE))


@shared_task(name="policies.forget_changes", ignore_result=True)
def forget_changes(**_: Any) -> int:
    """Delete change events older than CHANGE_LOG_DAYS and policy events older than POLICY_HISTORY_DAYS, in batches.

    0 days keeps everything. Returns the number of deleted events.
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
    """Call `delete` until it deletes nothing; return the total number of deleted rows."""
    total = 0
    while deleted_count := delete():
        total += deleted_count
    return total


@inspect_command()
def policy_version(_state: object, **_: Any) -> dict[str, Any]:
    """Return the policy version of this worker and the seconds since it compared it; for the status page."""
    try:
        return {"policy_version": snapshot_store.get_current().version, "age_seconds": snapshot_store.age()}
    finally:
        # This runs outside of any task, after which Celery would do it: the thread would keep its connection for good,
        # even after the database closed it.
        close_old_connections()
