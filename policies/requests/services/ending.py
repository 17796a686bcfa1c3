"""Changes that come due by themselves: steps that nobody decided in time, and ends of access that was given."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Min, QuerySet

from policies.models import RequestItem, RequestStep, SubmittedRequest
from policies.models.event import CLOCK_CHANNEL
from policies.models.request import RequestState
from policies.models.writes import WriteTransaction
from policies.pdp import authorizer
from policies.requests.request_sources import IDENTITY
from policies.requests.rules.terms import ESCALATE, EXPIRE
from policies.requests.services import deciding, granting, trail
from policies.requests.services.deciding import OpenCase
from policies.requests.services.trail import What

#: States of items whose end comes.
_ENDING_STATES = (RequestState.DONE, RequestState.WAITING_FOR_SOURCE)


class RequestDueChanges:
    """Requests as a source of due changes (`policies.pdp.due_changes`)."""

    def needs_catalog(self, *, now: datetime) -> bool:
        """Return whether an owner, or a holder of an external role, is due to be taken back."""
        return any(granting.needs_catalog(way) for way in _list_ending(now).values_list("way", flat=True))

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - it is joined
        """End the steps that are due and the items whose end has come."""
        overdue = SubmittedRequest.objects.filter(state=RequestState.OPEN, due_at__lte=now).order_by("pk")
        for request in list(overdue):
            with deciding.open_overdue(request, now) as case:
                _end_step(case)
        ended_items: dict[int, list[RequestItem]] = {}
        for item in _list_ending(now).select_related("request").order_by("pk"):
            ended_items.setdefault(item.request_id, []).append(item)
        for items in ended_items.values():
            _end_items(items)

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest time at which a step is due, and the earliest end of an item, if there are any."""
        due = SubmittedRequest.objects.filter(state=RequestState.OPEN).aggregate(at=Min("due_at"))["at"]
        end = RequestItem.objects.filter(state__in=_ENDING_STATES).aggregate(at=Min("ends_at"))["at"]
        return [instant for instant in (due, end) if instant is not None]


def _list_ending(now: datetime) -> QuerySet[RequestItem]:
    return RequestItem.objects.filter(state__in=_ENDING_STATES, ends_at__lte=now)


def _end_items(items: Sequence[RequestItem]) -> None:
    """End items of one request: each is taken back, and one that its source never showed has failed."""
    request, notes = items[0].request, dict[str, None]()
    for item in items:
        problem = granting.take_back(item, channel=CLOCK_CHANNEL)
        has_failed = bool(problem) or item.state == RequestState.WAITING_FOR_SOURCE
        item.state = RequestState.FAILED if has_failed else RequestState.ENDED
        item.save(update_fields=["state"])
        if note := problem or _word_end(item):
            notes[note] = None
    trail.add(request, What.ENDED, by=authorizer.SYSTEM.urn, note=" ".join(notes))
    trail.settle(request)


def _word_end(item: RequestItem) -> str:
    if item.state == RequestState.FAILED:
        return "The system that owns it did not show it before its end."
    is_elsewhere = (item.way or {}).get("source") == IDENTITY
    return "The identity source has to take the membership away." if is_elsewhere else ""


def _end_step(case: OpenCase) -> None:
    """Do what the step says of being due: the next one decides, or holders of MANAGE_POLICIES, or nobody any more."""
    step, request = case.step, case.request
    if step.then == ESCALATE:
        deciding.escalate(case)
        return
    if step.then == EXPIRE:
        for position in case.open_positions:
            case.items[position].state = RequestState.EXPIRED
            case.items[position].save(update_fields=["state"])
        _mark_expired(step)
        trail.add(request, What.EXPIRED, by=authorizer.SYSTEM.urn, note=step.name)
        deciding.begin_next(case)
        trail.settle(request)
        return
    later = RequestStep.objects.filter(request=request, state=RequestStep.State.LATER)
    if not any(set(later_step.items) & set(case.open_positions) for later_step in later):
        deciding.escalate(case)
        return
    _mark_expired(step)
    trail.add(request, What.EXPIRED, by=authorizer.SYSTEM.urn, note=step.name)
    deciding.begin_next(case)
    trail.settle(request)


def _mark_expired(step: RequestStep) -> None:
    step.state = RequestStep.State.EXPIRED
    step.save(update_fields=["state"])
