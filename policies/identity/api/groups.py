"""Groups and their members over the API (api.md 3.2)."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.resource_view import Replaceable, described_one, identifier_of
from policies.http.api.views import DOOR, Door, Paged, page_of
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
    """A group as lists show it."""

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
        """Return the URNs of the members, in order."""
        return users_groups_roles.member_urns(groups=[group.urn])[group.urn]


class GroupIn(strict_fields.Strict):
    """A group to be made or replaced. Members and roles are given here only when it is made."""

    urn = strict_fields.Urn(required=False, prefixes=(GROUP_PREFIX,))
    id = strict_fields.Text(required=False, max_length=1000)
    name = strict_fields.Text(max_length=1000)
    description = strict_fields.Text(required=False, allow_blank=True)
    origin = serializers.ChoiceField(GroupProfile.Origin.choices, required=False)
    members = strict_fields.List(child=strict_fields.Urn(prefixes=(USER_PREFIX,)), required=False, max_length=10_000)
    roles = strict_fields.List(child=strict_fields.Urn(prefixes=(ROLE_PREFIX,)), required=False, max_length=1000)


class GroupChange(GroupIn):
    """The fields of a group that are to change."""

    name = strict_fields.Text(required=False, max_length=1000)


class MembersIn(strict_fields.Strict):
    """Users to add to a group, or to take out of it."""

    members = strict_fields.List(child=strict_fields.Urn(prefixes=(USER_PREFIX,)), max_length=groups.MAX_MEMBERS)


class GroupFilters(Paged):
    """Which groups to list."""

    q = strict_fields.Text(
        required=False, allow_blank=True, max_length=255, help_text="Beginnings of words of the name or id."
    )
    origin = serializers.ChoiceField(GroupProfile.Origin.choices, required=False)
    role = strict_fields.Urn(required=False)
    member = strict_fields.Urn(required=False)


@signed_in
class Groups(Door):
    """The list of groups."""

    @described("groups_list", "List groups", query=GroupFilters, answer=page_of(GroupRow, "Group"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of groups, by URN, to who may look at groups."""
        authorizer.require(by=self.actor, any_of=required_privileges.SEEING_GROUPS)
        asked = self.asked(GroupFilters)
        filters = {name: value for name, value in asked.items() if name not in ("page", "page_size")}
        return self.page(users_groups_roles.groups(**filters), lambda rows: GroupRow(rows, many=True).data, asked)

    @described("groups_create", "Create a group", body=GroupIn, answer=GroupOut, status=201, statuses=(409,), tag=TAG)
    def post(self, request: Request) -> Response:
        """Make a group."""
        sent = strict_fields.checked(GroupIn, request.data)
        identifier = identifier_of(sent, GROUP_PREFIX)
        group = groups.create(identifier=identifier, **sent, by=self.actor, door=DOOR)
        return Response(GroupOut(users_groups_roles.group(urn=group.urn)).data, status=201)


@signed_in
@described_one("groups", "a group", answer=GroupOut, tag=TAG)
class OneGroup(Replaceable):
    """One group."""

    shape, change_shape = GroupIn, GroupChange
    emptied = ("description",)
    changed = ("name", "description")
    fixed, lists = ("urn", "id", "origin"), ("members", "roles")

    def shown(self, urn: str) -> Mapping[str, Any]:
        """Return the group as it is sent, to who may change its members or what it is called; raises Forbidden."""
        required_privileges.require(
            by=self.actor, requirement=required_privileges.group_members(), urn=urn, type=groups.TYPE
        )
        return GroupOut(users_groups_roles.group(urn=urn)).data

    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store name and description."""
        groups.update(urn=urn, by=self.actor, door=DOOR, **changes)

    def remove(self, urn: str) -> None:
        """Delete the group."""
        groups.remove(urn=urn, by=self.actor, door=DOOR)


@signed_in
class Members(Door):
    """Who is in a group."""

    @described("groups_members", "List the members of a group", query=Paged, answer=page_of(UserOut, "Member"), tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of users, by URN, to who may change the members."""
        required_privileges.require(
            by=self.actor, requirement=required_privileges.group_members(), urn=urn, type=groups.TYPE
        )
        rows = users_groups_roles.members(group=users_groups_roles.group(urn=urn))
        return self.page(rows, lambda users: UserOut(users, many=True).data, self.asked())

    @described(
        "groups_add_members",
        "Add members to a group",
        body=MembersIn,
        answer=MembersIn,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request, urn: str) -> Response:
        """Add users; those that are in the group already stay."""
        sent = strict_fields.checked(MembersIn, request.data)
        groups.add_members(urn=urn, members=sent["members"], by=self.actor, door=DOOR)
        return Response(sent, status=201)

    @described(
        "groups_remove_members", "Remove members from a group", body=MembersIn, status=204, statuses=(409,), tag=TAG
    )
    def delete(self, request: Request, urn: str) -> Response:
        """Take users out; those that are not in the group are no problem."""
        sent = strict_fields.checked(MembersIn, request.data)
        groups.remove_members(urn=urn, members=sent["members"], by=self.actor, door=DOOR)
        return Response(status=204)
