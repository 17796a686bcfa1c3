"""The policies that deny what is asked for, for readers who may know of policies (contract-requests.md section 3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policies.engine.model import Actor, DecisionCode
from policies.engine.requirements import any_of_requirement
from policies.models import SubmittedRequest
from policies.models.request import RequestState
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.items import ItemKind, RequestedItem, load_item
from policies.writes.preview_disclosure import PreviewDisclosure


class AskedBy(NamedTuple):
    """An item, and the URN of the user who would get it."""

    actor: str
    item: RequestedItem


def list_denying(items: Sequence[AskedBy], *, by: Actor) -> list[list[str]]:
    """Return the URNs of the policies that deny each item now, as far as this reader may know; constant queries."""
    numbers = [number for number, (_, item) in enumerate(items) if item.kind in (ItemKind.PRIVILEGE, ItemKind.ANY_OF)]
    denying: list[list[str]] = [[] for _ in items]
    if not numbers or not PreviewDisclosure.load(by).tells_policies:
        return denying
    actors = actor_resolution.load_actors(urns={items[number].actor for number in numbers})
    questions = [(actors[items[number].actor], _build_question(items[number].item)) for number in numbers]
    decisions = authorizer.decide_staged(requests=questions, snapshot=snapshot_store.get_current())
    for number, decision in zip(numbers, decisions, strict=True):
        if decision.code is DecisionCode.EXPLICIT_DENY:
            denying[number] = sorted({statement.origin.policy for statement in decision.statements})
    return denying


def list_denying_open(
    requests: Iterable[SubmittedRequest], *, reader: Actor
) -> Mapping[tuple[str, int], Sequence[str]]:
    """Return, by request and position, the policies that deny items that are not decided; constant queries.

    Nothing is said of blind requests, whose items their readers may not view.
    """
    rows = [
        (request, item)
        for request in requests
        if not request.is_blind
        for item in request.items.all()
        if item.state == RequestState.OPEN
    ]
    items = [AskedBy(request.actor, load_item(item.document)) for request, item in rows]
    keys = [(request.urn, item.position) for request, item in rows]
    return dict(zip(keys, list_denying(items, by=reader), strict=True))


def _build_question(item: RequestedItem) -> AccessRequest:
    return AccessRequest(any_of_requirement(item.alternatives), ResourceRef(item.entity) if item.entity else None)
