"""Group and member endpoints (api.md 3.2)."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.resource_view import ReplaceableResourceView, openapi_resource_operations, pop_identifier
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
from policies.http.guard import signed_in
from policies.identity.api.users import TAG, UserOut
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups
from policies.models import GroupProfile
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer
from policies.writes import required_privileges


class GroupRow(serializers.Serializer[Any]):
    """A group in a list."""

    urn = serializers.CharField()
    id = serializers.CharField(source="identifier")
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    origin = serializers.ChoiceField(GroupProfile.Origin.choices)
    roles = serializers.ListField(child=serializers.CharField(), source="role_urns")


class GroupOut(GroupRow):
    """A group with its members."""

    members = serializers.SerializerMethodField()

    def get_members(self, group: GroupProfile) -> list[str]:
        """Return the sorted URNs of the members."""
        return users_groups_roles.load_member_urns(groups=[group.urn])[group.urn]


class GroupIn(strict_fields.StrictSerializer):
    """A group to create or replace. Members and roles can be set only at creation."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(GROUP_PREFIX,))
    id = strict_fields.StrictString(required=False, max_length=1000)
    name = strict_fields.StrictString(max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    origin = serializers.ChoiceField(GroupProfile.Origin.choices, required=False)
    members = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(USER_PREFIX,)), required=False, max_length=10_000
    )
    roles = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(ROLE_PREFIX,)), required=False, max_length=1000
    )


class GroupChange(GroupIn):
    """The fields of a group to change."""

    name = strict_fields.StrictString(required=False, max_length=1000)


class MembersIn(strict_fields.StrictSerializer):
    """Users to add to a group or to remove from it."""

    members = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(USER_PREFIX,)), max_length=groups.MAX_MEMBERS
    )


class GroupListFilters(PageParameters):
    """Filters of the list of groups."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Beginnings of words of the name or id."
    )
    origin = serializers.ChoiceField(GroupProfile.Origin.choices, required=False)
    role = strict_fields.StrictUrn(required=False)
    member = strict_fields.StrictUrn(required=False)


@signed_in
class GroupListView(ApiView):
    """The list of groups."""

    @openapi_operation(
        "groups_list", "List groups", query=GroupListFilters, answer=build_page_serializer(GroupRow, "Group"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of groups, by URN; needs one of VIEW_GROUPS."""
        authorizer.require(by=self.actor, any_of=required_privileges.VIEW_GROUPS)
        query = self.parse_query(GroupListFilters)
        filters = {name: value for name, value in query.items() if name not in ("page", "page_size")}
        return self.paginate(
            users_groups_roles.list_groups(**filters), lambda rows: GroupRow(rows, many=True).data, query
        )

    @openapi_operation(
        "groups_create", "Create a group", body=GroupIn, answer=GroupOut, status=201, statuses=(409,), tag=TAG
    )
    def post(self, request: Request) -> Response:
        """Create a group."""
        payload = strict_fields.validate(GroupIn, request.data)
        identifier = pop_identifier(payload, GROUP_PREFIX)
        group = groups.create(identifier=identifier, **payload, by=self.actor, channel=CHANNEL)
        return Response(GroupOut(users_groups_roles.get_group(urn=group.urn)).data, status=201)


@signed_in
@openapi_resource_operations("groups", "a group", answer=GroupOut, tag=TAG)
class GroupDetailView(ReplaceableResourceView):
    """One group."""

    replace_serializer, change_serializer = GroupIn, GroupChange
    clearable_fields = ("description",)
    editable_fields = ("name", "description")
    read_only_fields, read_only_lists = ("urn", "id", "origin"), ("members", "roles")

    def serialize(self, urn: str) -> Mapping[str, Any]:
        """Return the group as JSON; raises Forbidden unless the caller may change its members or profile."""
        required_privileges.require(
            by=self.actor, requirement=required_privileges.group_members(), urn=urn, type=groups.ENTITY_TYPE
        )
        return GroupOut(users_groups_roles.get_group(urn=urn)).data

    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store name and description."""
        groups.update(urn=urn, by=self.actor, channel=CHANNEL, **changes)

    def remove(self, urn: str) -> None:
        """Delete the group."""
        groups.remove(urn=urn, by=self.actor, channel=CHANNEL)


@signed_in
class GroupMemberListView(ApiView):
    """The members of a group."""

    @openapi_operation(
        "groups_members",
        "List the members of a group",
        query=PageParameters,
        answer=build_page_serializer(UserOut, "Member"),
        tag=TAG,
    )
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of members, by URN; needs the privilege to change the members."""
        required_privileges.require(
            by=self.actor, requirement=required_privileges.group_members(), urn=urn, type=groups.ENTITY_TYPE
        )
        rows = users_groups_roles.list_members(group=users_groups_roles.get_group(urn=urn))
        return self.paginate(rows, lambda users: UserOut(users, many=True).data, self.parse_query())

    @openapi_operation(
        "groups_add_members",
        "Add members to a group",
        body=MembersIn,
        answer=MembersIn,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request, urn: str) -> Response:
        """Add users; existing members stay."""
        payload = strict_fields.validate(MembersIn, request.data)
        groups.add_members(urn=urn, members=payload["members"], by=self.actor, channel=CHANNEL)
        return Response(payload, status=201)

    @openapi_operation(
        "groups_remove_members", "Remove members from a group", body=MembersIn, status=204, statuses=(409,), tag=TAG
    )
    def delete(self, request: Request, urn: str) -> Response:
        """Remove users; users that are not members are ignored."""
        payload = strict_fields.validate(MembersIn, request.data)
        groups.remove_members(urn=urn, members=payload["members"], by=self.actor, channel=CHANNEL)
        return Response(status=204)
