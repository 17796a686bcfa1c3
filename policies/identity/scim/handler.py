"""The library's request handler, adapted to groups that are too large to load for each change of a member."""

from typing import Any

from scim2_models import Group, InvalidValueException, PatchOp, Resource, ResourceType, ResponseParameters
from scim2_server.conditions import Conditions
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse

from policies.identity.scim import member_patches
from policies.identity.scim.service import SERVICE
from policies.identity.scim.storage import PeopleStorage

_EXCLUDE_MEMBERS = ResponseParameters[Group].model_validate({"excludedAttributes": ["members"]})

#: For each such operation the library examines all members of the group.
_SINGLE_OPERATION_TEXT = "An operation that chooses members otherwise than by one id is the only one of its patch."


class ScimRequestHandler(ScimHandler):
    """Handler of one request."""

    def __init__(self, storage: PeopleStorage) -> None:
        super().__init__(SERVICE, storage)
        self.people_storage = storage
        self.is_full_response = False

    def patch(self, request: ScimRequest) -> ScimResponse:
        """Patch a resource; a group is returned with its members only if the query names attributes."""
        self.is_full_response = not request.query.keys().isdisjoint({"attributes", "excludedAttributes"})
        return super().patch(request)

    def patch_resource(
        self, resource_type: ResourceType, resource_id: str, patch_op: "PatchOp[Any]", conditions: Conditions
    ) -> Resource[Any]:
        """Store a patch and return the resource; members are changed by id, without loading the group's members."""
        group_patch = member_patches.split_patch(patch_op) if resource_type.name == "Group" else None
        if group_patch is None:
            if resource_type.name == "Group" and len(patch_op.operations or ()) > 1:
                raise InvalidValueException(detail=_SINGLE_OPERATION_TEXT)
            return super().patch_resource(resource_type, resource_id, patch_op, conditions)
        group = self.people_storage.get(resource_type, resource_id, response_parameters=_EXCLUDE_MEMBERS)
        delta, other_changes = group_patch
        self.service.apply_patch(group, other_changes, conditions)
        self.people_storage.change_group(resource_type, group, delta)
        return self.people_storage.get(
            resource_type, resource_id, response_parameters=None if self.is_full_response else _EXCLUDE_MEMBERS
        )
