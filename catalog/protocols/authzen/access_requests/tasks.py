"""Tasks as callers see them: found, read by those who may, and shown with their progress and approvals."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from catalog.protocols.authzen.access_requests import approvals
from catalog.protocols.authzen.access_requests.approvals import APPROVED_STATES, format_time
from catalog.protocols.authzen.access_requests.problems import TaskExpired, UnknownTask
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.engine.way_ends import find_last_end
from policies.errors import NotFound
from policies.http import public_address
from policies.models import RequestStep, RequestTask, RequestTaskItem, RequestTrail
from policies.models.request import RequestState
from policies.models.request_task import MAX_TOKEN_LENGTH
from policies.pdp import actor_resolution, authorizer, database_clock
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.items import RequestedItem, load_item
from policies.requests.presenting import present_steps
from policies.requests.queries import requests

#: State of an item → status of a task. What is approved and not written yet, or waits for its source, is pending.
_STATUSES = {
    RequestState.OPEN: "pending",
    RequestState.APPROVED: "pending",
    RequestState.WAITING_FOR_SOURCE: "pending",
    RequestState.DONE: "approved",
    RequestState.ENDED: "approved",
    RequestState.DENIED: "denied",
    RequestState.EXPIRED: "expired",
    RequestState.WITHDRAWN: "cancelled",
    RequestState.FAILED: "failed",
}
PENDING, _APPROVED, _PARTIAL = "pending", "approved", "partial"

_DESCRIPTIONS = {
    PENDING: "Those who decide have been asked.",
    _APPROVED: "It was approved. Evaluate again: policies decide.",
    _PARTIAL: "A part of it was approved.",
    "denied": "It was denied.",
    "expired": "Nobody decided in time.",
    "cancelled": "It was withdrawn.",
    "failed": "It could not be completed.",
}

#: Time for which a handle is valid after the end of what was given.
_KEPT_AFTER = timedelta(days=1)

TaskJson = dict[str, Any]


def list_tasks() -> QuerySet[RequestTask]:
    """Return all tasks with what showing them needs."""
    return RequestTask.objects.select_related("request__renews").prefetch_related(
        "items__item", "request__items", "request__steps__decisions", "request__trail"
    )


def get_task(*, token: str, by: Actor) -> RequestTask:
    """Return the task under an id, for the account that asked, the subject, and those who may read the request.

    Raises UnknownTask for everybody else, as for one that does not exist, and TaskExpired.
    """
    task = list_tasks().filter(token=token).first() if len(token) <= MAX_TOKEN_LENGTH else None
    if task is None or not _may_read(task, by):
        raise UnknownTask
    if find_expiry(task) <= database_clock.get_now():
        raise TaskExpired("This handle is no longer valid.")
    return task


def _may_read(task: RequestTask, by: Actor) -> bool:
    if by.urn in (task.by, task.request.actor):
        return True
    try:
        requests.get_request(urn=task.request.urn, by=by)
    except NotFound:
        return False
    return True


def find_expiry(task: RequestTask) -> datetime:
    """Return until when a handle is valid: longer than it was to be, where what was given was renewed."""
    ends = [item.item.ends_at + _KEPT_AFTER for item in task.items.all() if item.item.ends_at is not None]
    return max([task.expires_at, *ends])


def find_status(task: RequestTask) -> str:
    """Return the status of a task: pending while an item is, else the one that all items have, else partial."""
    statuses = {_find_item_status(item) for item in task.items.all()}
    if PENDING in statuses:
        return PENDING
    return statuses.pop() if len(statuses) == 1 else _PARTIAL


def _find_item_status(item: RequestTaskItem) -> str:
    return _STATUSES[RequestState(item.item.state)]


def render_handle(task: RequestTask) -> TaskJson:
    """Return what finds a task again."""
    return {"id": task.token, "status": find_status(task), "status_endpoint": get_address(task)}


def get_address(task: RequestTask) -> str:
    """Return the address at which the status of a task is asked for."""
    return _locate("authzen-access-request-task", task.token)


def render_task(task: RequestTask, *, reader: Actor) -> TaskJson:
    """Return a task with its progress, as `reader` may see it, and the results of what was approved."""
    status = find_status(task)
    handle: TaskJson = {
        **render_handle(task),
        "expires_at": format_time(find_expiry(task)),
        "display": {"title": "Request for access", "description": _DESCRIPTIONS[status]},
        "links": _list_links(task, status),
    }
    if progress := _describe_progress(task, reader):
        handle["progress"] = progress
    results = _list_results(task)
    if task.is_bundle:
        handle["items"] = [
            {
                "resource": item.resource,
                "action": item.action,
                "status": _find_item_status(item),
                **({} if result is None else {"result": result}),
            }
            for item, result in zip(task.items.all(), results, strict=True)
        ]
        return {"task": handle}
    return {"task": handle} if results[0] is None else {"task": handle, "result": results[0]}


def _list_links(task: RequestTask, status: str) -> dict[str, str]:
    page = _locate("request", task.request.urn)
    links = {"ticket": page, "review": page}
    if status == PENDING:
        links["cancel"] = _locate("authzen-access-request-cancel", task.token)
    return links


def _locate(name: str, *parts: str) -> str:
    return f"{public_address.get_address()}{reverse(name, args=parts)}"


def _describe_progress(task: RequestTask, reader: Actor) -> Mapping[str, Any]:
    """Return which step waits, and for whom as the rule names them; nothing where the reader may not see the steps."""
    steps = present_steps(task.request, reader=reader)
    waiting = [index for index, step in enumerate(steps) if step["state"] == RequestStep.State.WAITING]
    if not waiting:
        return {}
    step = steps[waiting[0]]
    return {
        "current_step": waiting[0] + 1,
        "total_steps": len(steps),
        "step_name": step["name"],
        "awaiting": step["approvers"],
    }


def _list_results(task: RequestTask) -> Sequence[Mapping[str, Any] | None]:
    """Return the result of each item, None of those that were not approved."""
    items = list(task.items.all())
    approved = [item for item in items if item.item.state in APPROVED_STATES]
    last_ends = _find_last_ends(task, approved)
    approved_at = _find_time(task, {RequestTrail.What.APPROVED, RequestTrail.What.AUTO})
    return [
        {
            "mode": "reevaluate",
            "approval": {
                "id": item.approval,
                "approved_at": format_time(approved_at or task.created_at),
                "approved_until": format_time(approvals.find_end(item, last_ends[item.pk])),
            },
        }
        if item.pk in last_ends
        else None
        for item in items
    ]


def _find_time(task: RequestTask, events: set[RequestTrail.What]) -> datetime | None:
    """Return when the last of these events happened; None if none of them did."""
    times = [line.time for line in task.request.trail.all() if line.what in events]
    return max(times, default=None)


def _find_last_ends(task: RequestTask, approved: Sequence[RequestTaskItem]) -> dict[int, datetime | None]:
    """Return for each item until when its subject has it at most, as of now; None where nothing but its end bounds it.

    Access that is over ended when it was taken away.
    """
    ended_at = _find_time(task, {RequestTrail.What.ENDED})
    done = [item for item in approved if item.item.state == RequestState.DONE]
    last_ends = {item.pk: ended_at for item in approved if item not in done}
    if not done:
        return last_ends
    actor = actor_resolution.load_actor(urn=task.request.actor)
    questions = [(actor, _build_question(load_item(item.item.document))) for item in done]
    decisions = authorizer.answer_many(requests=questions)
    return last_ends | {item.pk: find_last_end(decision) for item, decision in zip(done, decisions, strict=True)}


def _build_question(item: RequestedItem) -> AccessRequest:
    resource = ResourceRef(item.entity) if item.entity else None
    return AccessRequest(any_of_requirement(item.alternatives), resource)
