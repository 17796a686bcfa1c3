"""Personal access tokens over the API; the text of a token is shown once, when it is made."""

import uuid
from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import DOOR, Door, Paged, page_of
from policies.http.guard import signed_in
from policies.identity.queries import credentials
from policies.identity.services import access_tokens
from policies.models import AccessToken
from policies.pdp import authorizer

TAG = "tokens"

#: How long one may live.
CHOICES = [(name, name) for name in access_tokens.DURATIONS]


class TokenIn(strict_fields.Strict):
    """A token to be made, for the caller unless `actor` says otherwise."""

    name = strict_fields.Text(max_length=1000)
    duration = serializers.ChoiceField(CHOICES, required=False, default="ONE_MONTH")
    actor = strict_fields.ActorUrn(required=False, allow_null=True)
    description = strict_fields.Text(required=False, allow_blank=True)


class TokenOut(serializers.Serializer[Any]):
    """A token that works, without its text."""

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
    """A new token with its text, which is kept nowhere."""

    id = serializers.UUIDField()
    token = serializers.CharField()
    name = serializers.CharField()
    actor = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)


class TokenFilters(Paged):
    """Whose tokens to list."""

    actor = strict_fields.ActorUrn(required=False, help_text="Left out: the caller's own.")


@signed_in
class Tokens(Door):
    """The list of tokens."""

    @described("tokens_list", "List tokens", query=TokenFilters, answer=page_of(TokenOut, "Token"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of tokens that have not ended, newest first."""
        asked = self.asked(TokenFilters)
        owner = asked.get("actor") or self.actor.urn
        if owner != self.actor.urn:
            authorizer.require(by=self.actor, any_of=[["MANAGE_ACCESS_TOKENS"]])
        return self.page(credentials.tokens(owner=owner), shown, asked)

    @described("tokens_create", "Create a token", body=TokenIn, answer=NewTokenOut, status=201, tag=TAG)
    def post(self, request: Request) -> Response:
        """Make a token and show its text this once."""
        sent = strict_fields.checked(TokenIn, request.data)
        return issue(sent.pop("actor", None) or self.actor.urn, sent, self.actor)


@signed_in
class OneToken(Door):
    """One token."""

    @described("tokens_revoke", "Revoke a token", status=204, tag=TAG)
    def delete(self, _request: Request, token_id: uuid.UUID) -> Response:
        """End a token at once."""
        access_tokens.revoke(token_id=token_id, by=self.actor, door=DOOR)
        return Response(status=204)


def issue(owner: str, sent: dict[str, Any], by: Actor) -> Response:
    """Make a token for a user and answer with its text."""
    made = access_tokens.create(owner=owner, **sent, by=by, door=DOOR)
    body = {
        "id": made.token.pk,
        "token": made.text,
        "name": made.token.name,
        "actor": owner,
        "expires_at": made.token.expires_at,
    }
    return Response(NewTokenOut(body).data, status=201, headers={"Cache-Control": "no-store"})


def shown(rows: Sequence[AccessToken]) -> list[Any]:
    """Return tokens as they are sent, without their texts."""
    found = [
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
    return list(TokenOut(found, many=True).data)
