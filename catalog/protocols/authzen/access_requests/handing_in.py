"""Handing in: a submission becomes a request with its task, once, however often it is sent."""

from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Any

from django.db import IntegrityError

from catalog.protocols.authzen.access_requests import bindings, tasks
from catalog.protocols.authzen.access_requests.offers import build_item
from catalog.protocols.authzen.access_requests.problems import DuplicateRequest, ExpiredDenial, NotRequestable
from catalog.protocols.authzen.access_requests.submissions import (
    UNTIL_POINTER,
    Submission,
    read_key,
    read_submission,
)
from catalog.protocols.authzen.request_models import RequestObject
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.models import RequestItem, RequestTask, RequestTaskItem, SubmittedRequest
from policies.pdp import authorizer, database_clock, inverse_queries
from policies.requests.asked import AskedBody, read_asked
from policies.requests.errors import RequestConflict, RequestInvalid, RequestRefused
from policies.requests.rules.terms import find_platform_privileges
from policies.requests.services import asking
from policies.requests.services.asking import GivenDenial

#: Name of the channel of requests in the change log.
CHANNEL = "authzen"

#: Bytes of the random ids of tasks and approvals: 256 bits.
_RANDOM_BYTES = 32
#: Time for which a handle is valid after the end of what was asked for.
_KEPT_AFTER = timedelta(days=1)

#: Place of a problem in the body of a request → in a submission.
_POINTERS = {
    "/reason": "/context/justification",
    "/ticket": "/context/ticket",
    "/confirmed": "/context/conditions",
    "/until": UNTIL_POINTER,
}
#: Refusals of requests that are no fault of the submission: nobody may ask for this any more.
_NOT_REQUESTABLE = frozenset({"request.not_requestable", "request.actor_suspended", "actor.unknown"})


def hand_in(members: RequestObject, *, key: str, by: Actor) -> RequestTask:
    """Store the request that a submission makes, with its task, and return the task.

    The same key with the same body, and the same denials again, give the task that they gave before. Raises the
    refusals of the profile, those of `read_submission`, Forbidden unless the caller may ask about others, and those of
    requests that are left: what the subject has already, and what the rule wants and the submission lacks.
    """
    key, digest = read_key(key), bindings.digest_json(members)
    if (task := _find_by_key(key, digest, by)) is not None:
        return task
    submission = read_submission(members, by=by)
    if submission.actor != by.urn:
        authorizer.require_cached(by=by, any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES)
    if (task := _find_by_denials(submission)) is not None:
        return task
    _refuse_expired(submission, database_clock.get_now())
    try:
        return _store(submission, key, digest, by)
    except (RequestConflict, IntegrityError) as error:
        # Somebody else has sent the same meanwhile.
        task = _find_by_key(key, digest, by) or _find_by_denials(submission)
        if task is not None:
            return task
        if isinstance(error, RequestConflict) and error.code == "request.duplicate":
            raise _build_duplicate(error, by) from None
        raise


def _find_by_key(key: str, digest: str, by: Actor) -> RequestTask | None:
    """Return the task of this key and body; raises DuplicateRequest if the key was used with another body."""
    task = tasks.list_tasks().filter(by=by.urn, idempotency_key=key).first() if key else None
    if task is not None and task.body_digest != digest:
        raise DuplicateRequest("This Idempotency-Key was used with another body.")
    return task


def _find_by_denials(submission: Submission) -> RequestTask | None:
    """Return the task of these denials; raises DuplicateRequest if some of them belong to another one."""
    ids = {item.evaluation_id for item in submission.items}
    rows = RequestTaskItem.objects.filter(evaluation_id__in=sorted(ids))
    task = tasks.list_tasks().filter(pk__in=rows.values("task_id")).first()
    if task is None:
        return None
    if {item.evaluation_id for item in task.items.all()} != ids:
        raise DuplicateRequest("One of these denials was asked about before, with others or alone.")
    return task


