"""What comes due by itself: steps that nobody decided in time, and the ends of what was given."""

import logging
from collections.abc import Iterable
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
from policies.requests.rules import terms
from policies.requests.services import advancing, granting, trail
from policies.requests.services.cases import OpenCase, load_case
from policies.requests.services.trail import What

log = logging.getLogger(__name__)

#: The end of what an item asks for.
_END = Coalesce(F("ends_at"), F("request__until"))


class RequestDueChanges:
    """Requests as a source of due changes (`policies.pdp.due_changes`)."""

    def needs_catalog(self, *, now: datetime) -> bool:
        """Return whether an owner, or a holder of an external role, is due to be taken back."""
        due = RequestItem.objects.filter(state=RequestState.DONE, ends_at__lte=now)
        return any(granting.needs_catalog(way) for way in due.values_list("way", flat=True))

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - it is joined
        """End the steps that are due and the items whose end has come."""
        _expire_past(now)
        overdue = SubmittedRequest.objects.filter(state=RequestState.OPEN, due_at__lte=now).order_by("pk")
        for request in list(overdue):
            _end_overdue(request, now)
        ended = RequestItem.objects.filter(state=RequestState.DONE, ends_at__lte=now).select_related("request")
        requests: dict[int, SubmittedRequest] = {}
        for item in ended.order_by("pk"):
            granting.take_back(item, channel=CLOCK_CHANNEL)
            item.state = RequestState.ENDED
            item.save(update_fields=["state"])
            requests[item.request_id] = item.request
        for request in requests.values():
            trail.add(request, What.ENDED, by=authorizer.SYSTEM.urn)
            trail.settle(request)

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest time at which a step is due, and the earliest end of an item, if there are any."""
        due = SubmittedRequest.objects.filter(state=RequestState.OPEN).aggregate(at=Min("due_at"))["at"]
        end = RequestItem.objects.filter(state=RequestState.DONE).aggregate(at=Min("ends_at"))["at"]
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
