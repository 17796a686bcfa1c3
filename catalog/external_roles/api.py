"""External roles over the API, and the external roles of an entity (api.md, section 3)."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from catalog.access import entity_lists, view_permissions
from catalog.aspects.facet_fields import ACCESS_ROLE
from catalog.external_roles import queries as reading
from catalog.external_roles import services as service
from catalog.external_roles.queries import ExternalRole
from catalog.models import Entity
from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, find_read_only_changes
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
    users = strict_fields.StrictUrnList(USER_PREFIX, required=False, max_length=_MAX_LIST_LENGTH)
    groups = strict_fields.StrictUrnList(GROUP_PREFIX, required=False, max_length=_MAX_LIST_LENGTH)
    datasets = strict_fields.StrictUrnList(required=False, max_length=_MAX_LIST_LENGTH)


class ExternalRoleChange(ExternalRoleIn):
    """The fields of an external role to change."""


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
    def load_role(self, urn: str) -> ExternalRole:
        """Return an external role with its datasets. Raises NotFound."""
        return self.prepare_rows([reading.get_role(urn=urn)])[0]

    def prepare_rows(self, rows: Sequence[Entity | str]) -> list[ExternalRole]:
        """Return the external roles of a page of entities or URNs, with their datasets."""
        urns = [row if isinstance(row, str) else row.urn for row in rows]
        return reading.load_roles(urns=urns, by=self.actor, with_datasets=True)


@signed_in
class ExternalRoleListView(_ExternalRoleView):
    """The list of external roles."""

    @list_operation(
        "external_roles_list",
        "List external roles",
        ExternalRoleOut,
        "ExternalRole",
        query=ExternalRoleListFilters,
        tag=TAG,
    )
    def get(self, q: str = "", type: str = "", holder: str = "") -> QuerySet[Entity]:
        """Return a page of external roles, by name."""
        return reading.list_roles(text=q, type=type, holders=[holder] if holder else ())

    @api_operation(
        "external_roles_create",
        "Describe an external role",
        body=ExternalRoleIn,
        answer=ExternalRoleOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> ExternalRole:
        """Describe an external role; needs EDIT_ENTITY on it, and the privileges for editing each dataset."""
        urn = payload.pop("urn", None)
        entity = service.create(urn=urn, role_input=_build_input(payload), by=self.actor, channel=CHANNEL)
        return self.load_role(entity.urn)


@signed_in
class ExternalRoleDetailView(_ExternalRoleView):
    """One external role."""

    @api_operation("external_roles_get", "Get an external role", answer=ExternalRoleOut, tag=TAG)
    def get(self, urn: str) -> ExternalRole:
        """Return the external role."""
        return self.load_role(urn)

    @api_operation(
        "external_roles_replace", "Replace an external role", body=ExternalRoleIn, answer=ExternalRoleOut, tag=TAG
    )
    def put(self, payload: dict[str, Any], urn: str) -> ExternalRole:
        """Replace the description; lists that are left out become empty."""
        return self._write(urn, {"users": [], "groups": [], "datasets": [], **payload})

    @api_operation(
        "external_roles_change",
        "Change an external role",
        body=ExternalRoleChange,
        is_partial=True,
        answer=ExternalRoleOut,
        tag=TAG,
    )
    def patch(self, payload: dict[str, Any], urn: str) -> ExternalRole:
        """Set the fields that are sent."""
        role = self.load_role(urn)
        current_values = {name: getattr(role, name) for name in ("name", "description", "type", "request_url")}
        return self._write(urn, {**current_values, **payload})

    @api_operation("external_roles_delete", "Delete an external role", tag=TAG)
    def delete(self, urn: str) -> None:
        """Delete the description of the external role, and the references to it on datasets."""
        service.delete(urn=urn, by=self.actor, channel=CHANNEL)

    def _write(self, urn: str, payload: dict[str, Any]) -> ExternalRole:
        if problems := find_read_only_changes(payload, {"urn": urn}):
            raise Invalid(problems)
        payload.pop("urn", None)
        service.update(urn=urn, role_input=_build_input(payload), by=self.actor, channel=CHANNEL)
        return self.load_role(urn)


@signed_in
class EntityExternalRoleListView(_ExternalRoleView):
    """The external roles of one entity."""

    @list_operation(
        "entities_access",
        "List the external roles through which an entity can be reached",
        ExternalRoleOut,
        "Access",
        tag=TAG,
    )
    def get(self, urn: str) -> list[str]:
        """Return a page of external roles, by URN; `assigned_to_me` is about the caller."""
        if not view_permissions.may_view(entity_lists.get(urn=urn), by=self.actor):
            raise NotFound(f"There is no entity {urn}.")
        return entity_lists.load_values(urns=[urn], field=ACCESS_ROLE).get(urn, [])


def _build_input(payload: dict[str, Any]) -> service.ExternalRoleInput:
    lists: dict[str, Any] = {name: tuple(payload[name]) for name in ("users", "groups", "datasets") if name in payload}
    return service.ExternalRoleInput(**{**payload, **lists})