def _refuse_expired(submission: Submission, now: datetime) -> None:
    for item in submission.items:
        if item.expires_at is None:
            raise NotRequestable("This denial had no access_request: nobody can ask for what was denied.")
        if item.expires_at <= now:
            raise ExpiredDenial("The time to ask after this denial is over: evaluate again.")


def _store(submission: Submission, key: str, digest: str, by: Actor) -> RequestTask:
    asked_body = _read_asked(submission)
    ids = ", ".join(item.evaluation_id for item in submission.items)
    stored_tasks: list[RequestTask] = []

    def keep(request: SubmittedRequest) -> None:
        stored_tasks.append(_keep_task(submission, key, digest, by, request))

    denial = GivenDenial(note=f"After the denial {ids}.", keep=keep)
    try:
        asking.ask(asked_body=asked_body, by=by, channel=CHANNEL, denial=denial)
    except (RequestRefused, RequestConflict, RequestInvalid) as error:
        if error.code in _NOT_REQUESTABLE:
            raise NotRequestable(error.detail) from None
        if isinstance(error, RequestInvalid):
            raise _move_problems(error) from None
        raise
    return tasks.list_tasks().get(pk=stored_tasks[-1].pk)


def _read_asked(submission: Submission) -> AskedBody:
    """Return the items as the room of requests reads them, with their problems at their places."""
    platform, items = find_platform_privileges(), []
    for bound_item in submission.items:
        item = build_item(bound_item.privilege, bound_item.urn, platform)
        if item is None:
            raise NotRequestable("Nobody can ask for what was denied.")
        items.append(dict(item.document))
    added = submission.added
    body: dict[str, Any] = {
        "actor": submission.actor,
        "items": items,
        "reason": added.get("justification"),
        "ticket": added.get("ticket"),
        "confirmed": added.get("conditions"),
    }
    if submission.until is not None:
        body["until"] = submission.until.isoformat()
    try:
        return read_asked(body)
    except RequestInvalid as error:
        raise _move_problems(error) from None


def _move_problems(error: RequestInvalid) -> RequestInvalid:
    """Return the refusal with the places of the submission."""
    problems = []
    for problem in error.problems:
        root = f"/{problem.pointer.strip('/').split('/')[0]}"
        pointer = problem.pointer.replace(root, _POINTERS[root], 1) if root in _POINTERS else problem.pointer
        problems.append(Problem(problem.code, pointer, problem.detail))
    return RequestInvalid(problems)


def _keep_task(submission: Submission, key: str, digest: str, by: Actor, request: SubmittedRequest) -> RequestTask:
    """Store the task of a request, inside the transaction that stores the request."""
    end = request.until or request.created_at
    task = RequestTask.objects.create(
        token=token_urlsafe(_RANDOM_BYTES),
        request=request,
        by=by.urn,
        is_bundle=submission.is_bundle,
        idempotency_key=key,
        body_digest=digest,
        subject=dict(submission.subject),
        client=None if submission.client is None else dict(submission.client),
        created_at=request.created_at,
        expires_at=end + _KEPT_AFTER,
    )
    stored_items = RequestItem.objects.filter(request=request).order_by("position")
    RequestTaskItem.objects.bulk_create(
        RequestTaskItem(
            task=task,
            item=stored_item,
            evaluation_id=item.evaluation_id,
            resource=dict(item.resource),
            action=dict(item.action),
            binding=item.binding,
            approval=token_urlsafe(_RANDOM_BYTES),
        )
        for stored_item, item in zip(stored_items, submission.items, strict=True)
    )
    return task


def _build_duplicate(error: RequestConflict, by: Actor) -> DuplicateRequest:
    """Return the refusal of what is asked for already, with the task of it if this account follows it."""
    members: dict[str, Any] = {**error.members, "code": error.code}
    task = tasks.list_tasks().filter(by=by.urn, request__urn=members.get("urn", "")).first()
    handle: dict[str, Any] = {} if task is None else {"task": tasks.render_handle(task)}
    return DuplicateRequest(error.detail, **members, **handle)
