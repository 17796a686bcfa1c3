"""Queries over the change log, newest first."""

from collections.abc import Iterator
from typing import Any, TypeVar

from django.db.models import QuerySet

from policies.models import ChangeEvent, PolicyEvent

_Event = TypeVar("_Event", PolicyEvent, ChangeEvent)


def list_policy_events(
    *, urn: str | None = None, by: str | None = None, verb: str | None = None
) -> QuerySet[PolicyEvent]:
    """Return policy events, including those of deleted policies, that match every filter."""
    return _filter_events(PolicyEvent.objects.all(), policy_urn=urn, by=by, verb=verb)


def list_change_events(
    *, urn: str | None = None, by: str | None = None, verb: str | None = None
) -> QuerySet[ChangeEvent]:
    """Return change events (users, groups, roles, tokens, grants, catalog) that match every filter."""
    return _filter_events(ChangeEvent.objects.all(), object_urn=urn, by=by, verb=verb)


def event_urns(event: ChangeEvent) -> frozenset[str]:
    """Return every URN in an event: its object, and all in its states before and after."""
    return frozenset((event.object_urn, *_iterate_urns(event.before), *_iterate_urns(event.after)))


def _filter_events(rows: QuerySet[_Event], **columns: str | None) -> QuerySet[_Event]:
    return rows.filter(**{column: value for column, value in columns.items() if value}).order_by("-id")


def _iterate_urns(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith("urn:li:"):
            yield value
    elif isinstance(value, dict):
        yield from _iterate_urns(list(value))
        yield from _iterate_urns(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_urns(item)
