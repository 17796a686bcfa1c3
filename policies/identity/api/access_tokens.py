"""Access token endpoints; the text of a token is returned only when it is created."""

import uuid
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import signed_in
from policies.identity.queries import credentials
from policies.identity.services import access_tokens
from policies.models import AccessToken
from policies.pdp import authorizer

TAG = "tokens"

#: Lifetimes of a token, by DataHub's names.
DURATION_CHOICES = [(name, name) for name in access_tokens.DURATIONS]


class TokenIn(strict_fields.StrictSerializer):
    """A token to create; `actor` is its user, the caller if left out."""

    name = strict_fields.StrictString(max_length=1000)
    duration = serializers.ChoiceField(DURATION_CHOICES, required=False, default="ONE_MONTH")
    actor = strict_fields.StrictActorUrn(required=False, allow_null=True)
    description = strict_fields.StrictString(required=False, allow_blank=True)


class TokenOut(serializers.Serializer[Any]):
    """A token that is neither revoked nor expired, without its text."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    actor = serializers.CharField(source="user.urn")
    prefix = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used = serializers.DateTimeField(allow_null=True)


class NewTokenOut(serializers.Serializer[Any]):
    """A new token with its text, which is not stored."""

    id = serializers.UUIDField(source="token.id")
    token = serializers.CharField(source="text")
    name = serializers.CharField(source="token.name")
    actor = serializers.CharField(source="token.user.urn")
    expires_at = serializers.DateTimeField(source="token.expires_at", allow_null=True)


class TokenListFilters(PageParameters):
    """Filter of the list of tokens by their user."""

    actor = strict_fields.StrictActorUrn(required=False, help_text="Left out: the caller's own.")


@signed_in
class TokenListView(ApiView):
    """The list of tokens."""

    @list_operation("tokens_list", "List tokens", TokenOut, "Token", query=TokenListFilters, tag=TAG)
    def get(self, actor: str = "") -> QuerySet[AccessToken]:
        """Return a page of usable tokens, newest first; those of other users need MANAGE_ACCESS_TOKENS."""
        owner = actor or self.actor.urn
        if owner != self.actor.urn:
            authorizer.require(by=self.actor, any_of=[["MANAGE_ACCESS_TOKENS"]])
        return credentials.list_tokens(owner=owner)

    @api_operation("tokens_create", "Create a token", body=TokenIn, answer=NewTokenOut, status=201, tag=TAG)
    def post(self, payload: dict[str, Any]) -> Response:
        """Create a token and return its text, which is not shown again."""
        return issue(payload.pop("actor", None) or self.actor.urn, payload, self.actor)


@signed_in
class TokenDetailView(ApiView):
    """One token."""

    @api_operation("tokens_revoke", "Revoke a token", tag=TAG)
    def delete(self, token_id: uuid.UUID) -> None:
        """Revoke a token."""
        access_tokens.revoke(token_id=token_id, by=self.actor, channel=CHANNEL)


def issue(owner: str, payload: dict[str, Any], by: Actor) -> Response:
    """Create a token for a user (its URN) and return the response with its text."""
    issued_token = access_tokens.create(owner=owner, **payload, by=by, channel=CHANNEL)
    return Response(NewTokenOut(issued_token).data, status=201, headers={"Cache-Control": "no-store"})
