"""User endpoints (api.md 3.2)."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.resource_view import ReplaceableResourceView, openapi_resource_operations
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
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
    groups = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(GROUP_PREFIX,)), required=False, max_length=1000
    )
    roles = strict_fields.StrictList(
        child=strict_fields.StrictUrn(prefixes=(ROLE_PREFIX,)), required=False, max_length=1000
    )


class UserChange(UserIn):
    """The fields of a user to change."""

    username = strict_fields.StrictString(required=False, max_length=1000)


class UserListFilters(PageParameters):
    """Filters of the list of users."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Beginnings of words of names or the address."
    )
    state = serializers.ChoiceField(User.State.choices, required=False)
    group = strict_fields.StrictUrn(required=False)
    role = strict_fields.StrictUrn(required=False, help_text="Held by the user itself.")


@signed_in
class UserListView(ApiView):
    """The list of users."""

    @openapi_operation(
        "users_list", "List users", query=UserListFilters, answer=build_page_serializer(UserOut, "User"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of users, by URN; needs one of VIEW_USERS."""
        authorizer.require(by=self.actor, any_of=required_privileges.VIEW_USERS)
        query = self.parse_query(UserListFilters)
        filters = {name: value for name, value in query.items() if name not in ("page", "page_size")}
        return self.paginate(
            users_groups_roles.list_users(**filters, address_condition=Q()),
            lambda rows: UserOut(rows, many=True).data,
            query,
        )

    @openapi_operation(
        "users_create", "Create a user", body=UserIn, answer=UserOut, status=201, statuses=(409,), tag=TAG
    )
    def post(self, request: Request) -> Response:
        """Create a user."""
        payload = strict_fields.validate(UserIn, request.data)
        urn = payload.pop("urn", None)
        if urn is not None and urn != USER_PREFIX + payload["username"]:
            detail = "The URN of a user is made of its username."
            raise Invalid.from_problem(code="urn.disagrees", pointer="/urn", detail=detail)
        user = users.create(**payload, by=self.actor, channel=CHANNEL)
        return Response(UserOut(users_groups_roles.get_user(urn=user.urn)).data, status=201)


@signed_in
@openapi_resource_operations("users", "a user", answer=UserOut, tag=TAG)
class UserDetailView(ReplaceableResourceView):
    """One user. Replacing a user does not change its state."""

    replace_serializer, change_serializer = UserIn, UserChange
    clearable_fields = _PROFILE_FIELDS
    editable_fields = (*_PROFILE_FIELDS, "state", "password")
    read_only_fields, read_only_lists = ("urn", "username", "object_id"), ("groups", "roles")

    def serialize(self, urn: str) -> Mapping[str, Any]:
        """Return the user as JSON; raises Forbidden unless the caller is the user or may see its record."""
        user = users_groups_roles.find_user(urn=urn)
        is_service = user is not None and user.kind == User.Kind.SERVICE
        required_privileges.require(
            by=self.actor,
            requirement=required_privileges.user_record(is_service=is_service),
            urn=urn,
            type=users.ENTITY_TYPE,
        )
        return UserOut(users_groups_roles.get_user(urn=urn)).data

    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store profile fields and state, and a password if there is one, in one transaction."""
        password = changes.pop("password", None)
        with open_write(Gate.PEOPLE):
            if changes:
                users.update(urn=urn, by=self.actor, channel=CHANNEL, **changes)
            if password is not None:
                users.set_password(urn=urn, password=password, by=self.actor, channel=CHANNEL)

    def remove(self, urn: str) -> None:
        """Delete the user."""
        users.remove(urn=urn, by=self.actor, channel=CHANNEL)
