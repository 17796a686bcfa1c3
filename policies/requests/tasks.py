"""Background tasks: answers of other systems and access that was taken away are looked for, old handles deleted."""

from datetime import timedelta
from typing import Any

from celery import shared_task

from policies.pdp import database_clock
from policies.pdp.tasks import DELETE_BATCH_SIZE, delete_all
from policies.requests.queries import request_tasks
from policies.requests.services.sources import settle_sources
from policies.requests.services.taking import end_taken

#: Time for which the handle of a task that is over is told apart from one that never was.
_TASKS_KEPT = timedelta(days=7)


@shared_task(name="policies.settle_request_sources", ignore_result=True)
def settle_request_sources(**_: Any) -> int:
    """Mark requests as done whose source shows what was asked of it, and return how many items these are."""
    return settle_sources()


@shared_task(name="policies.forget_request_tasks", ignore_result=True)
def forget_request_tasks(**_: Any) -> int:
    """Delete the handles of tasks that have been over for some days, in batches, and return their number."""
    before = database_clock.get_now() - _TASKS_KEPT
    return delete_all(lambda: request_tasks.delete_old_tasks(before=before, batch=DELETE_BATCH_SIZE))


@shared_task(name="policies.end_taken_access", ignore_result=True)
def end_taken_access(**_: Any) -> int:
    """Mark requests as ended of which something was taken away, and return how many items these are."""
    return end_taken()
