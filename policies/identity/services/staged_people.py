"""Memberships, assignments of roles and states of users as changes would leave them; nothing is stored.

Each change is checked by what its own write checks, but for what others would lose by it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, users
from policies.models import Membership, RoleAssignment
from policies.models.fields import filter_storable
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution
from policies.writes.validation import Checks


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

    def add_members(self, *, group: str, members: Sequence[str]) -> None:
        """Add users to a group. Raises as `groups.add_members`."""
        groups.require_member_change(urn=group, members=members, by=self._by)
        groups.get_native_group(group)
        rows = users_groups_roles.get_rows(users_groups_roles.select_present_users(), urns=members, pointer="/members")
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
