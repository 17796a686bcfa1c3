"""The trail of a request: one line for each thing that happens to it."""

from django.utils import timezone

from policies.models import EventType, RequestItem, RequestTrail, SubmittedRequest
from policies.models.outbox import build_event
from policies.models.request import RequestState
from policies.models.writes import get_open_write

What = RequestTrail.What

#: The states of items after which nothing more happens to them but their end.
_CLOSED = frozenset(
    {
        RequestState.DONE,
        RequestState.WAITING_FOR_SOURCE,
        RequestState.FAILED,
        RequestState.DENIED,
        RequestState.WITHDRAWN,
        RequestState.EXPIRED,
        RequestState.ENDED,
    }
)


#: What others are told of: an event of the stream each.
_EVENT_TYPES = {
    What.ASKED: EventType.REQUEST_ASKED,
    What.APPROVED: EventType.REQUEST_APPROVED,
    What.AUTO: EventType.REQUEST_APPROVED,
    What.DENIED: EventType.REQUEST_DENIED,
    What.DONE: EventType.REQUEST_DONE,
    What.SOURCE: EventType.REQUEST_WAITING,
    What.WITHDRAWN: EventType.REQUEST_WITHDRAWN,
    What.EXPIRED: EventType.REQUEST_EXPIRED,
    What.ENDED: EventType.REQUEST_ENDED,
}


def add(
    request: SubmittedRequest, event: RequestTrail.What, *, by: str, note: str = "", is_alone: bool = False
) -> None:
    """Add a line to the trail of a request, and the event of it, inside an open write."""
    RequestTrail.objects.create(request=request, by=by, what=event, note=note, is_alone=is_alone)
    if event in _EVENT_TYPES:
        emit(request, _EVENT_TYPES[event], by=by)


def emit(request: SubmittedRequest, type_: EventType, *, by: str, **data: object) -> None:
    """Put an event about a request into the outbox; it names who asked and who is to get it."""
    people = {"actor": request.actor, "by": request.by}
    get_open_write().emit([build_event(type_, subject=request.urn, actor=by, data={**people, **data})])


def settle(request: SubmittedRequest) -> None:
    """Set the state of a request by those of its items, and store it under a new version.

    It is open as long as an item is. Items in several states make it partial.
    """
    states = set(RequestItem.objects.filter(request=request).values_list("state", flat=True))
    if RequestState.OPEN in states:
        state = RequestState.OPEN
    elif RequestState.APPROVED in states:
        state = RequestState.APPROVED
    else:
        state = RequestState(states.pop()) if len(states) == 1 else RequestState.PARTIAL
    request.state = state
    request.updated_at = timezone.now()
    request.version += 1
    request.save(update_fields=["state", "updated_at", "version", "due_at"])


def is_closed(state: str) -> bool:
    """Return whether nothing more is decided about an item in this state."""
    return state in _CLOSED
