"""Changes of users and groups themselves: suspended, activated, deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from policies.changes.kinds import Change, ShapeField, join_names
from policies.changes.people import LOST
from policies.changes.worlds import StagedWorld
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, people_writer, users
from policies.models import Membership, User
from policies.models.people import GROUP_PREFIX, USER_PREFIX


class AccountChange(Change):
    """A change of one user."""

    user: str

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of the URN of a user."""
        return strict_fields.StrictUrn(prefixes=(USER_PREFIX,), **kwargs)

    @property
    def subject(self) -> str:
        """The URN of the user."""
        return self.user

    def get_user(self) -> User:
        """Return the user; raises NotFound."""
        return users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=self.user)


@dataclass(frozen=True, slots=True)
class Suspend(AccountChange):
    """A user is suspended, and can do nothing."""

    kind: ClassVar[str] = "suspend"
    user: str

    def stage(self, world: StagedWorld) -> None:
        """Stage the user as suspended."""
        users.require_state_change(urn=self.user, by=world.by)
        people_writer.refuse_root(self.get_user())
        world.people.states[self.user] = False

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Suspend the user."""
        users.suspend(urn=self.user, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the activation of a user who is active now."""
        return [Activate(self.user)] if self.get_user().state == User.State.ACTIVE else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the user."""
        return f"Suspend {join_names([self.user], names)}."


@dataclass(frozen=True, slots=True)
class Activate(AccountChange):
    """A suspended user is activated."""

    kind: ClassVar[str] = "activate"
    user: str

    def stage(self, world: StagedWorld) -> None:
        """Stage the user as active."""
        users.require_state_change(urn=self.user, by=world.by)
        self.get_user()
        world.people.states[self.user] = True

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Activate the user."""
        users.activate(urn=self.user, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the suspension of a user who is suspended now."""
        return [] if self.get_user().state == User.State.ACTIVE else [Suspend(self.user)]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the user."""
        return f"Activate {join_names([self.user], names)}."


@dataclass(frozen=True, slots=True)
class DeleteUser(AccountChange):
    """A user is deleted, who then can do nothing; pages ask before."""

    kind: ClassVar[str] = "delete_user"
    is_offered: ClassVar[bool] = False
    user: str

    def stage(self, world: StagedWorld) -> None:
        """Stage the user as somebody who can do nothing."""
        users.require_removal(urn=self.user, by=world.by)
        people_writer.refuse_narrowing(users.get_removable_user(self.user))
        world.people.states[self.user] = False
        world.people.deleted_owners.add(self.user)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Delete the user."""
        users.remove(urn=self.user, by=by, channel=channel)

    def find_inverse(self) -> None:
        """Return None: who is deleted is forgotten."""

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the user."""
        return f"Delete {join_names([self.user], names)}."


@dataclass(frozen=True, slots=True)
class DeleteGroup(Change):
    """A group is deleted, and its members leave it, also those from an identity source; pages ask before."""

    kind: ClassVar[str] = "delete_group"
    is_offered: ClassVar[bool] = False
    group: str

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of the URN of a group."""
        return strict_fields.StrictUrn(prefixes=(GROUP_PREFIX,), **kwargs)

    @property
    def subject(self) -> str:
        """The URN of the group."""
        return self.group

    def stage(self, world: StagedWorld) -> None:
        """Stage its members without the group."""
        groups.require_removal(by=world.by)
        profile = groups.get_removable_group(self.group)
        people_writer.refuse_narrowing(profile)
        members = Membership.objects.filter(group=profile.group_id, user__is_removed=False).order_by("user__urn")
        for urn in world.people.limit_people(members.values_list("user__urn", flat=True)):
            world.people.memberships[urn][self.group] = LOST
        world.people.deleted_urns.add(self.group)
        world.people.deleted_owners.add(self.group)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Delete the group."""
        groups.remove(urn=self.group, by=by, channel=channel)

    def find_inverse(self) -> None:
        """Return None: who is deleted is forgotten."""

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the group."""
        return f"Delete the group {join_names([self.group], names)}."


KINDS = (Suspend, Activate, DeleteUser, DeleteGroup)
