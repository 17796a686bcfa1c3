"""CDAP operations over the API: checked and applied in one call (api.md section 2)."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.cdap import operation_services
from catalog.cdap.operation_services import DeleteAllResult, OperationDone, OperationListing
from policies.decisions.api import decision_serializers
from policies.decisions.api.decision_serializers import MissingPrivilegeOut, ResultingGrantOut
from policies.decisions.api.request_serializers import MAX_LIST_URNS
from policies.engine.families.cdap_requests import OperationRequest
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import CHANNEL, ApiView
from policies.http.guard import signed_in
from policies.pdp import snapshot_store

TAG = "operations"


@extend_schema_serializer(component_name="DeployedIn")
class DeploymentIn(strict_fields.StrictSerializer):
    """Related entities of a deployment, besides the application."""

    artifact = strict_fields.StrictUrn(
        required=False, allow_null=True, help_text="The artifact that it is deployed from."
    )
    programs = strict_fields.StrictList(
        child=strict_fields.StrictUrn(),
        required=False,
        max_length=MAX_LIST_URNS,
        help_text="The programs that it brings.",
    )


class OperationIn(strict_fields.StrictSerializer):
    """An operation to perform. Lists and delete_all take the container of the entities, null for everywhere."""

    actor = strict_fields.StrictActorUrn(required=False, allow_null=True, help_text="Left out: the caller.")
    operation = strict_fields.StrictString(max_length=255, help_text="`dataset.create`, `program.start` …")
    entity = strict_fields.StrictUrn(required=False, allow_null=True)
    parent = strict_fields.StrictUrn(  # type: ignore[assignment]  # the base has one
        required=False, allow_null=True, help_text="The entity that contains it, as its name says."
    )
    related = DeploymentIn(required=False, allow_null=True)


@extend_schema_serializer(component_name="DoneOut")
class OperationDoneOut(serializers.Serializer[Any]):
    """The operation was allowed and performed; `resultant` are the grants that it made."""

    decision = serializers.ChoiceField(["ALLOW"])
    missing = MissingPrivilegeOut(many=True)
    policy_version = serializers.IntegerField(min_value=0)
    resultant = ResultingGrantOut(many=True)


@extend_schema_serializer(component_name="FoundOut")
class OperationListingOut(serializers.Serializer[Any]):
    """The entities of a list; of namespaces all, and those on which the actor holds a privilege."""

    returned = serializers.ListField(child=serializers.CharField())
    accessible = serializers.ListField(child=serializers.CharField(), required=False)


@extend_schema_serializer(component_name="RefusedOut")
class RefusedEntityOut(serializers.Serializer[Any]):
    """An entity that was not deleted."""

    entity = serializers.CharField()
    missing = MissingPrivilegeOut(many=True)


@extend_schema_serializer(component_name="EmptiedOut")
class DeleteAllResultOut(serializers.Serializer[Any]):
    """The entities that were deleted and refused; `hidden` counts entities that the actor may not see."""

    deleted = serializers.ListField(child=serializers.CharField())
    errors = RefusedEntityOut(many=True)  # type: ignore[assignment]  # the base has a property of this name
    hidden = serializers.IntegerField(min_value=0)


OperationOutcomeOut = PolymorphicProxySerializer(
    component_name="Outcome",
    serializers=[OperationDoneOut, OperationListingOut, DeleteAllResultOut],
    resource_type_field_name=None,
    many=False,
)


@signed_in
class OperationView(ApiView):
    """Operations on CDAP entities."""

    @openapi_operation(
        "operations_perform",
        "Check an operation and apply it",
        body=OperationIn,
        answer=OperationOutcomeOut,
        statuses=(409, 503),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Register the entities of a create, delete, or list what is visible; a refusal gives its reasons."""
        payload = strict_fields.validate(OperationIn, request.data)
        related = payload.get("related") or {}
        operation_request = OperationRequest(
            operation=payload["operation"],
            entity=payload.get("entity"),
            parent=payload.get("parent"),
            artifact=related.get("artifact"),
            programs=tuple(related.get("programs") or ()),
        )
        return Response(
            _serialize_outcome(
                operation_services.perform(
                    operation_request=operation_request, actor=payload.get("actor"), by=self.actor, channel=CHANNEL
                )
            )
        )


def _serialize_outcome(outcome: OperationDone | OperationListing | DeleteAllResult) -> dict[str, Any]:
    match outcome:
        case OperationDone():
            return {
                "decision": "ALLOW",
                "missing": [],
                "policy_version": outcome.decision.version or snapshot_store.get_current().version,
                "resultant": decision_serializers.serialize_grants(outcome.resulting_grants),
            }
        case OperationListing(accessible_urns=None):
            return {"returned": outcome.urns}
        case OperationListing():
            return {"returned": outcome.urns, "accessible": outcome.accessible_urns}
        case DeleteAllResult():
            return {
                "deleted": outcome.deleted_urns,
                "errors": [
                    {
                        "entity": refused_entity.entity,
                        "missing": decision_serializers.serialize_missing(refused_entity.missing),
                    }
                    for refused_entity in outcome.errors
                ],
                "hidden": outcome.hidden_count,
            }
