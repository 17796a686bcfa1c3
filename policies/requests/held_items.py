"""Whether somebody has an item of a request already, and through what."""

from datetime import datetime

from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.engine.way_ends import find_last_end
from policies.models import RequestItem
from policies.models.request import RequestState
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest as Question
from policies.pdp.access_requests import ResourceRef
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.request_sources import WAREHOUSE, load_source


def find_through(item: RequestedItem, actor: Actor, until: datetime | None) -> list[str] | None:
    """Return the URNs through which an actor has an item until this end; None if it has not."""
    if item.kind in (ItemKind.ROLE, ItemKind.GROUP):
        if item.target not in actor.roles | actor.groups:
            return None
        end = dict(actor.ends).get(item.target)
        return [item.target] if end is None or (until is not None and end >= until) else None
    if item.kind is ItemKind.POLICY:
        statements = snapshot_store.get_current().list_statements_of({item.target})
        is_named = any(not statement.actors.tokens.isdisjoint(actor.tokens) for statement in statements)
        return [item.target] if is_named else None
    if item.kind is ItemKind.EXTERNAL_ROLE:
        return _find_declared(item, actor)
    if item.kind not in (ItemKind.PRIVILEGE, ItemKind.ANY_OF):
        return None
    resource = ResourceRef(item.entity) if item.entity else None
    decision = authorizer.answer(actor=actor, request=Question(any_of_requirement(item.alternatives), resource))
    if not decision.is_allowed:
        return None
    end = find_last_end(decision)
    if end is not None and (until is None or end < until):
        return None
    return list(dict.fromkeys(statement.origin.policy for statement in decision.statements))


def _find_declared(item: RequestedItem, actor: Actor) -> list[str] | None:
    """Return the URNs of the actor and groups that are declared to hold an external role; None without any.

    A holder has no end there, so that more time is asked for by renewing the request. One that waits for the next
    export holds nothing yet.
    """
    declared_urns = load_source(WAREHOUSE).load_declared(targets=[item.target]).get(item.target, ())
    holders = sorted(actor.holders.intersection(declared_urns))
    waiting = RequestItem.objects.filter(
        request__actor=actor.urn, entity=item.target, state=RequestState.WAITING_FOR_SOURCE
    )
    return holders if holders and not waiting.exists() else None
