"""Deletion of tasks whose handles are long over; the requests themselves stay."""

from datetime import datetime

from django.db.models import Exists, OuterRef

from policies.models import RequestItem, RequestTask
from policies.models.request import UNFINISHED_STATES, RequestState

#: States of items of which a caller may still ask: an approval counts as long as what was given, which may be renewed.
_LIVE_STATES = (*UNFINISHED_STATES, RequestState.DONE.value)


def delete_old_tasks(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` tasks whose handles were valid until before this time, and return their number.

    Those of which something is open or given stay.
    """
    live_items = RequestItem.objects.filter(request=OuterRef("request"), state__in=_LIVE_STATES)
    old_tasks = RequestTask.objects.filter(~Exists(live_items), expires_at__lt=before).order_by("expires_at")
    ids = list(old_tasks.values_list("pk", flat=True)[:batch])
    RequestTask.objects.filter(pk__in=ids).delete()
    return len(ids)
