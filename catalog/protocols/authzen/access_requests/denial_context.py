"""The context of answers to evaluations, as far as requests concern it: ids of denials, offers, and approvals."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from catalog.protocols.authzen.access_requests import bindings
from catalog.protocols.authzen.access_requests.approvals import (
    ApprovalVerdict,
    NextAction,
    PresentedApproval,
    format_time,
    judge_approvals,
)
from catalog.protocols.authzen.access_requests.offers import DeniedAccess, RequestOffer, find_offers
from policies.engine.model import Actor, Decision
from policies.http import public_address
from policies.kept_settings import kept_settings
from policies.pdp import database_clock
from policies.pdp.access_requests import AccessRequest

#: The reason of a denial that can be requested, unless an approval says another one.
_REQUESTABLE = "approval_required"

Context = dict[str, Any]


class AnsweredQuestion(NamedTuple):
    """A question as it was sent (`members`), what was asked, and the decision."""

    members: Mapping[str, Any]
    actor: Actor
    privilege: str
    access_request: AccessRequest
    decision: Decision

    @property
    def approval(self) -> Any:
        """The approval that was sent with it, None without one."""
        return (self.members.get("context") or {}).get("approval")


class AnswerContext(NamedTuple):
    """Further members of the context of an answer, and the id of a denial for the decision log."""

    members: Context
    evaluation_id: str = ""


class _Telling(NamedTuple):
    """The account that is told, the time, and the addresses that offers name: found once for all answers of a call."""

    by: Actor
    now: datetime
    endpoint: str
    form_url: str
    schema_url: str


_NOTHING = AnswerContext({})


def describe_answers(questions: Sequence[AnsweredQuestion], *, by: Actor) -> list[AnswerContext]:
    """Return the further context of answers, in order; a fixed number of queries, none if all allow without approval.

    Every denial has an id and a time. It has an offer only if it can be requested.
    """
    told_indexes = [
        index
        for index, question in enumerate(questions)
        if not question.decision.is_allowed or question.approval is not None
    ]
    if not told_indexes:
        return [_NOTHING] * len(questions)
    now = database_clock.get_now()
    digests = {index: bindings.digest_question(questions[index].members) for index in told_indexes}
    verdicts = _judge_all(questions, digests, by=by, now=now)
    denied_indexes = [index for index in told_indexes if not questions[index].decision.is_allowed]
    denials = [_read_denial(questions[index]) for index in denied_indexes]
    offers = dict(zip(denied_indexes, find_offers(denials), strict=True))
    contexts, telling = [_NOTHING] * len(questions), _prepare_telling(by, now)
    for index in told_indexes:
        question, verdict = questions[index], verdicts.get(index)
        if question.decision.is_allowed:
            contexts[index] = AnswerContext({"approval": verdict.approval} if verdict and verdict.approval else {})
        else:
            contexts[index] = _describe_denial(question, digests[index], offers[index], verdict, telling)
    return contexts


def describe_undecided(code: str) -> Context:
    """Return the context of a denial without a decision behind it: it is in no log, and cannot be requested."""
    return {"evaluated_at": format_time(database_clock.get_now()), "reason": code}


def _prepare_telling(by: Actor, now: datetime) -> _Telling:
    address = public_address.get_address()
    names = ("authzen-access-requests", "request-new", "authzen-access-request-schema")
    return _Telling(by, now, *(f"{address}{reverse(name)}" for name in names))


def _judge_all(
    questions: Sequence[AnsweredQuestion], digests: Mapping[int, str], *, by: Actor, now: datetime
) -> dict[int, ApprovalVerdict]:
    presented = {
        index: PresentedApproval(
            questions[index].approval,
            digest,
            questions[index].actor,
            questions[index].access_request,
            questions[index].decision,
        )
        for index, digest in digests.items()
        if questions[index].approval is not None
    }
    if not presented:
        return {}
    return dict(zip(presented, judge_approvals(list(presented.values()), by=by, now=now), strict=True))


def _read_denial(question: AnsweredQuestion) -> DeniedAccess:
    return DeniedAccess(question.actor, question.privilege, question.access_request.resource, question.decision)


def _describe_denial(
    question: AnsweredQuestion,
    digest: str,
    offer: RequestOffer | None,
    verdict: ApprovalVerdict | None,
    telling: _Telling,
) -> AnswerContext:
    """Return the context of a denial; an offer stands in it unless an approval says that asking will not help."""
    next_action = None if verdict is None else verdict.next_action
    if next_action not in (None, NextAction.REQUEST):
        offer = None
    expires_at = None if offer is None else _find_end(telling.now)
    evaluation_id = bindings.issue_id(digest, by=telling.by.urn, expires_at=expires_at)
    reason = _REQUESTABLE if offer is not None else question.decision.code.value
    members: Context = {"evaluation_id": evaluation_id, "evaluated_at": format_time(telling.now), "reason": reason}
    if verdict is not None:
        members |= _describe_verdict(verdict, is_requestable=offer is not None)
    if offer is not None and expires_at is not None:
        members["access_request"] = _describe_offer(offer, question.actor, expires_at, telling)
    return AnswerContext(members, evaluation_id)


def _find_end(now: datetime) -> datetime:
    """Return until when access can be requested, as a whole second: the one that answers show is the one that binds."""
    return (now + timedelta(seconds=kept_settings.DENIAL_SECONDS)).replace(microsecond=0)


def _describe_verdict(verdict: ApprovalVerdict, *, is_requestable: bool) -> Context:
    is_useless = verdict.next_action is NextAction.REQUEST and not is_requestable
    members: Context = {
        "reason": verdict.reason,
        "next_action": (NextAction.NONE if is_useless else verdict.next_action).value,
    }
    return members if verdict.retry_after is None else {**members, "retry_after": verdict.retry_after}


def _describe_offer(offer: RequestOffer, actor: Actor, expires_at: datetime, telling: _Telling) -> Context:
    fields = {"privilege": offer.item.document["privilege"], "resource": offer.item.entity, "actor": actor.urn}
    description = "The owners of this, or those who administer policies, decide about this access."
    described: Context = {
        "endpoint": telling.endpoint,
        "expires_at": format_time(expires_at),
        "display": {"title": "Request access", "description": description},
        "form_url": f"{telling.form_url}?{urlencode(fields)}",
        "request_schema_url": telling.schema_url,
    }
    if offer.rule.urn:
        described["template"] = offer.rule.urn
        described["display"]["description"] = f"The approval rule {offer.rule.name} says who decides about this access."
        described["request_schema_url"] += f"?{urlencode({'template': offer.rule.urn})}"
    return described
