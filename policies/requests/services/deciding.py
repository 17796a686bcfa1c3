"""Deciding: who may, what an agreement needs to count, and the next step or the write (contract-requests.md 2, 4).

Everything about one decision is read and written behind the gate of people, so that two of them follow each other.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import RequestDecision, RequestItem, RequestStep, SubmittedRequest, open_write
from policies.models.request import RequestState
from policies.pdp import actor_resolution, authorizer, database_clock
from policies.requests import approvers, chosen_ways
from policies.requests.approvers import DecidingFacts, load_facts
from policies.requests.errors import RequestConflict, RequestInvalid, RequestRefused
from policies.requests.items import load_item
from policies.requests.plan import RequestPlan
from policies.requests.queries import requests
from policies.requests.rules.terms import read_approvers
from policies.requests.services import granting, trail
from policies.requests.services.trail import What
from policies.requests.services.waiting import begin_step, renew_seats, store_steps
from policies.requests.steps import plan_managers

_State = RequestStep.State


@dataclass(slots=True)
class OpenCase:
    """A request that waits for a decision, locked: its rows, the facts of this moment, and the step that waits."""

    request: SubmittedRequest
    items: dict[int, RequestItem]
    facts: DecidingFacts
    step: RequestStep
    now: datetime

    @property
    def open_positions(self) -> list[int]:
        """The items of the step that nobody has denied."""
        return [position for position in self.step.items if self.items[position].state == RequestState.OPEN]


def approve(
    *,
    urn: str,
    by: Actor,
    channel: str,
    ways: Sequence[str] = (),
    until: datetime | None = None,
    note: str = "",
    positions: Collection[int] | None = None,
    if_version: int | None = None,
) -> SubmittedRequest:
    """Agree to items of a request, all that `by` may decide unless positions are given; write what is agreed by all.

    `ways` chooses another way for each of the items, `until` a shorter end. Raises NotFound, RequestRefused for others
    than approvers, RequestConflict where the request or the world has moved on, Stale, GuardrailBroken and Forbidden.
    """
    chosen = _list_chosen(urn, by, positions, ways)
    changed: RequestConflict | None = None
    with open_write(*granting.find_gates(chosen.values())):
        case = open_case(urn, by=by, if_version=if_version)
        decided = _choose_positions(case, by, positions)
        is_alone = _is_alone(case, by)
        for position in decided:
            _choose_way(case, position, chosen.get(position))
            _shorten(case, position, until)
            granting.refuse_beyond(case.items[position], case.facts.items[position], by=by)
        changed = granting.find_change(case.request, [case.items[position] for position in decided])
        if changed is None:
            _record(case, decided, by=by, is_agreement=True, note=note, is_alone=is_alone)
            advance(case, by=by, channel=channel)
    if changed is not None:
        raise changed
    return requests.get_request(urn=urn, by=by)


def deny(
    *,
    urn: str,
    by: Actor,
    note: str,
    positions: Collection[int] | None = None,
    channel: str,
    if_version: int | None = None,
) -> SubmittedRequest:
    """Deny items of a request, all that `by` may decide unless positions are given. Raises as `approve`."""
    with open_write(*granting.find_gates(())):
        case = open_case(urn, by=by, if_version=if_version)
        decided = _choose_positions(case, by, positions)
        _record(case, decided, by=by, is_agreement=False, note=note, is_alone=_is_alone(case, by))
        for position in decided:
            _set_state(case.items[position], RequestState.DENIED)
        advance(case, by=by, channel=channel)
    return requests.get_request(urn=urn, by=by)


def hand_over(*, urn: str, by: Actor, to: Sequence[str], note: str, if_version: int | None = None) -> SubmittedRequest:
    """Give the caller's seat at the waiting step to others. Raises as `approve`, and RequestInvalid."""
    with open_write(*granting.find_gates(())):
        case = open_case(urn, by=by, if_version=if_version)
        _choose_positions(case, by, None)
        problems = [
            Problem("hand_over.self", f"/to/{index}", f"{urn_} asks for this, or gets it.")
            for index, urn_ in enumerate(to)
            if urn_ in case.facts.excluded_urns
        ]
        people = actor_resolution.load_actors(urns=[urn_ for urn_ in to if urn_.startswith("urn:li:corpuser:")])
        problems += [
            Problem("unknown", f"/to/{index}", f"There is nobody {urn_} who could decide.")
            for index, urn_ in enumerate(to)
            if urn_.startswith("urn:li:corpuser:") and not people[urn_].is_active
        ]
        if problems:
            raise RequestInvalid(problems)
        step = case.step
        field = {"urn:li:corpuser:": "users", "urn:li:corpGroup:": "groups"}
        named_approvers = dict(step.approvers)
        for receiver in to:
            name = next(name for prefix, name in field.items() if receiver.startswith(prefix))
            named_approvers[name] = sorted({*named_approvers.get(name, ()), receiver})
        step.approvers = named_approvers
        step.given_away = sorted({*step.given_away, by.urn})
        renew_seats(step, case.facts)
        trail.add(case.request, What.HANDED_OVER, by=by.urn, note=note)
        trail.settle(case.request)
    return requests.get_request(urn=urn, by=by)


