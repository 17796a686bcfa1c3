"""Links that invite people, over the API; the text of a link is shown once, when it is made."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import DOOR, Door, Paged, page_of
from policies.http.guard import needs, signed_in
from policies.identity.queries import credentials
from policies.identity.services import invitations
from policies.models import InviteToken
from policies.models.roles import ROLE_PREFIX

TAG = "people"

MANAGES = needs("MANAGE_USER_CREDENTIALS")

#: How long one may live.
CHOICES = [(name, name) for name in invitations.LIFETIMES]


class InviteIn(strict_fields.Strict):
    """A link to be made; `role` left out or null: one that carries no role."""

    role = strict_fields.Urn(required=False, allow_null=True, prefixes=(ROLE_PREFIX,))
    duration = serializers.ChoiceField(CHOICES, required=False, default="ONE_WEEK")


class InviteOut(serializers.Serializer[Any]):
    """A link that is live, without its text."""

    id = serializers.UUIDField()
    role = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    expires_at = serializers.DateTimeField()


class NewInviteOut(serializers.Serializer[Any]):
    """A new link with its text, which is kept nowhere, and the address where people sign up with it."""

    id = serializers.UUIDField()
    token = serializers.CharField()
    url = serializers.URLField()
    role = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField()


class AcceptIn(strict_fields.Strict):
    """The text of a link."""

    token = strict_fields.Text(max_length=1000)


class AcceptedOut(serializers.Serializer[Any]):
    """The role that the caller now holds alone, null for none."""

    role = serializers.CharField(allow_null=True)


@MANAGES
class Invites(Door):
    """The list of links."""

    @described("invite_tokens_list", "List invitations", query=Paged, answer=page_of(InviteOut, "Invite"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of links that have not ended, newest first."""
        return self.page(credentials.invites(), _shown, self.asked())

    @described("invite_tokens_create", "Create an invitation", body=InviteIn, answer=NewInviteOut, status=201, tag=TAG)
    def post(self, request: Request) -> Response:
        """Create the link for a role, end the one before, and show its text this once."""
        sent = strict_fields.checked(InviteIn, request.data)
        made = invitations.create(role=sent.get("role"), duration=sent["duration"], by=self.actor, door=DOOR)
        body = {
            "id": made.invite.pk,
            "token": made.text,
            "url": request.build_absolute_uri(f"{reverse('sign-up')}?invite_token={made.text}"),
            "role": sent.get("role"),
            "expires_at": made.invite.expires_at,
        }
        return Response(NewInviteOut(body).data, status=201, headers={"Cache-Control": "no-store"})


@MANAGES
class OneInvite(Door):
    """One link."""

    @described("invite_tokens_revoke", "Revoke an invitation", status=204, tag=TAG)
    def delete(self, _request: Request, invite_id: uuid.UUID) -> Response:
        """End a link at once; who signed up with it keeps what they have."""
        invitations.revoke(invite_id=invite_id, by=self.actor, door=DOOR)
        return Response(status=204)


@signed_in
class Accept(Door):
    """What an invitation does for somebody who has an account."""

    @described("invite_tokens_accept", "Accept an invitation", body=AcceptIn, answer=AcceptedOut, tag=TAG)
    def post(self, request: Request) -> Response:
        """Make the role of the link the only one that the caller holds; a link without a role takes all away."""
        sent = strict_fields.checked(AcceptIn, request.data)
        role = invitations.accept(text=sent["token"], by=self.actor, door=DOOR)
        return Response({"role": None if role is None else role.urn})


def _shown(rows: Sequence[InviteToken]) -> list[Any]:
    shown = [
        {
            "id": invite.pk,
            "role": None if invite.role is None else invite.role.urn,
            "created_at": invite.created_at,
            "created_by": invite.created_by,
            "expires_at": invite.expires_at,
        }
        for invite in rows
    ]
    return list(InviteOut(shown, many=True).data)
