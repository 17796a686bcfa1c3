"""The steps in which a request is decided: planned from a rule, or without one from who owns what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from policies.requests.approvers import DecidingFacts, ItemFacts, find_deciders, list_names, list_seats
from policies.requests.rules.choice import ChosenRule
from policies.requests.rules.terms import NEXT, Approvers, StepTerms

_OWNERS = StepTerms("Owner", Approvers(is_owners=True), document={"resourceOwners": True})
_DOMAIN_OWNERS = StepTerms("Owner of the domain", Approvers(is_domain_owners=True), document={"domainOwners": True})
_HOLDERS = StepTerms("Holder of the privileges", Approvers(is_holders=True), document={"holders": True})
#: The step to which everything falls for which nobody else decides.
MANAGERS = StepTerms("Administrator of policies", Approvers(manages=True), document={"manages": True})


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step of a request that is not stored yet: `positions` are the items that it decides.

    `approvers` are as a step stores them, `urns` as they are named, `seats` the names by which lists find the step.
    """

    name: str
    approvers: Mapping[str, Any]
    positions: tuple[int, ...]
    urns: tuple[str, ...] = ()
    seats: frozenset[str] = field(default=frozenset())
    needs: int = 1
    within: timedelta | None = None
    then: str = NEXT


def plan_steps(rule: ChosenRule, request: DecidingFacts) -> list[PlannedStep]:
    """Return the steps of a request in their order, each with the items for which somebody can decide in it.

    An item that no step decides falls to holders of MANAGE_POLICIES.
    """
    planned = [plan_step(terms, request) for terms in rule.terms.steps] if rule.urn else _plan_without_rule(request)
    steps = [step for step in planned if step.positions]
    decided = {position for step in steps for position in step.positions}
    left = tuple(position for position in range(len(request.items)) if position not in decided)
    return [*steps, plan_managers(request, left)] if left else steps


def plan_step(terms: StepTerms, request: DecidingFacts) -> PlannedStep:
    """Return the step of these terms, with the items that somebody besides asker and actor can decide in it."""
    positions = [
        position
        for position, facts in enumerate(request.items)
        if find_deciders(terms.approvers, facts, request, limit=1)
    ]
    return _build_step(terms, request, positions)


def plan_managers(request: DecidingFacts, positions: Sequence[int]) -> PlannedStep:
    """Return the step in which holders of MANAGE_POLICIES decide these items."""
    return _build_step(MANAGERS, request, positions)


def _plan_without_rule(request: DecidingFacts) -> list[PlannedStep]:
    """Return one step for each kind of people who decide: of each item the first kind of which there is anybody."""
    positions_by_step: dict[str, tuple[StepTerms, list[int]]] = {}
    for position, facts in enumerate(request.items):
        terms = next(
            (terms for terms in _list_usual(facts) if find_deciders(terms.approvers, facts, request, limit=1)),
            MANAGERS,
        )
        positions_by_step.setdefault(terms.name, (terms, []))[1].append(position)
    return [_build_step(terms, request, positions) for terms, positions in positions_by_step.values()]


def _list_usual(facts: ItemFacts) -> Sequence[StepTerms]:
    return (_HOLDERS,) if facts.platform_privileges else (_OWNERS, _DOMAIN_OWNERS)


def _build_step(terms: StepTerms, request: DecidingFacts, positions: Sequence[int]) -> PlannedStep:
    facts = [request.items[position] for position in positions]
    return PlannedStep(
        terms.name,
        terms.document,
        tuple(positions),
        tuple(sorted(frozenset[str]().union(*(list_names(terms.approvers, item) for item in facts)))),
        frozenset[str]().union(*(list_seats(terms.approvers, item) for item in facts)),
        terms.needs,
        terms.within,
        terms.then,
    )
