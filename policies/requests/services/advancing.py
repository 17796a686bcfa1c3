"""The way of a request through its steps: what is agreed is written, and the next step begins."""

from collections.abc import Collection, Sequence

from policies.engine.model import Actor
from policies.models import RequestStep
from policies.models.request import RequestState
from policies.pdp import authorizer
from policies.requests.services import granting, trail
from policies.requests.services.cases import OpenCase, is_agreed, is_deserted
from policies.requests.services.trail import What
from policies.requests.services.waiting import begin_step, renew_seats, store_steps
from policies.requests.steps import plan_managers

_State = RequestStep.State


def advance(case: OpenCase, *, by: Actor, channel: str, agreed: Collection[int] = ()) -> None:
    """Write those of the items just `agreed` to that no step is left for; end the waiting step once all are decided.

    Each item is written by the agreement that was the last one it needed, and by nothing else.
    """
    request, step = case.request, case.step
    waiting = [position for position in case.open_positions if not is_agreed(case, step, position)]
    ready = [position for position in agreed if position not in waiting and _is_last(case, position)]
    if ready:
        granting.grant(request, [case.items[position] for position in ready], by=by, channel=channel)
    if not waiting:
        is_denied = all(case.items[position].state == RequestState.DENIED for position in step.items)
        _end(step, _State.DENIED if is_denied else _State.AGREED)
        begin_next(case)
    trail.settle(request)


def _is_last(case: OpenCase, position: int) -> bool:
    """Return whether all other steps of an item agree to it, or are over."""
    others = RequestStep.objects.filter(request=case.request).exclude(pk=case.step.pk)
    return all(
        other.state != _State.LATER and (other.state != _State.AGREED or is_agreed(case, other, position))
        for other in others
        if position in other.items
    )


def begin_next(case: OpenCase) -> None:
    """Let the next step wait that has open items, and people who may decide them; other steps are skipped.

    A step whose agreement no longer counts waits again. Without anything open, nothing waits.
    """
    case.request.due_at = None
    for step in RequestStep.objects.filter(request=case.request, state=_State.LATER):
        positions = _list_open(case, step)
        if positions and not all(is_deserted(case, step, position) for position in positions):
            _begin(case, step)
            return
        _end(step, _State.SKIPPED)
    for step in RequestStep.objects.filter(request=case.request, state=_State.AGREED):
        if not all(is_agreed(case, step, position) for position in _list_open(case, step)):
            _begin(case, step)
            return
    left = [position for position, item in sorted(case.items.items()) if item.state == RequestState.OPEN]
    if left:
        _begin(case, append_managers(case, left))


def leave(case: OpenCase) -> None:
    """Let a step go that nobody decided in time: what no later step decides falls to holders of MANAGE_POLICIES."""
    positions = case.open_positions
    _end(case.step, _State.EXPIRED)
    later = RequestStep.objects.filter(request=case.request, state=_State.LATER)
    covered = {
        position for step in later for position in _list_open(case, step) if not is_deserted(case, step, position)
    }
    left = [position for position in positions if position not in covered]
    if left:
        append_managers(case, left)
        trail.add(case.request, What.ESCALATED, by=authorizer.SYSTEM.urn, note=case.step.name)
    else:
        trail.add(case.request, What.EXPIRED, by=authorizer.SYSTEM.urn, note=case.step.name)
    begin_next(case)
    trail.settle(case.request)


def escalate(case: OpenCase) -> None:
    """Let holders of MANAGE_POLICIES decide what a step left open, in a step of its own that begins now.

    The steps after it decide as before.
    """
    positions = case.open_positions
    _end(case.step, _State.EXPIRED)
    _begin(case, append_managers(case, positions))
    trail.add(case.request, What.ESCALATED, by=authorizer.SYSTEM.urn, note=case.step.name)
    trail.settle(case.request)


def append_managers(case: OpenCase, positions: Sequence[int]) -> RequestStep:
    """Store a step after all others in which holders of MANAGE_POLICIES decide these items."""
    last = RequestStep.objects.filter(request=case.request).order_by("-position").values_list("position", flat=True)
    first = 0 if (position := last.first()) is None else position + 1
    (step,) = store_steps(case.request, [plan_managers(case.facts, positions)], first=first)
    return step


def _begin(case: OpenCase, step: RequestStep) -> None:
    renew_seats(step, case.facts)
    begin_step(case.request, step, now=case.now)
    case.step = step


def _end(step: RequestStep, state: RequestStep.State) -> None:
    step.state = state
    step.save(update_fields=["state"])


def _list_open(case: OpenCase, step: RequestStep) -> list[int]:
    return [position for position in step.items if case.items[position].state == RequestState.OPEN]
