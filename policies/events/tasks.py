"""Background tasks: notices are made and mailed, ends are announced, refusals watched, and what is old deleted."""

from datetime import timedelta
from functools import partial
from typing import Any

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from policies.events import notices, refusal_spikes, stream
from policies.events.channels.email import planning, transport
from policies.events.channels.inbox import storage
from policies.pdp.tasks import DELETE_BATCH_SIZE, delete_all

#: Longest work of one task, so that workers stop in time and others may go on.
_MAKE_SECONDS, _SEND_SECONDS = 20.0, 20.0


@shared_task(name="policies.deliver_events", ignore_result=True)
def deliver_events(**_: Any) -> int:
    """Make the notices of new events and send the mails that are due; return the number of both."""
    notice_count = notices.make_all(seconds=_MAKE_SECONDS)
    return notice_count + transport.send_due(seconds=_SEND_SECONDS)


@shared_task(name="policies.remind_of_endings", ignore_result=True)
def remind_of_endings(**_: Any) -> int:
    """Tell people of what ends within a week or a day, plan the daily mails, and return the number of both."""
    now = timezone.now()
    return notices.remind(now=now) + planning.plan_daily(now=now)


@shared_task(name="policies.watch_refusals", ignore_result=True)
def watch_refusals(**_: Any) -> bool:
    """Look for a spike of refusals, and return whether there is one."""
    return refusal_spikes.find_spike(now=timezone.now())


@shared_task(name="policies.forget_events", ignore_result=True)
def forget_events(**_: Any) -> int:
    """Delete events older than EVENT_DAYS, and notices and mails older than NOTICE_DAYS; return their number."""
    now = timezone.now()
    old_notices = now - timedelta(days=settings.NOTICE_DAYS)
    return sum(
        delete_all(partial(delete, before=before, batch=DELETE_BATCH_SIZE))
        for delete, before in (
            (stream.delete_old, now - timedelta(days=settings.EVENT_DAYS)),
            (storage.delete_old, old_notices),
            (transport.delete_old, old_notices),
        )
    )