def can_decide(request: SubmittedRequest, person: Actor) -> bool:
    """Return whether a person may decide an item of an open request now."""
    case = _load_case(request, database_clock.get_now())
    return any(may_decide(case, case.step, person, position) for position in case.open_positions)


def agree_as_owner(request: SubmittedRequest, plan: RequestPlan, *, channel: str) -> None:
    """Count the asker as approver of the first step where they ask for somebody else and are one of its owners."""
    if plan.by.urn == plan.actor.urn or request.state != RequestState.OPEN or plan.is_blind:
        return
    case = _load_case(request, plan.now)
    terms = read_approvers(case.step.approvers)
    positions = [
        position
        for position in case.open_positions
        if granting.is_given_by(plan.by, case.items[position], case.facts.items[position], terms)
    ]
    if positions:
        _record(case, positions, by=plan.by, is_agreement=True, note="", is_alone=False)
        advance(case, by=plan.by, channel=channel)


# -- the case ---------------------------------------------------------------------------------------------------------


def open_case(urn: str, *, by: Actor, if_version: int | None) -> OpenCase:
    """Return an open request with the facts of this moment. Raises NotFound, RequestConflict and Stale."""
    request = requests.get_request(urn=urn, by=by)
    if request.state != RequestState.OPEN:
        raise RequestConflict("request.state", f"This request is {request.state}.", state=request.state)
    if if_version is not None and request.version != if_version:
        raise Stale(f"The request is at version {request.version} now, not {if_version}.")
    actor = actor_resolution.load_actor(urn=request.actor)
    if not actor.is_active:
        raise RequestConflict("request.actor_suspended", f"{request.actor} is suspended.")
    return _load_case(request, database_clock.get_now())


def _load_case(request: SubmittedRequest, now: datetime) -> OpenCase:
    items = {item.position: item for item in RequestItem.objects.filter(request=request)}
    asked_items = [load_item(items[position].document) for position in sorted(items)]
    facts = load_facts(items=asked_items, actor=request.actor, by=request.by)
    step = RequestStep.objects.get(request=request, state=_State.WAITING)
    return OpenCase(request, items, facts, step, now)


def _choose_positions(case: OpenCase, by: Actor, positions: Collection[int] | None) -> list[int]:
    """Return the items that are decided; raises RequestRefused unless `by` may decide each of them."""
    decidable = [position for position in case.open_positions if may_decide(case, case.step, by, position)]
    chosen = decidable if positions is None else sorted(set(positions))
    if not chosen or not set(chosen) <= set(decidable):
        raise RequestRefused("request.not_yours", "You are none of those who decide this now.")
    return chosen


