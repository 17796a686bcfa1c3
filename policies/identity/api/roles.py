"""Roles and their holders over the API (api.md 3.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.resource_view import Replaceable, described_one, identifier_of
from policies.http.api.views import DOOR, Door, Paged, page_of
from policies.http.guard import signed_in
from policies.identity.api.users import TAG
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.models import Role, RoleAssignment
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names
from policies.writes import required_privileges

_HOLDERS = (USER_PREFIX, GROUP_PREFIX)


class RoleOut(serializers.Serializer[Any]):
    """A role; `policies` are those that name it."""

    urn = serializers.CharField()
    id = serializers.CharField(source="identifier")
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    editable = serializers.BooleanField(source="is_editable")
    object_id = serializers.CharField()
    policies = serializers.ListField(child=serializers.CharField())


class RoleIn(strict_fields.Strict):
    """A role to be made or replaced."""

    urn = strict_fields.Urn(required=False, prefixes=(ROLE_PREFIX,))
    id = strict_fields.Text(required=False, max_length=1000)
    name = strict_fields.Text(max_length=1000)
    description = strict_fields.Text(required=False, allow_blank=True)
    editable = strict_fields.Flag(required=False)
    object_id = strict_fields.ObjectId(required=False)
    policies = strict_fields.List(child=strict_fields.Urn(), required=False, max_length=10_000)


class RoleChange(RoleIn):
    """The fields of a role that are to change."""

    name = strict_fields.Text(required=False, max_length=1000)


class RoleFilters(Paged):
    """Which roles to list."""

    q = strict_fields.Text(required=False, allow_blank=True, max_length=255, help_text="Part of the name or id.")


class HolderOut(serializers.Serializer[Any]):
    """A user or group that holds a role itself."""

    urn = serializers.CharField()
    type = serializers.ChoiceField(["corpuser", "corpGroup"])


class HoldersIn(strict_fields.Strict):
    """Users and groups."""

    actors = strict_fields.List(child=strict_fields.Urn(prefixes=_HOLDERS), max_length=roles.MAX_ACTORS)


class AssignIn(HoldersIn):
    """The one role these actors shall hold; null clears their roles. An unknown actor is skipped."""

    role = strict_fields.Urn(prefixes=(ROLE_PREFIX,), allow_null=True)
    actors = strict_fields.List(child=strict_fields.Urn(), max_length=roles.MAX_ACTORS)


class AssignedOut(serializers.Serializer[Any]):
    """Who holds the role now, and which actors nobody knows."""

    role = serializers.CharField(allow_null=True)
    assigned = serializers.ListField(child=serializers.CharField())
    skipped = serializers.ListField(child=serializers.CharField())


@signed_in
class Roles(Door):
    """The list of roles."""

    @described("roles_list", "List roles", query=RoleFilters, answer=page_of(RoleOut, "Role"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of roles, by URN."""
        asked = self.asked(RoleFilters)
        return self.page(users_groups_roles.roles(q=asked.get("q", "")), shown, asked)

    @described("roles_create", "Create a role", body=RoleIn, answer=RoleOut, status=201, statuses=(409,), tag=TAG)
    def post(self, request: Request) -> Response:
        """Make a role; policies give it power by naming it."""
        sent = strict_fields.checked(RoleIn, request.data)
        identifier = identifier_of(sent, ROLE_PREFIX)
        is_editable = sent.pop("editable", True)
        if sent.pop("policies", None):
            raise Invalid.one(code="read_only", pointer="/policies", detail="Policies name roles, not the other way.")
        role = roles.create(identifier=identifier, is_editable=is_editable, **sent, by=self.actor, door=DOOR)
        return Response(shown([role])[0], status=201)


@signed_in
@described_one("roles", "a role", answer=RoleOut, tag=TAG)
class OneRole(Replaceable):
    """One role. It is not deleted while a policy names it."""

    shape, change_shape = RoleIn, RoleChange
    emptied = ("description",)
    changed = ("name", "description")
    fixed, lists = ("urn", "id", "editable", "object_id"), ("policies",)

    def shown(self, urn: str) -> Mapping[str, Any]:
        """Return the role as it is sent."""
        return shown([users_groups_roles.role(urn=urn)])[0]

    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store name and description."""
        roles.update(urn=urn, by=self.actor, door=DOOR, **changes)

    def remove(self, urn: str) -> None:
        """Delete the role."""
        roles.delete(urn=urn, by=self.actor, door=DOOR)


@signed_in
class Holders(Door):
    """Who holds a role."""

    @described("roles_actors", "List who holds a role", query=Paged, answer=page_of(HolderOut, "Holder"), tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of users and groups, users first, by URN, to who manages policies."""
        required_privileges.require(by=self.actor, requirement=required_privileges.MANAGE_POLICIES)
        return self.page(users_groups_roles.holders(role=users_groups_roles.role(urn=urn)), _holders, self.asked())

    @described("roles_give", "Assign a role", body=HoldersIn, answer=HoldersIn, status=201, tag=TAG)
    def post(self, request: Request, urn: str) -> Response:
        """Give the role to users and groups beside what they hold."""
        sent = strict_fields.checked(HoldersIn, request.data)
        roles.give(urn=urn, actors=sent["actors"], by=self.actor, door=DOOR)
        return Response(sent, status=201)


@signed_in
class OneHolder(Door):
    """One user or group as holder of a role."""

    @described("roles_take", "Unassign a role", status=204, tag=TAG)
    def delete(self, _request: Request, urn: str, actor: str) -> Response:
        """Remove the role; an actor that does not hold it is no problem."""
        roles.take(urn=urn, actors=[actor], by=self.actor, door=DOOR)
        if actor not in display_names.names(urns=[actor]):
            raise NotFound(f"There is no user or group {actor!r}.")
        return Response(status=204)


@signed_in
class Assign(Door):
    """DataHub's assignment: one role replaces all."""

    @described(
        "roles_assign", "Assign one role to actors, replacing theirs", body=AssignIn, answer=AssignedOut, tag=TAG
    )
    def post(self, request: Request) -> Response:
        """Replace all roles of the actors by this one; null clears them."""
        sent = strict_fields.checked(AssignIn, request.data)
        done = roles.assign(role=sent["role"], actors=sent["actors"], by=self.actor, door=DOOR)
        return Response({"role": done.role, "assigned": list(done.assigned), "skipped": list(done.skipped)})


def shown(rows: Sequence[Role]) -> list[dict[str, Any]]:
    """Return roles as they are sent, with the policies that name them; one query for all of them."""
    naming = users_groups_roles.policies_naming(actors=[role.urn for role in rows])
    return [
        {
            "urn": role.urn,
            "id": role.identifier,
            "name": role.name,
            "description": role.description,
            "editable": role.is_editable,
            "object_id": role.object_id,
            "policies": naming[role.urn],
        }
        for role in rows
    ]


def _holders(rows: Sequence[RoleAssignment]) -> list[dict[str, str]]:
    users = [{"urn": row.user.urn, "type": "corpuser"} for row in rows if row.user is not None]
    groups = [{"urn": row.group.profile.urn, "type": "corpGroup"} for row in rows if row.group is not None]
    return [*users, *groups]
