"""Access that is taken away before its end: found by the rows that are stored, and told with who took it.

Each way of writing is noticed, since the rows themselves are looked at; none of them knows of requests.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policies.models import ChangeEvent, PolicyEvent, RequestItem, SubmittedRequest, open_write
from policies.models.policy import POLICY_PREFIX
from policies.models.request import RequestState
from policies.pdp import authorizer
from policies.requests import given_access
from policies.requests.given_access import GivenThing
from policies.requests.services import granting, trail
from policies.requests.services.trail import What

#: Items that are looked at together.
_BATCH_SIZE = 500
#: Rows of the change log of one thing in which the writer is looked for.
_MAX_EVENTS = 100

CHANNEL = "requests"
TAKEN_NOTE = "It was taken away before its end."


def end_taken() -> int:
    """End the items of which something was taken away before their end, and return how many these are."""
    return sum(_end_batch(items) for items in _iterate_given())


def _iterate_given() -> Iterator[list[RequestItem]]:
    """Yield the items that were given and have not ended, in batches."""
    # What another system makes has been given by nothing here until it shows it.
    rows = RequestItem.objects.filter(state=RequestState.DONE).select_related("request").order_by("pk")
    last = 0
    while items := list(rows.filter(pk__gt=last)[:_BATCH_SIZE]):
        yield items
        last = items[-1].pk


def _end_batch(items: Sequence[RequestItem]) -> int:
    things = given_access.find_taken(items)
    if not things:
        return 0
    found_items = [item for item in items if item.pk in things]
    with open_write(*granting.find_gates(item.way for item in found_items)):
        # Looked at again: something may have ended by its time, or been given again, before the gate was passed.
        rows = RequestItem.objects.filter(pk__in=things, state=RequestState.DONE).select_related("request")
        items = list(rows.order_by("pk"))
        things = given_access.find_taken(items)
        ended_items = [item for item in items if item.pk in things]
        takers: dict[str, str] = {}
        requests: dict[int, SubmittedRequest] = {}
        for item in ended_items:
            granting.take_back(item, channel=CHANNEL)
            item.state = RequestState.ENDED
            item.save(update_fields=["state"])
            request = requests.setdefault(item.request_id, item.request)
            takers.setdefault(request.urn, find_taker(things[item.pk], request))
        for request in requests.values():
            trail.add(request, What.ENDED, by=takers[request.urn], note=TAKEN_NOTE)
            trail.settle(request)
    return len(ended_items)


def find_taker(thing: GivenThing, request: SubmittedRequest) -> str:
    """Return the URN of the account that took something away, as the change log has it; the system where it has not."""
    events = _list_events(thing, request)
    taking = (event for event in events if _has_removed(event, thing.names - {_get_urn(event)}))
    last = next(taking, events[0] if events else None)
    return authorizer.SYSTEM.urn if last is None else str(last.by)


def _list_events(thing: GivenThing, request: SubmittedRequest) -> Sequence[ChangeEvent | PolicyEvent]:
    """Return the last events about what was changed, and about who got it, the newest first."""
    if thing.subject.startswith(POLICY_PREFIX):
        policy_events = PolicyEvent.objects.filter(policy_urn=thing.subject, at__gte=request.created_at)
        return list(policy_events[:_MAX_EVENTS])
    urns = [thing.subject, thing.actor]
    return list(ChangeEvent.objects.filter(object_urn__in=urns, at__gte=request.created_at)[:_MAX_EVENTS])


def _get_urn(event: ChangeEvent | PolicyEvent) -> str:
    return str(event.policy_urn if isinstance(event, PolicyEvent) else event.object_urn)


def _has_removed(event: ChangeEvent | PolicyEvent, names: frozenset[str]) -> bool:
    """Return whether one of the names stands in the state before an event and no longer in the one after it."""
    before, after = _write_text(event.before), _write_text(event.after)
    return any(name in before and name not in after for name in names)


def _write_text(state: Mapping[str, Any] | str | None) -> str:
    if state is None:
        return ""
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
