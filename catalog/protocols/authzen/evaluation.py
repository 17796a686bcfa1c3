"""AuthZEN evaluations, translated to access requests; those of a batch are decided together."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from catalog.protocols.authzen import identifiers, request_models
from catalog.protocols.authzen.access_requests import denial_context
from catalog.protocols.authzen.access_requests.denial_context import AnsweredQuestion
from catalog.protocols.authzen.request_models import (
    Batch,
    Evaluation,
    EvaluationsSemantic,
    MalformedRequest,
    RequestObject,
)
from policies.decisions.api import request_serializers
from policies.decisions.api.request_serializers import ParsedQuestion
from policies.engine import actor_conditions
from policies.engine.model import Actor, Decision
from policies.engine.way_ends import find_last_end
from policies.errors import Forbidden, PolicyAppError
from policies.pdp import authorizer, inverse_queries
from policies.pdp.access_requests import AccessRequest

#: Top-level members of a batch that serve as defaults of its items; an item replaces a member as a whole.
_DEFAULT_MEMBERS = ("subject", "action", "resource", "context")

#: Code of a denial about a subject that cannot act here.
_SUBJECT_UNKNOWN = "subject_unknown"

EvaluationResponse = dict[str, Any]


def evaluate(members: RequestObject, by: Actor, check_may_ask: Callable[[], None] | None = None) -> EvaluationResponse:
    """Answer one evaluation. Raises MalformedRequest, Forbidden and the errors of `authorizer.answer_many`.

    `check_may_ask` raises Forbidden unless the caller may ask about others; `require_ask_about_others` by default.
    """
    (answer,) = _answer_questions([_parse_question(members)], by, check_may_ask)
    if isinstance(answer, PolicyAppError):
        raise MalformedRequest(answer.detail)
    return answer


def evaluate_batch(
    members: RequestObject, by: Actor, check_may_ask: Callable[[], None] | None = None
) -> EvaluationResponse:
    """Answer the evaluations of a batch in order; a request without any is answered like `evaluate`.

    An invalid item gets an error as its answer. Raises MalformedRequest for an invalid batch, and Forbidden.
    """
    batch = request_models.parse(Batch, members)
    if not batch.evaluations:
        return evaluate(members, by, check_may_ask)
    questions = [_parse_evaluation(item, members) for item in batch.evaluations]
    answers = _answer_questions(questions, by, check_may_ask, batch.semantic)
    return {
        "evaluations": [_render_error(answer) if isinstance(answer, PolicyAppError) else answer for answer in answers]
    }


def require_ask_about_others(by: Actor) -> None:
    """Raise Forbidden unless the caller may ask about other actors."""
    authorizer.require_cached(by=by, any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES)


def _parse_evaluation(item: Any, defaults: RequestObject) -> dict[str, Any] | MalformedRequest:
    if not isinstance(item, dict):
        return MalformedRequest("An evaluation must be an object.")
    try:
        return _parse_question({name: defaults[name] for name in _DEFAULT_MEMBERS if name in defaults} | item)
    except MalformedRequest as error:
        return error


def _parse_question(members: RequestObject) -> dict[str, Any]:
    """Return an evaluation as the fields of a question; `actor` is None for a subject that cannot act here."""
    evaluation = request_models.parse(Evaluation, members)
    action, resource = evaluation.action, evaluation.resource
    return {
        "members": members,
        "actor": identifiers.actor_urn(evaluation.subject),
        "privilege": identifiers.privilege_name(action),
        "resource": identifiers.parse_resource(resource),
        "said": identifiers.fact_overrides(resource),
        "circumstances": identifiers.actor_attributes(evaluation.subject, action),
    }


def _answer_questions(
    sent_questions: Sequence[dict[str, Any] | MalformedRequest],
    by: Actor,
    check_may_ask: Callable[[], None] | None,
    semantic: EvaluationsSemantic = EvaluationsSemantic.EXECUTE_ALL,
) -> list[EvaluationResponse | PolicyAppError]:
    """Return the answers in order, up to the one at which the batch stops; they alone are logged, and can be requested.

    A subject that cannot act here is denied without a decision. Raises Forbidden.
    """
    known_questions = [
        question
        for question in sent_questions
        if not isinstance(question, MalformedRequest) and question["actor"] is not None
    ]
    parsed_questions = (
        request_serializers.parse_questions(
            questions=known_questions, by=by, check_may_ask=check_may_ask or partial(require_ask_about_others, by)
        )
        if known_questions
        else []
    )
    access_requests = [
        _apply_overrides(question, sent_question)
        for question, sent_question in zip(parsed_questions, known_questions, strict=True)
        if isinstance(question, ParsedQuestion)
    ]
    started_at = time.perf_counter()
    decisions = authorizer.answer_many(requests=access_requests) if access_requests else []
    seconds = (time.perf_counter() - started_at) / max(len(access_requests), 1)
    remaining_questions, decided_pairs = iter(parsed_questions), iter(zip(access_requests, decisions, strict=True))
    answers: list[AnsweredQuestion | PolicyAppError | None] = []
    for sent_question in sent_questions:
        answer: AnsweredQuestion | PolicyAppError | None = None
        if isinstance(sent_question, MalformedRequest):
            answer = sent_question
        elif sent_question["actor"] is not None:
            question = next(remaining_questions)
            answer = (
                question
                if isinstance(question, PolicyAppError)
                else _join_question(sent_question, *next(decided_pairs))
            )
        if isinstance(answer, Forbidden):
            raise answer
        answers.append(answer)
        if semantic.should_stop_after(is_allowed=isinstance(answer, AnsweredQuestion) and answer.decision.is_allowed):
            break
    return _render_answers(answers, by, seconds)


def _join_question(
    sent_question: dict[str, Any], access_request: tuple[Actor, AccessRequest], decision: Decision
) -> AnsweredQuestion:
    actor, request = access_request
    return AnsweredQuestion(sent_question["members"], actor, sent_question["privilege"], request, decision)


def _render_answers(
    answers: Sequence[AnsweredQuestion | PolicyAppError | None], by: Actor, seconds: float
) -> list[EvaluationResponse | PolicyAppError]:
    """Return answers as they are sent, None standing for a subject that cannot act here, and log their decisions."""
    answered_questions = [answer for answer in answers if isinstance(answer, AnsweredQuestion)]
    contexts = denial_context.describe_answers(answered_questions, by=by)
    remaining_contexts = iter(contexts)
    rendered_answers = [
        _render_decision(answer.decision, next(remaining_contexts).members)
        if isinstance(answer, AnsweredQuestion)
        else answer or _render_unknown_subject()
        for answer in answers
    ]
    authorizer.log_decisions(
        [(question.actor, question.access_request) for question in answered_questions],
        [question.decision for question in answered_questions],
        seconds=seconds,
        evaluation_ids={index: context.evaluation_id for index, context in enumerate(contexts)},
    )
    return rendered_answers


def _apply_overrides(question: ParsedQuestion, sent_question: dict[str, Any]) -> tuple[Actor, AccessRequest]:
    """Return actor and access request with the properties of the request in place of those stored."""
    access_request = question.access_request
    if access_request.resource is not None and sent_question["said"]:
        resource = access_request.resource._replace(fact_overrides=sent_question["said"])
        access_request = access_request._replace(resource=resource)
    circumstances = sent_question["circumstances"]
    if not circumstances:
        return question.actor, access_request
    actor = actor_conditions.override_attributes(question.actor, circumstances)
    return actor, access_request._replace(has_actor_overrides=True)


def _render_decision(decision: Decision, further_context: dict[str, Any]) -> EvaluationResponse:
    context: dict[str, Any] = {"code": decision.code.value, "policy_version": decision.version}
    if (end := find_last_end(decision)) is not None:
        context["ends"] = end.isoformat().replace("+00:00", "Z")
    return {"decision": decision.is_allowed, "context": context | further_context}


def _render_unknown_subject() -> EvaluationResponse:
    context = denial_context.describe_undecided(_SUBJECT_UNKNOWN)
    return {"decision": False, "context": {"code": _SUBJECT_UNKNOWN, **context}}


def _render_error(error: PolicyAppError) -> EvaluationResponse:
    return {"decision": False, "context": {"error": {"status": error.status, "message": error.detail}}}
