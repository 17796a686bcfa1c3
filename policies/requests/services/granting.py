"""Writing approved items, in the transaction of the approval: by the system, with the request as its reason.

The way is worked out again first. Its gains may have changed since somebody looked at it: then nothing is
written, the request stays open under a new version, and the next approval writes (contract-requests.md section 4).
"""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction

from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Forbidden, PolicyAppError
from policies.models import Gate, RequestItem, SubmittedRequest
from policies.models.request import RequestState
from policies.models.writes import announce_boundaries, get_open_write
from policies.pdp import authorizer
from policies.requests import chosen_ways, written_ways
from policies.requests.approvers import MANAGE_POLICIES, ItemFacts, is_asking_owner
from policies.requests.errors import RequestConflict, RequestRefused
from policies.requests.items import load_item
from policies.requests.plan import RequestPlan
from policies.requests.request_sources import IDENTITY, WAREHOUSE, load_source
from policies.requests.rules.terms import Approvers
from policies.requests.services import trail
from policies.requests.services.trail import What
from policies.writes import delegation, guardrail_check, required_privileges

log = logging.getLogger(__name__)

#: What the trail says of asking a source that has no address for that.
SOURCE_NOTES = {IDENTITY: "Asked of the identity source.", WAREHOUSE: "Asked of the warehouse."}


def find_gates(ways: Iterable[chosen_ways.WayJson | None]) -> tuple[Gate, ...]:
    """Return the gates that writing these ways passes: that of the catalog only where an owner is added."""
    return (Gate.CATALOG, Gate.PEOPLE) if any(map(needs_catalog, ways)) else (Gate.PEOPLE,)


def needs_catalog(way: chosen_ways.WayJson | None) -> bool:
    """Return whether writing a way changes documents of the catalog."""
    return way is not None and way["kind"] in chosen_ways.CATALOG_KINDS


def refuse_beyond(item: RequestItem, facts: ItemFacts, *, by: Actor) -> None:
    """Raise RequestRefused for a way that an approver without MANAGE_POLICIES may not choose.

    Its gains have to lie on what the approver decides for, and bounded delegation holds: nobody gives a privilege of
    the platform without holding it.
    """
    way = item.way
    if way is None:
        raise RequestConflict("request.no_way", "No change that the house knows gives this item.")
    withheld = delegation.find_withheld_privileges(by=by) & facts.platform_privileges
    if withheld:
        missing = tuple(MissingPrivilege(None, name) for name in sorted(withheld))
        raise Forbidden(missing, "Nobody gives others a platform privilege without holding it.")
    if required_privileges.is_met(required_privileges.MANAGE_POLICIES, by=by):
        return
    if not chosen_ways.gives_only(way, facts.item):
        detail = f"This way gives more than what you decide for. A holder of {MANAGE_POLICIES} can choose it."
        raise RequestRefused("way.too_wide", detail)


def is_given_by(asker: Actor, item: RequestItem, facts: ItemFacts, approvers_of_step: Approvers) -> bool:
    """Return whether an asker for somebody else agrees to an item as the owner whom a step means, by asking.

    Not where the way gives more than the item, which may be something for the owner, and no privilege of the platform
    without MANAGE_POLICIES.
    """
    way = item.way
    if way is None or not chosen_ways.gives_only(way, facts.item):
        return False
    if not is_asking_owner(asker, approvers_of_step, facts):
        return False
    gives_platform = bool(facts.platform_privileges or way["gains"]["platform"])
    return not gives_platform or required_privileges.is_met(required_privileges.MANAGE_POLICIES, by=asker)


def find_change(request: SubmittedRequest, items: Sequence[RequestItem]) -> RequestConflict | None:
    """Work the ways of items out again; store what changed, and return the refusal of an approval that saw less.

    None where each still gives what it gave.
    """
    changed: list[int] = []
    for item in items:
        way = dict(item.way or {})
        renewed = chosen_ways.measure_again(way, load_item(item.document), actor=request.actor, until=find_end(item))
        if chosen_ways.build_cost(renewed) != chosen_ways.build_cost(way):
            item.way = renewed
            item.save(update_fields=["way"])
            changed.append(item.position)
    if not changed:
        return None
    trail.add(request, What.CHANGED, by=authorizer.SYSTEM.urn, note="The gains of the chosen way have changed.")
    trail.settle(request)
    detail = "The gains of the chosen way have changed since it was worked out. Look at it, and approve again."
    return RequestConflict("request.changed", detail, items=changed, version=request.version)


