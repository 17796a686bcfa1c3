"""Asking (api.md section 1): authorize, batch, granted-privileges, who."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpResponseBase
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from policies.decisions.api import decision_serializers, request_serializers
from policies.decisions.api.request_serializers import BatchIn, GrantedIn, Question, QuestionIn, WhoIn
from policies.engine.errors import MORE_PROBLEMS
from policies.errors import Invalid, PolicyAppError, Unavailable
from policies.http.api import strict_fields
from policies.http.api.fast_json import LeanDoor
from policies.http.api.openapi_docs import described
from policies.http.api.problem_details import refusal_body
from policies.http.guard import signed_in
from policies.pdp import authorizer, explanations, inverse_queries, snapshot_store
from policies.propagation import metrics


class Asking(LeanDoor):
    """What the doors that answer questions share."""

    def may_ask_about_others(self) -> None:
        """Raise Forbidden unless the caller may ask about somebody else."""
        authorizer.let_pass(by=self.actor, any_of=request_serializers.OTHERS)

    def understood(self, sent: Sequence[Mapping[str, Any]]) -> list[Question | PolicyAppError]:
        """Return the questions as `authority` understands them, or what is wrong with each."""
        return request_serializers.understand(sent=sent, by=self.actor, may_ask=self.may_ask_about_others)


@signed_in
class Authorize(Asking):
    """May an actor do something?"""

    @described(
        "authorize",
        "May an actor do something?",
        body=QuestionIn,
        answer=decision_serializers.DecisionOut,
        statuses=(503,),
    )
    def post(self, _request: Request) -> HttpResponseBase:
        """Answer one question; a refusal is an answer, not an error."""
        with metrics.AUTHORIZE.time():
            return self.answered(self._answer(self.sent()))

    def _answer(self, body: Any) -> dict[str, Any]:
        sent = request_serializers.checked(body)
        at_least = sent.get("at_least_version") or 0
        (found,) = self.understood([sent])
        if isinstance(found, PolicyAppError):
            raise found
        if found.is_explained:
            in_words = explanations.explained(actor=found.actor, ask=found.ask, at_least=at_least)
            return decision_serializers.explained(in_words, found.resultant)
        (decision,) = authorizer.answer_logged(asks=[(found.actor, found.ask)], at_least=at_least)
        return decision_serializers.shown(decision, resultant=found.resultant)


@signed_in
class AuthorizeBatch(Asking):
    """Up to 10,000 questions in one call."""

    @described(
        "authorize_batch",
        "Answer many questions at once",
        body=BatchIn,
        answer=decision_serializers.DecisionsOut,
        statuses=(503,),
    )
    def post(self, _request: Request) -> HttpResponseBase:
        """Answer each question in its place, from one version of the policies."""
        sent = strict_fields.checked(BatchIn, self.sent())
        places, problems = _each(sent["questions"])
        known = _known_version(sent.get("at_least_version") or 0, places.values())
        asked: dict[int, Question] = {}
        for place, found in zip(places, self.understood(list(places.values())), strict=True):
            demanded = places[place].get("at_least_version") or 0
            if isinstance(found, PolicyAppError):
                problems[place] = {"error": refusal_body(found)}
            elif demanded > known:
                problems[place] = {"error": refusal_body(Unavailable(f"Policy version {demanded} is not known here."))}
            else:
                asked[place] = found
        plain = {place: one for place, one in asked.items() if not one.is_explained}
        decisions = authorizer.answer_logged(asks=[(one.actor, one.ask) for one in plain.values()], at_least=known)
        explained = _each_explained(asked, known)
        sent_back = problems | explained
        for place, decision in zip(plain, decisions, strict=True):
            sent_back[place] = decision_serializers.shown(decision, resultant=plain[place].resultant)
        versions = [decision.version for decision in decisions]
        version = max(versions + [one["policy_version"] for one in explained.values()], default=known)
        return self.answered(
            {"policy_version": version, "decisions": [sent_back[place] for place in sorted(sent_back)]}
        )


@signed_in
class GrantedPrivileges(Asking):
    """Which privileges somebody has."""

    @described(
        "granted_privileges",
        "Which privileges does an actor have?",
        body=GrantedIn,
        answer=decision_serializers.GrantedOut,
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return the names of the privileges, in order."""
        sent = strict_fields.checked(GrantedIn, request.data)
        who = sent.get("actor") or self.actor.urn
        if who != self.actor.urn:
            self.may_ask_about_others()
        facts = request_serializers.look_up(sent=[sent], by=self.actor)
        found = inverse_queries.granted(
            actor=facts.actors[who],
            asked=request_serializers.asked(sent.get("resource"), facts),
            at_least=sent.get("at_least_version") or 0,
        )
        return Response({"privileges": found.privileges, "policy_version": found.version})


@signed_in
class Who(Asking):
    """Who may use a privilege."""

    @described("who", "Who may use a privilege?", body=WhoIn, answer=decision_serializers.HoldersOut, statuses=(503,))
    def post(self, request: Request) -> Response:
        """Return users, groups and roles; always a question about others."""
        sent = strict_fields.checked(WhoIn, request.data)
        self.may_ask_about_others()
        facts = request_serializers.look_up(sent=[sent], by=self.actor)
        found = inverse_queries.who(
            privilege=sent["privilege"],
            asked=request_serializers.asked(sent.get("resource"), facts),
            at_least=sent.get("at_least_version") or 0,
        )
        return Response(
            {
                "all_users": found.is_all_users,
                "all_groups": found.is_all_groups,
                "users": found.users,
                "groups": found.groups,
                "roles": found.roles,
                "conditional": found.is_conditional,
                "policy_version": found.version,
            }
        )


def _known_version(at_least: int, sent: Iterable[Mapping[str, Any]]) -> int:
    """Return a version that is there: at least the one demanded of all answers, and the highest one demanded of any.

    Raises Unavailable when the one demanded of all is not there.
    """
    version = snapshot_store.current(at_least=at_least).version
    highest = max((one.get("at_least_version") or 0 for one in sent), default=0)
    if highest <= version:
        return version
    try:
        return snapshot_store.current(at_least=highest).version
    except Unavailable:
        return snapshot_store.current(at_least=at_least).version


def _each_explained(asked: Mapping[int, Question], at_least: int) -> dict[int, dict[str, Any]]:
    wanted = {place: one for place, one in asked.items() if one.is_explained}
    if not wanted:
        return {}
    found = explanations.explained_many(asks=[(one.actor, one.ask) for one in wanted.values()], at_least=at_least)
    return {
        place: decision_serializers.explained(one, asked[place].resultant)
        for place, one in zip(wanted, found, strict=True)
    }


def _each(sent: Sequence[Any]) -> tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]]:
    """Check each question by itself; return the good ones and the problems, each by its place.

    Raises Invalid where they are larger, or more of their parts are wrong, than one call may bring.
    """
    request_serializers.check_size(sent)
    good: dict[int, dict[str, Any]] = {}
    bad: dict[int, dict[str, Any]] = {}
    problems = 0
    for place, question in enumerate(sent):
        try:
            good[place] = request_serializers.checked(question)
        except ValidationError as error:
            refused = refusal_body(error)
            bad[place] = {"error": refused}
            problems += len(refused["errors"])
            if problems > request_serializers.BATCH:
                most = request_serializers.BATCH
                detail = f"The questions up to this one have more than {most} problems; none was answered."
                raise Invalid.one(code=MORE_PROBLEMS, pointer=f"/questions/{place}", detail=detail) from None
    return good, bad
