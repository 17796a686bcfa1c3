"""Items that an actor has already, and through what: they are neither asked for nor granted again."""

from dataclasses import replace
from datetime import datetime

from policies.engine.model import Actor, DecisionCode, Statement
from policies.engine.requirements import any_of_requirement
from policies.engine.snapshot import Snapshot
from policies.engine.way_ends import find_end, find_last_end
from policies.models import RequestItem
from policies.models.request import RequestState
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest as Question
from policies.pdp.access_requests import ResourceRef
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.request_sources import WAREHOUSE, load_source

#: Most policies that end which are left out, to see what an actor has later.
_MAX_ENDING = 200


def find_through(item: RequestedItem, actor: Actor, until: datetime | None) -> list[str] | None:
    """Return the URNs through which an actor has an item until this end; None if it has not, or not that long."""
    match item.kind:
        case ItemKind.ROLE | ItemKind.GROUP:
            is_held = item.target in actor.roles | actor.groups
            return [item.target] if is_held and _lasts(dict(actor.ends).get(item.target), until) else None
        case ItemKind.POLICY:
            statements = snapshot_store.get_current().list_statements_of({item.target})
            is_reached = any(_reaches(one, actor) and _lasts(find_end(one, actor, None), until) for one in statements)
            return [item.target] if is_reached else None
        case ItemKind.PRIVILEGE | ItemKind.ANY_OF:
            return _find_policies(item, actor, until)
        case ItemKind.EXTERNAL_ROLE:
            return _find_declared(item, actor)
        case _:
            return None


def _reaches(statement: Statement, actor: Actor) -> bool:
    clause = statement.actors
    return not clause.tokens.isdisjoint(actor.tokens) and clause.excluded_tokens.isdisjoint(actor.tokens)


def _lasts(end: datetime | None, until: datetime | None) -> bool:
    return end is None or (until is not None and end >= until)


def _find_policies(item: RequestedItem, actor: Actor, until: datetime | None) -> list[str] | None:
    resource = ResourceRef(item.entity) if item.entity else None
    decision = authorizer.answer(actor=actor, request=Question(any_of_requirement(item.alternatives), resource))
    if not decision.is_allowed or not _lasts(find_last_end(decision), until):
        return None
    return list(dict.fromkeys(statement.origin.policy for statement in decision.statements))


def find_lasting(actor: Actor, request: Question, until: datetime | None) -> tuple[Actor, Snapshot] | None:
    """Return the actor and the policies as they are when everything has ended that ends before this time.

    Only what answers the question is looked at. None where the answer is no now, or still yes then.
    """
    snapshot = snapshot_store.get_current()
    (decision,) = authorizer.decide_staged(requests=[(actor, request)], snapshot=snapshot)
    early_urns = {urn for urn, end in actor.ends if not _lasts(end, until)}
    lasting = replace(actor, groups=actor.groups - early_urns, roles=actor.roles - early_urns, ends=())
    ended_urns = set[str]()
    while decision.code is DecisionCode.ALLOWED and len(ended_urns) <= _MAX_ENDING:
        (decision,) = authorizer.decide_staged(requests=[(lasting, request)], snapshot=snapshot)
        if not decision.is_allowed:
            return lasting, snapshot
        ending_urns = {one.origin.policy for one in decision.statements if not _lasts(one.ends, until)} - ended_urns
        if not ending_urns:
            return None
        ended_urns |= ending_urns
        snapshot = snapshot.replace(snapshot.version, dict.fromkeys(ending_urns, ()))
    return None


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
