"""What comes due by itself: steps that nobody decided in time, and the ends of what was given."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Min

from policies.models import RequestItem, RequestStep, SubmittedRequest
from policies.models.event import CLOCK_CHANNEL
from policies.models.request import RequestState
from policies.models.writes import WriteTransaction
from policies.pdp import authorizer
from policies.requests.rules.terms import ESCALATE, EXPIRE
from policies.requests.services import deciding, granting, trail
from policies.requests.services.deciding import OpenCase
from policies.requests.services.trail import What


class RequestDueChanges:
    """Requests as a source of due changes (`policies.pdp.due_changes`)."""

    def needs_catalog(self, *, now: datetime) -> bool:
        """Return whether an owner, or a holder of an external role, is due to be taken back."""
        due = RequestItem.objects.filter(state=RequestState.DONE, ends_at__lte=now)
        return any(granting.needs_catalog(way) for way in due.values_list("way", flat=True))

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - it is joined
        """End the steps that are due and the items whose end has come."""
        overdue = SubmittedRequest.objects.filter(state=RequestState.OPEN, due_at__lte=now).order_by("pk")
        for request in list(overdue):
            with deciding.open_overdue(request, now) as case:
                _end_step(case)
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
        return [instant for instant in (due, end) if instant is not None]


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
