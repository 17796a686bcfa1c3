"""Memberships that begin or end at a time: how they are added, and what is written when they come due."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from policies.engine.model import Actor
from policies.identity.services import membership_writer
from policies.models import GroupProfile, Membership, RoleAssignment, ScheduledMembership, User, Verb
from policies.models.event import CLOCK_CHANNEL
from policies.models.writes import WriteTransaction
from policies.pdp import actor_resolution, authorizer, snapshot_store
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


def add_members(
    *, group: GroupProfile, holders: Sequence[HolderInput], users: Mapping[str, User], uow: UnitOfWork, now: datetime
) -> list[str]:
    """Make holders, whose rows are `users`, native members of a group now or from their beginning on.

    A bare URN leaves the times of a membership as they are, a TimedHolder sets them: one that begins later is no member
    until then. Returns the URNs of those who neither were native members nor were going to be.
    """
    rows = Membership.objects.filter(group=group.group_id, user__in=users.values(), is_native=True)
    urns = {user.pk: urn for urn, user in users.items()}
    memberships = {urns[row.user_id]: row for row in rows}
    scheduled_rows = ScheduledMembership.objects.filter(group=group.group_id, user__in=users.values())
    scheduled_ids = set(scheduled_rows.values_list("user_id", flat=True))
    joining, scheduled, changed = plan_holders(holders=holders, rows=memberships, now=now)
    leaving = [users[urn] for urn in scheduled if urn in memberships]
    membership_writer.remove_members(users=leaving, group=group, kind=membership_writer.NATIVE, uow=uow)
    membership_writer.add_members(
        users=[users[urn] for urn in joining], groups=[group], kind=membership_writer.NATIVE, uow=uow, times=joining
    )
    _change_times(group, changed, memberships, uow)
    _insert_scheduled(group, [(users[urn], holder) for urn, holder in scheduled.items()], uow)
    return [urn for urn in (*joining, *scheduled) if urn not in memberships and users[urn].pk not in scheduled_ids]


def cancel_scheduled(*, group: GroupProfile, urns: Collection[str], uow: UnitOfWork) -> None:
    """Delete the memberships of these users that have not begun."""
    rows = ScheduledMembership.objects.filter(group=group.group_id, user__urn__in=urns).select_related("user")
    if cancelled_rows := list(rows.order_by("user__urn")):
        before = _describe_rows(cancelled_rows)
        record_scheduled(group, Verb.MEMBERS_CHANGED, before=before, after={}, uow=uow)
        ScheduledMembership.objects.filter(pk__in=[row.pk for row in cancelled_rows]).delete()


class MembershipDueChanges:
    """Memberships as a source of due changes (`policies.pdp.due_changes`)."""

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - the unit of work joins it
        """End the memberships that are over and begin those that are scheduled, each group with an event.

        One whose user or group was removed, or is given its members by a source now, does not begin.
        """
        ended_rows = Membership.objects.filter(valid_until__lte=now).select_related("user", "group__profile")
        begun_rows = ScheduledMembership.objects.filter(valid_from__lte=now).select_related("user", "group__profile")
        ended, begun = list(ended_rows.order_by("pk")), list(begun_rows.order_by("pk"))
        if not ended and not begun:
            return
        with open_unit_of_work(by=authorizer.SYSTEM, channel=CLOCK_CHANNEL) as uow:
            for group, memberships in _group_rows(ended):
                users = [row.user for row in memberships]
                membership_writer.remove_members(users=users, group=group, kind=membership_writer.NATIVE, uow=uow)
            for group, scheduled_rows in _group_rows(begun):
                _begin(group, scheduled_rows, uow, now)

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest end of a membership and the earliest beginning of a scheduled one, if there are any."""
        return list_next_boundaries([Membership], ScheduledMembership)


def _change_times(
    group: GroupProfile, holders: Mapping[str, TimedHolder], memberships: Mapping[str, Membership], uow: UnitOfWork
) -> None:
    """Set the times of current memberships (by URN of the user).

    Raises Forbidden if an end, or one that is later than before, gives what the author lacks.
    """
    if not holders:
        return
    native_holders = {
        urn: (memberships[urn].validity.ends, holder.validity.ends)
        for urn, holder in holders.items()
        if not memberships[urn].is_external
    }
    ending_urns = [urn for urn, (_, end) in native_holders.items() if end is not None]
    uow.guardrail_check.announce(native_holders)
    if ending_urns:
        uow.announce_revocation(f"the members of {group.name} as they are")
    _refuse_gain_by_leaving(group, ending_urns, uow)
    _refuse_gain_by_staying(
        group,
        [urn for urn, (end, new_end) in native_holders.items() if end and (new_end is None or new_end > end)],
        uow,
    )
    before = {urn: describe_times(memberships[urn].validity) for urn in holders}
    for urn, holder in holders.items():
        set_times(memberships[urn], holder.validity)
    Membership.objects.bulk_update([memberships[urn] for urn in holders], TIME_COLUMNS)
    after = {urn: describe_times(holder.validity, holder.reason) for urn, holder in holders.items()}
    uow.touched_urns.update(before)
    uow.audit(
        urn=group.urn, name=group.name, verb=Verb.MEMBERS_CHANGED, before={"times": before}, after={"times": after}
    )


