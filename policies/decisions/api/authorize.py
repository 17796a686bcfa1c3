"""Endpoints that answer questions (api.md section 1): authorize, batch, granted-privileges, who."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponseBase
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from policies.decisions.api import decision_serializers, request_serializers
from policies.decisions.api.request_serializers import (
    AllowedActorsIn,
    AllowedPrivilegesIn,
    BatchIn,
    ParsedQuestion,
    QuestionIn,
)
from policies.engine.errors import MORE_PROBLEMS
from policies.engine.snapshot import Snapshot
from policies.errors import Invalid, PolicyAppError, Unavailable
from policies.http.api import strict_fields
from policies.http.api.fast_json import FastJsonView
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.problem_details import refusal_body
from policies.http.guard import signed_in
from policies.pdp import authorizer, explanations, inverse_queries, snapshot_store
from policies.propagation import metrics


class DecisionView(FastJsonView):
    """Base of the endpoints that answer questions."""

    def check_may_ask_about_others(self) -> None:
        """Raise Forbidden unless the caller may ask about other actors."""
        authorizer.require_cached(by=self.actor, any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES)

    def parse_questions(self, payloads: Sequence[Mapping[str, Any]]) -> list[ParsedQuestion | PolicyAppError]:
        """Return each question parsed for `authorizer`, or the error that refuses it, in order."""
        return request_serializers.parse_questions(
            questions=payloads, by=self.actor, check_may_ask=self.check_may_ask_about_others
        )


@signed_in
class AuthorizeView(DecisionView):
    """May an actor do something?"""

    @openapi_operation(
        "authorize",
        "May an actor do something?",
        body=QuestionIn,
        answer=decision_serializers.DecisionOut,
        statuses=(503,),
    )
    def post(self, _request: Request) -> HttpResponseBase:
        """Answer one question; a refusal is an answer, not an error."""
        with metrics.AUTHORIZE_SECONDS.time():
            return self.respond(self._answer(self.parse_body()))

    def _answer(self, body: Any) -> dict[str, Any]:
        payload = request_serializers.validate_question(body)
        min_version = payload.get("at_least_version") or 0
        (question,) = self.parse_questions([payload])
        if isinstance(question, PolicyAppError):
            raise question
        if question.is_explained:
            explanation = explanations.explain_answer(
                actor=question.actor, request=question.access_request, at_least=min_version
            )
            return decision_serializers.serialize_explanation(explanation, question.resulting_grants)
        (decision,) = authorizer.answer_and_log(
            requests=[(question.actor, question.access_request)], at_least=min_version
        )
        return decision_serializers.serialize_decision(decision, resulting_grants=question.resulting_grants)


@signed_in
class AuthorizeBatchView(DecisionView):
    """Up to 10,000 questions in one call."""

    @openapi_operation(
        "authorize_batch",
        "Answer many questions at once",
        body=BatchIn,
        answer=decision_serializers.DecisionsOut,
        statuses=(503,),
    )
    def post(self, _request: Request) -> HttpResponseBase:
        """Answer each question in its place, from one version of the policies."""
        payload = strict_fields.validate(BatchIn, self.parse_body())
        payloads_by_index, problem_bodies = _validate_each(payload["questions"])
        snapshot = _find_batch_snapshot(payload.get("at_least_version") or 0, payloads_by_index.values())
        plain_questions: dict[int, ParsedQuestion] = {}
        explained_questions: dict[int, ParsedQuestion] = {}
        for index, question in zip(
            payloads_by_index, self.parse_questions(list(payloads_by_index.values())), strict=True
        ):
            min_version = payloads_by_index[index].get("at_least_version") or 0
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
        return self.respond(
            {
                "policy_version": snapshot.version,
                "decisions": [bodies_by_index[index] for index in sorted(bodies_by_index)],
            }
        )


@signed_in
class AllowedPrivilegesView(DecisionView):
    """The privileges that an actor has, on a resource or without one."""

    @openapi_operation(
        "granted_privileges",
        "Which privileges does an actor have?",
        body=AllowedPrivilegesIn,
        answer=decision_serializers.AllowedPrivilegesOut,
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return the names of the privileges, in order."""
        payload = strict_fields.validate(AllowedPrivilegesIn, request.data)
        actor_urn = payload.get("actor") or self.actor.urn
        if actor_urn != self.actor.urn:
            self.check_may_ask_about_others()
        facts = request_serializers.load_question_facts(questions=[payload], by=self.actor)
        allowed_privileges = inverse_queries.find_allowed_privileges(
            actor=facts.actors[actor_urn],
            resource=request_serializers.build_resource_ref(payload.get("resource"), facts),
            at_least=payload.get("at_least_version") or 0,
        )
        return Response({"privileges": allowed_privileges.privileges, "policy_version": allowed_privileges.version})


@signed_in
class AllowedActorsView(DecisionView):
    """The actors that may use a privilege."""

    @openapi_operation(
        "who",
        "Who may use a privilege?",
        body=AllowedActorsIn,
        answer=decision_serializers.AllowedActorsOut,
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return users, groups and roles; always a question about others."""
        payload = strict_fields.validate(AllowedActorsIn, request.data)
        self.check_may_ask_about_others()
        facts = request_serializers.load_question_facts(questions=[payload], by=self.actor)
        allowed_actors = inverse_queries.find_allowed_actors(
            privilege=payload["privilege"],
            resource=request_serializers.build_resource_ref(payload.get("resource"), facts),
            at_least=payload.get("at_least_version") or 0,
        )
        return Response(
            {
                "all_users": allowed_actors.is_all_users,
                "all_groups": allowed_actors.is_all_groups,
                "users": allowed_actors.users,
                "groups": allowed_actors.groups,
                "roles": allowed_actors.roles,
                "conditional": allowed_actors.is_conditional,
                "policy_version": allowed_actors.version,
            }
        )


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
