"""User endpoints (api.md 3.2)."""

from typing import Any

from django.db.models import Q, QuerySet
from rest_framework import serializers

from policies.engine.model import Actor
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.resource_view import ReplaceableResourceView, openapi_resource_operations
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import signed_in
from policies.identity.queries import users_groups_roles
from policies.identity.services import users
from policies.models import Gate, User, open_write
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer
from policies.writes import required_privileges

TAG = "people"

_PROFILE_FIELDS = ("display_name", "email", "title")


class UserOut(serializers.Serializer[Any]):
    """A user; `groups` are all of its groups, `roles` its direct roles."""

    urn = serializers.CharField()
    username = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)
    email = serializers.CharField(allow_blank=True)
    title = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(User.State.choices)
    object_id = serializers.CharField()
    groups = serializers.ListField(child=serializers.CharField(), source="group_urns")
    roles = serializers.ListField(child=serializers.CharField(), source="role_urns")


class UserIn(strict_fields.StrictSerializer):
    """A user to create or change. Groups and roles can be set only at creation."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(USER_PREFIX,))
    username = strict_fields.StrictString(max_length=1000)
    display_name = strict_fields.StrictString(required=False, allow_blank=True)
    email = strict_fields.StrictString(required=False, allow_blank=True)
    title = strict_fields.StrictString(required=False, allow_blank=True)
    state = serializers.ChoiceField(User.State.choices, required=False)
    password = strict_fields.StrictString(required=False, write_only=True, max_length=1024)
    object_id = strict_fields.StrictObjectId(required=False)
    groups = strict_fields.StrictUrnList(GROUP_PREFIX, required=False, max_length=1000)
    roles = strict_fields.StrictUrnList(ROLE_PREFIX, required=False, max_length=1000)


class UserChange(UserIn):
    """The fields of a user to change."""


class UserListFilters(PageParameters):
    """Filters of the list of users."""

    q = strict_fields.SearchText("Beginnings of words of names or the address.")
    state = serializers.ChoiceField(User.State.choices, required=False)
    group = strict_fields.StrictUrn(required=False)
    role = strict_fields.StrictUrn(required=False, help_text="Held by the user itself.")


@signed_in
class UserListView(ApiView):
    """The list of users."""

    @list_operation("users_list", "List users", UserOut, "User", query=UserListFilters, tag=TAG)
    def get(self, **filters: Any) -> QuerySet[User]:
        """Return a page of users, by URN; needs one of VIEW_USERS."""
        authorizer.require(by=self.actor, any_of=required_privileges.VIEW_USERS)
        return users_groups_roles.list_users(**filters, address_condition=Q())

    @api_operation("users_create", "Create a user", body=UserIn, answer=UserOut, status=201, statuses=(409,), tag=TAG)
    def post(self, payload: dict[str, Any]) -> User:
        """Create a user."""
        urn = payload.pop("urn", None)
        if urn is not None and urn != USER_PREFIX + payload["username"]:
            detail = "The URN of a user is made of its username."
            raise Invalid.from_problem(code="urn.disagrees", pointer="/urn", detail=detail)
        user = users.create(**payload, by=self.actor, channel=CHANNEL)
        return users_groups_roles.get_user(urn=user.urn)


def _update_user(*, urn: str, by: Actor, channel: str, password: str | None = None, **changes: Any) -> None:
    """Store profile fields and state, and a password if there is one, in one transaction."""
    with open_write(Gate.PEOPLE):
        if changes:
            users.update(urn=urn, by=by, channel=channel, **changes)
        if password is not None:
            users.set_password(urn=urn, password=password, by=by, channel=channel)


@signed_in
@openapi_resource_operations("users", "a user", tag=TAG)
class UserDetailView(ReplaceableResourceView):
    """One user. Replacing a user does not change its state."""

    answer, replace_serializer, change_serializer = UserOut, UserIn, UserChange
    update, delete_object = _update_user, users.remove
    clearable_fields = _PROFILE_FIELDS
    editable_fields = (*_PROFILE_FIELDS, "state", "password")
    read_only_fields, read_only_lists = ("urn", "username", "object_id"), ("groups", "roles")

    def load(self, urn: str) -> User:
        """Return the user; raises Forbidden unless the caller is the user or may see its record."""
        user = users_groups_roles.find_user(urn=urn)
        is_service = user is not None and user.kind == User.Kind.SERVICE
        required_privileges.require(
            by=self.actor,
            requirement=required_privileges.user_record(is_service=is_service),
            urn=urn,
            type=users.ENTITY_TYPE,
        )
        return users_groups_roles.get_user(urn=urn)
