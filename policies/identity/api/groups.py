"""Group and member endpoints (api.md 3.2)."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework import serializers

from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.resource_view import ReplaceableResourceView, openapi_resource_operations, pop_identifier
from policies.http.api.timed_holders import TimedHolderList, TimesOut
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import signed_in
from policies.identity.api.users import TAG, UserOut
from policies.identity.queries import users_groups_roles
from policies.identity.queries.users_groups_roles import HolderTimes
from policies.identity.services import groups
from policies.models import GroupProfile, User
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
    members = strict_fields.StrictUrnList(USER_PREFIX, required=False, max_length=groups.MAX_MEMBERS)
    roles = strict_fields.StrictUrnList(ROLE_PREFIX, required=False, max_length=1000)


class GroupChange(GroupIn):
    """The fields of a group to change."""


class MemberOut(TimesOut, UserOut):
    """A member of a group. One that is PENDING has not begun and is no member yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._parts = UserOut(), TimesOut()

    def to_representation(self, instance: tuple[User, HolderTimes]) -> dict[str, Any]:
        """Return the user with its times."""
        values = (part.to_representation(value) for part, value in zip(self._parts, instance, strict=True))
        return {name: value for fields in values for name, value in fields.items()}


class MembersAddIn(strict_fields.StrictSerializer):
    """Users to add to a group, each as a URN or as an object with times and a reason."""

    members = TimedHolderList(USER_PREFIX, max_length=groups.MAX_MEMBERS)


class MembersIn(strict_fields.StrictSerializer):
    """Users to remove from a group."""

    members = strict_fields.StrictUrnList(USER_PREFIX, max_length=groups.MAX_MEMBERS)


class GroupListFilters(PageParameters):
    """Filters of the list of groups."""

    q = strict_fields.SearchText("Beginnings of words of the name or id.")
    origin = serializers.ChoiceField(GroupProfile.Origin.choices, required=False)
    role = strict_fields.StrictUrn(required=False)
    member = strict_fields.StrictUrn(required=False)


@signed_in
class GroupListView(ApiView):
    """The list of groups."""

    @list_operation("groups_list", "List groups", GroupRow, "Group", query=GroupListFilters, tag=TAG)
    def get(self, **filters: Any) -> QuerySet[GroupProfile]:
        """Return a page of groups, by URN; needs one of VIEW_GROUPS."""
        authorizer.require(by=self.actor, any_of=required_privileges.VIEW_GROUPS)
        return users_groups_roles.list_groups(**filters)

    @api_operation(
        "groups_create", "Create a group", body=GroupIn, answer=GroupOut, status=201, statuses=(409,), tag=TAG
    )
    def post(self, payload: dict[str, Any]) -> GroupProfile:
        """Create a group."""
        identifier = pop_identifier(payload, GROUP_PREFIX)
        group = groups.create(identifier=identifier, **payload, by=self.actor, channel=CHANNEL)
        return users_groups_roles.get_group(urn=group.urn)


@signed_in
@openapi_resource_operations("groups", "a group", tag=TAG)
class GroupDetailView(ReplaceableResourceView):
    """One group."""

    answer, replace_serializer, change_serializer = GroupOut, GroupIn, GroupChange
    update, delete_object = groups.update, groups.remove
    clearable_fields = ("description",)
    editable_fields = ("name", "description")
    read_only_fields, read_only_lists = ("urn", "id", "origin"), ("members", "roles")

    def load(self, urn: str) -> GroupProfile:
        """Return the group; raises Forbidden unless the caller may change its members or profile."""
        return _load_group(urn, self.actor)


@signed_in
class GroupMemberListView(ApiView):
    """The members of a group."""

    @list_operation("groups_members", "List the members of a group", MemberOut, "Member", tag=TAG)
    def get(self, urn: str) -> QuerySet[User]:
        """Return a page of members, by URN, also of those to come; needs the privilege to change the members."""
        self._group = _load_group(urn, self.actor)
        return users_groups_roles.list_members(group=self._group, address_condition=Q())

    def prepare_rows(self, rows: Sequence[User]) -> list[tuple[User, HolderTimes]]:
        """Return the users of a page with their times in the group."""
        times = users_groups_roles.load_member_times(group=self._group, users=rows)
        return [(user, times.get(user.urn, HolderTimes())) for user in rows]

    @api_operation(
        "groups_add_members",
        "Add members to a group",
        body=MembersAddIn,
        answer=MembersAddIn,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], urn: str) -> dict[str, Any]:
        """Add users, now or for a time. A URN alone leaves the times of a member as they are, an object sets them."""
        groups.add_members(urn=urn, **payload, by=self.actor, channel=CHANNEL)
        return payload

    @api_operation("groups_remove_members", "Remove members from a group", body=MembersIn, statuses=(409,), tag=TAG)
    def delete(self, payload: dict[str, Any], urn: str) -> None:
        """Remove users; users that are not members are ignored."""
        groups.remove_members(urn=urn, **payload, by=self.actor, channel=CHANNEL)


def _load_group(urn: str, by: Actor) -> GroupProfile:
    required_privileges.require(
        by=by, requirement=required_privileges.group_members(), urn=urn, type=groups.ENTITY_TYPE
    )
    return users_groups_roles.get_group(urn=urn)
