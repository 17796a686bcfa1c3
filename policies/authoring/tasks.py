"""Background tasks: deleted names are removed from what was given to them."""

from typing import Any

from celery import shared_task

from policies.authoring.services import removed_names
from policies.writes import deleted_names


@shared_task(name=deleted_names.REMOVE_TASK, ignore_result=True)
def remove_deleted_names(*urns: str, **_: Any) -> int:
    """Remove deleted users, groups, roles and entities from what names them, and return how many were named.

    Queued after every deletion and repeated by the schedule, in case a message is lost. `urns` are done again although
    they were done before.
    """
    return removed_names.remove_names(again=urns)