def may_decide(case: OpenCase, step: RequestStep, person: Actor, position: int) -> bool:
    """Return whether a person may decide an item at a step, by the facts of this moment."""
    if not person.is_active or person.urn in step.given_away:
        return False
    terms, facts = read_approvers(step.approvers), case.facts.items[position]
    if not approvers.is_approver(person, terms, facts):
        return False
    return not approvers.is_same_person(person, case.facts) or (
        terms.manages and approvers.is_alone(person, case.facts)
    )


def _is_alone(case: OpenCase, by: Actor) -> bool:
    return by.urn in case.facts.excluded_urns


def _list_chosen(
    urn: str, by: Actor, positions: Collection[int] | None, ways: Sequence[str]
) -> dict[int, chosen_ways.WayJson]:
    """Return the ways of items by position, worked out before the gate: the named ones, else the stored, else the best.

    Raises RequestInvalid for an unknown one.
    """
    request = requests.get_request(urn=urn, by=by)
    items = [item for item in request.items.all() if item.state == RequestState.OPEN]
    chosen_items = items if positions is None else [item for item in items if item.position in positions]
    if ways and len(ways) != len(chosen_items):
        raise RequestInvalid([Problem("way.unknown", "/way", "Name one way for each item that you decide.")])
    chosen: dict[int, chosen_ways.WayJson] = {}
    for index, item in enumerate(chosen_items):
        if not ways and item.way is not None:
            chosen[item.position] = item.way
            continue
        item_ways = chosen_ways.list_ways(load_item(item.document), actor=request.actor, until=request.until, by=by)
        way = chosen_ways.find_way(item_ways, ways[index]) if ways else chosen_ways.find_best(item_ways)
        if way is None:
            raise RequestConflict("request.no_way", "No change that the house knows gives this item.")
        chosen[item.position] = way
    return chosen


def _choose_way(case: OpenCase, position: int, way: chosen_ways.WayJson | None) -> None:
    item = case.items[position]
    if way is not None and item.way != way:
        item.way = dict(way)
        item.save(update_fields=["way"])


def _shorten(case: OpenCase, position: int, until: datetime | None) -> None:
    """Let an item end earlier than asked; raises RequestInvalid for an end that is later, or has passed."""
    if until is None:
        return
    item = case.items[position]
    latest = item.ends_at or case.request.until
    if until <= case.now:
        raise RequestInvalid([Problem("until.past", "/until", "This end has passed.")])
    if latest is not None and until > latest:
        raise RequestInvalid([Problem("until.too_long", "/until", "An approver can only shorten the time.")])
    item.ends_at = until
    item.save(update_fields=["ends_at"])


def _record(
    case: OpenCase, positions: Sequence[int], *, by: Actor, is_agreement: bool, note: str, is_alone: bool
) -> None:
    RequestDecision.objects.create(
        step=case.step, by=by.urn, time=case.now, is_agreement=is_agreement, items=list(positions), note=note
    )
    event = What.AGREED if is_agreement else What.DENIED
    trail.add(case.request, event, by=by.urn, note=note, is_alone=is_alone)


def _set_state(item: RequestItem, state: RequestState) -> None:
    item.state = state
    item.save(update_fields=["state"])


# -- steps ------------------------------------------------------------------------------------------------------------


def advance(case: OpenCase, *, by: Actor, channel: str) -> None:
    """End the waiting step if its items are decided, begin the next one, and write what all steps agree to."""
    request = case.request
    open_positions = case.open_positions
    if not all(_is_agreed(case, case.step, position) for position in open_positions):
        trail.settle(request)
        return
    case.step.state = _State.AGREED if open_positions else _State.DENIED
    case.step.save(update_fields=["state"])
    begin_next(case)
    if case.step.state != _State.WAITING:
        _finish(case, by=by, channel=channel)
    trail.settle(request)


