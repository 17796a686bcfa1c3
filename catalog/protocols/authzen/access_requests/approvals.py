"""Approvals that a question refers to (`context.approval`): whether one applies, and what a caller does next.

An approval never decides: the decision is that of today's policies. It only tells why a denial
was given in spite of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import transaction

from policies.engine.model import Actor, Decision, DecisionCode
from policies.engine.way_ends import find_last_end
from policies.errors import Unavailable
from policies.models import PolicyVersion, RequestTaskItem
from policies.models.request import RequestState
from policies.models.request_task import MAX_TOKEN_LENGTH
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest

#: Seconds after which a caller asks again whose approval is not written everywhere yet, or waits for another system.
_SOON_SECONDS, _LATER_SECONDS = 1, 60

_PENDING_STATES = frozenset({RequestState.APPROVED.value, RequestState.WAITING_FOR_SOURCE.value})
#: States of items that were approved and written.
APPROVED_STATES = frozenset({RequestState.DONE.value, RequestState.ENDED.value})

#: The decisions that no approval changes, beside explicit denies.
_STATUS_CODES = frozenset({DecisionCode.ACTOR_SUSPENDED, DecisionCode.ACTOR_REMOVED})


class NextAction(StrEnum):
    """The next step of a caller that is denied in spite of an approval."""

    REQUEST = "request"
    RETRY = "retry"
    NONE = "none"


class ApprovalVerdict(NamedTuple):
    """The verdict on an approval: `approval` where it applies and is used, else the reason why it does not help."""

    approval: Mapping[str, Any] | None = None
    reason: str = ""
    next_action: NextAction = NextAction.NONE
    retry_after: int | None = None


class PresentedApproval(NamedTuple):
    """A question that was asked with an approval, its digest, and the decision about it."""

    approval: Any
    binding: str
    actor: Actor
    access_request: AccessRequest
    decision: Decision


_UNVERIFIABLE = ApprovalVerdict(reason="approval_unverifiable")
_OUT_OF_SCOPE = ApprovalVerdict(reason="out_of_scope", next_action=NextAction.REQUEST)
_EXPIRED = ApprovalVerdict(reason="approval_expired", next_action=NextAction.REQUEST)
_DENIED_BY_POLICY = ApprovalVerdict(reason="policy_denied")


def judge_approvals(presented: Sequence[PresentedApproval], *, by: Actor, now: datetime) -> list[ApprovalVerdict]:
    """Return the verdict on each approval, in order; one query, and two more where an approval should have helped."""
    stored_items = _load_items(question.approval for question in presented)
    return [_judge(question, stored_items.get(_read_token(question.approval)), by, now) for question in presented]


def _load_items(approvals: Iterable[Any]) -> dict[str, RequestTaskItem]:
    tokens = {token for approval in approvals if (token := _read_token(approval))}
    rows = RequestTaskItem.objects.filter(approval__in=sorted(tokens)).select_related("task__request", "item")
    return {row.approval: row for row in rows}


def _read_token(approval: Any) -> str:
    """Return the id of an approval; '' for what is none."""
    token = approval.get("id") if isinstance(approval, Mapping) else None
    return token if isinstance(token, str) and len(token) <= MAX_TOKEN_LENGTH else ""


def _judge(
    question: PresentedApproval, stored_item: RequestTaskItem | None, by: Actor, now: datetime
) -> ApprovalVerdict:
    """Return the verdict on an approval, which helps the account that asked for it and its subject alone."""
    if stored_item is None or by.urn not in (stored_item.task.by, stored_item.task.request.actor):
        return _UNVERIFIABLE
    if stored_item.item.state not in _PENDING_STATES | APPROVED_STATES:
        return _UNVERIFIABLE
    if stored_item.binding != question.binding:
        return _OUT_OF_SCOPE
    if question.decision.is_allowed:
        return _confirm(stored_item, question.decision, now)
    return _explain_denial(question, stored_item, now)


def _explain_denial(question: PresentedApproval, stored_item: RequestTaskItem, now: datetime) -> ApprovalVerdict:
    """Return why a question is denied to which an approval applies."""
    state, code = stored_item.item.state, question.decision.code
    if code in _STATUS_CODES:
        return _DENIED_BY_POLICY
    if state == RequestState.ENDED or _is_past(stored_item, now):
        return _EXPIRED
    if code is DecisionCode.EXPLICIT_DENY:
        return _DENIED_BY_POLICY
    if state in _PENDING_STATES:
        return _wait(_LATER_SECONDS)
    # What was given is gone, or this process does not know of it yet.
    return _wait(_SOON_SECONDS) if _is_allowed_by_now(question) else _EXPIRED


def _wait(seconds: int) -> ApprovalVerdict:
    return ApprovalVerdict(reason="grant_pending", next_action=NextAction.RETRY, retry_after=seconds)


def _confirm(stored_item: RequestTaskItem, decision: Decision, now: datetime) -> ApprovalVerdict:
    """Return the approval with the earliest end on the way, unless it is over: then something else allows."""
    if stored_item.item.state != RequestState.DONE or _is_past(stored_item, now):
        return ApprovalVerdict()
    approved_until = find_end(stored_item, find_last_end(decision))
    return ApprovalVerdict(approval={"id": stored_item.approval, "approved_until": format_time(approved_until)})


def find_end(stored_item: RequestTaskItem, last_end: datetime | None) -> datetime:
    """Return until when an approval counts: the end of what was given, or an earlier one on the way to it."""
    ends = [stored_item.item.ends_at or stored_item.task.request.until, last_end]
    # By the profile nothing is given for good.
    return min(end for end in ends if end is not None)


def _is_past(stored_item: RequestTaskItem, now: datetime) -> bool:
    return find_end(stored_item, None) <= now


def _is_allowed_by_now(question: PresentedApproval) -> bool:
    """Return whether the newest policies and facts allow what this process denied; a transaction uses no cache."""
    with transaction.atomic():
        actor = actor_resolution.load_actor(urn=question.actor.urn)
        try:
            snapshot = snapshot_store.get_current(at_least=PolicyVersion.load_version())
        except Unavailable:
            return True
        requests = [(replace(actor, attributes=question.actor.attributes), question.access_request)]
        (decision,) = authorizer.decide_staged(requests=requests, snapshot=snapshot)
    return decision.is_allowed


def format_time(instant: datetime) -> str:
    """Return a time as the profile writes it, rounded down to whole seconds, so that no end is later than it is."""
    return instant.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def find_retry_seconds(age: timedelta) -> int:
    """Return after how many seconds a caller looks at a task again: longer, the longer it waits, up to a minute."""
    return max(2, min(60, int(age.total_seconds()) // 10))
