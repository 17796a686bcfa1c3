"""Role assignments that begin or end at a time: how roles are assigned, and what is written when they come due."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from django.db.models import Q

from policies.identity.services import role_writer
from policies.identity.services.people_writer import UserOrGroup
from policies.models import GroupProfile, Role, RoleAssignment, ScheduledRoleAssignment, User, Verb
from policies.models.event import CLOCK_CHANNEL
from policies.models.writes import WriteTransaction
from policies.pdp import authorizer
from policies.writes import delegation
from policies.writes.timed_holders import HolderInput, TimedHolder, describe_times
from policies.writes.timed_writes import (
    TIME_COLUMNS,
    describe_scheduled,
    find_time_obstacle,
    list_next_boundaries,
    plan_holders,
    prepare_scheduled_columns,
    record_scheduled,
    set_times,
)
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work

_Assignment = TypeVar("_Assignment", RoleAssignment, ScheduledRoleAssignment)


def assign_role(
    *, role: Role, holders: Sequence[HolderInput], rows: Mapping[str, UserOrGroup], uow: UnitOfWork, now: datetime
) -> list[str]:
    """Assign a role to holders, whose rows are `rows`, in addition to their roles, now or from their beginning on.

    A bare URN leaves the times of an assignment as they are, a TimedHolder sets them: one that begins later does not
    hold the role until then. Returns the URNs of those who neither held the role nor were going to.
    """
    assignments = _index_by_holder(RoleAssignment.objects.filter(_build_condition(rows.values()), role=role), rows)
    scheduled_rows = _index_by_holder(
        ScheduledRoleAssignment.objects.filter(_build_condition(rows.values()), role=role), rows
    )
    joining, scheduled, changed = plan_holders(holders=holders, rows=assignments, now=now)

    def choose(holder: UserOrGroup, roles: list[Role]) -> list[Role]:
        kept_roles = [item for item in roles if item != role]
        return kept_roles if holder.urn in scheduled else [*kept_roles, role]

    changing_urns = joining.keys() | (scheduled.keys() & assignments.keys())
    role_writer.change_roles(
        holders=[row for urn, row in rows.items() if urn in changing_urns], choose=choose, uow=uow, times=joining
    )
    _change_times(role, [(rows[urn], assignments[urn], holder) for urn, holder in changed.items()], uow)
    _insert_scheduled(role, [(rows[urn], holder) for urn, holder in scheduled.items()], uow)
    return [urn for urn in (*joining, *scheduled) if urn not in assignments and urn not in scheduled_rows]


def cancel_scheduled(*, holders: Collection[UserOrGroup], uow: UnitOfWork, role: Role | None = None) -> None:
    """Delete the assignments of this role, or of every role, to these holders that have not begun."""
    rows = ScheduledRoleAssignment.objects.filter(_build_condition(holders))
    rows = rows.filter(role=role) if role is not None else rows
    holders_by_urn = {holder.urn: holder for holder in holders}
    cancelled_rows = list(rows.select_related("role", "user", "group__profile").order_by("pk"))
    for row in cancelled_rows:
        holder = holders_by_urn[row.holder_row.urn]
        before = {row.role.urn: describe_scheduled(row)}
        record_scheduled(holder, Verb.ROLES_CHANGED, before=before, after={}, uow=uow)
    ScheduledRoleAssignment.objects.filter(pk__in=[row.pk for row in cancelled_rows]).delete()


class RoleDueChanges:
    """Role assignments as a source of due changes (`policies.pdp.due_changes`)."""

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - the unit of work joins it
        """End the assignments that are over and begin those that are scheduled, each holder with an event.

        One whose user or group was removed does not begin.
        """
        columns = ("role", "user", "group__profile")
        ended = list(RoleAssignment.objects.filter(valid_until__lte=now).select_related(*columns).order_by("pk"))
        due_rows = ScheduledRoleAssignment.objects.filter(valid_from__lte=now)
        begun = list(due_rows.select_related(*columns).order_by("pk"))
        if not ended and not begun:
            return
        with open_unit_of_work(by=authorizer.SYSTEM, channel=CLOCK_CHANNEL) as uow:
            ended_roles: dict[str, set[int]] = defaultdict(set)
            for assignment in ended:
                ended_roles[assignment.holder_row.urn].add(assignment.role_id)
            role_writer.change_roles(
                holders={row.holder_row.urn: row.holder_row for row in ended}.values(),
                choose=lambda holder, roles: [role for role in roles if role.pk not in ended_roles[holder.urn]],
                uow=uow,
            )
            _begin(begun, uow, now)

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest end of an assignment and the earliest beginning of a scheduled one, if there are any."""
        return list_next_boundaries([RoleAssignment], ScheduledRoleAssignment)


