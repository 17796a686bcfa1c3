"""Answers to the questions of authorize and authorize/batch as they are sent, whichever way a call came in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rest_framework.exceptions import ValidationError

from policies.decisions.api import decision_serializers, request_serializers
from policies.decisions.api.request_serializers import ParsedQuestion
from policies.engine.errors import MORE_PROBLEMS
from policies.engine.model import Actor
from policies.engine.snapshot import Snapshot
from policies.errors import Busy, Invalid, PolicyAppError, Unavailable
from policies.http.api.problem_details import refusal_body
from policies.pdp import authorizer, explanations, snapshot_store
from policies.pdp.explanations import Explanation
from policies.requests.ways import finding
from policies.requests.ways.asked_items import AskedAccess

AnswerBody = dict[str, Any]


def answer_question(payload: Mapping[str, Any], *, by: Actor, check_may_ask: Callable[[], None]) -> AnswerBody:
    """Return the answer to one validated question.

    `check_may_ask` raises Forbidden unless the caller may ask about others. Raises the PolicyAppError that refuses the
    question, and the errors of `authorizer.answer_many`.
    """
    min_version = payload.get("at_least_version") or 0
    (question,) = request_serializers.parse_questions(questions=[payload], by=by, check_may_ask=check_may_ask)
    if isinstance(question, PolicyAppError):
        raise question
    if question.is_explained:
        explanation = explanations.explain_answer(
            actor=question.actor, request=question.access_request, at_least=min_version
        )
        body = decision_serializers.serialize_explanation(explanation, question.resulting_grants)
        return body | {"way": _describe_smallest_way(question, explanation, by)}
    (decision,) = authorizer.answer_and_log(requests=[(question.actor, question.access_request)], at_least=min_version)
    return decision_serializers.serialize_decision(decision, resulting_grants=question.resulting_grants)


def _describe_smallest_way(question: ParsedQuestion, explanation: Explanation, by: Actor) -> dict[str, Any] | None:
    """Return the smallest change that would allow a refused question; None where no change would, or none was found.

    None was found, too, while the caller has another preview: the answer to the question does not wait for it.
    """
    if explanation.decision.is_allowed or explanation.is_concealed:
        return None
    try:
        item = AskedAccess(question.actor, question.access_request, explanation.decision)
        way = finding.find_smallest_way(item=item, by=by)
    except Busy:
        return None
    return None if way is None else finding.describe_way(way)


def answer_batch(
    payload: Mapping[str, Any], *, by: Actor, check_may_ask: Callable[[], None], is_validated: bool = False
) -> AnswerBody:
    """Return the answers of a batch in the order of its questions, all from one version of the policies.

    A question that is invalid or refused has its problem as its answer; with `is_validated` the questions are known to
    be valid. Raises as `answer_question` otherwise.
    """
    questions = payload["questions"]
    payloads_by_index, problem_bodies = (dict(enumerate(questions)), {}) if is_validated else _validate_each(questions)
    payloads = list(payloads_by_index.values())
    snapshot = _find_batch_snapshot(payload.get("at_least_version") or 0, payloads)
    plain_questions: dict[int, ParsedQuestion] = {}
    explained_questions: dict[int, ParsedQuestion] = {}
    parsed_questions = request_serializers.parse_questions(questions=payloads, by=by, check_may_ask=check_may_ask)
    for index, question_payload, question in zip(payloads_by_index, payloads, parsed_questions, strict=True):
        min_version = question_payload.get("at_least_version") or 0
        if isinstance(question, PolicyAppError):
            problem_bodies[index] = {"error": refusal_body(question)}
        elif min_version > snapshot.version:
            problem_bodies[index] = {
                "error": refusal_body(Unavailable(f"Policy version {min_version} is not known here."))
            }
        else:
            (explained_questions if question.is_explained else plain_questions)[index] = question
    bodies_by_index = (
        problem_bodies
        | _answer_each(plain_questions, snapshot)
        | (_explain_each(explained_questions, snapshot) if explained_questions else {})
    )
    return {
        "policy_version": snapshot.version,
        "decisions": [bodies_by_index[index] for index in sorted(bodies_by_index)],
    }


def _find_batch_snapshot(min_version: int, payloads: Iterable[Mapping[str, Any]]) -> Snapshot:
    """Return a snapshot of at least `min_version`, and of the highest version that a question demands if available.

    Raises Unavailable when `min_version` is not available.
    """
    snapshot = snapshot_store.get_current(at_least=min_version)
    highest_version = max((payload.get("at_least_version") or 0 for payload in payloads), default=0)
    if highest_version <= snapshot.version:
        return snapshot
    try:
        return snapshot_store.get_current(at_least=highest_version)
    except Unavailable:
        return snapshot_store.get_current(at_least=min_version)


def _answer_each(questions_by_index: Mapping[int, ParsedQuestion], snapshot: Snapshot) -> dict[int, dict[str, Any]]:
    decisions = authorizer.answer_and_log(
        requests=[(question.actor, question.access_request) for question in questions_by_index.values()],
        snapshot=snapshot,
    )
    return {
        index: decision_serializers.serialize_decision(decision, resulting_grants=question.resulting_grants)
        for (index, question), decision in zip(questions_by_index.items(), decisions, strict=True)
    }


def _explain_each(questions_by_index: Mapping[int, ParsedQuestion], snapshot: Snapshot) -> dict[int, dict[str, Any]]:
    worded_explanations = explanations.explain_answers(
        requests=[(question.actor, question.access_request) for question in questions_by_index.values()],
        snapshot=snapshot,
    )
    return {
        index: decision_serializers.serialize_explanation(explanation, question.resulting_grants)
        for (index, question), explanation in zip(questions_by_index.items(), worded_explanations, strict=True)
    }


def _validate_each(payloads: Sequence[Any]) -> tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]]:
    """Validate each question by itself; return the valid payloads and the problem bodies, both by index.

    Raises Invalid where the questions are too large, or have more problems in all than MAX_BATCH_QUESTIONS.
    """
    request_serializers.check_size(payloads)
    valid_payloads: dict[int, dict[str, Any]] = {}
    problem_bodies: dict[int, dict[str, Any]] = {}
    problem_count = 0
    for index, payload in enumerate(payloads):
        try:
            valid_payloads[index] = request_serializers.validate_question(payload)
        except ValidationError as error:
            problem_body = refusal_body(error)
            problem_bodies[index] = {"error": problem_body}
            problem_count += len(problem_body["errors"])
            if problem_count > request_serializers.MAX_BATCH_QUESTIONS:
                most = request_serializers.MAX_BATCH_QUESTIONS
                detail = f"The questions up to this one have more than {most} problems; none was answered."
                raise Invalid.from_problem(code=MORE_PROBLEMS, pointer=f"/questions/{index}", detail=detail) from None
    return valid_payloads, problem_bodies
