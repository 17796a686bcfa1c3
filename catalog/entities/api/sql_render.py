"""The query that shows what somebody may read of a table."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import readable_columns
from policies.decisions.api import request_serializers
from policies.decisions.api.authorize import Asking
from policies.decisions.api.request_serializers import COLUMNS, ResourceIn, VersionIn
from policies.engine.sql_rendering import DIALECTS
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.guard import signed_in
from policies.pdp.authorizer import Asked


class RenderIn(VersionIn):
    """Which table, as the catalog knows it and as the database calls it, for whom, and in which dialect."""

    actor = strict_fields.ActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    resource = ResourceIn()
    table = strict_fields.Text(max_length=512)
    columns = strict_fields.List(
        child=strict_fields.Text(max_length=255),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=COLUMNS,
        help_text="The table's own when the catalog has no schema for it, else the ones wanted.",
    )
    dialect = serializers.ChoiceField(DIALECTS, default="spark")


class RenderedOut(serializers.Serializer[Any]):
    """A query; cells that may not be seen are NULL in it, columns that may not be seen are absent."""

    sql = serializers.CharField()


@signed_in
class Render(Asking):
    """Rendering."""

    @described(
        "render",
        "The SELECT that shows what an actor may read",
        body=RenderIn,
        answer=RenderedOut,
        statuses=(503,),
    )
    def post(self, request: Request) -> Response:
        """Return the query; refused like a read."""
        sent = strict_fields.checked(RenderIn, request.data)
        who = sent.get("actor") or self.actor.urn
        if who != self.actor.urn:
            self.may_ask_about_others()
        facts = request_serializers.look_up(sent=[sent], by=self.actor)
        asked = request_serializers.asked(sent["resource"], facts) or Asked()
        sql = readable_columns.select(
            actor=facts.actors[who],
            asked=asked,
            table=sent["table"],
            columns=sent.get("columns"),
            dialect=sent["dialect"],
            at_least=sent.get("at_least_version") or 0,
        )
        return Response({"sql": sql})
