"""Invitations, and links to set a new password (clients.md 2.3)."""

from collections.abc import Mapping
from typing import Any

from ariadne import MutationType, QueryType

from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
from policies.identity.services import invitations, password_resets

query = QueryType()
mutation = MutationType()


@query.field("getInviteToken")
def present(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the invitation that is live for a role or for none."""
    found = invitations.current(role=input.get("roleUrn"), by=info.context.by, door=DOOR)
    return {"inviteToken": found.text}


@mutation.field("createInviteToken")
def invite(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Make a new invitation for a role or for none, which ends the one before."""
    made = invitations.create(role=input.get("roleUrn"), by=info.context.by, door=DOOR)
    return {"inviteToken": made.text}


@mutation.field("acceptRole")
def accept(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Give the caller the role of an invitation instead of those it holds."""
    invitations.accept(text=input["inviteToken"], by=info.context.by, door=DOOR)
    return True


@mutation.field("createNativeUserResetToken")
def reset(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Create a link with which a user sets a new password."""
    made = password_resets.create(urn=input["userUrn"], by=info.context.by, door=DOOR)
    return {"resetToken": made.text}


BINDABLES = (query, mutation)
