"""Asker and actor withdraw their own requests, comment on them, and ask for more time."""

import uuid
from datetime import datetime

from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import ApprovalRule, Gate, RequestItem, RequestStep, SubmittedRequest, open_write
from policies.models.request import REQUEST_PREFIX, RequestState
from policies.pdp import database_clock
from policies.requests import chosen_ways
from policies.requests.approvers import load_facts
from policies.requests.errors import RequestConflict, RequestInvalid, RequestRefused
from policies.requests.items import load_item
from policies.requests.queries import requests
from policies.requests.rules.choice import ChosenRule, choose_rule, load_terms
from policies.requests.services import granting, trail
from policies.requests.services.trail import What
from policies.requests.services.waiting import begin_step, store_steps
from policies.requests.steps import plan_steps

_WITHDRAWABLE = (RequestState.OPEN, RequestState.WAITING_FOR_SOURCE)
_RENEWABLE = (RequestState.DONE, RequestState.PARTIAL)


def withdraw(*, urn: str, by: Actor, channel: str, note: str = "", if_version: int | None = None) -> SubmittedRequest:
    """Withdraw what is not decided yet, and what its source has not shown yet.

    Raises NotFound, and RequestRefused for others than asker and actor.
    """
    ways = RequestItem.objects.filter(request__urn=urn, state__in=_WITHDRAWABLE).values_list("way", flat=True)
    with open_write(*granting.find_gates(ways)):
        request = _get_own(urn, by, if_version)
        items = list(RequestItem.objects.filter(request=request, state__in=_WITHDRAWABLE))
        if not items:
            raise RequestConflict("request.state", f"This request is {request.state}.", state=request.state)
        for item in items:
            # What a source was asked for is declared here already.
            if problem := granting.take_back(item, channel=channel):
                raise RequestConflict("request.not_taken_back", problem)
            item.state = RequestState.WITHDRAWN
            item.save(update_fields=["state"])
        unfinished = [RequestStep.State.WAITING, RequestStep.State.LATER]
        RequestStep.objects.filter(request=request, state__in=unfinished).update(state=RequestStep.State.SKIPPED)
        request.due_at = None
        trail.add(request, What.WITHDRAWN, by=by.urn, note=note)
        trail.settle(request)
    return requests.get_request(urn=urn, by=by)


def comment(*, urn: str, by: Actor, text: str) -> SubmittedRequest:
    """Add a comment of somebody who may read the request. Raises NotFound."""
    with open_write(Gate.PEOPLE):
        request = requests.get_request(urn=urn, by=by)
        trail.add(request, What.COMMENT, by=by.urn, note=text)
    return requests.get_request(urn=urn, by=by)


def renew(*, urn: str, by: Actor, until: datetime | None, reason: str) -> SubmittedRequest:
    """Ask for a later end of what a request gave, under the same rule; approved, that end moves.

    Raises NotFound, RequestRefused for others than asker and actor, RequestConflict for what is not given now or is
    being renewed already, and RequestInvalid with every problem.
    """
    now = database_clock.get_now()
    with open_write(Gate.PEOPLE):
        renewed = _get_own(urn, by, None)
        granted_items = list(RequestItem.objects.filter(request=renewed, state=RequestState.DONE))
        if not granted_items or renewed.state not in _RENEWABLE:
            raise RequestConflict("request.state", f"This request is {renewed.state}.", state=renewed.state)
        if renewed.renewals.filter(state=RequestState.OPEN).exists():
            raise RequestConflict("request.duplicate", "More time is asked for already.", urn=renewed.urn)
        items = [load_item(item.document) for item in granted_items]
        rule = _find_rule(renewed, items, is_permanent=until is None)
        _check_end(until, reason, rule, now)
        facts = load_facts(items=items, actor=renewed.actor, by=by.urn)
        request = SubmittedRequest.objects.create(
            urn=f"{REQUEST_PREFIX}{uuid.uuid4()}",
            actor=renewed.actor,
            by=by.urn,
            reason=reason,
            until=until,
            rule=rule.urn,
            items_key=renewed.items_key,
            renews=renewed,
            created_at=now,
            updated_at=now,
        )
        RequestItem.objects.bulk_create(
            RequestItem(
                request=request,
                position=position,
                document=item.document,
                entity=item.entity,
                way=chosen_ways.build_renewal(item.way or {}, item.granted or {}),
            )
            for position, item in enumerate(granted_items)
        )
        first, *_ = store_steps(request, plan_steps(rule, facts))
        begin_step(request, first, now=now)
        request.save(update_fields=["due_at"])
        trail.add(request, What.ASKED, by=by.urn, note=f"More time for {renewed.urn}.")
    return requests.get_request(urn=request.urn, by=by)


def _find_rule(renewed: SubmittedRequest, items: list, *, is_permanent: bool) -> ChosenRule:  # type: ignore[type-arg]
    """Return the rule of the renewed request; the one that fits today where that was deleted."""
    rule = ApprovalRule.objects.filter(urn=renewed.rule).first() if renewed.rule else None
    if rule is not None:
        return ChosenRule(rule.urn, rule.name, load_terms(rule))
    return choose_rule(items, is_permanent=is_permanent)


def _check_end(until: datetime | None, reason: str, rule: ChosenRule, now: datetime) -> None:
    problems = [] if reason else [Problem("reason.missing", "/reason", "Say why: those who decide read it.")]
    if until is None and not rule.terms.allows_permanent:
        problems.append(Problem("until.missing", "/until", "This cannot be had for good: give an end."))
    if until is not None and until <= now:
        problems.append(Problem("until.past", "/until", "This end has passed."))
    if until is not None and until > now + rule.terms.longest:
        problems.append(Problem("until.too_long", "/until", "This end is later than the rule allows."))
    if problems:
        raise RequestInvalid(problems)


def _get_own(urn: str, by: Actor, if_version: int | None) -> SubmittedRequest:
    request = requests.get_request(urn=urn, by=by)
    if by.urn not in (request.actor, request.by):
        raise RequestRefused("request.not_yours", "Only those who asked for it, or get it, do this.")
    if if_version is not None and request.version != if_version:
        raise Stale(f"The request is at version {request.version} now, not {if_version}.")
    return request
