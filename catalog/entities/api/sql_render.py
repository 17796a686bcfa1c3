"""The query that selects the readable part of a table for an actor."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import readable_columns
from policies.decisions.api import request_serializers
from policies.decisions.api.authorize import DecisionView
from policies.decisions.api.request_serializers import MAX_COLUMNS, ResourceIn, VersionIn
from policies.engine.restrictions import DIALECTS
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.guard import signed_in
from policies.pdp.access_requests import ResourceRef


class RenderIn(VersionIn):
    """The table, as resource and by its name in the database, the actor, and the dialect."""

    actor = strict_fields.StrictActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    resource = ResourceIn()
    table = strict_fields.StrictString(max_length=512)
    columns = strict_fields.StrictList(
        child=strict_fields.StrictString(max_length=255),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=MAX_COLUMNS,
        help_text="The table's own when the catalog has no schema for it, else the ones wanted.",
    )
    dialect = serializers.ChoiceField(DIALECTS, default="spark")


@extend_schema_serializer(component_name="RenderedOut")
class RenderOut(serializers.Serializer[Any]):
    """A query; cells that may not be seen are NULL in it, columns that may not be seen are absent."""

    sql = serializers.CharField()


@signed_in
class RenderView(DecisionView):
    """Rendering of readable tables as SQL."""

    @openapi_operation(
        "render",
        "The SELECT that shows what an actor may read",
        body=RenderIn,
        answer=RenderOut,
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return the query; the refusal is that of reading the table."""
        payload = strict_fields.validate(RenderIn, request.data)
        actor_urn = payload.get("actor") or self.actor.urn
        if actor_urn != self.actor.urn:
            self.check_may_ask_about_others()
        facts = request_serializers.load_question_facts(questions=[payload], by=self.actor)
        resource = request_serializers.build_resource_ref(payload["resource"], facts) or ResourceRef()
        sql = readable_columns.render_select(
            actor=facts.actors[actor_urn],
            resource=resource,
            table=payload["table"],
            columns=payload.get("columns"),
            dialect=payload["dialect"],
            at_least=payload.get("at_least_version") or 0,
        )
        return Response({"sql": sql})
