"""CDAP operations over the API: checked and applied in one call (api.md section 2)."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.cdap import operation_services
from catalog.cdap.operation_services import Done, Emptied, Found
from policies.decisions.api import decision_serializers
from policies.decisions.api.decision_serializers import MissingOut, ResultantOut
from policies.decisions.api.request_serializers import LISTED
from policies.engine.families.cdap_requests import Said
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import DOOR, Door
from policies.http.guard import signed_in
from policies.pdp import snapshot_store

TAG = "operations"


class DeployedIn(strict_fields.Strict):
    """What a deployment looks at beside the application."""

    artifact = strict_fields.Urn(required=False, allow_null=True, help_text="What it is deployed from.")
    programs = strict_fields.List(
        child=strict_fields.Urn(), required=False, max_length=LISTED, help_text="The programs that it brings."
    )


class OperationIn(strict_fields.Strict):
    """An operation that is to be done. Lists and delete_all take what the entities lie in, null for everywhere."""

    actor = strict_fields.ActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    operation = strict_fields.Text(max_length=255, help_text="`dataset.create`, `program.start` …")
    entity = strict_fields.Urn(required=False, allow_null=True)
    parent = strict_fields.Urn(  # type: ignore[assignment]  # the base has one
        required=False, allow_null=True, help_text="The entity that contains it, as its name says."
    )
    related = DeployedIn(required=False, allow_null=True)


class DoneOut(serializers.Serializer[Any]):
    """The operation was allowed and is done; `resultant` are the grants that it gave."""

    decision = serializers.ChoiceField(["ALLOW"])
    missing = MissingOut(many=True)
    policy_version = serializers.IntegerField(min_value=0)
    resultant = ResultantOut(many=True)


class FoundOut(serializers.Serializer[Any]):
    """The entities of a list; of namespaces all, and those on which the actor holds something."""

    returned = serializers.ListField(child=serializers.CharField())
    accessible = serializers.ListField(child=serializers.CharField(), required=False)


class RefusedOut(serializers.Serializer[Any]):
    """An entity that was not deleted."""

    entity = serializers.CharField()
    missing = MissingOut(many=True)


class EmptiedOut(serializers.Serializer[Any]):
    """What was deleted and what was not; `hidden` counts entities that the actor may not see."""

    deleted = serializers.ListField(child=serializers.CharField())
    errors = RefusedOut(many=True)  # type: ignore[assignment]  # the base has a property of this name
    hidden = serializers.IntegerField(min_value=0)


Outcome = PolymorphicProxySerializer(
    component_name="Outcome", serializers=[DoneOut, FoundOut, EmptiedOut], resource_type_field_name=None, many=False
)


@signed_in
class Operations(Door):
    """Doing things to CDAP entities."""

    @described(
        "operations_perform",
        "Check an operation and apply it",
        body=OperationIn,
        answer=Outcome,
        statuses=(409, 503),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Register what a create makes, remove what a delete takes, list what may be seen; a refusal says why."""
        sent = strict_fields.checked(OperationIn, request.data)
        related = sent.get("related") or {}
        said = Said(
            operation=sent["operation"],
            entity=sent.get("entity"),
            parent=sent.get("parent"),
            artifact=related.get("artifact"),
            programs=tuple(related.get("programs") or ()),
        )
        return Response(
            _shown(operation_services.perform(said=said, actor=sent.get("actor"), by=self.actor, door=DOOR))
        )


def _shown(found: Done | Found | Emptied) -> dict[str, Any]:
    match found:
        case Done():
            return {
                "decision": "ALLOW",
                "missing": [],
                "policy_version": found.decision.version or snapshot_store.current().version,
                "resultant": decision_serializers.granted(found.resultant),
            }
        case Found(accessible=None):
            return {"returned": found.returned}
        case Found():
            return {"returned": found.returned, "accessible": found.accessible}
        case Emptied():
            return {
                "deleted": found.deleted,
                "errors": [
                    {"entity": one.entity, "missing": decision_serializers.lacking(one.missing)} for one in found.errors
                ],
                "hidden": found.hidden,
            }
