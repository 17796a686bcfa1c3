"""Metrics of events: how many wait for their notices, and mails by state."""

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client.metrics_core import GaugeMetricFamily

from policies.events import stream
from policies.models import EventCursor, Mail

#: Most events that are counted.
_MAX_COUNTED = 100_000

_COUNTED_STATES = (Mail.State.WAITING, Mail.State.FAILED)


def collect() -> Iterator[GaugeMetricFamily]:
    """Yield the metrics, in three queries."""
    waiting = stream.list_after(stream.load_cursor(EventCursor.Name.NOTICES)).order_by()[:_MAX_COUNTED].count()
    yield GaugeMetricFamily("authz_events_waiting", "Events of which no notices were made yet.", value=waiting)
    mails = GaugeMetricFamily("authz_mails", "Mails that wait to be sent, or were given up.", labels=["state"])
    rows = Mail.objects.filter(state__in=_COUNTED_STATES).order_by()
    counts = dict(rows.values_list("state").annotate(count=Count("pk")))
    for state in _COUNTED_STATES:
        mails.add_metric([state.value], counts.get(state, 0))
    yield mails
