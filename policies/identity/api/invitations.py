"""Invitation endpoints; the text of a link is returned only when it is created."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView
from policies.http.guard import needs, signed_in
from policies.identity.queries import credentials
from policies.identity.services import invitations
from policies.models import InviteToken, Role
from policies.models.roles import ROLE_PREFIX

TAG = "people"

MANAGE_GUARD = needs("MANAGE_USER_CREDENTIALS")

#: Lifetimes of a link, by DataHub's names.
LIFETIME_CHOICES = [(name, name) for name in invitations.LIFETIMES]


class InviteIn(strict_fields.StrictSerializer):
    """An invitation to create; without `role`, or with null, it assigns no role."""

    role = strict_fields.StrictUrn(required=False, allow_null=True, prefixes=(ROLE_PREFIX,))
    duration = serializers.ChoiceField(LIFETIME_CHOICES, required=False, default="ONE_WEEK")


class InviteOut(serializers.Serializer[Any]):
    """A valid invitation, without its text."""

    id = serializers.UUIDField()
    role = serializers.CharField(source="role.urn", allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    expires_at = serializers.DateTimeField()


class NewInviteOut(serializers.Serializer[Any]):
    """A new invitation with its text, which is not stored, and the address for signing up with it."""

    id = serializers.UUIDField()
    token = serializers.CharField()
    url = serializers.URLField()
    role = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="AcceptIn")
class InviteAcceptanceIn(strict_fields.StrictSerializer):
    """The text of an invitation."""

    token = strict_fields.StrictString(max_length=1000)


@extend_schema_serializer(component_name="AcceptedOut")
class InviteAcceptanceOut(serializers.Serializer[Any]):
    """The role that is now the caller's only direct role; null for none."""

    role = serializers.CharField(source="role.urn", allow_null=True)


@MANAGE_GUARD
class InviteListView(ApiView):
    """The list of invitations."""

    @list_operation("invite_tokens_list", "List invitations", InviteOut, "Invite", tag=TAG)
    def get(self) -> QuerySet[InviteToken]:
        """Return a page of invitations that have not expired, newest first."""
        return credentials.list_invitations()

    @api_operation(
        "invite_tokens_create", "Create an invitation", body=InviteIn, answer=NewInviteOut, status=201, tag=TAG
    )
    def post(self, payload: dict[str, Any]) -> Response:
        """Create the invitation for a role, delete the previous one, and return its text, which is not shown again."""
        role = payload.pop("role", None)
        invitation = invitations.create(role=role, **payload, by=self.actor, channel=CHANNEL)
        body = {
            "id": invitation.invite.pk,
            "token": invitation.text,
            "url": self.request.build_absolute_uri(f"{reverse('sign-up')}?invite_token={invitation.text}"),
            "role": role,
            "expires_at": invitation.invite.expires_at,
        }
        return Response(NewInviteOut(body).data, status=201, headers={"Cache-Control": "no-store"})


@MANAGE_GUARD
class InviteDetailView(ApiView):
    """One invitation."""

    @api_operation("invite_tokens_revoke", "Revoke an invitation", tag=TAG)
    def delete(self, invite_id: uuid.UUID) -> None:
        """Revoke an invitation; users who signed up with it keep their roles."""
        invitations.revoke(invite_id=invite_id, by=self.actor, channel=CHANNEL)


@signed_in
class InviteAcceptView(ApiView):
    """Acceptance of an invitation by an existing account."""

    @api_operation(
        "invite_tokens_accept", "Accept an invitation", body=InviteAcceptanceIn, answer=InviteAcceptanceOut, tag=TAG
    )
    def post(self, payload: dict[str, Any]) -> dict[str, Role | None]:
        """Make the role of the invitation the caller's only direct role; without a role, remove all of them."""
        return {"role": invitations.accept(text=payload["token"], by=self.actor, channel=CHANNEL)}
