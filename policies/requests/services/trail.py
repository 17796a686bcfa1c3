"""What happens to a request: one line of its trail each, which is all that ever tells of it."""

from django.utils import timezone

from policies.models import RequestItem, RequestTrail, SubmittedRequest
from policies.models.request import RequestState

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


def add(request: SubmittedRequest, what: RequestTrail.What, *, by: str, note: str = "", is_alone: bool = False) -> None:
    """Add a line to the trail of a request."""
    RequestTrail.objects.create(request=request, by=by, what=what, note=note, is_alone=is_alone)


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