def _change_times(
    role: Role, changes: Sequence[tuple[UserOrGroup, RoleAssignment, TimedHolder]], uow: UnitOfWork
) -> None:
    uow.announce(*(row.urn for row, _, _ in changes))
    ends = [(assignment.valid_until, holder.validity.ends) for _, assignment, holder in changes]
    if any(end and (new_end is None or new_end > end) for end, new_end in ends):
        delegation.require_role(by=uow.delegation.author, role=role.urn)
    for row, assignment, holder in changes:
        if holder.validity.ends is not None:
            uow.announce_revocation(f"the roles of {row.name} as they are")
        before = describe_times(assignment.validity)
        set_times(assignment, holder.validity)
        uow.audit(
            urn=row.urn,
            name=row.name,
            verb=Verb.ROLES_CHANGED,
            before={"times": {role.urn: before}},
            after={"times": {role.urn: describe_times(holder.validity, holder.reason)}},
        )
    RoleAssignment.objects.bulk_update([assignment for _, assignment, _ in changes], TIME_COLUMNS)


def _insert_scheduled(role: Role, additions: Sequence[tuple[UserOrGroup, TimedHolder]], uow: UnitOfWork) -> None:
    """Store assignments that have not begun; raises Forbidden if the author may not give what the role gives now."""
    if not additions:
        return
    delegation.require_role(by=uow.delegation.author, role=role.urn)
    rows = {row.urn: row for row, _ in additions}
    uow.announce(*rows)
    old_rows = ScheduledRoleAssignment.objects.filter(_build_condition(rows.values()), role=role)
    before = {urn: {role.urn: describe_scheduled(row)} for urn, row in _index_by_holder(old_rows, rows).items()}
    old_rows.delete()
    ScheduledRoleAssignment.objects.bulk_create(
        ScheduledRoleAssignment(
            role=role,
            user=row if isinstance(row, User) else None,
            group_id=row.group_id if isinstance(row, GroupProfile) else None,
            **prepare_scheduled_columns(holder.validity, reason=holder.reason, uow=uow),
        )
        for row, holder in additions
    )
    for row, holder in additions:
        after = {role.urn: describe_times(holder.validity, holder.reason)}
        record_scheduled(row, Verb.ROLES_CHANGED, before=before.get(row.urn, {}), after=after, uow=uow)


def _begin(rows: Sequence[ScheduledRoleAssignment], uow: UnitOfWork, now: datetime) -> None:
    uow.announce(*(row.holder_row.urn for row in rows))
    rows_by_role: dict[Role, list[ScheduledRoleAssignment]] = defaultdict(list)
    for row in rows:
        if because := _find_obstacle(row, now):
            before, dropped = {row.role.urn: describe_scheduled(row)}, {row.role.urn: because}
            record_scheduled(row.holder_row, Verb.ROLES_CHANGED, before=before, after={}, uow=uow, dropped=dropped)
        else:
            rows_by_role[row.role].append(row)
    ScheduledRoleAssignment.objects.filter(pk__in=[row.pk for row in rows]).delete()
    for role, begun_rows in rows_by_role.items():
        role_writer.change_roles(
            holders=[row.holder_row for row in begun_rows],
            choose=lambda _, roles, role=role: [*roles, role],  # type: ignore[misc]  # a default binds the role
            uow=uow,
            times={row.holder_row.urn: TimedHolder(row.holder_row.urn, row.validity, row.reason) for row in begun_rows},
        )


def _find_obstacle(row: ScheduledRoleAssignment, now: datetime) -> str:
    """Return why a scheduled assignment cannot begin; empty if it can."""
    return find_time_obstacle(row.validity, now) or ("The holder is removed." if row.holder_row.is_removed else "")


def _build_condition(holders: Collection[UserOrGroup]) -> Q:
    """Return the condition on assignments to one of these users and groups."""
    users = [holder.pk for holder in holders if isinstance(holder, User)]
    groups = [holder.group_id for holder in holders if isinstance(holder, GroupProfile)]
    return Q(user__in=users) | Q(group__in=groups)


def _index_by_holder(assignments: Iterable[_Assignment], holders: Mapping[str, UserOrGroup]) -> dict[str, _Assignment]:
    """Return holder URN → its assignment."""
    users: dict[int | None, str] = {holder.pk: urn for urn, holder in holders.items() if isinstance(holder, User)}
    groups: dict[int | None, str] = {
        holder.group_id: urn for urn, holder in holders.items() if isinstance(holder, GroupProfile)
    }
    return {users[row.user_id] if row.user_id is not None else groups[row.group_id]: row for row in assignments}
