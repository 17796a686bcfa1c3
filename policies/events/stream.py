"""The stream of events: read in the order of the commits, each once, and deleted from its beginning."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet

from policies.errors import CursorExpired
from policies.models import EventCursor, OutboxEvent, PolicyVersion
from policies.models.outbox import BEGINNING, SCHEMA, Position
from policies.pdp import authorizer
from policies.pdp.log import retention

#: Most events that are read at once.
MAX_EVENTS = 1_000


class EventPage(NamedTuple):
    """Events in their order, and the cursor after which further ones come."""

    events: list[OutboxEvent]
    next_cursor: Position


def read_after(cursor: Position | None, *, types: Collection[str] = (), limit: int = MAX_EVENTS) -> EventPage:
    """Return up to `limit` events after a cursor, of these types or of all; without one from the oldest on.

    Raises CursorExpired when events after the cursor were deleted by retention.
    """
    # Read before the events: what is committed later has a higher number, and is not passed over.
    last_change = PolicyVersion.load_last_change()
    rows = list_after(cursor or BEGINNING)
    if types:
        rows = rows.filter(type__in=list(types))
    events = list(rows[:limit])
    # Read after the events: what was deleted before them is behind this place.
    horizon = load_cursor(EventCursor.Name.RETENTION)
    if cursor is not None and cursor < horizon:
        raise CursorExpired(oldest=str(horizon))
    if len(events) == limit:
        return EventPage(events, events[-1].position)
    reached = Position(last_change + 1, 0)
    return EventPage(events, max([reached, *(event.position for event in events[-1:]), cursor or BEGINNING]))


def list_after(cursor: Position) -> QuerySet[OutboxEvent]:
    """Return the events after a place, in their order, with their change sets."""
    is_later = Q(change_set__change_seq__gt=cursor.change_seq) | Q(pk__gt=cursor.row)
    rows = OutboxEvent.objects.filter(is_later, change_set__change_seq__gte=cursor.change_seq)
    return rows.select_related("change_set").order_by("change_set__change_seq", "pk")


def load_cursor(name: EventCursor.Name) -> Position:
    """Return the place of a cursor, the beginning if nobody has moved it."""
    cursor = EventCursor.objects.filter(pk=name).first()
    return BEGINNING if cursor is None else cursor.position


def lock_cursor(name: EventCursor.Name) -> EventCursor:
    """Return the row of a cursor, which no other transaction moves until this one ends; it is made if there is none."""
    EventCursor.objects.get_or_create(pk=name)
    return EventCursor.objects.select_for_update().get(pk=name)


def delete_old(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` events from before a time, the oldest first; return their number.

    Nothing is deleted of which notices have not been made, and nothing behind an event that stays.
    """
    with transaction.atomic():
        horizon = lock_cursor(EventCursor.Name.RETENTION)
        done = load_cursor(EventCursor.Name.NOTICES)
        deleted_events: list[OutboxEvent] = []
        for event in list_after(horizon.position)[:batch]:
            if event.time >= before or event.position > done:
                break
            deleted_events.append(event)
        if deleted_events:
            OutboxEvent.objects.filter(pk__in=[event.pk for event in deleted_events]).delete()
            retention.delete_empty_change_sets({event.change_set_id for event in deleted_events})
            horizon.change_seq, horizon.row = deleted_events[-1].position
            horizon.save()
    return len(deleted_events)


def serialize(events: Sequence[OutboxEvent]) -> Iterator[dict[str, Any]]:
    """Yield events as the API sends them; of one that names what the viewer may not view, only that it happened."""
    urns_by_event = {event.pk: {event.subject, *_iterate_urns(event.data)} for event in events}
    urns = {urn for urns in urns_by_event.values() for urn in urns if urn.startswith("urn:li:")}
    hidden_urns = authorizer.directory().find_hidden_urns(urns=urns) if urns else frozenset()
    for event in events:
        is_concealed = not hidden_urns.isdisjoint(urns_by_event[event.pk])
        yield {
            "id": str(event.position),
            "time": event.time.isoformat(),
            "type": event.type,
            "subject": None if is_concealed else event.subject,
            "actor": event.actor or None,
            "through": event.through,
            "data": {"is_concealed": True} if is_concealed else event.data,
            "schema": SCHEMA,
        }


def _iterate_urns(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _iterate_urns(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_urns(item)
