"""Resources on which an actor may use a privilege, filtered in the database, never row by row."""

from base64 import b64decode, urlsafe_b64encode

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import reachable_resources
from catalog.access.reachable_resources import ReachableList
from catalog.entities.api.entities import EntityRow, serialize_entities
from policies.decisions.api.authorize import DecisionView
from policies.decisions.api.request_serializers import VersionIn
from policies.engine.families import datazone_resource_patterns
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import PageParameters, build_page_serializer
from policies.http.guard import signed_in
from policies.pdp import actor_resolution, authorizer, inverse_queries

#: Maximum count that is exact; a larger one is reported only as larger.
MAX_COUNT = 10_000


@extend_schema_serializer(component_name="WhatIn")
class ResourcesAllowedIn(VersionIn, PageParameters):
    """A query for the entities on which an actor may use a privilege; `query` is searched as in lists of entities."""

    actor = strict_fields.StrictActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    privilege = strict_fields.StrictString(max_length=255)
    type = strict_fields.StrictString(required=False, allow_null=True, max_length=64)
    query = strict_fields.StrictString(required=False, allow_null=True, allow_blank=True, max_length=1024)
    cursor = strict_fields.StrictString(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=4096,
        help_text="Empty for the first entities, ordered by URN; then `next_cursor`. Instead of a page.",
    )


@signed_in
class ResourcesAllowedView(DecisionView):
    """Resources that an actor may use a privilege on."""

    @openapi_operation(
        "what",
        "What may an actor use a privilege on?",
        body=ResourcesAllowedIn,
        query=PageParameters,
        answer=build_page_serializer(
            EntityRow,
            "Reached",
            scope=serializers.ChoiceField([scope.value for scope in inverse_queries.DisclosureScope]),
            next_cursor=serializers.CharField(allow_null=True),
        ),
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return a page of entities, users, groups, roles and policies. A query string or the body names the page.

        Pages are for small lists: what is written meanwhile moves their rows. With `cursor` nothing comes twice, and
        what is there all the time comes once: `next_cursor` is the cursor of the next call, null at the end.
        `scope` is whether the list is everything that the actor may use the privilege on (for callers that may ask
        about others) or only the part that the caller may view.
        """
        self.parse_query()
        body = request.data
        query_values = {name: value for name, value in request.query_params.items() if name in ("page", "page_size")}
        payload = strict_fields.validate(
            ResourcesAllowedIn, {**body, **query_values} if isinstance(body, dict) else body
        )
        actor_urn = payload.get("actor") or self.actor.urn
        cursor = payload.get("cursor")
        if cursor is not None and ("page" in body or "page" in query_values):
            detail = "Give a page or a cursor, and not both."
            raise Invalid.from_problem(code="cursor.page", pointer="/cursor", detail=detail)
        last_urn = None if cursor is None else _parse_cursor(cursor)
        if actor_urn != self.actor.urn:
            self.check_may_ask_about_others()
        scope = inverse_queries.find_scope(self.actor)
        actor = self.actor if actor_urn == self.actor.urn else actor_resolution.load_actor(urn=actor_urn)
        coverage = authorizer.compute_coverage(
            actor=actor, privilege=payload["privilege"], at_least=payload.get("at_least_version") or 0
        )
        types = datazone_resource_patterns.list_action_types(payload["privilege"])
        if payload.get("type"):
            if problem := datazone_resource_patterns.check_question(payload["privilege"], payload["type"], "/type"):
                raise Invalid([problem])
            types = frozenset((payload["type"],))
        reachable = reachable_resources.list_reachable(
            coverage=coverage,
            text=payload.get("query") or "",
            types=types,
            viewer=None if scope is inverse_queries.DisclosureScope.ACTOR else self.actor,
            max_count=MAX_COUNT,
        )
        response = (
            self.paginate(reachable, serialize_entities, payload, max_count=MAX_COUNT)
            if last_urn is None
            else _build_page_after(reachable, last_urn, payload["page_size"])
        )
        response.data.setdefault("next_cursor", None)
        response.data["scope"] = scope.value
        response.data["policy_version"] = coverage.version
        return response


def _build_page_after(reachable: ReachableList, last_urn: str, size: int) -> Response:
    """Return the resources after a URN, and the cursor of those that follow."""
    rows = reachable.read_rows_after(last_urn, size + 1)
    page_rows = rows[:size]
    has_more = len(rows) > size
    return Response(
        {
            "count": len(reachable),
            "next": None,
            "previous": None,
            "results": serialize_entities(page_rows),
            "next_cursor": urlsafe_b64encode(page_rows[-1].urn.encode()).decode() if has_more else None,
        }
    )


def _parse_cursor(cursor: str) -> str:
    """Return the URN that a cursor stands for, '' for the beginning. Raises Invalid."""
    try:
        return b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode()
    except ValueError:
        detail = "Give the next_cursor of an earlier answer."
        raise Invalid.from_problem(code="cursor.invalid", pointer="/cursor", detail=detail) from None
