"""Deciding: agreement, denial and handing over by those who may (contract-requests.md sections 2 and 4).

Everything about one decision is read and written behind the gate of people, so that two of them follow each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.models import RequestDecision, SubmittedRequest, open_write
from policies.models.people import USER_PREFIX
from policies.models.request import RequestState
from policies.pdp import actor_resolution, database_clock
from policies.requests import approvers, chosen_ways
from policies.requests.errors import RequestConflict, RequestInvalid, RequestRefused
from policies.requests.held_items import find_through
from policies.requests.plan import RequestPlan
from policies.requests.queries import requests
from policies.requests.rules.terms import Approvers
from policies.requests.seats import hand_seat_over, read_seats
from policies.requests.services import granting, trail
from policies.requests.services.advancing import advance
from policies.requests.services.cases import (
    OpenCase,
    load_case,
    load_decider,
    may_decide,
    open_case,
    refuse_suspended,
)
from policies.requests.services.trail import What
from policies.requests.services.waiting import renew_seats


def approve(
    *,
    urn: str,
    by: Actor,
    channel: str,
    ways: Sequence[str] = (),
    until: datetime | None = None,
    note: str = "",
    positions: Sequence[int] | None = None,
    if_version: int | None = None,
) -> SubmittedRequest:
    """Agree to items of a request, all that `by` may decide unless positions are given; write what is agreed by all.

    `ways` chooses another way for each of the items, in the order of the positions, `until` a shorter end. Raises
    NotFound, RequestRefused for others than approvers, RequestConflict where the request or the world has moved on,
    Stale, GuardrailBroken and Forbidden.
    """
    chosen = _list_chosen(urn, by, positions, ways, if_version)
    changed: RequestConflict | None = None
    with open_write(*granting.find_gates(chosen.values())):
        by = load_decider(by.urn)
        case = open_case(urn, by=by, if_version=if_version)
        decided = _choose_positions(case, by, positions)
        is_alone = by.urn in case.facts.excluded_urns
        refuse_suspended(case.request.actor)
        for position in decided:
            _choose_way(case, position, chosen.get(position), is_named=bool(ways))
            _shorten(case, position, until)
            _refuse_held(case, position)
            granting.refuse_beyond(case.items[position], case.facts.items[position], by=by)
        changed = granting.find_change(case.request, [case.items[position] for position in decided])
        if changed is None:
            for position in decided:
                _refuse_gaining(case, position, by, is_alone=is_alone)
            _record(case, decided, by=by, is_agreement=True, note=note, is_alone=is_alone)
            advance(case, by=by, channel=channel, agreed=decided)
    if changed is not None:
        raise changed
    return requests.get_request(urn=urn, by=by)


def deny(
    *,
    urn: str,
    by: Actor,
    note: str,
    positions: Sequence[int] | None = None,
    channel: str,
    if_version: int | None = None,
) -> SubmittedRequest:
    """Deny items of a request, all that `by` may decide unless positions are given. Raises as `approve`."""
    with open_write(*granting.find_gates(())):
        by = load_decider(by.urn)
        case = open_case(urn, by=by, if_version=if_version)
        decided = _choose_positions(case, by, positions)
        for position in decided:
            item = case.items[position]
            item.state = RequestState.DENIED
            item.save(update_fields=["state"])
        _record(case, decided, by=by, is_agreement=False, note=note, is_alone=by.urn in case.facts.excluded_urns)
        advance(case, by=by, channel=channel)
    return requests.get_request(urn=urn, by=by)


def hand_over(*, urn: str, by: Actor, to: Sequence[str], note: str, if_version: int | None = None) -> SubmittedRequest:
    """Give the caller's seat at the waiting step to others, for the items that the caller may decide.

    Raises as `approve`, and RequestInvalid for receivers of whom nobody may decide.
    """
    with open_write(*granting.find_gates(())):
        by = load_decider(by.urn)
        case = open_case(urn, by=by, if_version=if_version)
        positions = _choose_positions(case, by, None)
        trail.refuse_too_long(case.request)
        problems = [problem for index, receiver in enumerate(to) for problem in _check_receiver(case, receiver, index)]
        if problems:
            raise RequestInvalid(problems)
        hand_seat_over(case.step, positions, giver=by.urn, receivers=to)
        renew_seats(case.step, case.facts)
        trail.add(case.request, What.HANDED_OVER, by=by.urn, note=note)
        trail.settle(case.request)
    return requests.get_request(urn=urn, by=by)


def _check_receiver(case: OpenCase, receiver: str, index: int) -> Iterable[Problem]:
    """Yield the problem of a receiver of a seat: asker and actor, their accounts, and whoever is not there."""
    pointer = f"/to/{index}"
    if receiver in case.facts.excluded_urns:
        yield Problem("hand_over.self", pointer, f"{receiver} asks for this, or gets it.")
        return
    names = Approvers(names=frozenset({receiver}))
    if not approvers.find_deciders(names, case.facts.items[case.step.items[0]], case.facts, limit=1):
        noun = "There is nobody" if receiver.startswith(USER_PREFIX) else "There is nobody in"
        yield Problem("unknown", pointer, f"{noun} {receiver} who could decide.")


def can_decide(request: SubmittedRequest, person: Actor) -> bool:
    """Return whether a person may decide an item of an open request now."""
    try:
        case = load_case(request, database_clock.get_now())
    except RequestConflict:
        return False
    return any(may_decide(case, case.step, person, position) for position in case.open_positions)


def agree_as_owner(request: SubmittedRequest, plan: RequestPlan, *, channel: str) -> None:
    """Count the asker as approver of the first step where they ask for somebody else and are one of its owners.

    Raises Conflict and Forbidden where what they agree to cannot be written.
    """
    if plan.by.urn == plan.actor.urn or request.state != RequestState.OPEN or plan.is_blind:
        return
    case = load_case(request, plan.now)
    positions = [position for position in case.open_positions if _agrees_by_asking(case, position, plan.by)]
    if positions and granting.find_change(request, [case.items[position] for position in positions]) is None:
        _record(case, positions, by=plan.by, is_agreement=True, note="", is_alone=False)
        advance(case, by=plan.by, channel=channel, agreed=positions)


def _agrees_by_asking(case: OpenCase, position: int, asker: Actor) -> bool:
    """Return whether an owner agrees to an item by asking: it gives no more than that, and nothing to the owner."""
    item, facts = case.items[position], case.facts.items[position]
    if not granting.is_given_by(asker, item, facts, read_seats(case.step, position)):
        return False
    return not chosen_ways.is_gaining(item.way or {}, asker.urn, actor=case.request.actor)


# -- what is chosen ---------------------------------------------------------------------------------------------------


def _choose_positions(case: OpenCase, by: Actor, positions: Sequence[int] | None) -> list[int]:
    """Return the items that are decided; raises RequestRefused unless `by` may decide each of them."""
    decidable = [position for position in case.open_positions if may_decide(case, case.step, by, position)]
    chosen = decidable if positions is None else list(dict.fromkeys(positions))
    if not chosen or not set(chosen) <= set(decidable):
        raise RequestRefused("request.not_yours", "You are none of those who decide this now.")
    return chosen


def _list_chosen(
    urn: str, by: Actor, positions: Sequence[int] | None, ways: Sequence[str], if_version: int | None
) -> Mapping[int, chosen_ways.WayJson]:
    """Return the ways of the decided items by position, as they are before the gate.

    They are those that are named, else those that the items have, else the best. Raises as `open_case`, and
    RequestInvalid for an unknown way.
    """
    case = open_case(urn, by=by, if_version=if_version)
    decided = _choose_positions(case, by, positions)
    if ways and len(ways) != len(decided):
        raise RequestInvalid([Problem("way.unknown", "/way", "Name one way for each item that you decide.")])
    chosen: dict[int, chosen_ways.WayJson] = {}
    for index, position in enumerate(decided):
        item = case.items[position]
        if ways and (item.way or {}).get("id") != ways[index]:
            chosen[position] = chosen_ways.find_way(_work_out(case, position, by), ways[index])
            continue
        way = item.way or chosen_ways.find_best(_work_out(case, position, by))
        if way is None:
            raise RequestConflict("request.no_way", "No change that the house knows gives this item.")
        chosen[position] = way
    return chosen


def _work_out(case: OpenCase, position: int, by: Actor) -> Sequence[chosen_ways.WayJson]:
    item = case.items[position]
    asked_item, until = case.facts.items[position].item, granting.find_end(item)
    return chosen_ways.list_ways(asked_item, actor=case.request.actor, until=until, by=by)


def _choose_way(case: OpenCase, position: int, way: chosen_ways.WayJson | None, *, is_named: bool) -> None:
    """Store the way that was chosen before the gate; raises RequestConflict where somebody chose another meanwhile.

    Nobody agrees to a way by naming none and waiting, and only the gates of the chosen ones are passed.
    """
    item = case.items[position]
    is_same = way is not None and item.way is not None and item.way["id"] == way["id"]
    if way is None or (item.way is not None and not is_same and not is_named):
        detail = "Another way was chosen while your approval waited. Look at it, and approve again."
        raise RequestConflict("request.changed", detail, items=[position], version=case.request.version)
    if not is_same:
        item.way = chosen_ways.keep(way)
        item.save(update_fields=["way"])


def _shorten(case: OpenCase, position: int, until: datetime | None) -> None:
    """Let an item end earlier than asked; raises RequestInvalid for an end that is later, or has passed."""
    item = case.items[position]
    latest = granting.find_end(item)
    if until is not None and latest is not None and until > latest:
        raise RequestInvalid([Problem("until.too_long", "/until", "An approver can only shorten the time.")])
    end = until or latest
    if end is not None and end <= case.now:
        raise RequestInvalid([Problem("until.past", "/until", "This end has passed.")])
    if until is not None:
        item.ends_at = until
        item.save(update_fields=["ends_at"])


def _refuse_held(case: OpenCase, position: int) -> None:
    """Raise RequestConflict for what the actor has got by now, until the asked end: it is not given twice."""
    item = case.items[position]
    if (item.way or {}).get("is_renewal"):
        return
    actor = actor_resolution.load_actor(urn=case.request.actor)
    through = find_through(case.facts.items[position].item, actor, granting.find_end(item))
    if through is not None:
        detail = f"{actor.urn} has this by now, until the asked end. Deny it, or let the asker withdraw it."
        raise RequestConflict("request.not_needed", detail, through=through)


def _refuse_gaining(case: OpenCase, position: int, by: Actor, *, is_alone: bool) -> None:
    """Raise RequestRefused for somebody whom the chosen way gives something: nobody decides for themselves."""
    way = case.items[position].way
    if way is not None and not is_alone and chosen_ways.is_gaining(way, by.urn, actor=case.request.actor):
        raise RequestRefused("request.not_yours", "You would gain something by this way: somebody else has to decide.")


def _record(
    case: OpenCase, positions: Sequence[int], *, by: Actor, is_agreement: bool, note: str, is_alone: bool
) -> None:
    ways = {str(position): way["id"] for position in positions if (way := case.items[position].way)}
    RequestDecision.objects.create(
        step=case.step,
        by=by.urn,
        time=case.now,
        is_agreement=is_agreement,
        items=list(positions),
        ways=ways if is_agreement else {},
        note=note,
    )
    event = What.AGREED if is_agreement else What.DENIED
    trail.add(case.request, event, by=by.urn, note=note, is_alone=is_alone)