def _insert_scheduled(group: GroupProfile, additions: Sequence[tuple[User, TimedHolder]], uow: UnitOfWork) -> None:
    """Store memberships that have not begun; raises Forbidden if they will give what the author lacks now."""
    if not additions:
        return
    uow.announce(*(user.urn for user, _ in additions))
    _refuse_gain_by_joining(group, [user.urn for user, _ in additions], uow)
    old_rows = ScheduledMembership.objects.filter(group=group.group_id, user__in=[user for user, _ in additions])
    before = _describe_rows(old_rows.select_related("user").order_by("user__urn"))
    old_rows.delete()
    ScheduledMembership.objects.bulk_create(
        ScheduledMembership(
            user=user,
            group_id=group.group_id,
            **prepare_scheduled_columns(holder.validity, reason=holder.reason, uow=uow),
        )
        for user, holder in additions
    )
    after = {user.urn: describe_times(holder.validity, holder.reason) for user, holder in additions}
    record_scheduled(group, Verb.MEMBERS_CHANGED, before=before, after=after, uow=uow)


def _begin(group: GroupProfile, rows: Sequence[ScheduledMembership], uow: UnitOfWork, now: datetime) -> None:
    begun_rows: list[ScheduledMembership] = []
    dropped: dict[str, str] = {}
    for row in rows:
        if because := _find_obstacle(row, group, now):
            dropped[row.user.urn] = because
        else:
            begun_rows.append(row)
    if dropped:
        before = _describe_rows(row for row in rows if row.user.urn in dropped)
        record_scheduled(group, Verb.MEMBERS_CHANGED, before=before, after={}, uow=uow, dropped=dropped)
    ScheduledMembership.objects.filter(pk__in=[row.pk for row in rows]).delete()
    if begun_rows:
        membership_writer.add_members(
            users=[row.user for row in begun_rows],
            groups=[group],
            kind=membership_writer.NATIVE,
            uow=uow,
            times={row.user.urn: TimedHolder(row.user.urn, row.validity, row.reason) for row in begun_rows},
        )


def _find_obstacle(row: ScheduledMembership, group: GroupProfile, now: datetime) -> str:
    """Return why a scheduled membership cannot begin; empty if it can."""
    if because := find_time_obstacle(row.validity, now):
        return because
    if row.user.is_removed:
        return "The user is removed."
    if group.is_removed:
        return "The group is removed."
    return "The members come from an identity source." if group.origin == GroupProfile.Origin.EXTERNAL else ""


def _refuse_gain_by_joining(group: GroupProfile, urns: Collection[str], uow: UnitOfWork) -> None:
    if not uow.delegation.withheld_privileges:
        return
    roles = RoleAssignment.objects.filter(group=group.group_id).values_list("role__urn", flat=True)
    actors = actor_resolution.load_actors(urns=urns).values()
    uow.delegation.refuse_later_gain(
        (actor, replace(actor, groups=actor.groups | {group.urn}, roles=actor.roles.union(roles))) for actor in actors
    )


def _refuse_gain_by_staying(group: GroupProfile, urns: Collection[str], uow: UnitOfWork) -> None:
    """Raise Forbidden if users keep what the author lacks, since their memberships last longer than before."""
    if urns and uow.delegation.withheld_privileges:
        uow.delegation.refuse_later_gain((left, actor) for actor, left in _load_left_actors(group, urns))


def _refuse_gain_by_leaving(group: GroupProfile, urns: Collection[str], uow: UnitOfWork) -> None:
    """Raise Forbidden if the users gain by leaving the group, since a policy denies or excludes it."""
    withheld_privileges = uow.delegation.withheld_privileges if urns else frozenset[str]()
    if withheld_privileges and snapshot_store.get_current().has_narrowing(withheld_privileges):
        uow.delegation.refuse_later_gain(_load_left_actors(group, urns))


def _load_left_actors(group: GroupProfile, urns: Collection[str]) -> list[tuple[Actor, Actor]]:
    """Return these users as they are, and as they would be without the group."""
    actors = actor_resolution.load_actors(urns=urns)
    roles_by_holder: dict[str, set[str]] = defaultdict(set)
    for column, holder_urns in (
        ("user__urn", set(actors)),
        ("group__profile__urn", frozenset[str]().union(*(actor.groups for actor in actors.values()))),
    ):
        rows = RoleAssignment.objects.filter(**{f"{column}__in": holder_urns})
        for urn, role_urn in rows.values_list(column, "role__urn"):
            roles_by_holder[urn].add(role_urn)

    def leave(actor: Actor) -> Actor:
        groups = actor.groups - {group.urn}
        roles = frozenset(roles_by_holder[actor.urn]).union(*(roles_by_holder[urn] for urn in groups))
        return replace(actor, groups=groups, roles=roles)

    return [(actor, leave(actor)) for actor in actors.values()]


def _describe_rows(rows: Iterable[ScheduledMembership]) -> dict[str, dict[str, str | None]]:
    return {row.user.urn: describe_scheduled(row) for row in rows}


def _group_rows(rows: Iterable[Any]) -> Iterable[tuple[GroupProfile, list[Any]]]:
    """Return each group with its rows."""
    rows_by_group: dict[GroupProfile, list[Any]] = defaultdict(list)
    for row in rows:
        rows_by_group[row.group.profile].append(row)
    return rows_by_group.items()
