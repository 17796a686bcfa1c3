"""Endpoints that answer questions (api.md section 1): authorize, batch, granted-privileges, who."""

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from policies.decisions.api import answers, decision_serializers, request_serializers
from policies.decisions.api.request_serializers import (
    AllowedActorsIn,
    AllowedPrivilegesIn,
    BatchIn,
    QuestionIn,
)
from policies.http.api import strict_fields
from policies.http.api.fast_json import FastJsonView
from policies.http.api.openapi_docs import openapi_operation
from policies.http.guard import signed_in
from policies.pdp import authorizer, inverse_queries
from policies.propagation import metrics


class DecisionView(FastJsonView):
    """Base of the endpoints that answer questions."""

    def check_may_ask_about_others(self) -> None:
        """Raise Forbidden unless the caller may ask about other actors."""
        authorizer.require_cached(by=self.actor, any_of=inverse_queries.ASK_ABOUT_OTHERS_PRIVILEGES)


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
        with metrics.measure_authorize():
            payload = request_serializers.validate_question(self.parse_body())
            return self.respond(
                answers.answer_question(payload, by=self.actor, check_may_ask=self.check_may_ask_about_others)
            )


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
        return self.respond(answers.answer_batch(payload, by=self.actor, check_may_ask=self.check_may_ask_about_others))


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
        resource = request_serializers.build_resource_ref(payload.get("resource"), facts)
        if resource is not None:
            request_serializers.check_action_types(payload, resource.type)
        allowed_actors = inverse_queries.find_allowed_actors(
            privilege=payload["privilege"],
            resource=resource,
            at_least=payload.get("at_least_version") or 0,
        )
        return Response(
            {
                "all_users": allowed_actors.is_all_users,
                "all_groups": allowed_actors.is_all_groups,
                "users": allowed_actors.users,
                "groups": allowed_actors.groups,
                "roles": allowed_actors.roles,
                "except": {
                    "users": allowed_actors.exceptions.users,
                    "groups": allowed_actors.exceptions.groups,
                    "roles": allowed_actors.exceptions.roles,
                },
                "conditional": allowed_actors.is_conditional,
                "is_complete": allowed_actors.is_complete,
                "policy_version": allowed_actors.version,
            }
        )