def find_end(item: RequestItem) -> datetime | None:
    """Return the end of what an item gives: a shorter one of an approver, else that of the request; None for good."""
    end: datetime | None = item.ends_at or item.request.until
    return end


def grant(request: SubmittedRequest, items: Sequence[RequestItem], *, by: Actor, channel: str) -> None:
    """Write the ways of items that every step agreed to. Raises GuardrailBroken, Conflict and Forbidden.

    An item that a source owns is asked of it, and waits until the source shows it.
    """
    trail.add(request, What.APPROVED, by=by.urn)
    _write(request, items, judged_for=by, channel=channel)


def grant_automatically(request: SubmittedRequest, plan: RequestPlan, *, channel: str) -> None:
    """Write all items of a request that its rule approves by itself. Raises GuardrailBroken, Conflict and Forbidden."""
    items = list(RequestItem.objects.filter(request=request))
    trail.add(request, What.AUTO, by=authorizer.SYSTEM.urn, note=plan.rule.name)
    request.steps.update(state="skipped")
    request.due_at = None
    _write(request, items, judged_for=plan.by, channel=channel)
    trail.settle(request)


def _write(request: SubmittedRequest, items: Sequence[RequestItem], *, judged_for: Actor, channel: str) -> None:
    # The system writes, for whom guardrails do not count: they are judged as for the person behind it.
    guardrail_check.join_check(get_open_write(), by=judged_for)
    ends: list[datetime] = []
    for item in items:
        way = item.way
        if way is None:
            raise RequestConflict("request.no_way", "No change that the house knows gives this item.")
        item.ends_at = find_end(item)
        if way.get("source") != IDENTITY:
            item.granted = written_ways.write(way, request=request.urn, until=item.ends_at, channel=channel)
        if way.get("source") and not way.get("is_renewal"):
            item.state = RequestState.WAITING_FOR_SOURCE
            trail.add(request, What.SOURCE, by=authorizer.SYSTEM.urn, note=_describe_source(item))
        else:
            item.state = RequestState.DONE
        if item.ends_at is not None:
            ends.append(item.ends_at)
        item.save(update_fields=["state", "granted", "ends_at"])
        _move_renewed_end(request.renews, item)
    announce_boundaries(ends)
    if all(item.state == RequestState.DONE for item in items):
        trail.add(request, What.DONE, by=authorizer.SYSTEM.urn)


def _describe_source(item: RequestItem) -> str:
    """Return the address at which the source is asked, or a sentence that names it."""
    source = (item.way or {})["source"]
    address = "" if source == IDENTITY else load_source(source).find_address(target=item.entity)
    return address or SOURCE_NOTES[source]


def _move_renewed_end(renewed: SubmittedRequest | None, item: RequestItem) -> None:
    """Move the end of what a renewed request, and those that it renews itself, gave by the same item.

    They take it back where it has no end of its own.
    """
    while renewed is not None:
        for renewed_item in RequestItem.objects.filter(request=renewed, state=RequestState.DONE):
            if renewed_item.document == item.document:
                renewed_item.ends_at = item.ends_at
                renewed_item.save(update_fields=["ends_at"])
        renewed = renewed.renews


def take_back(item: RequestItem, *, channel: str) -> str:
    """Take back what an item gave and what does not end by itself.

    Returns why that could not be done, '' if it was: an end that fails would hold up every other one.
    """
    request = item.request
    try:
        with transaction.atomic():
            written_ways.take_back(item.granted or {}, actor=request.actor, request=request.urn, channel=channel)
    except PolicyAppError as refusal:
        log.error("request_not_taken_back", extra={"request": request.urn, "item": item.position}, exc_info=refusal)
        return f"It could not be taken back: {refusal.detail}"
    return ""
