"""What may somebody use a privilege on? Filtered in the database, never row by row."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import reachable_resources
from catalog.entities.api.entities import EntityRow, rows_of
from policies.decisions.api.authorize import Asking
from policies.decisions.api.request_serializers import VersionIn
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import Paged, page_of
from policies.http.guard import signed_in
from policies.pdp import actor_resolution, authorizer, inverse_queries

#: Exact numbers of entities are told up to this many.
COUNTED = 10_000


class WhatIn(VersionIn, Paged):
    """On which entities may this actor use this privilege? `query` is searched as in lists of entities."""

    actor = strict_fields.ActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    privilege = strict_fields.Text(max_length=255)
    type = strict_fields.Text(required=False, allow_null=True, max_length=64)
    query = strict_fields.Text(required=False, allow_null=True, allow_blank=True, max_length=1024)


@signed_in
class What(Asking):
    """What somebody may reach."""

    @described(
        "what",
        "What may an actor use a privilege on?",
        body=WhatIn,
        query=Paged,
        answer=page_of(
            EntityRow, "Reached", scope=serializers.ChoiceField([one.value for one in inverse_queries.Scope])
        ),
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return a page of entities, users, groups, roles and policies. A query string or the body names the page.

        `scope` says whether it is everything the actor may use the privilege on, which whoever may ask about others is
        told, or of that what the caller may view.
        """
        self.asked()
        body = request.data
        in_path = {name: value for name, value in request.query_params.items() if name in ("page", "page_size")}
        sent = strict_fields.checked(WhatIn, {**body, **in_path} if isinstance(body, dict) else body)
        who = sent.get("actor") or self.actor.urn
        if who != self.actor.urn:
            self.may_ask_about_others()
        scope = inverse_queries.scope_of(self.actor)
        actor = self.actor if who == self.actor.urn else actor_resolution.actor(urn=who)
        coverage = authorizer.visible(
            actor=actor, privilege=sent["privilege"], at_least=sent.get("at_least_version") or 0
        )
        found = reachable_resources.reachable(
            coverage=coverage,
            text=sent.get("query") or "",
            types=[sent["type"]] if sent.get("type") else [],
            viewer=None if scope is inverse_queries.Scope.ACTOR else self.actor,
            most=COUNTED,
        )
        answer = self.page(found, rows_of, sent, most=COUNTED)
        answer.data["scope"] = scope.value
        answer.data["policy_version"] = coverage.version
        return answer
