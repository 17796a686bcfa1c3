"""Background tasks: drafts expire."""

from typing import Any

from celery import shared_task

from policies.drafts import keeping
from policies.pdp.tasks import DELETE_BATCH_SIZE, delete_all


@shared_task(name="policies.forget_drafts", ignore_result=True)
def forget_drafts(**_: Any) -> int:
    """Delete the drafts that nobody changed for DRAFT_DAYS, in batches; return their number."""
    return delete_all(lambda: keeping.delete_expired(batch=DELETE_BATCH_SIZE))
