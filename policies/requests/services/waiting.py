"""The step of a request that waits: how it begins, and who is found by its seats."""

from collections.abc import Iterable
from datetime import datetime

from policies.models import EventType, RequestSeat, RequestStep, SubmittedRequest
from policies.models.writes import announce_boundaries
from policies.requests.approvers import DecidingFacts, list_names, list_seats
from policies.requests.seats import read_seats
from policies.requests.services import trail
from policies.requests.steps import PlannedStep


def store_steps(request: SubmittedRequest, steps: Iterable[PlannedStep], *, first: int = 0) -> list[RequestStep]:
    """Store planned steps of a request, from this position on, with the seats of each."""
    stored_steps = [
        RequestStep(
            request=request,
            position=position,
            name=step.name,
            approvers=dict(step.approvers),
            items=list(step.positions),
            urns=list(step.urns),
            needs=step.needs,
            within=step.within,
            then=step.then,
        )
        for position, step in enumerate(steps, first)
    ]
    RequestStep.objects.bulk_create(stored_steps)
    seats = {step.position: planned.seats for step, planned in zip(stored_steps, steps, strict=True)}
    RequestSeat.objects.bulk_create(
        RequestSeat(step=step, token=token) for step in stored_steps for token in sorted(seats[step.position])
    )
    return stored_steps


def begin_step(request: SubmittedRequest, step: RequestStep, *, now: datetime) -> None:
    """Let a step wait from now on, until it is due if it ever is."""
    step.state = RequestStep.State.WAITING
    step.due = None if step.within is None else now + step.within
    step.save(update_fields=["state", "due"])
    request.due_at = step.due
    if step.due is not None:
        announce_boundaries([step.due])
    trail.emit(request, EventType.REQUEST_STEP, by="", approvers=step.urns, by_privilege=not step.urns, step=step.name)


def renew_seats(step: RequestStep, facts: DecidingFacts) -> None:
    """Store whom a step is found by, after its approvers changed."""
    seats = [(read_seats(step, position), facts.items[position]) for position in step.items]
    step.urns = sorted(frozenset[str]().union(*(list_names(approvers, item) for approvers, item in seats)))
    step.save(update_fields=["approvers", "urns", "given_away"])
    tokens = frozenset[str]().union(*(list_seats(approvers, item) for approvers, item in seats)) - set(step.given_away)
    step.seats.exclude(token__in=tokens).delete()
    known_tokens = set(step.seats.values_list("token", flat=True))
    RequestSeat.objects.bulk_create(RequestSeat(step=step, token=token) for token in sorted(tokens - known_tokens))
