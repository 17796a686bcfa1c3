"""The library's handler, for groups that are too large to look at for each member that comes or goes."""

from typing import Any

from scim2_models import Group, InvalidValueException, PatchOp, Resource, ResourceType, ResponseParameters
from scim2_server.conditions import Conditions
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse

from policies.identity.scim import member_patches
from policies.identity.scim.service import SERVICE
from policies.identity.scim.storage import PeopleStore

_WITHOUT_MEMBERS = ResponseParameters[Group].model_validate({"excludedAttributes": ["members"]})

#: The library looks at all members of the group for each such operation.
_ALONE = "An operation that chooses members otherwise than by one id is the only one of its patch."


class Handler(ScimHandler):
    """Answers one request."""

    def __init__(self, store: PeopleStore) -> None:
        super().__init__(SERVICE, store)
        self.store = store
        self.is_shown = False

    def patch(self, request: ScimRequest) -> ScimResponse:
        """Change one; it is shown whole only to who names attributes."""
        self.is_shown = not request.query.keys().isdisjoint({"attributes", "excludedAttributes"})
        return super().patch(request)

    def patch_resource(
        self, resource_type: ResourceType, resource_id: str, patch_op: "PatchOp[Any]", conditions: Conditions
    ) -> Resource[Any]:
        """Store the result of a patch and return it."""
        found = member_patches.split(patch_op) if resource_type.name == "Group" else None
        if found is None:
            if resource_type.name == "Group" and len(patch_op.operations or ()) > 1:
                raise InvalidValueException(detail=_ALONE)
            return super().patch_resource(resource_type, resource_id, patch_op, conditions)
        group = self.store.get(resource_type, resource_id, response_parameters=_WITHOUT_MEMBERS)
        delta, rest = found
        self.service.apply_patch(group, rest, conditions)
        self.store.change_group(group, delta)
        return self.store.get(
            resource_type, resource_id, response_parameters=None if self.is_shown else _WITHOUT_MEMBERS
        )
