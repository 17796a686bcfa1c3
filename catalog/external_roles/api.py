"""External roles over the API, and the external roles of an entity (api.md, section 3)."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import entity_lists, view_permissions
from catalog.aspects.base import ACCESS_ROLE
from catalog.external_roles import queries as reading
from catalog.external_roles import services as service
from catalog.models import Entity
from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer, find_read_only_changes
from policies.http.guard import signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX

TAG = "external roles"
ROLE_PREFIX = "urn:li:role:"

#: Maximum number of people or datasets in one call.
_MAX_LIST_LENGTH = 10_000


class ExternalRoleOut(serializers.Serializer[Any]):
    """An external role as the caller may see it."""

    urn = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    type = serializers.CharField(allow_blank=True, help_text="READ, WRITE, ADMIN, or what the source system says.")
    request_url = serializers.CharField(allow_null=True)
    users = serializers.ListField(child=serializers.CharField())
    groups = serializers.ListField(child=serializers.CharField())
    datasets = serializers.ListField(child=serializers.CharField(), help_text="Those that the caller may view.")
    assigned_to_me = serializers.BooleanField(source="is_mine", help_text="Directly or through a group.")


class ExternalRoleIn(strict_fields.StrictSerializer):
    """An external role to create or replace."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(ROLE_PREFIX,))
    name = strict_fields.StrictString(max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    type = strict_fields.StrictString(max_length=64)
    request_url = strict_fields.StrictString(
        required=False, allow_null=True, max_length=2000, help_text="http or https."
    )
    users = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(USER_PREFIX,)), required=False, max_length=_MAX_LIST_LENGTH
    )
    groups = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(GROUP_PREFIX,)), required=False, max_length=_MAX_LIST_LENGTH
    )
    datasets = strict_fields.StrictList(child=strict_fields.StrictUrn(), required=False, max_length=_MAX_LIST_LENGTH)


class ExternalRoleChange(ExternalRoleIn):
    """The fields of an external role to change."""

    name = strict_fields.StrictString(required=False, max_length=1000)
    type = strict_fields.StrictString(required=False, max_length=64)


class ExternalRoleListFilters(PageParameters):
    """Filters of the list of external roles."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=1024, help_text="Words of the name, or a URN."
    )
    type = strict_fields.StrictString(required=False, max_length=64)
    holder = strict_fields.StrictUrn(
        required=False, prefixes=(USER_PREFIX, GROUP_PREFIX), help_text="Named by the role itself."
    )


class _ExternalRoleView(ApiView):
    def serialize_roles(self, urns: Sequence[str]) -> list[Any]:
        """Return the JSON bodies of external roles."""
        roles = reading.load_roles(urns=urns, by=self.actor, with_datasets=True)
        return list(ExternalRoleOut(roles, many=True).data)

    def serialize_entities(self, entities: Sequence[Entity]) -> list[Any]:
        """Return the JSON bodies of a page of external roles."""
        return self.serialize_roles([entity.urn for entity in entities])


@signed_in
class ExternalRoleListView(_ExternalRoleView):
    """The list of external roles."""

    @openapi_operation(
        "external_roles_list",
        "List external roles",
        query=ExternalRoleListFilters,
        answer=build_page_serializer(ExternalRoleOut, "ExternalRole"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of external roles, by name."""
        query = self.parse_query(ExternalRoleListFilters)
        holders = [query["holder"]] if "holder" in query else []
        entities = reading.list_roles(text=query.get("q", ""), type=query.get("type", ""), holders=holders)
        return self.paginate(entities, self.serialize_entities, query)

    @openapi_operation(
        "external_roles_create",
        "Describe an external role",
        body=ExternalRoleIn,
        answer=ExternalRoleOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Describe an external role; needs EDIT_ENTITY on it, and the privileges for editing each dataset."""
        payload = strict_fields.validate(ExternalRoleIn, request.data)
        entity = service.create(
            urn=payload.pop("urn", None), role_input=_build_input(payload), by=self.actor, channel=CHANNEL
        )
        return Response(self.serialize_roles([entity.urn])[0], status=201)


@signed_in
class ExternalRoleDetailView(_ExternalRoleView):
    """One external role."""

    @openapi_operation("external_roles_get", "Get an external role", answer=ExternalRoleOut, tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return the external role."""
        return Response(self.serialize_roles([reading.get_role(urn=urn).urn])[0])

    @openapi_operation(
        "external_roles_replace", "Replace an external role", body=ExternalRoleIn, answer=ExternalRoleOut, tag=TAG
    )
    def put(self, request: Request, urn: str) -> Response:
        """Replace the description; lists that are left out become empty."""
        payload = strict_fields.validate(ExternalRoleIn, request.data)
        return self._write(urn, {"users": [], "groups": [], "datasets": [], **payload})

    @openapi_operation(
        "external_roles_change", "Change an external role", body=ExternalRoleChange, answer=ExternalRoleOut, tag=TAG
    )
    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent."""
        payload = strict_fields.validate(ExternalRoleChange, request.data)
        reading.get_role(urn=urn)
        (role,) = reading.load_roles(urns=[urn], by=self.actor)
        current_values = {name: getattr(role, name) for name in ("name", "description", "type", "request_url")}
        return self._write(urn, {**current_values, **payload})

    @openapi_operation("external_roles_delete", "Delete an external role", status=204, tag=TAG)
    def delete(self, _request: Request, urn: str) -> Response:
        """Delete the description of the external role, and the references to it on datasets."""
        service.delete(urn=urn, by=self.actor, channel=CHANNEL)
        return Response(status=204)

    def _write(self, urn: str, payload: dict[str, Any]) -> Response:
        if problems := find_read_only_changes(payload, {"urn": urn}):
            raise Invalid(problems)
        role_input = _build_input({name: value for name, value in payload.items() if name != "urn"})
        service.update(urn=urn, role_input=role_input, by=self.actor, channel=CHANNEL)
        return Response(self.serialize_roles([urn])[0])


@signed_in
class EntityExternalRoleListView(_ExternalRoleView):
    """The external roles of one entity."""

    @openapi_operation(
        "entities_access",
        "List the external roles through which an entity can be reached",
        query=PageParameters,
        answer=build_page_serializer(ExternalRoleOut, "Access"),
        tag=TAG,
    )
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of external roles, by URN; `assigned_to_me` is about the caller."""
        query = self.parse_query()
        entity = entity_lists.get(urn=urn)
        if not view_permissions.may_view(entity, by=self.actor):
            raise NotFound(f"There is no entity {urn}.")
        return self.paginate(
            entity_lists.load_values(urns=[urn], field=ACCESS_ROLE).get(urn, []), self.serialize_roles, query
        )


def _build_input(payload: dict[str, Any]) -> service.ExternalRoleInput:
    lists: dict[str, Any] = {name: tuple(payload[name]) for name in ("users", "groups", "datasets") if name in payload}
    return service.ExternalRoleInput(**{**payload, **lists})
