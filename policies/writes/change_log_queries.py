"""The record of changes as lists, newest first."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from policies.models import ChangeEvent, PolicyEvent


def policy_events(*, urn: str | None = None, by: str | None = None, verb: str | None = None) -> QuerySet[PolicyEvent]:
    """Return writes to policies, also to those that are gone; each filter narrows."""
    columns = {"policy_urn": urn, "by": by, "verb": verb}
    wanted = {column: value for column, value in columns.items() if value}
    return PolicyEvent.objects.filter(**wanted).order_by("-id")


def change_events(*, urn: str | None = None, by: str | None = None, verb: str | None = None) -> QuerySet[ChangeEvent]:
    """Return writes to users, groups, roles and tokens; each filter narrows."""
    columns = {"object_urn": urn, "by": by, "verb": verb}
    wanted = {column: value for column, value in columns.items() if value}
    return ChangeEvent.objects.filter(**wanted).order_by("-id")


def urns_in(event: ChangeEvent) -> frozenset[str]:
    """Return every URN that an event names: its object, and what stands before and after."""
    return frozenset((event.object_urn, *_urns(event.before), *_urns(event.after)))


def _urns(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith("urn:li:"):
            yield value
    elif isinstance(value, dict):
        yield from _urns(list(value))
        yield from _urns(list(value.values()))
    elif isinstance(value, list):
        for one in value:
            yield from _urns(one)
