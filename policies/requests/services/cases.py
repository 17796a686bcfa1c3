"""A request that waits for a decision, with the facts of the moment: who may decide what, and who has agreed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import RequestDecision, RequestItem, RequestStep, SubmittedRequest
from policies.models.request import RequestState
from policies.pdp import actor_resolution, database_clock, snapshot_store
from policies.requests import approvers
from policies.requests.approvers import DecidingFacts, load_facts
from policies.requests.errors import RequestConflict
from policies.requests.items import load_item
from policies.requests.reading import get_request
from policies.requests.rules.terms import Approvers
from policies.requests.seats import read_seats
from policies.requests.steps import MANAGERS
from policies.writes import delegation

_State = RequestStep.State


@dataclass(slots=True)
class OpenCase:
    """A request that waits for a decision, locked: its rows, the facts of this moment, and the step that waits.

    `deserted` are steps and items (their positions) of which is known whether nobody may decide them any more.
    """

    request: SubmittedRequest
    items: dict[int, RequestItem]
    facts: DecidingFacts
    step: RequestStep
    now: datetime
    deserted: dict[tuple[int, int], bool] = field(default_factory=dict)

    @property
    def open_positions(self) -> list[int]:
        """The items of the step that nobody has decided."""
        return [position for position in self.step.items if self.items[position].state == RequestState.OPEN]


def load_decider(urn: str) -> Actor:
    """Return somebody who decides, as of now, by policies as of now: called behind the gate of people.

    The rights that somebody came with may have been lost while other writes held the gate.
    """
    snapshot_store.refresh()
    return actor_resolution.load_actor(urn=urn)


def refuse_suspended(actor: str) -> None:
    """Raise RequestConflict for an actor to whom nothing is given now."""
    if not actor_resolution.load_actor(urn=actor).is_active:
        raise RequestConflict("request.actor_suspended", f"{actor} is suspended.")


def open_case(urn: str, *, by: Actor, if_version: int | None) -> OpenCase:
    """Return an open request with the facts of this moment. Raises NotFound, RequestConflict and Stale."""
    request = get_request(urn=urn, by=by)
    if request.state != RequestState.OPEN:
        raise RequestConflict("request.state", f"This request is {request.state}.", state=request.state)
    if if_version is not None and request.version != if_version:
        raise Stale(f"The request is at version {request.version} now, not {if_version}.")
    return load_case(request, database_clock.get_now())


def load_case(request: SubmittedRequest, now: datetime) -> OpenCase:
    """Return the case of an open request, which has a step that waits.

    Raises InvalidPolicy for unreadable items, and RequestConflict for a request that somebody ended since it was read.
    """
    items = {item.position: item for item in RequestItem.objects.filter(request=request)}
    asked_items = [load_item(items[position].document) for position in sorted(items)]
    facts = load_facts(items=asked_items, actor=request.actor, by=request.by)
    step = RequestStep.objects.filter(request=request, state=_State.WAITING).first()
    if step is None:
        state = SubmittedRequest.objects.values_list("state", flat=True).get(pk=request.pk)
        raise RequestConflict("request.state", f"This request is {state} by now.", state=state)
    return OpenCase(request, items, facts, step, now)


def may_decide(case: OpenCase, step: RequestStep, person: Actor, position: int) -> bool:
    """Return whether a person may decide an item at a step, by the facts of this moment.

    What nobody else may decide any more falls to holders of MANAGE_POLICIES.
    """
    if not person.is_active or person.urn in step.given_away:
        return False
    facts = case.facts.items[position]
    seats = [read_seats(step, position)]
    if not approvers.is_approver(person, seats[0], facts):
        if not approvers.is_approver(person, MANAGERS.approvers, facts) or not is_deserted(case, step, position):
            return False
        seats = [MANAGERS.approvers]
    if not approvers.is_same_person(person, case.facts):
        return True
    return seats[0].manages and approvers.is_alone(person, case.facts)


def is_deserted(case: OpenCase, step: RequestStep, position: int) -> bool:
    """Return whether nobody may decide an item at a step any more: its approvers left, or asked for it themselves."""
    key = (step.pk, position)
    if key not in case.deserted:
        seats = read_seats(step, position)
        case.deserted[key] = not seats.manages and not _has_decider(case, step, seats, position)
    return case.deserted[key]


def _has_decider(case: OpenCase, step: RequestStep, seats: Approvers, position: int) -> bool:
    facts = case.facts.items[position]
    return bool(approvers.find_deciders(seats, facts, case.facts, given_away=step.given_away, limit=1))


def is_agreed(case: OpenCase, step: RequestStep, position: int) -> bool:
    """Return whether enough people who may still decide have agreed to an item at a step, in the way it has now.

    Where all have to agree, each named approver has a person of its own; a name without anybody who may decide has
    none to wait for.
    """
    people = _list_agreeing(case, step, position)
    if step.needs:
        return len(people) >= step.needs
    seats = read_seats(step, position)
    names = sorted(approvers.list_names(seats, case.facts.items[position]) - set(step.given_away))
    taken = [name for name in names if _has_decider(case, step, Approvers(names=frozenset({name})), position)]
    return bool(people) and _match_seats(taken, people)


def _list_agreeing(case: OpenCase, step: RequestStep, position: int) -> list[Actor]:
    decisions = RequestDecision.objects.filter(step=step, is_agreement=True).order_by("id")
    way = (case.items[position].way or {}).get("id")
    urns = [
        decision.by
        for decision in decisions
        if position in decision.items and decision.ways.get(str(position), way) == way
    ]
    actors = actor_resolution.load_actors(urns=urns)
    return [actors[urn] for urn in dict.fromkeys(urns) if _is_counted(case, step, actors[urn], position)]


def _is_counted(case: OpenCase, step: RequestStep, person: Actor, position: int) -> bool:
    """Return whether an agreement counts now: its giver may decide, and give, what the item gives.

    The owner who asked for somebody else is an approver, too.
    """
    facts, asker = case.facts.items[position], case.facts.owner_asker
    if facts.platform_privileges & delegation.find_withheld_privileges(by=person):
        return False
    if asker is not None and asker.urn == person.urn:
        return approvers.is_asking_owner(asker, read_seats(step, position), facts)
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
