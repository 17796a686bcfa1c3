"""The plan of a request: rule, end, steps and ways, worked out before anything is stored (contract-requests.md 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.db.models import Q

from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.engine.selectors import OWNER
from policies.models import Policy, Role, SubmittedRequest, User
from policies.models.fields import json_text
from policies.models.request import UNFINISHED_STATES
from policies.pdp import actor_resolution, authorizer, database_clock
from policies.pdp.access_requests import AccessRequest as Question
from policies.pdp.ports import facet_source
from policies.requests import approvers, chosen_ways, held_items
from policies.requests.approvers import DecidingFacts
from policies.requests.asked import AskedBody
from policies.requests.errors import RequestConflict, RequestInvalid, RequestRefused
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.rules.choice import ChosenRule, choose_rule
from policies.requests.rules.terms import EXPIRE, RuleTerms
from policies.requests.steps import PlannedStep, plan_managers, plan_steps

#: What an item needs of the house to be there; an entity or group that is not there is asked for blindly.
_STORED = {ItemKind.ROLE: (Role, "role"), ItemKind.POLICY: (Policy, "policy")}

#: The time after which a blind request is denied whose rule lets nobody ask.
_BLIND_DENIAL = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """Everything about a request but its row: `ways` are those of each item, the best first.

    `missing` names what the form still lacks. A blind one tells its asker neither rule nor ways nor approvers.
    """

    asked_body: AskedBody
    actor: Actor
    by: Actor
    rule: ChosenRule
    until: datetime | None
    steps: tuple[PlannedStep, ...]
    ways: tuple[tuple[Mapping[str, Any], ...], ...]
    facts: DecidingFacts
    is_blind: bool = False
    missing: tuple[str, ...] = ()
    now: datetime = field(default_factory=database_clock.get_now)

    @property
    def items_key(self) -> str:
        """The digest of actor and items, in any order."""
        return build_items_key(self.actor.urn, self.asked_body.items)


def build_items_key(actor: str, items: Sequence[RequestedItem]) -> str:
    """Return the digest of an actor and of items, whatever their order."""
    return sha256(json_text([actor, sorted(json_text(item.document) for item in items)]).encode()).hexdigest()


def make_plan(
    asked_body: AskedBody, *, by: Actor, is_preview: bool = False, is_after_denial: bool = False
) -> RequestPlan:
    """Return the plan of what `by` asks for.

    Raises RequestInvalid with every problem, RequestConflict for what is not needed or asked already, RequestRefused
    for what this caller may not ask, or nobody. With `is_preview`, what a form still lacks is listed instead.
    `is_after_denial`: the caller was told of the denial of all this, and may ask for whomever it is about; it hands
    the request on and is no approver by asking.
    """
    now = database_clock.get_now()
    actor = _load_actor(asked_body, by=by)
    _refuse_unknown(asked_body.items)
    facts = approvers.load_facts(items=asked_body.items, actor=actor.urn, by=by.urn)
    if is_after_denial:
        facts = replace(facts, owner_asker=None)
    else:
        _refuse_strangers(facts, actor=actor, by=by)
    is_blind = bool(find_blind(asked_body.items))
    rule = choose_rule(asked_body.items, is_permanent=asked_body.has_until and asked_body.until is None)
    terms = RuleTerms() if is_blind else rule.terms
    until, problems = _find_until(asked_body, terms, now)
    lacking = _find_lacking(asked_body, terms)
    if not is_preview:
        problems += lacking
    if problems:
        raise RequestInvalid(problems)
    if not is_blind:
        if not terms.is_requestable:
            raise RequestRefused("request.not_requestable", f"{rule.name} lets nobody ask for this.")
        _refuse_unneeded(asked_body.items, actor, until, by=by)
    _refuse_duplicate(actor.urn, asked_body.items)
    ways = (
        tuple(() for _ in asked_body.items)
        if is_blind
        else tuple(tuple(chosen_ways.list_ways(item, actor=actor.urn, until=until, by=by)) for item in asked_body.items)
    )
    _check_ways(asked_body, ways)
    steps = plan_steps(rule, facts)
    if is_blind and not rule.terms.is_requestable:
        steps = [_plan_denial(facts)]
    return RequestPlan(
        asked_body,
        actor,
        by,
        rule,
        until,
        tuple(steps),
        ways,
        facts,
        is_blind,
        tuple(problem.code for problem in lacking),
        now,
    )


def _plan_denial(facts: DecidingFacts) -> PlannedStep:
    """Return the step of a blind request for which nobody may ask: it runs out, as one that nobody answers does."""
    step = plan_managers(facts, range(len(facts.items)))
    return PlannedStep(step.name, step.approvers, step.positions, within=_BLIND_DENIAL, then=EXPIRE)


def _load_actor(asked_body: AskedBody, *, by: Actor) -> Actor:
    if asked_body.actor is None or asked_body.actor == by.urn:
        return by
    if not User.objects.filter(urn=asked_body.actor, is_removed=False).exists():
        raise RequestInvalid([Problem("actor.unknown", "/actor", f"There is no user {asked_body.actor}.")])
    actor = actor_resolution.load_actor(urn=asked_body.actor)
    if not actor.is_active:
        raise RequestConflict("request.actor_suspended", f"{asked_body.actor} is suspended: nobody can ask for them.")
    return actor


def _refuse_strangers(facts: DecidingFacts, *, actor: Actor, by: Actor) -> None:
    """Raise RequestRefused unless `by` may ask for this actor."""
    if (
        actor.urn == by.urn
        or authorizer.answer(actor=by, request=Question(any_of_requirement([[approvers.MANAGE_POLICIES]]))).is_allowed
    ):
        return
    if all(item.item.owned and _is_owner(by, item.owners) for item in facts.items):
        return
    led = [actor.urn, *sorted(actor.groups)]
    resources = facet_source().load(urns=led, fields={OWNER})
    is_service = User.objects.filter(urn=actor.urn, kind=User.Kind.SERVICE).exists()
    if any(_is_owner(by, resources[urn].owners) for urn in led if urn != actor.urn or is_service):
        return
    detail = "You may ask for others only as an owner of everything asked about, as lead of their group, or as a "
    raise RequestRefused("request.for_others", f"{detail}holder of MANAGE_POLICIES.")


def _is_owner(person: Actor, owners: Any) -> bool:
    return any(owner.actor in person.holders for owner in owners)


def _refuse_unknown(items: Sequence[RequestedItem]) -> None:
    """Raise RequestInvalid for roles and policies that are not stored."""
    problems = []
    for index, item in enumerate(items):
        if item.kind in _STORED:
            model, noun = _STORED[item.kind]
            if not model._default_manager.filter(Q(("urn", item.target))).exists():
                detail = f"There is no {noun} {item.target}."
                problems.append(Problem(f"{noun}.unknown", f"/items/{index}/{item.kind}", detail))
    if problems:
        raise RequestInvalid(problems)


def find_blind(items: Sequence[RequestedItem]) -> frozenset[str]:
    """Return the URNs that the viewer may not view, and those that do not exist, which look alike."""
    urns = [item.owned for item in items if item.owned and item.kind not in _STORED]
    if not urns:
        return frozenset()
    hidden = authorizer.directory().find_hidden_urns(urns=urns)
    names = authorizer.load_names(urns=urns)
    return hidden | {urn for urn in urns if urn not in names and urn not in facet_source().load_types(urns=[urn])}


def _find_until(asked_body: AskedBody, terms: RuleTerms, now: datetime) -> tuple[datetime | None, list[Problem]]:
    """Return the end of what is asked for, None for good, and the problems with it."""
    if not asked_body.has_until:
        return now + terms.longest, []
    if asked_body.until is None:
        detail = "This cannot be had for good: give an end."
        return None, [] if terms.allows_permanent else [Problem("until.missing", "/until", detail)]
    if asked_body.until <= now:
        return asked_body.until, [Problem("until.past", "/until", "This end has passed.")]
    if asked_body.until > now + terms.longest:
        latest = (now + terms.longest).isoformat(timespec="seconds").replace("+00:00", "Z")
        return asked_body.until, [Problem("until.too_long", "/until", f"The latest end is {latest}.")]
    return asked_body.until, []


def _find_lacking(asked_body: AskedBody, terms: RuleTerms) -> list[Problem]:
    """Return what the form lacks: a reason, a ticket, conditions that nobody confirmed."""
    lacking = []
    if not asked_body.reason:
        lacking.append(Problem("reason.missing", "/reason", "Say why: those who decide read it."))
    if terms.ticket == "required" and not asked_body.ticket:
        lacking.append(Problem("ticket.missing", "/ticket", "This needs the address of a ticket."))
    lacking += [
        Problem("condition.missing", "/confirmed", f"Confirm {name!r}: {text}")
        for name, text in terms.conditions.items()
        if name not in asked_body.confirmed
    ]
    return lacking


def _refuse_unneeded(items: Sequence[RequestedItem], actor: Actor, until: datetime | None, *, by: Actor) -> None:
    """Raise RequestConflict for an item that the actor has already until the asked end."""
    for item in items:
        through = held_items.find_through(item, actor, until)
        if through is not None:
            name = authorizer.load_names(urns=[actor.urn]).get(actor.urn, actor.urn)
            subject = "You have" if actor.urn == by.urn else f"{name} has"
            end = "" if item.kind is ItemKind.EXTERNAL_ROLE else ", until the asked end"
            detail = f"{subject} this already{end}."
            raise RequestConflict("request.not_needed", detail, through=through)


def _refuse_duplicate(actor: str, items: Sequence[RequestedItem]) -> None:
    open_request = SubmittedRequest.objects.filter(
        items_key=build_items_key(actor, items), state__in=UNFINISHED_STATES, renews=None
    ).first()
    if open_request is not None:
        raise build_duplicate(open_request)


def build_duplicate(request: SubmittedRequest) -> RequestConflict:
    """Return the refusal of what is asked for already."""
    detail = "The same is asked for already, and not finished yet."
    return RequestConflict("request.duplicate", detail, urn=request.urn)


def _check_ways(asked_body: AskedBody, ways: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    if asked_body.ways and len(asked_body.ways) != len(asked_body.items):
        detail = "Name one way for each item."
        raise RequestInvalid([Problem("way.unknown", "/way", detail)])
    for name, item_ways in zip(asked_body.ways, ways, strict=False):
        chosen_ways.find_way(item_ways, name)
