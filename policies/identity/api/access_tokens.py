"""Access token endpoints; the text of a token is returned only when it is created."""

import uuid
from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
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
    actor = serializers.CharField()
    prefix = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used = serializers.DateTimeField(allow_null=True)


class NewTokenOut(serializers.Serializer[Any]):
    """A new token with its text, which is not stored."""

    id = serializers.UUIDField()
    token = serializers.CharField()
    name = serializers.CharField()
    actor = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)


class TokenListFilters(PageParameters):
    """Filter of the list of tokens by their user."""

    actor = strict_fields.StrictActorUrn(required=False, help_text="Left out: the caller's own.")


@signed_in
class TokenListView(ApiView):
    """The list of tokens."""

    @openapi_operation(
        "tokens_list", "List tokens", query=TokenListFilters, answer=build_page_serializer(TokenOut, "Token"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of usable tokens, newest first; those of other users need MANAGE_ACCESS_TOKENS."""
        query = self.parse_query(TokenListFilters)
        owner = query.get("actor") or self.actor.urn
        if owner != self.actor.urn:
            authorizer.require(by=self.actor, any_of=[["MANAGE_ACCESS_TOKENS"]])
        return self.paginate(credentials.list_tokens(owner=owner), serialize_tokens, query)

    @openapi_operation("tokens_create", "Create a token", body=TokenIn, answer=NewTokenOut, status=201, tag=TAG)
    def post(self, request: Request) -> Response:
        """Create a token and return its text, which is not shown again."""
        payload = strict_fields.validate(TokenIn, request.data)
        return issue(payload.pop("actor", None) or self.actor.urn, payload, self.actor)


@signed_in
class TokenDetailView(ApiView):
    """One token."""

    @openapi_operation("tokens_revoke", "Revoke a token", status=204, tag=TAG)
    def delete(self, _request: Request, token_id: uuid.UUID) -> Response:
        """Revoke a token."""
        access_tokens.revoke(token_id=token_id, by=self.actor, channel=CHANNEL)
        return Response(status=204)


def issue(owner: str, payload: dict[str, Any], by: Actor) -> Response:
    """Create a token for a user (its URN) and return the response with its text."""
    issued_token = access_tokens.create(owner=owner, **payload, by=by, channel=CHANNEL)
    body = {
        "id": issued_token.token.pk,
        "token": issued_token.text,
        "name": issued_token.token.name,
        "actor": owner,
        "expires_at": issued_token.token.expires_at,
    }
    return Response(NewTokenOut(body).data, status=201, headers={"Cache-Control": "no-store"})


def serialize_tokens(rows: Sequence[AccessToken]) -> list[Any]:
    """Return tokens as JSON, without their texts."""
    bodies = [
        {
            "id": token.pk,
            "name": token.name,
            "description": token.description,
            "actor": token.user.urn,
            "prefix": token.prefix,
            "created_at": token.created_at,
            "created_by": token.created_by,
            "expires_at": token.expires_at,
            "last_used": token.last_used,
        }
        for token in rows
    ]
    return list(TokenOut(bodies, many=True).data)
