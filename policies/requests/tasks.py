"""Background tasks: what was asked of other systems, and what was taken away before its end, is looked for."""

from typing import Any

from celery import shared_task

from policies.requests.services.sources import settle_sources
from policies.requests.services.taking import end_taken


@shared_task(name="policies.settle_request_sources", ignore_result=True)
def settle_request_sources(**_: Any) -> int:
    """Mark requests as done whose source shows what was asked of it, and return how many items these are."""
    return settle_sources()


@shared_task(name="policies.end_taken_access", ignore_result=True)
def end_taken_access(**_: Any) -> int:
    """Mark requests as ended of which something was taken away, and return how many items these are."""
    return end_taken()
