"""Invitation links: creation, revocation, acceptance and sign-up.

There is one valid link for each role and one without a role; a new link deletes the previous one. Only the digest is
stored. The text is derived from the link's id and SECRET_KEY, so a program can read the current link without replacing
it (docs/adr/0012). A link works for any number of people until it expires.

Acceptance follows DataHub (rules/datahub.md a.11): the role **replaces** the person's direct roles, and a link without
a role removes all of them. Sign-up with a link creates the user and assigns the role at once, where DataHub waits for
the first sign-in.
"""

import uuid
from dataclasses import dataclass
from typing import Unpack

from django.utils import timezone

from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid, NotFound
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import role_writer, users
from policies.identity.services.access_tokens import DURATIONS
from policies.models import InviteToken, Role, User, Verb
from policies.models.fields import is_storable
from policies.models.people import MAX_NAME_LENGTH, USER_PREFIX
from policies.pdp import actor_resolution
from policies.writes import delegation, required_privileges, token_secrets
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work
from policies.writes.validation import Checks

#: DataHub's name of a duration → lifetime of a link; no link is valid forever.
LIFETIMES = {name: length for name, length in DURATIONS.items() if length is not None}

_PREFIX = "azi_"
_INVALID_LINK_TEXT = "This invitation is no longer valid. Ask the sender for a new one."


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """An invitation link: its row, and its text, which is not stored."""

    invite: InviteToken
    text: str


def create(*, role: str | None, by: Actor, channel: str, duration: str = "ONE_WEEK") -> IssuedInvitation:
    """Create the link for a role (its URN) or for no role, and delete the previous one.

    Raises Forbidden (also for a role that gives platform privileges which the caller does not hold), Invalid with every
    problem: an unknown role, an unknown duration.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    checks = Checks()
    checks.validate_choice(duration, "/duration", tuple(LIFETIMES))
    with open_unit_of_work(by=by, channel=channel) as uow:
        return _replace(_find_role(role, by, checks), duration, uow)


def get_or_create(*, role: str | None, by: Actor, channel: str) -> IssuedInvitation:
    """Return the valid link for a role (its URN) or for no role, created if there is none. Raises as `create`.

    The text of a link created under another SECRET_KEY cannot be derived; such a link is replaced.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    if (invitation := _find_live(_find_role(role, by))) is not None:
        return invitation
    with open_unit_of_work(by=by, channel=channel) as uow:
        # Looked up again under the lock: of two concurrent calls, the second returns the link that the first created.
        role_row = _find_role(role, by)
        return _find_live(role_row) or _replace(role_row, "ONE_WEEK", uow)


def revoke(*, invite_id: uuid.UUID, by: Actor, channel: str) -> None:
    """Delete a link. Raises Forbidden and NotFound."""
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    with open_unit_of_work(by=by, channel=channel) as uow:
        invite = InviteToken.objects.select_related("role").filter(pk=invite_id).first()
        if invite is None:
            raise NotFound(f"There is no invitation {invite_id}.")
        uow.audit(urn=invite.urn, name=_invite_name(invite), verb=Verb.INVITE_REVOKED, before=_invite_facts(invite))
        invite.delete()


def find(*, text: str) -> InviteToken:
    """Return the valid link with this text, with its role; raises NotFound, with one message for every cause."""
    invite = credentials.find_link(InviteToken.objects.select_related("role"), text=text, prefix=_PREFIX)
    if invite is None:
        raise NotFound(_INVALID_LINK_TEXT)
    return invite


def accept(*, text: str, by: Actor, channel: str) -> Role | None:
    """Make the role of the link the caller's only direct role, or remove all if the link has none; return the role.

    The creator of the link is the author of the delegation check. Raises NotFound for an invalid link, Forbidden for a
    caller who is not an active person or a role that gives platform privileges which the creator does not hold,
    Conflict when nobody could manage policies afterwards.
    """
    author = actor_resolution.load_actor(urn=find(text=text).created_by)
    with open_unit_of_work(by=by, channel=channel, author=author) as uow:
        user = User.objects.filter(urn=by.urn).first()
        if user is None or not user.is_active or user.kind != User.Kind.PERSON:
            raise Forbidden((), "Invitations are for people who may sign in.")
        role = find(text=text).role
        target_roles = [] if role is None else [role]
        role_writer.change_roles(holders=[user], choose=lambda *_: target_roles, uow=uow)
    return role


def sign_up(*, text: str, username: str, password: str, channel: str, **profile: Unpack[users.UserProfile]) -> User:
    """Create a user from a link and assign the role of the link. The change log records the new user itself as `by`.

    The creator of the link is the author of the delegation check, also for policies that name the account already.
    Raises NotFound for an invalid link, Conflict for a taken name, Invalid with every problem, Forbidden as `accept`.
    """
    if not isinstance(username, str) or not is_storable(username):
        raise Invalid.from_problem(code="text.unstorable", pointer="/username", detail="Printable characters only.")
    new_actor = Actor(USER_PREFIX + username)
    author = actor_resolution.load_actor(urn=find(text=text).created_by)
    with open_unit_of_work(by=new_actor, channel=channel, author=author) as uow:
        role = find(text=text).role
        user = users.insert_user(username=username, profile=profile, password=password, uow=uow)
        if role is not None:
            role_writer.change_roles(holders=[user], choose=lambda *_: [role], uow=uow)
    return user


def _find_role(urn: str | None, by: Actor, checks: Checks | None = None) -> Role | None:
    """Return the role of a link that this actor may create; raises Forbidden, Invalid with the problems in `checks`."""
    checks = checks or Checks()
    role = None if urn is None else users_groups_roles.find_role(urn=urn)
    if urn is not None and role is None:
        checks.add("unknown", "/role", f"There is no role {urn!r}.")
    checks.finish()
    if role is not None:
        delegation.require_role(by=by, role=role.urn)
    return role


def _find_live(role: Role | None) -> IssuedInvitation | None:
    invite = InviteToken.objects.filter(role=role, expires_at__gt=timezone.now()).first()
    text = "" if invite is None else token_secrets.derive(_PREFIX, name=str(invite.pk))
    return (
        IssuedInvitation(invite, text) if invite is not None and invite.digest == token_secrets.digest(text) else None
    )


def _replace(role: Role | None, duration: str, uow: UnitOfWork) -> IssuedInvitation:
    InviteToken.objects.filter(role=role).delete()
    invite_id = uuid.uuid4()
    text = token_secrets.derive(_PREFIX, name=str(invite_id))
    invite = InviteToken.objects.create(
        id=invite_id,
        role=role,
        digest=token_secrets.digest(text),
        created_by=uow.by.urn,
        expires_at=timezone.now() + LIFETIMES[duration],
    )
    uow.audit(urn=invite.urn, name=_invite_name(invite), verb=Verb.INVITE_CREATED, after=_invite_facts(invite))
    return IssuedInvitation(invite, text)


def _invite_name(invite: InviteToken) -> str:
    return "Invitation without a role" if invite.role is None else f"Invitation as {invite.role.name}"[:MAX_NAME_LENGTH]


def _invite_facts(invite: InviteToken) -> dict[str, str | None]:
    return {
        "role": None if invite.role is None else invite.role.urn,
        "expires_at": invite.expires_at.isoformat(),
    }
