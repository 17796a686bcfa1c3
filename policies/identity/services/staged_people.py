"""Memberships, assignments of roles, states and deletions as changes would leave them; nothing is stored.

Each change is checked by what its own write checks, but for what others would lose by it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, Membership, RoleAssignment
from policies.models.fields import filter_storable
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution
from policies.writes.validation import Checks

if TYPE_CHECKING:
    from django.db.models import QuerySet

#: Most people whom the deletion of a group or role is worked out for.
MAX_AFFECTED = 20_000


class ChangedActor(NamedTuple):
    """A user before and after the changes."""

    was: Actor
    now: Actor


class StagedPeople:
    """The changes so far; a later one wins over an earlier one."""

    def __init__(self, by: Actor) -> None:
        self._by = by
        #: After the changes: whether a user is in a group, a user or group has a role, and a user is active.
        self._memberships: dict[str, dict[str, bool]] = defaultdict(dict)
        self._assignments: dict[str, dict[str, bool]] = defaultdict(dict)
        self._states: dict[str, bool] = {}
        #: Groups and roles that are deleted.
        self.deleted_urns: set[str] = set()
        #: Whether nobody was left out for being one too many.
        self.is_complete = True

    def add_members(self, *, group: str, members: Sequence[str]) -> None:
        """Add users to a group. Raises as `groups.add_members`."""
        groups.require_member_change(urn=group, members=members, by=self._by)
        groups.get_native_group(group)
        known_users = groups.select_known_users(urns=members, by=self._by)
        rows = users_groups_roles.get_rows(known_users, urns=members, pointer="/members")
        for user in rows:
            self._memberships[user.urn][group] = True

    def remove_members(self, *, group: str, members: Sequence[str]) -> None:
        """Remove users from a group; whom the identity source put there stays. Raises as `groups.remove_members`."""
        groups.require_member_change(urn=group, members=members, by=self._by)
        profile = groups.get_native_group(group)
        urns = filter_storable(members)
        external_rows = Membership.objects.filter(group=profile.group_id, user__urn__in=urns, is_external=True)
        remaining_urns = set(external_rows.values_list("user__urn", flat=True))
        for urn in urns:
            if urn not in remaining_urns:
                self._memberships[urn][group] = False

    def assign_roles(self, *, role: str, actors: Sequence[str]) -> None:
        """Assign a role to users and groups. Raises as `roles.grant`."""
        roles.require_assignment(actors=actors, by=self._by)
        roles.get_role(role)
        holders_by_urn = roles.load_holders(urns=actors)
        checks = Checks()
        checks.validate_known(actors, holders_by_urn, "/actors", "user or group")
        checks.finish()
        for urn in holders_by_urn:
            self._assignments[urn][role] = True

    def unassign_roles(self, *, role: str, actors: Sequence[str]) -> None:
        """Take a role from users and groups. Raises as `roles.revoke`."""
        roles.require_assignment(actors=actors, by=self._by)
        roles.get_role(role)
        for urn in roles.load_holders(urns=actors):
            self._assignments[urn][role] = False

    def set_active(self, *, user: str, is_active: bool) -> None:
        """Suspend or activate a user. Raises as `users.suspend`."""
        users.require_state_change(urn=user, by=self._by)
        row = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=user)
        if row.is_root and not is_active:
            raise Forbidden((), "The root user cannot be suspended or removed.")
        self._states[user] = is_active

    def delete_user(self, *, user: str) -> None:
        """Delete a user, who then can do nothing. Raises as `users.remove`."""
        users.require_removal(urn=user, by=self._by)
        row = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=user)
        if row.is_root:
            raise Forbidden((), "The root user cannot be removed.")
        self._states[user] = False

    def delete_group(self, *, group: str) -> None:
        """Delete a group, which its members leave, also those from an identity source. Raises as `groups.remove`."""
        groups.require_removal(by=self._by)
        profile = users_groups_roles.get_row(GroupProfile.objects.all(), urn=group)
        members = Membership.objects.filter(group=profile.group_id, user__is_removed=False).order_by("user__urn")
        for urn in self._limit(members.values_list("user__urn", flat=True)):
            self._memberships[urn][group] = False
        self.deleted_urns.add(group)

    def delete_role(self, *, role: str) -> None:
        """Delete a role, which its holders lose. Raises as `roles.delete`."""
        row = roles.get_deletable_role(role, by=self._by)
        holding_groups = RoleAssignment.objects.filter(role=row, group__profile__is_removed=False)
        members = Membership.objects.filter(group__in=holding_groups.order_by().values("group"))
        holders = RoleAssignment.objects.filter(role=row, user__isnull=False).order_by("user__urn")
        if members[: MAX_AFFECTED + 1].count() <= MAX_AFFECTED:
            for urn in holding_groups.values_list("group__profile__urn", flat=True):
                self._assignments[urn][role] = False
        else:
            self.is_complete = False
        for urn in self._limit(holders.values_list("user__urn", flat=True)):
            self._assignments[urn][role] = False
        self.deleted_urns.add(role)

    def load_actors(self) -> dict[str, ChangedActor]:
        """Return the users whom the changes concern, as they are and as they would be."""
        urns = {*self._memberships, *self._states}
        urns |= {holder for holder in self._assignments if holder.startswith(USER_PREFIX)}
        members = Membership.objects.filter(group__profile__urn__in=list(self._assignments), user__is_removed=False)
        urns.update(members.values_list("user__urn", flat=True))
        actors_by_urn = actor_resolution.load_actors(urns=sorted(urns))
        groups_by_user = {
            urn: _apply_changes(self._memberships.get(urn, {}), actor.groups) for urn, actor in actors_by_urn.items()
        }
        roles_by_holder = self._load_roles({*urns, *frozenset[str]().union(*groups_by_user.values())})
        changed_actors = {}
        for urn, actor in actors_by_urn.items():
            holders = (urn, *groups_by_user[urn])
            changed_actors[urn] = ChangedActor(
                actor,
                replace(
                    actor,
                    groups=groups_by_user[urn],
                    roles=frozenset[str]().union(*(roles_by_holder[holder] for holder in holders)),
                    is_active=self._states.get(urn, actor.is_active),
                ),
            )
        return {urn: changed for urn, changed in changed_actors.items() if changed.was != changed.now}

    def _limit(self, urns: "QuerySet[Any, str]") -> list[str]:
        """Return the first of these people, and note if there are more."""
        first_urns = list(urns[: MAX_AFFECTED + 1])
        self.is_complete &= len(first_urns) <= MAX_AFFECTED
        return first_urns[:MAX_AFFECTED]

    def _load_roles(self, holders: Collection[str]) -> Mapping[str, frozenset[str]]:
        """Return the direct roles of each of these users and groups after the changes."""
        roles_by_holder: dict[str, set[str]] = defaultdict(set)
        rows = RoleAssignment.objects.order_by()
        for column in ("user__urn", "group__profile__urn"):
            pairs = rows.filter(**{f"{column}__in": holders}).values_list(column, "role__urn")
            for holder, role in pairs:
                roles_by_holder[holder].add(role)
        return {
            holder: _apply_changes(self._assignments.get(holder, {}), roles_by_holder[holder]) for holder in holders
        }


def _apply_changes(changes: Mapping[str, bool], urns: Collection[str]) -> frozenset[str]:
    """Return the groups or roles of a holder after the changes."""
    added_urns = {urn for urn, is_held in changes.items() if is_held}
    return (frozenset(urns) - frozenset(changes)) | added_urns
