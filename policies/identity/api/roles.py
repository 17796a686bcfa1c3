"""Role and assignment endpoints (api.md 3.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.resource_view import ReplaceableResourceView, openapi_resource_operations, pop_identifier
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
from policies.http.guard import signed_in
from policies.identity.api.users import TAG
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.models import Role, RoleAssignment
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names
from policies.writes import required_privileges

_HOLDER_PREFIXES = (USER_PREFIX, GROUP_PREFIX)


class RoleOut(serializers.Serializer[Any]):
    """A role; `policies` are those that name it."""

    urn = serializers.CharField()
    id = serializers.CharField(source="identifier")
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    editable = serializers.BooleanField(source="is_editable")
    object_id = serializers.CharField()
    policies = serializers.ListField(child=serializers.CharField())


class RoleIn(strict_fields.StrictSerializer):
    """A role to create or replace."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(ROLE_PREFIX,))
    id = strict_fields.StrictString(required=False, max_length=1000)
    name = strict_fields.StrictString(max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    editable = strict_fields.StrictBoolean(required=False)
    object_id = strict_fields.StrictObjectId(required=False)
    policies = strict_fields.StrictList(child=strict_fields.StrictUrn(), required=False, max_length=10_000)


class RoleChange(RoleIn):
    """The fields of a role to change."""

    name = strict_fields.StrictString(required=False, max_length=1000)


class RoleListFilters(PageParameters):
    """Filter of the list of roles."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Part of the name or id."
    )


class HolderOut(serializers.Serializer[Any]):
    """A user or group that holds a role directly."""

    urn = serializers.CharField()
    type = serializers.ChoiceField(["corpuser", "corpGroup"])


class HoldersIn(strict_fields.StrictSerializer):
    """Users and groups."""

    actors = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=_HOLDER_PREFIXES), max_length=roles.MAX_ACTORS
    )


@extend_schema_serializer(component_name="AssignIn")
class ReplacingAssignmentIn(HoldersIn):
    """The only role that these actors shall hold; null removes all their roles. Unknown actors are skipped."""

    role = strict_fields.StrictUrn(prefixes=(ROLE_PREFIX,), allow_null=True)
    actors = strict_fields.StrictList(child=strict_fields.StrictUrn(), max_length=roles.MAX_ACTORS)


@extend_schema_serializer(component_name="AssignedOut")
class ReplacingAssignmentOut(serializers.Serializer[Any]):
    """The assigned role, the actors that now hold it, and the unknown actors."""

    role = serializers.CharField(allow_null=True)
    assigned = serializers.ListField(child=serializers.CharField())
    skipped = serializers.ListField(child=serializers.CharField())


@signed_in
class RoleListView(ApiView):
    """The list of roles."""

    @openapi_operation(
        "roles_list", "List roles", query=RoleListFilters, answer=build_page_serializer(RoleOut, "Role"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of roles, by URN."""
        query = self.parse_query(RoleListFilters)
        return self.paginate(users_groups_roles.list_roles(q=query.get("q", "")), serialize_roles, query)

    @openapi_operation(
        "roles_create", "Create a role", body=RoleIn, answer=RoleOut, status=201, statuses=(409,), tag=TAG
    )
    def post(self, request: Request) -> Response:
        """Create a role; policies give it privileges by naming it."""
        payload = strict_fields.validate(RoleIn, request.data)
        identifier = pop_identifier(payload, ROLE_PREFIX)
        is_editable = payload.pop("editable", True)
        if payload.pop("policies", None):
            raise Invalid.from_problem(
                code="read_only", pointer="/policies", detail="Policies name roles, not the other way."
            )
        role = roles.create(identifier=identifier, is_editable=is_editable, **payload, by=self.actor, channel=CHANNEL)
        return Response(serialize_roles([role])[0], status=201)


@signed_in
@openapi_resource_operations("roles", "a role", answer=RoleOut, tag=TAG)
class RoleDetailView(ReplaceableResourceView):
    """One role. It cannot be deleted while a policy names it."""

    replace_serializer, change_serializer = RoleIn, RoleChange
    clearable_fields = ("description",)
    editable_fields = ("name", "description")
    read_only_fields, read_only_lists = ("urn", "id", "editable", "object_id"), ("policies",)

    def serialize(self, urn: str) -> Mapping[str, Any]:
        """Return the role as JSON."""
        return serialize_roles([users_groups_roles.get_role(urn=urn)])[0]

    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store name and description."""
        roles.update(urn=urn, by=self.actor, channel=CHANNEL, **changes)

    def remove(self, urn: str) -> None:
        """Delete the role."""
        roles.delete(urn=urn, by=self.actor, channel=CHANNEL)


@signed_in
class RoleHolderListView(ApiView):
    """The holders of a role."""

    @openapi_operation(
        "roles_actors",
        "List who holds a role",
        query=PageParameters,
        answer=build_page_serializer(HolderOut, "Holder"),
        tag=TAG,
    )
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of users and groups, users first, by URN; needs MANAGE_POLICIES."""
        required_privileges.require(by=self.actor, requirement=required_privileges.MANAGE_POLICIES)
        return self.paginate(
            users_groups_roles.list_holders(role=users_groups_roles.get_role(urn=urn)),
            _serialize_holders,
            self.parse_query(),
        )

    @openapi_operation("roles_give", "Assign a role", body=HoldersIn, answer=HoldersIn, status=201, tag=TAG)
    def post(self, request: Request, urn: str) -> Response:
        """Assign the role to users and groups in addition to their roles."""
        payload = strict_fields.validate(HoldersIn, request.data)
        roles.grant(urn=urn, actors=payload["actors"], by=self.actor, channel=CHANNEL)
        return Response(payload, status=201)


@signed_in
class RoleHolderDetailView(ApiView):
    """The assignment of a role to one user or group."""

    @openapi_operation("roles_take", "Unassign a role", status=204, tag=TAG)
    def delete(self, _request: Request, urn: str, actor: str) -> Response:
        """Revoke the role; succeeds for an actor that does not hold it. Raises NotFound for an unknown actor."""
        roles.revoke(urn=urn, actors=[actor], by=self.actor, channel=CHANNEL)
        if actor not in display_names.load_names(urns=[actor]):
            raise NotFound(f"There is no user or group {actor!r}.")
        return Response(status=204)


@signed_in
class RoleAssignView(ApiView):
    """DataHub's assignment: one role replaces all direct roles."""

    @openapi_operation(
        "roles_assign",
        "Assign one role to actors, replacing theirs",
        body=ReplacingAssignmentIn,
        answer=ReplacingAssignmentOut,
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Replace all direct roles of the actors by this role; null removes them."""
        payload = strict_fields.validate(ReplacingAssignmentIn, request.data)
        result = roles.assign(role=payload["role"], actors=payload["actors"], by=self.actor, channel=CHANNEL)
        return Response(
            {"role": result.role, "assigned": list(result.assigned_urns), "skipped": list(result.skipped_urns)}
        )


def serialize_roles(rows: Sequence[Role]) -> list[dict[str, Any]]:
    """Return roles as JSON, with the policies that name them; one query for all roles."""
    policies_by_role = users_groups_roles.load_policy_urns_by_actor(actors=[role.urn for role in rows])
    return [
        {
            "urn": role.urn,
            "id": role.identifier,
            "name": role.name,
            "description": role.description,
            "editable": role.is_editable,
            "object_id": role.object_id,
            "policies": policies_by_role[role.urn],
        }
        for role in rows
    ]


def _serialize_holders(rows: Sequence[RoleAssignment]) -> list[dict[str, str]]:
    users = [{"urn": row.user.urn, "type": "corpuser"} for row in rows if row.user is not None]
    groups = [{"urn": row.group.profile.urn, "type": "corpGroup"} for row in rows if row.group is not None]
    return [*users, *groups]
