"""The plan of a request: rule, end, steps and ways, worked out before anything is stored (contract-requests.md 2)."""

from collections.abc import Collection, Mapping, Sequence
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
from policies.pdp.access_requests import ResourceRef
from policies.pdp.ports import facet_source
from policies.requests import approvers, chosen_ways
from policies.requests.approvers import DecidingFacts
from policies.requests.asked import AskedBody
from policies.requests.errors import RequestConflict, RequestInvalid, RequestRefused
from policies.requests.held_items import find_through
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.rules.choice import ChosenRule, choose_rule
from policies.requests.rules.terms import DENY, RuleTerms
from policies.requests.steps import PlannedStep, plan_managers, plan_steps
from policies.writes.preview_disclosure import PreviewDisclosure

#: What an item needs of the house to be there; an entity or group that is not there is asked for blindly.
_STORED = {ItemKind.ROLE: (Role, "role"), ItemKind.POLICY: (Policy, "policy")}

#: The time after which a blind request is denied whose rule lets nobody ask.
_BLIND_DENIAL = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """Everything about a request but its row: `ways` are those of each item, the best first.

    `missing` names what the form still lacks. A blind one tells its asker neither rule nor ways nor approvers; `latest`
    is the end that its rule allows at most, which nobody told the asker.
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
    latest: datetime | None = None
    missing: tuple[str, ...] = ()
    now: datetime = field(default_factory=database_clock.get_now)

    @property
    def items_key(self) -> str:
        """The digest of actor and items, in any order."""
        return build_items_key(self.actor.urn, self.asked_body.items)


def build_items_key(actor: str, items: Sequence[RequestedItem]) -> str:
    """Return the digest of an actor and of items, whatever their order."""
    return sha256(json_text([actor, sorted(json_text(item.canonical) for item in items)]).encode()).hexdigest()


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
    actor = by if asked_body.actor in (None, by.urn) else actor_resolution.load_actor(urn=str(asked_body.actor))
    blind_urns = find_blind(asked_body.items) | _find_concealed(asked_body.items, by=by)
    _refuse_unknown(asked_body.items, blind_urns)
    asked_body = replace(asked_body, items=_choose_lists(asked_body.items, actor, blind_urns))
    _refuse_repeated(asked_body.items)
    facts = approvers.load_facts(items=asked_body.items, actor=actor.urn, by=by.urn)
    if is_after_denial:
        facts = replace(facts, owner_asker=None)
    else:
        _refuse_strangers(facts, actor=actor, by=by)
    _refuse_inactive(actor)
    is_blind = bool(blind_urns)
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
        now + rule.terms.longest if is_blind else None,
        tuple(problem.code for problem in lacking),
        now,
    )


def _plan_denial(facts: DecidingFacts) -> PlannedStep:
    """Return the step of a blind request for which nobody may ask: it is denied when it is due."""
    step = plan_managers(facts, range(len(facts.items)))
    return PlannedStep(step.name, step.approvers, step.positions, within=_BLIND_DENIAL, then=DENY)


def _refuse_inactive(actor: Actor) -> None:
    """Raise for an actor who does not exist, or is suspended: only who may ask for it is told."""
    if not User.objects.filter(urn=actor.urn, is_removed=False).exists():
        raise RequestInvalid([Problem("actor.unknown", "/actor", f"There is no user {actor.urn}.")])
    if not actor.is_active:
        raise RequestConflict("request.actor_suspended", f"{actor.urn} is suspended: nobody can ask for them.")


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


def _refuse_unknown(items: Sequence[RequestedItem], blind_urns: Collection[str]) -> None:
    """Raise RequestInvalid for roles and policies that are not stored, but for those that are asked for blindly."""
    problems = []
    for index, item in enumerate(items):
        if item.kind in _STORED and item.target not in blind_urns:
            model, noun = _STORED[item.kind]
            if not model._default_manager.filter(Q(("urn", item.target))).exists():
                detail = f"There is no {noun} {item.target}."
                problems.append(Problem(f"{noun}.unknown", f"/items/{index}/{item.kind}", detail))
    if problems:
        raise RequestInvalid(problems)


def _refuse_repeated(items: Sequence[RequestedItem]) -> None:
    """Raise RequestInvalid for an item that is listed twice, however it is written: it would be given twice."""
    known_items: list[Mapping[str, Any]] = []
    problems = []
    for index, item in enumerate(items):
        if item.canonical in known_items:
            problems.append(
                Problem("item.repeated", f"/items/{index}", "This is asked for already, by an item before.")
            )
        known_items.append(item.canonical)
    if problems:
        raise RequestInvalid(problems)


def _choose_lists(
    items: Sequence[RequestedItem], actor: Actor, blind_urns: Collection[str]
) -> tuple[RequestedItem, ...]:
    """Return the items with the shortest of their lists that suffices: that one is asked for, and decided."""
    return tuple(
        item if len(item.alternatives) < 2 else item.choose_list(_find_shortest(item, actor, blind_urns))
        for item in items
    )


def _find_shortest(item: RequestedItem, actor: Actor, blind_urns: Collection[str]) -> tuple[str, ...]:
    """Return the list of which the actor lacks least; of a blind item the one with the fewest names."""
    alternatives = sorted(item.alternatives, key=len)
    if item.entity in blind_urns:
        return alternatives[0]
    question = Question(any_of_requirement(item.alternatives), ResourceRef(item.entity) if item.entity else None)
    lacking = {missing.privilege for missing in authorizer.answer(actor=actor, request=question).missing}
    return next((names for names in alternatives if lacking <= set(names)), alternatives[0])


def find_blind(items: Sequence[RequestedItem]) -> frozenset[str]:
    """Return the URNs that the viewer may not view, and those that do not exist, which look alike."""
    urns = [item.owned for item in items if item.owned and item.kind not in _STORED]
    if not urns:
        return frozenset()
    hidden = authorizer.directory().find_hidden_urns(urns=urns)
    known_urns = authorizer.load_names(urns=urns).keys() | facet_source().load_types(urns=urns).keys()
    return hidden | (set(urns) - known_urns)


def _find_concealed(items: Sequence[RequestedItem], *, by: Actor) -> frozenset[str]:
    """Return the policies among the items, for somebody who is not told of policies: each is asked for blindly."""
    policies = frozenset(item.target for item in items if item.kind is ItemKind.POLICY)
    return policies if policies and not PreviewDisclosure.load(by).tells_policies else frozenset()


def _find_until(asked_body: AskedBody, terms: RuleTerms, now: datetime) -> tuple[datetime | None, list[Problem]]:
    """Return the end of what is asked for, None for good, and the problems with it."""
    if not asked_body.has_until:
        return now + terms.longest, []
    if asked_body.until is None:
        return None, []
    if asked_body.until <= now:
        return asked_body.until, [Problem("until.past", "/until", "This end has passed.")]
    if asked_body.until > now + terms.longest:
        latest = (now + terms.longest).isoformat(timespec="seconds").replace("+00:00", "Z")
        return asked_body.until, [Problem("until.too_long", "/until", f"The latest end is {latest}.")]
    return asked_body.until, []


def _find_lacking(asked_body: AskedBody, terms: RuleTerms) -> list[Problem]:
    """Return what the form lacks: an end, a reason, a ticket, conditions that nobody confirmed."""
    lacking = []
    if asked_body.has_until and asked_body.until is None and not terms.allows_permanent:
        lacking.append(Problem("until.missing", "/until", "This cannot be had for good: give an end."))
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
        through = find_through(item, actor, until)
        if through is not None:
            name = authorizer.load_names(urns=[actor.urn]).get(actor.urn, actor.urn)
            subject = "You have" if actor.urn == by.urn else f"{name} has"
            end = "" if item.kind is ItemKind.EXTERNAL_ROLE else ", until the asked end"
            detail = f"{subject} this already{end}."
            raise RequestConflict("request.not_needed", detail, through=through)


def _refuse_duplicate(actor: str, items: Sequence[RequestedItem]) -> None:
    open_request = SubmittedRequest.objects.filter(
        items_key=build_items_key(actor, items), state__in=UNFINISHED_STATES
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
