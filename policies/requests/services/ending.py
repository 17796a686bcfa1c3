"""Changes that come due by themselves: steps that nobody decided in time, and ends of access that was given."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, Min, QuerySet
from django.db.models.functions import Coalesce

from policies.engine.errors import InvalidPolicy
from policies.errors import PolicyAppError
from policies.models import RequestItem, RequestStep, SubmittedRequest
from policies.models.event import CLOCK_CHANNEL
from policies.models.request import RequestState
from policies.models.writes import WriteTransaction
from policies.pdp import authorizer
from policies.requests.request_sources import IDENTITY
from policies.requests.rules import terms
from policies.requests.services import advancing, granting, trail
from policies.requests.services.cases import OpenCase, load_case
from policies.requests.services.trail import What

log = logging.getLogger(__name__)

#: The end of what an item asks for.
_END = Coalesce(F("ends_at"), F("request__until"))
#: States of items whose end comes.
_ENDING_STATES = (RequestState.DONE, RequestState.WAITING_FOR_SOURCE)


class RequestDueChanges:
    """Requests as a source of due changes (`policies.pdp.due_changes`)."""

    def needs_catalog(self, *, now: datetime) -> bool:
        """Return whether an owner, or a holder of an external role, is due to be taken back."""
        return any(granting.needs_catalog(way) for way in _list_ending(now).values_list("way", flat=True))

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - it is joined
        """End the steps that are due and the items whose end has come."""
        _expire_past(now)
        overdue = SubmittedRequest.objects.filter(state=RequestState.OPEN, due_at__lte=now).order_by("pk")
        for request in list(overdue):
            _end_overdue(request, now)
        ended_items: dict[int, list[RequestItem]] = {}
        for item in _list_ending(now).select_related("request").order_by("pk"):
            ended_items.setdefault(item.request_id, []).append(item)
        for items in ended_items.values():
            _end_items(items)

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest time at which a step is due, and the earliest end of an item, if there are any."""
        due = SubmittedRequest.objects.filter(state=RequestState.OPEN).aggregate(at=Min("due_at"))["at"]
        end = RequestItem.objects.filter(state__in=_ENDING_STATES).aggregate(at=Min("ends_at"))["at"]
        asked_end = _list_open().aggregate(at=Min(_END))["at"]
        return [instant for instant in (due, end, asked_end) if instant is not None]


def _list_open() -> QuerySet[RequestItem]:
    """Return the items of which somebody still has to decide."""
    return RequestItem.objects.filter(request__state=RequestState.OPEN, state=RequestState.OPEN)


def _expire_past(now: datetime) -> None:
    """Let what was asked for until now expire: nobody can give it any more."""
    past: dict[int, list[RequestItem]] = {}
    for item in _list_open().alias(end=_END).filter(end__lte=now).select_related("request").order_by("pk"):
        past.setdefault(item.request_id, []).append(item)
    for items in past.values():
        request = items[0].request
        _close(items, RequestState.EXPIRED)
        trail.add(request, What.EXPIRED, by=authorizer.SYSTEM.urn, note="The end that was asked for has come.")
        if not _list_open().filter(request=request).exists():
            _close_steps(request)
        trail.settle(request)


def _end_overdue(request: SubmittedRequest, now: datetime) -> None:
    """End the step of a request that is due; one that cannot be read any more fails, and holds nothing else up."""
    try:
        with transaction.atomic():
            _end_step(load_case(request, now))
    except (InvalidPolicy, PolicyAppError) as error:
        log.error("request_unreadable", extra={"request": request.urn}, exc_info=error)
        request.refresh_from_db()
        _close(RequestItem.objects.filter(request=request, state=RequestState.OPEN), RequestState.FAILED)
        _close_steps(request)
        trail.add(request, What.EXPIRED, by=authorizer.SYSTEM.urn, note="It cannot be read any more.")
        trail.settle(request)


def _close(items: Iterable[RequestItem], state: RequestState) -> None:
    for item in items:
        item.state = state
        item.save(update_fields=["state"])


def _close_steps(request: SubmittedRequest) -> None:
    unfinished = [RequestStep.State.WAITING, RequestStep.State.LATER]
    RequestStep.objects.filter(request=request, state__in=unfinished).update(state=RequestStep.State.SKIPPED)
    request.due_at = None


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
    match case.step.then:
        case terms.ESCALATE:
            advancing.escalate(case)
        case terms.EXPIRE:
            _finish_step(case, RequestState.EXPIRED, What.EXPIRED, note=case.step.name)
        case terms.DENY:
            _finish_step(case, RequestState.DENIED, What.DENIED, note="Nobody may ask for this.")
        case _:
            advancing.leave(case)


def _finish_step(case: OpenCase, state: RequestState, event: What, *, note: str) -> None:
    """End the items that a step left open in this state, and go on with the others."""
    step = case.step
    _close([case.items[position] for position in case.open_positions], state)
    step.state = RequestStep.State.DENIED if state == RequestState.DENIED else RequestStep.State.EXPIRED
    step.save(update_fields=["state"])
    trail.add(case.request, event, by=authorizer.SYSTEM.urn, note=note)
    advancing.begin_next(case)
    trail.settle(case.request)
