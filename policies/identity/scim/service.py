"""Adaptations of the SCIM protocol service: reading patches of large providers, and the answers that they expect."""

from typing import Any

from scim2_models import InvalidPathException, PatchOp, Resource, ResourceType, ResponseParameters, SearchRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService
from scim2_server.storage import SearchPage

from policies.identity.scim.schemas import PROVIDER

#: Fields of a member that are ignored in patches.
_IGNORED_MEMBER_FIELDS = frozenset({"display", "$ref"})


def _normalize_value(name: str, value: Any) -> Any:
    """Return a value of a patch in the form that the library expects.

    Entra sends a manager as its bare id. Okta and Entra send the display names of members, which are not stored; in a
    removal they would act as a condition.
    """
    if name.rpartition(":")[2] == "manager" and isinstance(value, str):
        return {"value": value}
    if name == "members" and isinstance(value, list | dict):
        entries = value if isinstance(value, list) else [value]
        return [
            {key: item for key, item in entry.items() if key.lower() not in _IGNORED_MEMBER_FIELDS}
            if isinstance(entry, dict)
            else entry
            for entry in entries
        ]
    return value


class _LenientScimService(ScimService):
    """The library's service with the answers that providers expect."""

    def read_patch(self, resource_type: ResourceType, body: bytes, content_type: str | None) -> "PatchOp[Any]":
        """Return a parsed patch; an unknown path is refused, while unknown members of a value are ignored.

        Raises InvalidPathException.
        """
        patch = super().read_patch(resource_type, body, content_type)
        for operation in patch.operations or ():
            path = operation.path
            binding = None if path is None or path.model is not None else path.resolve()
            if path is not None and path.model is None and binding is None:
                raise InvalidPathException(path=str(path), detail=f"{path} is no attribute that is kept here.")
            if binding is not None:
                operation.value = _normalize_value(binding.field_name, operation.value)
            elif isinstance(operation.value, dict):
                operation.value = {key: _normalize_value(key.lower(), value) for key, value in operation.value.items()}
        return patch

    def search_response(
        self, base_url: str, resource_types: list[ResourceType], page: SearchPage, search_request: SearchRequest[Any]
    ) -> ScimResponse:
        """Return the response to a search, with `Resources` also if empty, since clients read it without checking."""
        response = super().search_response(base_url, resource_types, page, search_request)
        if response.body is not None:
            response.body.setdefault("Resources", [])
        return response

    def patch_response(
        self, base_url: str, resource: Resource[Any], response_parameters: ResponseParameters[Any]
    ) -> ScimResponse:
        """Return the response to a patch: a user in full, a group (possibly large) only if attributes are requested."""
        if resource.meta is not None and resource.meta.resource_type == "User":
            return self.replacement_response(base_url, resource, response_parameters)
        return super().patch_response(base_url, resource, response_parameters)


SERVICE = _LenientScimService(PROVIDER)
