"""Requests as interfaces show them, to one reader: a blind request keeps rule, ways and approvers from its asker."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.engine.model import Actor
from policies.models import RequestStep, SubmittedRequest
from policies.models.request import RequestState
from policies.requests.denials import AskedBy, list_denying, list_denying_open
from policies.requests.plan import RequestPlan

RequestJson = dict[str, Any]


def present_requests(requests: Iterable[SubmittedRequest], *, reader: Actor) -> list[RequestJson]:
    """Return stored requests with their items, steps and trails, as `reader` may see them."""
    rows = list(requests)
    denying = list_denying_open(rows, reader=reader)
    return [_present_request(request, reader, denying) for request in rows]


def _present_request(
    request: SubmittedRequest, reader: Actor, denying: Mapping[tuple[str, int], Sequence[str]]
) -> RequestJson:
    is_hidden = _is_hidden(request, reader)
    return {
        "urn": request.urn,
        "state": request.state,
        "actor": request.actor,
        "by": request.by,
        "items": [
            {
                **item.document,
                "state": item.state,
                "ways": [] if is_hidden or item.way is None else [item.way],
                "denied_by": list(denying.get((request.urn, item.position), ())),
                "ends": None if is_hidden and item.state == RequestState.OPEN else _format(item.ends_at),
            }
            for item in request.items.all()
        ],
        "until": _format(request.until),
        "reason": request.reason,
        "ticket": request.ticket or None,
        "confirmed": request.confirmed,
        "rule": None if is_hidden else request.rule or None,
        "steps": present_steps(request, reader=reader),
        "trail": _present_trail(request, is_hidden=is_hidden),
        "created": _format(request.created_at),
        "version": request.version,
        "renews": None if request.renews is None else request.renews.urn,
    }


def present_steps(request: SubmittedRequest, *, reader: Actor) -> list[RequestJson]:
    """Return the steps of a stored request, as `reader` may see them."""
    return [] if _is_hidden(request, reader) else [_present_step(step) for step in request.steps.all()]


def _is_hidden(request: SubmittedRequest, reader: Actor) -> bool:
    """Return whether rule, ways and approvers are kept from the reader, who asked for it blindly or gets it."""
    return bool(request.is_blind) and reader.urn in (request.by, request.actor)


def present_plan(plan: RequestPlan) -> RequestJson:
    """Return what a request would be, with all its ways and what the form still lacks; nothing of it is stored."""
    items = plan.asked_body.items
    asked_items = [AskedBy(plan.actor.urn, item) for item in items]
    denying = [[] for _ in items] if plan.is_blind else list_denying(asked_items, by=plan.by)
    return {
        "urn": None,
        "state": RequestState.OPEN.value,
        "actor": plan.actor.urn,
        "by": plan.by.urn,
        "items": [
            {**item.document, "state": RequestState.OPEN.value, "ways": list(ways), "denied_by": denied_by}
            for item, ways, denied_by in zip(items, plan.ways, denying, strict=True)
        ],
        "until": _format(plan.until),
        "reason": plan.asked_body.reason,
        "ticket": plan.asked_body.ticket or None,
        "confirmed": sorted(plan.asked_body.confirmed),
        "rule": None if plan.is_blind else plan.rule.urn or None,
        "steps": []
        if plan.is_blind
        else [
            {
                "name": step.name,
                "approvers": list(step.urns),
                "needs": step.needs or "all",
                "due": None if step.within is None or index else _format(plan.now + step.within),
                "state": RequestStep.State.LATER.value if index else RequestStep.State.WAITING.value,
                "decisions": [],
            }
            for index, step in enumerate(plan.steps)
        ],
        "trail": [],
        "created": None,
        "version": 0,
        "renews": None,
        "missing": list(plan.missing),
    }


def _present_step(step: RequestStep) -> dict[str, Any]:
    return {
        "name": step.name,
        "approvers": step.urns,
        "needs": step.needs or "all",
        "due": _format(step.due),
        "state": step.state,
        "decisions": [
            {
                "by": decision.by,
                "time": _format(decision.time),
                "decision": "agreed" if decision.is_agreement else "denied",
                "note": decision.note or None,
            }
            for decision in step.decisions.all()
        ],
    }


def _present_trail(request: SubmittedRequest, *, is_hidden: bool) -> Sequence[Mapping[str, Any]]:
    return [
        {
            "time": _format(line.time),
            "by": None if is_hidden and line.by not in (request.by, request.actor) else line.by,
            "what": line.what,
            "note": line.note or None,
            **({"alone": True} if line.is_alone else {}),
        }
        for line in request.trail.all()
    ]


def _format(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat().replace("+00:00", "Z")
