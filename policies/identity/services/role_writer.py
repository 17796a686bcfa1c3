"""The one writer of role assignments, for forms, invitations, sign-in and aspects alike.

Its callers choose the roles; here assignments are stored and recorded, and their end is announced. It runs inside an
open unit of work whose service has checked the privileges.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from policies.engine.families.validity import UNLIMITED, Phase
from policies.identity.services.people_writer import UserOrGroup
from policies.models import GroupProfile, Role, RoleAssignment, ScheduledRoleAssignment, User, Verb
from policies.models.writes import announce_boundaries
from policies.writes.timed_holders import TimedHolder
from policies.writes.timed_writes import describe_new_times
from policies.writes.unit_of_work import UnitOfWork


def change_roles(
    *,
    holders: Collection[UserOrGroup],
    choose: Callable[[UserOrGroup, list[Role]], Sequence[Role]],
    uow: UnitOfWork,
    times: Mapping[str, TimedHolder] = MappingProxyType({}),
) -> list[str]:
    """Give each holder the direct roles that `choose` returns of its present ones; return the URNs of those changed.

    `times` are those of the new assignments, by URN of the holder, that are for a time. The number of queries does not
    depend on the holders. The unit of work ends with Conflict when nobody could manage policies without a revoked role.
    """
    uow.announce(*(holder.urn for holder in holders))
    assignments_by_holder = _load_assignments(holders)
    new_assignments: list[RoleAssignment] = []
    removed_ids: list[int] = []
    changed_urns: list[str] = []
    for holder in holders:
        assignments = {row.role_id: row for row in assignments_by_holder[holder.urn]}
        roles = {role.pk: role for role in choose(holder, [row.role for row in assignments.values()])}
        if assignments.keys() == roles.keys():
            continue
        changed_urns.append(holder.urn)
        column: dict[str, Any] = {"user": holder} if isinstance(holder, User) else {"group_id": holder.group_id}
        new_roles = [role for key, role in roles.items() if key not in assignments]
        validity = times[holder.urn].validity if holder.urn in times else UNLIMITED
        announce_boundaries(validity.list_boundaries(Phase.CURRENT))
        column |= {"valid_from": validity.begins, "valid_until": validity.ends}
        new_assignments += [RoleAssignment(role=role, created_by=uow.by.urn, **column) for role in new_roles]
        if lost_ids := [row.pk for key, row in assignments.items() if key not in roles]:
            uow.announce_revocation(f"the roles of {holder.name} as they are")
            removed_ids += lost_ids
        uow.audit(
            urn=holder.urn,
            name=holder.name,
            verb=Verb.ROLES_CHANGED,
            before={"roles": [row.role.urn for row in assignments.values()]},
            after={"roles": [role.urn for role in roles.values()]}
            | describe_new_times({role.urn: times[holder.urn] for role in new_roles if holder.urn in times}),
        )
    RoleAssignment.objects.filter(pk__in=removed_ids).delete()
    RoleAssignment.objects.bulk_create(new_assignments)
    _delete_scheduled(new_assignments)
    return changed_urns


def _delete_scheduled(assignments: Collection[RoleAssignment]) -> None:
    """Delete the assignments that have not begun of what these assignments give now."""
    if not assignments:
        return
    keys = {(row.role_id, row.user_id, row.group_id) for row in assignments}
    rows = ScheduledRoleAssignment.objects.filter(role__in={role_id for role_id, _, _ in keys})
    scheduled_keys = rows.values_list("pk", "role_id", "user_id", "group_id")
    if scheduled_ids := [pk for pk, *key in scheduled_keys if tuple(key) in keys]:
        ScheduledRoleAssignment.objects.filter(pk__in=scheduled_ids).delete()


def _load_assignments(holders: Iterable[UserOrGroup]) -> dict[str, list[RoleAssignment]]:
    """Return holder URN → its direct assignments with their roles, oldest first; two queries."""
    assignments: dict[str, list[RoleAssignment]] = {holder.urn: [] for holder in holders}
    users: dict[int | None, str] = {holder.pk: holder.urn for holder in holders if isinstance(holder, User)}
    groups: dict[int | None, str] = {
        holder.group_id: holder.urn for holder in holders if isinstance(holder, GroupProfile)
    }
    rows = RoleAssignment.objects.select_related("role").order_by("pk")
    for row in rows.filter(user__in=list(users)):
        assignments[users[row.user_id]].append(row)
    for row in rows.filter(group__in=list(groups)):
        assignments[groups[row.group_id]].append(row)
    return assignments
