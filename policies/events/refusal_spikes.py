"""Spikes of refusals: many more in the last minutes than is usual, told of once an hour at most."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from policies.events import stream
from policies.models import EventCursor, EventType, LoggedDecision, OutboxEvent, open_event_write
from policies.models.outbox import build_event

WINDOW = timedelta(minutes=15)
USUAL_TIME = timedelta(days=1)
QUIET_TIME = timedelta(hours=1)

#: How many times the usual number of refusals is a spike.
FACTOR = 5

#: Most refusals that are counted.
_MAX_COUNTED = 200_000

#: The channel of events that the product finds by looking at its own records.
WATCH_CHANNEL = "watch"


def find_spike(*, now: datetime) -> bool:
    """Store the event of a spike that ends now, and return whether there is one that was not told of.

    A spike has REFUSAL_SPIKE_MINIMUM refusals in the window, and FACTOR times as many as a window of the day before.
    """
    count = _count(_list_refusals(now - WINDOW, now))
    if count < settings.REFUSAL_SPIKE_MINIMUM:
        return False
    begin = now - WINDOW
    usual = round(_count(_list_refusals(begin - USUAL_TIME, begin)) * (WINDOW / USUAL_TIME))
    if count < FACTOR * usual:
        return False
    with open_event_write() as write:
        stream.lock_cursor(EventCursor.Name.NOTICES)
        earlier_spikes = OutboxEvent.objects.filter(type=EventType.REFUSAL_SPIKE, time__gt=now - QUIET_TIME)
        if earlier_spikes.exists():
            return False
        data = {"refusals": count, "minutes": round(WINDOW.total_seconds() / 60), "usual": usual}
        write.emit([build_event(EventType.REFUSAL_SPIKE, subject="", through=WATCH_CHANNEL, data=data, time=now)])
    return True


def _list_refusals(begin: datetime, end: datetime) -> QuerySet[LoggedDecision]:
    return LoggedDecision.objects.filter(is_allowed=False, at__gt=begin, at__lte=end)


def _count(rows: QuerySet[LoggedDecision]) -> int:
    return rows.order_by()[:_MAX_COUNTED].count()
