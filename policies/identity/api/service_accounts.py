"""Endpoints of service accounts (users for programs) and their tokens."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.resource_view import EditableResourceView, openapi_resource_operations
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
from policies.http.guard import needs
from policies.identity.api import access_tokens
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import service_accounts, users
from policies.models import User
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


class ServiceChange(strict_fields.StrictSerializer):
    """The fields of a service account to change; `urn` and `username` may be sent unchanged."""

    urn = strict_fields.StrictUrn(required=False)
    username = strict_fields.StrictString(required=False, max_length=1000)
    display_name = strict_fields.StrictString(required=False, max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    state = serializers.ChoiceField(User.State.choices, required=False)


class ServiceAccountListFilters(PageParameters):
    """Filters of the list of service accounts."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Beginnings of words of the name."
    )
    state = serializers.ChoiceField(User.State.choices, required=False)


class ServiceTokenIn(strict_fields.StrictSerializer):
    """A token to create for a service account."""

    name = strict_fields.StrictString(max_length=1000)
    duration = access_tokens.TokenIn().fields["duration"]
    description = strict_fields.StrictString(required=False, allow_blank=True)


@MANAGE_GUARD
class ServiceAccountListView(ApiView):
    """The list of service accounts."""

    @openapi_operation(
        "service_accounts_list",
        "List service accounts",
        query=ServiceAccountListFilters,
        answer=build_page_serializer(ServiceOut, "ServiceAccount"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of service accounts, by URN."""
        query = self.parse_query(ServiceAccountListFilters)
        rows = users_groups_roles.list_users(
            kind=User.Kind.SERVICE, q=query.get("q", ""), state=query.get("state"), address_condition=Q()
        )
        return self.paginate(rows, lambda users: ServiceOut(users, many=True).data, query)

    @openapi_operation(
        "service_accounts_create", "Create a service account", body=ServiceIn, answer=ServiceOut, status=201, tag=TAG
    )
    def post(self, request: Request) -> Response:
        """Create a service account; it has no token yet."""
        user = service_accounts.create(
            **strict_fields.validate(ServiceIn, request.data), by=self.actor, channel=CHANNEL
        )
        return Response(_serialize_account(user.urn), status=201)


@MANAGE_GUARD
@openapi_resource_operations("service_accounts", "a service account", answer=ServiceOut, tag=TAG)
class ServiceAccountDetailView(EditableResourceView):
    """One service account. The tokens of a suspended one are refused."""

    change_serializer = ServiceChange
    editable_fields = ("display_name", "description", "state")
    read_only_fields = ("urn", "username")

    def serialize(self, urn: str) -> Mapping[str, Any]:
        """Return the service account as JSON."""
        return _serialize_account(urn)

    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store name, description and state."""
        if changes:
            service_accounts.update(urn=urn, by=self.actor, channel=CHANNEL, **changes)

    def remove(self, urn: str) -> None:
        """Delete the service account."""
        service_accounts.get(urn=urn)
        users.remove(urn=urn, by=self.actor, channel=CHANNEL)


@MANAGE_GUARD
class ServiceAccountTokenListView(ApiView):
    """The tokens of one service account; they are revoked at the general token endpoint."""

    @openapi_operation(
        "service_accounts_tokens",
        "List the tokens of a service account",
        query=PageParameters,
        answer=build_page_serializer(access_tokens.TokenOut, "ServiceToken"),
        tag=TAG,
    )
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of its tokens that are neither revoked nor expired, newest first."""
        service_accounts.get(urn=urn)
        authorizer.require(by=self.actor, requirement=required_privileges.MANAGE_SERVICE_TOKENS)
        return self.paginate(credentials.list_tokens(owner=urn), access_tokens.serialize_tokens, self.parse_query())

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


def _serialize_account(urn: str) -> dict[str, Any]:
    return dict(ServiceOut(service_accounts.get(urn=urn)).data)
