"""Invitations and password reset links (clients.md 2.3)."""

from collections.abc import Mapping
from typing import Any

from ariadne import MutationType, QueryType

from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from policies.identity.services import invitations, password_resets

query = QueryType()
mutation = MutationType()


@query.field("getInviteToken")
def get_invite_token(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the live invitation for a role or for none, created if there is none."""
    invitation = invitations.get_or_create(role=input.get("roleUrn"), by=info.context.by, channel=CHANNEL)
    return {"inviteToken": invitation.text}


@mutation.field("createInviteToken")
def create_invite_token(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Create an invitation for a role or for none, which ends the previous one."""
    invitation = invitations.create(role=input.get("roleUrn"), by=info.context.by, channel=CHANNEL)
    return {"inviteToken": invitation.text}


@mutation.field("acceptRole")
def accept_role(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Assign the role of an invitation to the caller, replacing the caller's own roles."""
    invitations.accept(text=input["inviteToken"], by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("createNativeUserResetToken")
def create_reset_token(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Create a link with which a user sets a new password."""
    reset_link = password_resets.create(urn=input["userUrn"], by=info.context.by, channel=CHANNEL)
    return {"resetToken": reset_link.text}


BINDABLES = (query, mutation)
