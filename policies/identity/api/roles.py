"""Role and assignment endpoints (api.md 3.2)."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.managed_fields import KeptMark, ManagedOut
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.resource_view import ReplaceableResourceView, openapi_resource_operations, pop_identifier
from policies.http.api.timed_holders import TimedHolderList, TimesOut
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import signed_in
from policies.identity.api.users import TAG
from policies.identity.queries import users_groups_roles
from policies.identity.queries.users_groups_roles import HolderRow
from policies.identity.services import roles
from policies.models import Role
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names
from policies.writes import required_privileges


class RoleOut(serializers.Serializer[Any]):
    """A role; `policies` are those that name it."""

    urn = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    editable = serializers.BooleanField()
    object_id = serializers.CharField()
    policies = serializers.ListField(child=serializers.CharField())
    managed = ManagedOut(allow_null=True)


class RoleIn(strict_fields.StrictSerializer):
    """A role to create or replace."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(ROLE_PREFIX,))
    id = strict_fields.StrictString(required=False, max_length=1000)
    name = strict_fields.StrictString(max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    editable = strict_fields.StrictBoolean(required=False)
    object_id = strict_fields.StrictObjectId(required=False)
    policies = strict_fields.StrictUrnList(required=False, max_length=10_000)
    managed = KeptMark()


class RoleChange(RoleIn):
    """The fields of a role to change."""


class RoleListFilters(PageParameters):
    """Filter of the list of roles."""

    q = strict_fields.SearchText("Part of the name or id.")


class HolderOut(TimesOut):
    """A user or group that holds a role directly. One that is PENDING does not hold it yet."""

    urn = serializers.CharField()
    type = serializers.ChoiceField(["corpuser", "corpGroup"])


class HoldersIn(strict_fields.StrictSerializer):
    """Users and groups, each as a URN or as an object with times and a reason."""

    actors = TimedHolderList(USER_PREFIX, GROUP_PREFIX, max_length=roles.MAX_ACTORS)


@extend_schema_serializer(component_name="AssignIn")
class ReplacingAssignmentIn(strict_fields.StrictSerializer):
    """The only role that these actors shall hold; null removes all their roles. Unknown actors are skipped."""

    role = strict_fields.StrictUrn(prefixes=(ROLE_PREFIX,), allow_null=True)
    actors = strict_fields.StrictUrnList(max_length=roles.MAX_ACTORS)


@extend_schema_serializer(component_name="AssignedOut")
class ReplacingAssignmentOut(serializers.Serializer[Any]):
    """The assigned role, the actors that now hold it, and the unknown actors."""

    role = serializers.CharField(allow_null=True)
    assigned = serializers.ListField(child=serializers.CharField(), source="assigned_urns")
    skipped = serializers.ListField(child=serializers.CharField(), source="skipped_urns")


def _describe_roles(role_rows: Sequence[Role]) -> list[dict[str, Any]]:
    """Return the fields of `RoleOut`, with the policies that name each role; one query for all roles."""
    policies_by_role = users_groups_roles.load_policy_urns_by_actor(actors=[role.urn for role in role_rows])
    return [
        {
            "urn": role.urn,
            "id": role.identifier,
            "name": role.name,
            "description": role.description,
            "editable": role.is_editable,
            "object_id": role.object_id,
            "policies": policies_by_role[role.urn],
            "managed": role.managed,
        }
        for role in role_rows
    ]


@signed_in
class RoleListView(ApiView):
    """The list of roles."""

    @list_operation("roles_list", "List roles", RoleOut, "Role", query=RoleListFilters, tag=TAG)
    def get(self, **filters: Any) -> QuerySet[Role]:
        """Return a page of roles, by URN."""
        return users_groups_roles.list_roles(**filters)

    def prepare_rows(self, rows: Sequence[Role]) -> list[dict[str, Any]]:
        """Return the roles of a page with the policies that name them."""
        return _describe_roles(rows)

    @api_operation("roles_create", "Create a role", body=RoleIn, answer=RoleOut, status=201, statuses=(409,), tag=TAG)
    def post(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Create a role; policies give it privileges by naming it."""
        identifier = pop_identifier(payload, ROLE_PREFIX)
        is_editable = payload.pop("editable", True)
        payload.pop("managed", None)
        if payload.pop("policies", None):
            raise Invalid.from_problem(
                code="read_only", pointer="/policies", detail="Policies name roles, not the other way."
            )
        role = roles.create(identifier=identifier, is_editable=is_editable, **payload, by=self.actor, channel=CHANNEL)
        return _describe_roles([role])[0]


@signed_in
@openapi_resource_operations("roles", "a role", tag=TAG)
class RoleDetailView(ReplaceableResourceView):
    """One role. It cannot be deleted while a policy names it."""

    answer, replace_serializer, change_serializer = RoleOut, RoleIn, RoleChange
    update, delete_object = roles.update, roles.delete
    clearable_fields = ("description",)
    editable_fields = ("name", "description")
    read_only_fields, read_only_lists = ("urn", "id", "editable", "object_id"), ("policies",)

    def load(self, urn: str) -> dict[str, Any]:
        """Return the role."""
        return _describe_roles([users_groups_roles.get_role(urn=urn)])[0]


@signed_in
class RoleHolderListView(ApiView):
    """The holders of a role."""

    @list_operation("roles_actors", "List who holds a role", HolderOut, "Holder", tag=TAG)
    def get(self, urn: str) -> QuerySet[Any, HolderRow]:
        """Return a page of users and groups, users first, by URN, also of those to come; needs MANAGE_POLICIES."""
        required_privileges.require(by=self.actor, requirement=required_privileges.MANAGE_POLICIES)
        return users_groups_roles.list_holder_times(role=users_groups_roles.get_role(urn=urn))

    def prepare_rows(self, rows: Sequence[HolderRow]) -> list[dict[str, Any]]:
        """Return the holders of a page with their types."""
        return [row._asdict() | {"type": "corpGroup" if row.is_group else "corpuser"} for row in rows]

    @api_operation("roles_give", "Assign a role", body=HoldersIn, answer=HoldersIn, status=201, tag=TAG)
    def post(self, payload: dict[str, Any], urn: str) -> dict[str, Any]:
        """Assign the role, now or for a time. A URN alone leaves the a holder's times as they are, an object sets them.

        The holders keep their roles.
        """
        roles.grant(urn=urn, **payload, by=self.actor, channel=CHANNEL)
        return payload


@signed_in
class RoleHolderDetailView(ApiView):
    """The assignment of a role to one user or group."""

    @api_operation("roles_take", "Unassign a role", tag=TAG)
    def delete(self, urn: str, actor: str) -> None:
        """Revoke the role; succeeds for an actor that does not hold it. Raises NotFound for an unknown actor."""
        roles.revoke(urn=urn, actors=[actor], by=self.actor, channel=CHANNEL)
        if actor not in display_names.load_names(urns=[actor]):
            raise NotFound(f"There is no user or group {actor!r}.")


@signed_in
class RoleAssignView(ApiView):
    """DataHub's assignment: one role replaces all direct roles."""

    @api_operation(
        "roles_assign",
        "Assign one role to actors, replacing theirs",
        body=ReplacingAssignmentIn,
        answer=ReplacingAssignmentOut,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> roles.AssignmentResult:
        """Replace all direct roles of the actors by this role; null removes them."""
        return roles.assign(**payload, by=self.actor, channel=CHANNEL)
