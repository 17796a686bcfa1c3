"""Password reset links: created by managers of credentials, valid for 24 hours and for one use."""

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from policies.engine.model import Actor
from policies.errors import Conflict, NotFound
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import users
from policies.models import ResetToken, User, Verb
from policies.pdp import actor_resolution
from policies.writes import delegation, required_privileges, token_secrets
from policies.writes.unit_of_work import open_unit_of_work

LIFETIME = timedelta(hours=24)

_PREFIX = "azr_"
_INVALID_LINK_TEXT = "This link is no longer valid: it works once, for one day. Ask for a new one."


@dataclass(frozen=True, slots=True)
class IssuedResetLink:
    """A new reset link: its row, and its text, which is returned only once and not stored."""

    reset: ResetToken
    text: str


def create(*, urn: str, by: Actor, channel: str) -> IssuedResetLink:
    """Create a reset link for a user and delete the previous one. The password works until the link is used.

    Raises Forbidden (also when the user holds platform privileges that the caller does not hold), NotFound (also
    for a removed user), Conflict for a service account (which has no password) and for a suspended user.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    text = token_secrets.generate(_PREFIX)
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=urn)
        delegation.require_account(by=by, urns=[urn])
        if user.kind == User.Kind.SERVICE:
            raise Conflict("A service has tokens and no password.")
        if not user.is_active:
            raise Conflict(f"{user.name} is suspended. Activate the account first.")
        ResetToken.objects.filter(user=user).delete()
        reset = ResetToken.objects.create(
            user=user,
            digest=token_secrets.digest(text),
            created_by=by.urn,
            expires_at=timezone.now() + LIFETIME,
        )
        uow.audit(urn=urn, name=user.name, verb=Verb.RESET_CREATED, after={"expires_at": reset.expires_at.isoformat()})
    return IssuedResetLink(reset, text)


def find(*, text: str) -> ResetToken:
    """Return the valid reset link with this text, with its user; raises NotFound, with one message for every cause."""
    reset = credentials.find_link(ResetToken.objects.select_related("user"), text=text, prefix=_PREFIX)
    if reset is None or not reset.user.is_active:
        raise NotFound(_INVALID_LINK_TEXT)
    return reset


def use(*, text: str, password: str, channel: str) -> User:
    """Set the password of the link's user, which deletes the link and ends the user's sessions.

    Raises NotFound for an invalid link, Invalid for a weak password (the link stays valid), and Forbidden when the user
    now holds platform privileges that the creator of the link does not hold.
    """
    by = Actor(find(text=text).user.urn)
    with open_unit_of_work(by=by, channel=channel) as uow:
        # Looked up again under the lock: of two concurrent uses, the second finds the link deleted.
        reset = find(text=text)
        user = reset.user
        if reset.created_by != user.urn:
            delegation.require_account(by=actor_resolution.load_actor(urn=reset.created_by), urns=[user.urn])
        users.write_password(user=user, password=password, uow=uow)
    return user
