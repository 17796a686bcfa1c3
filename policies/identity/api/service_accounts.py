"""Endpoints of service accounts (users for programs) and their tokens."""

from typing import Any

from django.db.models import Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.resource_view import EditableResourceView, openapi_resource_operations
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import needs
from policies.identity.api import access_tokens
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import service_accounts, users
from policies.models import AccessToken, User
from policies.pdp import authorizer
from policies.writes import required_privileges

TAG = "people"

MANAGE_GUARD = needs("MANAGE_SERVICE_ACCOUNTS")


class ServiceOut(serializers.Serializer[Any]):
    """A service account; `groups` are all of its groups, `roles` its direct roles."""

    urn = serializers.CharField()
    username = serializers.CharField()
    display_name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(User.State.choices)
    object_id = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    groups = serializers.ListField(child=serializers.CharField(), source="group_urns")
    roles = serializers.ListField(child=serializers.CharField(), source="role_urns")


class ServiceIn(strict_fields.StrictSerializer):
    """A service account to create; its user name is generated."""

    display_name = strict_fields.StrictString(max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)


class ServiceChange(ServiceIn):
    """The fields of a service account to change; `urn` and `username` may be sent unchanged."""

    urn = strict_fields.StrictUrn(required=False)
    username = strict_fields.StrictString(max_length=1000)
    state = serializers.ChoiceField(User.State.choices, required=False)


class ServiceAccountListFilters(PageParameters):
    """Filters of the list of service accounts."""

    q = strict_fields.SearchText("Beginnings of words of the name.")
    state = serializers.ChoiceField(User.State.choices, required=False)


class ServiceTokenIn(strict_fields.StrictSerializer):
    """A token to create for a service account."""

    name = strict_fields.StrictString(max_length=1000)
    duration = access_tokens.TokenIn().fields["duration"]
    description = strict_fields.StrictString(required=False, allow_blank=True)


def _update_account(*, urn: str, by: Actor, channel: str, **changes: Any) -> None:
    if changes:
        service_accounts.update(urn=urn, by=by, channel=channel, **changes)


def _remove_account(*, urn: str, by: Actor, channel: str) -> None:
    service_accounts.get(urn=urn)
    users.remove(urn=urn, by=by, channel=channel)


@MANAGE_GUARD
class ServiceAccountListView(ApiView):
    """The list of service accounts."""

    @list_operation(
        "service_accounts_list",
        "List service accounts",
        ServiceOut,
        "ServiceAccount",
        query=ServiceAccountListFilters,
        tag=TAG,
    )
    def get(self, **filters: Any) -> QuerySet[User]:
        """Return a page of service accounts, by URN."""
        return users_groups_roles.list_users(kind=User.Kind.SERVICE, **filters, address_condition=Q())

    @api_operation(
        "service_accounts_create", "Create a service account", body=ServiceIn, answer=ServiceOut, status=201, tag=TAG
    )
    def post(self, payload: dict[str, Any]) -> User:
        """Create a service account; it has no token yet."""
        user = service_accounts.create(**payload, by=self.actor, channel=CHANNEL)
        return service_accounts.get(urn=user.urn)


@MANAGE_GUARD
@openapi_resource_operations("service_accounts", "a service account", tag=TAG)
class ServiceAccountDetailView(EditableResourceView):
    """One service account. The tokens of a suspended one are refused."""

    answer, change_serializer = ServiceOut, ServiceChange
    update, delete_object = _update_account, _remove_account
    editable_fields = ("display_name", "description", "state")
    read_only_fields = ("urn", "username")

    def load(self, urn: str) -> User:
        """Return the service account."""
        return service_accounts.get(urn=urn)


@MANAGE_GUARD
class ServiceAccountTokenListView(ApiView):
    """The tokens of one service account; they are revoked at the general token endpoint."""

    @list_operation(
        "service_accounts_tokens",
        "List the tokens of a service account",
        access_tokens.TokenOut,
        "ServiceToken",
        tag=TAG,
    )
    def get(self, urn: str) -> QuerySet[AccessToken]:
        """Return a page of its tokens that are neither revoked nor expired, newest first."""
        service_accounts.get(urn=urn)
        authorizer.require(by=self.actor, requirement=required_privileges.MANAGE_SERVICE_TOKENS)
        return credentials.list_tokens(owner=urn)

    @openapi_operation(
        "service_accounts_tokens_create",
        "Create a token for a service account",
        body=ServiceTokenIn,
        answer=access_tokens.NewTokenOut,
        status=201,
        tag=TAG,
    )
    def post(self, request: Request, urn: str) -> Response:
        """Create a token and return its text, which is not shown again."""
        service_accounts.get(urn=urn)
        return access_tokens.issue(urn, strict_fields.validate(ServiceTokenIn, request.data), self.actor)
