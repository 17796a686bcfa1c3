"""Background tasks: memberships that were asked of another system are looked for."""

from typing import Any

from celery import shared_task

from policies.requests.services.sources import settle_sources


@shared_task(name="policies.settle_request_sources", ignore_result=True)
def settle_request_sources(**_: Any) -> int:
    """Mark requests as done whose source shows what was asked of it, and return how many items these are."""
    return settle_sources()