def begin_next(case: OpenCase) -> None:
    """Let the next step wait that has open items; one without any is skipped. Without a next one nothing waits."""
    case.request.due_at = None
    for step in RequestStep.objects.filter(request=case.request, state=_State.LATER):
        if any(case.items[position].state == RequestState.OPEN for position in step.items):
            begin_step(case.request, step, now=case.now)
            case.step = step
            return
        step.state = _State.SKIPPED
        step.save(update_fields=["state"])


def _finish(case: OpenCase, *, by: Actor, channel: str) -> None:
    """Write the open items: every step has agreed. A step whose agreement no longer counts waits again instead."""
    open_items = [item for item in case.items.values() if item.state == RequestState.OPEN]
    for step in RequestStep.objects.filter(request=case.request, state=_State.AGREED):
        positions = [item.position for item in open_items if item.position in step.items]
        if not all(_is_agreed(case, step, position) for position in positions):
            begin_step(case.request, step, now=case.now)
            case.step = step
            return
    if open_items:
        granting.grant(case.request, open_items, by=by, channel=channel)


def _is_agreed(case: OpenCase, step: RequestStep, position: int) -> bool:
    """Return whether enough people who may still decide have agreed to an item at a step."""
    people = _list_agreeing(case, step, position)
    if step.needs:
        return len(people) >= step.needs
    terms = read_approvers(step.approvers)
    names = sorted(approvers.list_names(terms, case.facts.items[position]) - set(step.given_away))
    return bool(names) and _match_seats(names, people)


def _list_agreeing(case: OpenCase, step: RequestStep, position: int) -> list[Actor]:
    decisions = RequestDecision.objects.filter(step=step, is_agreement=True).order_by("id")
    urns = list(dict.fromkeys(decision.by for decision in decisions if position in decision.items))
    actors = actor_resolution.load_actors(urns=urns)
    return [actors[urn] for urn in urns if _is_counted(case, step, actors[urn], position)]


def _is_counted(case: OpenCase, step: RequestStep, person: Actor, position: int) -> bool:
    """Return whether an agreement counts now: its giver may decide, or is the owner who asked for somebody else."""
    asker = case.facts.owner_asker
    if asker is not None and asker.urn == person.urn:
        terms = read_approvers(step.approvers)
        return approvers.is_asking_owner(asker, terms, case.facts.items[position])
    return may_decide(case, step, person, position)


def _match_seats(names: Sequence[str], people: Sequence[Actor]) -> bool:
    """Return whether each named approver has a person of its own among these: nobody sits on two seats."""
    people_by_seat_index: dict[str, int] = {}

    def find_seat(index: int, tried_urns: set[str]) -> bool:
        for person in people:
            if names[index] in person.tokens and person.urn not in tried_urns:
                tried_urns.add(person.urn)
                if person.urn not in people_by_seat_index or find_seat(people_by_seat_index[person.urn], tried_urns):
                    people_by_seat_index[person.urn] = index
                    return True
        return False

    return all(find_seat(index, set()) for index in range(len(names)))


@contextmanager
def open_overdue(request: SubmittedRequest, now: datetime) -> Iterator[OpenCase]:
    """Yield the case of a request whose step is due, inside the write of what comes due."""
    yield _load_case(request, now)


def escalate(case: OpenCase) -> None:
    """Let holders of MANAGE_POLICIES decide what a step left open, in a step of its own that begins now."""
    positions = case.open_positions
    case.step.state = _State.EXPIRED
    case.step.save(update_fields=["state"])
    RequestStep.objects.filter(request=case.request, state=_State.LATER).update(state=_State.SKIPPED)
    last = RequestStep.objects.filter(request=case.request).order_by("-position").values_list("position", flat=True)
    (step,) = store_steps(case.request, [plan_managers(case.facts, positions)], first=(last.first() or 0) + 1)
    begin_step(case.request, step, now=case.now)
    trail.add(case.request, What.ESCALATED, by=authorizer.SYSTEM.urn)
    trail.settle(case.request)
