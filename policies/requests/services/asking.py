"""Asking: a request is stored with its steps, and decided at once where a rule says so."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Q

from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden
from policies.models import RequestItem, SubmittedRequest, open_write
from policies.models.request import REQUEST_PREFIX, UNFINISHED_STATES
from policies.pdp import authorizer
from policies.pdp.ports import facet_source
from policies.requests import chosen_ways
from policies.requests.asked import AskedBody
from policies.requests.errors import RequestConflict
from policies.requests.items import list_entities
from policies.requests.plan import RequestPlan, build_duplicate, make_plan
from policies.requests.rules.choice import is_for_item
from policies.requests.services import deciding, granting, trail
from policies.requests.services.trail import What
from policies.requests.services.waiting import begin_step, store_steps

#: Most requests that one person has asked for and nobody has finished.
MAX_UNFINISHED = 100
#: Most of them that one account has handed on after denials of many people.
MAX_HANDED_ON = 10_000


@dataclass(frozen=True, slots=True)
class GivenDenial:
    """The denial of everything that is asked for, as the asker was told of it.

    `note` is the note of the trail about it. `keep` stores what belongs to the request, in its transaction.
    """

    note: str
    keep: Callable[[SubmittedRequest], None]


def ask(*, asked_body: AskedBody, by: Actor, channel: str, denial: GivenDenial | None = None) -> SubmittedRequest:
    """Store a request, and write at once what a rule approves by itself.

    With a `denial` the asker may ask for whomever it is about, and is no approver by asking. Raises what `make_plan`
    raises, and RequestConflict for somebody with too many unfinished requests.
    """
    plan = make_plan(asked_body, by=by, is_after_denial=denial is not None)
    with open_write(*granting.find_gates(_choose_ways(plan))):
        _refuse_too_many(plan, is_after_denial=denial is not None)
        request = _store(plan)
        trail.add(request, What.ASKED, by=by.urn, note="" if denial is None else denial.note)
        if denial is not None:
            denial.keep(request)
        if _is_automatic(plan):
            try:
                with transaction.atomic():
                    granting.grant_automatically(request, plan, channel=channel)
            except (Conflict, Forbidden) as error:
                trail.add(request, What.COMMENT, by=authorizer.SYSTEM.urn, note=f"Not approved by itself: {error}")
                request.refresh_from_db()
        if denial is None:
            deciding.agree_as_owner(request, plan, channel=channel)
    return request


def _refuse_too_many(plan: RequestPlan, *, is_after_denial: bool) -> None:
    """Raise RequestConflict for somebody with too many unfinished requests.

    An account that hands denials on does so for many people: each of them has the bound of a person.
    """
    unfinished = SubmittedRequest.objects.filter(state__in=UNFINISHED_STATES)
    bounds = [({"actor": plan.actor.urn}, MAX_UNFINISHED), ({"by": plan.by.urn}, MAX_HANDED_ON)]
    for people, limit in bounds if is_after_denial else [({"by": plan.by.urn}, MAX_UNFINISHED)]:
        if unfinished.filter(**people).count() >= limit:
            whose = "You have" if people.get("by") == plan.by.urn else f"{plan.actor.urn} has"
            detail = f"{whose} {limit} requests that are not finished: withdraw some, or wait."
            raise RequestConflict("request.too_many", detail)


def _store(plan: RequestPlan) -> SubmittedRequest:
    """Store the rows of a request; raises RequestConflict if somebody stored the same meanwhile."""
    asked_body = plan.asked_body
    request = SubmittedRequest(
        urn=f"{REQUEST_PREFIX}{uuid.uuid4()}",
        actor=plan.actor.urn,
        by=plan.by.urn,
        reason=asked_body.reason,
        ticket=asked_body.ticket,
        confirmed=sorted(asked_body.confirmed),
        until=plan.until,
        rule=plan.rule.urn,
        is_blind=plan.is_blind,
        items_key=plan.items_key,
        created_at=plan.now,
        updated_at=plan.now,
    )
    try:
        with transaction.atomic():
            request.save()
    except IntegrityError:
        other = SubmittedRequest.objects.filter(Q(items_key=plan.items_key), state__in=UNFINISHED_STATES).first()
        if other is None:
            raise
        raise build_duplicate(other) from None
    ways = _choose_ways(plan)
    RequestItem.objects.bulk_create(
        RequestItem(
            request=request,
            position=position,
            document=dict(item.document),
            entity=item.owned,
            way=None if ways[position] is None else dict(ways[position] or {}),
        )
        for position, item in enumerate(asked_body.items)
    )
    first, *_ = store_steps(request, plan.steps)
    begin_step(request, first, now=plan.now)
    request.save(update_fields=["due_at"])
    return request


def _choose_ways(plan: RequestPlan) -> list[chosen_ways.WayJson | None]:
    """Return the chosen way of each item: the named one, else the best that is not forbidden; None without any."""
    names = plan.asked_body.ways or ("",) * len(plan.ways)
    return [
        chosen_ways.find_way(ways, name) if name else chosen_ways.find_best(ways)
        for ways, name in zip(plan.ways, names, strict=True)
    ]


def _is_automatic(plan: RequestPlan) -> bool:
    """Return whether the rule approves by itself: it covers every item, and each way gives nothing but its item."""
    terms = plan.rule.terms
    if not terms.is_auto or plan.is_blind or not plan.rule.urn:
        return False
    is_permanent = plan.until is None
    if terms.auto_longest is not None and (plan.until is None or plan.until > plan.now + terms.auto_longest):
        return False
    resources = facet_source().load(urns=list_entities(plan.asked_body.items), fields=terms.scope.resources.fields)
    return all(
        is_for_item(terms.scope, item, resources, is_permanent=is_permanent)
        and way is not None
        and not facts.platform_privileges
        and chosen_ways.gives_only(way, item)
        for item, way, facts in zip(plan.asked_body.items, _choose_ways(plan), plan.facts.items, strict=True)
    )
