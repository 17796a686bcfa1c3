"""The one writer of memberships, for forms, SCIM, sign-in and aspects alike.

Its callers choose the members; here memberships are stored and recorded, and their end is announced. All functions run
inside an open unit of work whose service has checked the privileges, and the number of queries does not depend on the
number of rows.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.db.models import F, QuerySet

from policies.models import GroupProfile, Membership, ScheduledMembership, User, Verb
from policies.writes.timed_holders import TimedHolder
from policies.writes.timed_writes import TIME_COLUMNS, describe_new_times, set_times
from policies.writes.unit_of_work import UnitOfWork

#: Kinds of membership: the column that is true of members assigned here, and of those that a source delivers.
NATIVE, EXTERNAL = "is_native", "is_external"


def add_members(
    *,
    users: Sequence[User],
    groups: Sequence[GroupProfile],
    kind: str,
    uow: UnitOfWork,
    times: Mapping[str, TimedHolder] = MappingProxyType({}),
) -> None:
    """Make each of these users, none of them a member of this kind, a member of each of these groups.

    `times` are those of native members, by URN, who are members for a time.
    """
    uow.announce(*(user.urn for user in users))
    _insert_memberships([(user, group) for group in groups for user in users], kind, times)
    for group in groups:
        _record_members(group, added_users=users, uow=uow, times=times)


def remove_members(*, users: Collection[User], group: GroupProfile, kind: str, uow: UnitOfWork) -> None:
    """End the membership of this kind of these members; raises Conflict when nobody could manage policies then."""
    if users:
        uow.announce_revocation(f"the members of {group.name} as they are")
        uow.announce_removal(*(user.urn for user in users))
        _end_memberships(Membership.objects.filter(group=group.group_id, user__in=users), kind)
        _record_members(group, removed_users=users, uow=uow)


def load_memberships(*, urns: Collection[str]) -> dict[str, dict[str, Membership]]:
    """Return user URN → group URN → membership, oldest first, of these users; one query."""
    memberships: dict[str, dict[str, Membership]] = {urn: {} for urn in urns}
    rows = Membership.objects.filter(user__urn__in=urns).order_by("pk")
    # Not the users and groups themselves: a user's documents name all of its groups, and would come with each.
    for row in rows.annotate(user_urn=F("user__urn"), group_urn=F("group__profile__urn")):
        memberships[row.user_urn][row.group_urn] = row
    return memberships


def replace_groups(
    *,
    targets: Collection[tuple[User, str, Sequence[GroupProfile]]],
    memberships: Mapping[str, Mapping[str, Membership]],
    uow: UnitOfWork,
) -> None:
    """Replace the groups of which a user is a member of one kind, for each user, kind and groups of `targets`.

    `memberships` are the current ones (`load_memberships`). Raises Conflict when nobody could manage policies then.
    """
    uow.announce(*(user.urn for user, _, _ in targets))
    added_pairs: dict[str, list[tuple[User, GroupProfile]]] = defaultdict(list)
    ended_ids: dict[str, list[int]] = defaultdict(list)
    for user, kind, groups in targets:
        current = {urn: row.pk for urn, row in memberships[user.urn].items() if getattr(row, kind)}
        target = {group.urn: group for group in groups}
        if current.keys() == target.keys():
            continue
        if not current.keys() <= target.keys():
            uow.announce_revocation(f"the groups of {user.name} as they are")
        added_pairs[kind] += [(user, group) for urn, group in target.items() if urn not in current]
        ended_ids[kind] += [key for urn, key in current.items() if urn not in target]
        uow.touched_urns.update(current.keys() ^ target.keys())
        uow.audit(
            urn=user.urn,
            name=user.name,
            verb=Verb.MEMBERS_CHANGED,
            before={"groups": list(current)},
            after={"groups": list(target)},
        )
    for kind, pairs in added_pairs.items():
        _insert_memberships(pairs, kind)
    for kind, ids in ended_ids.items():
        _end_memberships(Membership.objects.filter(pk__in=ids), kind)


def _insert_memberships(
    pairs: Collection[tuple[User, GroupProfile]],
    kind: str,
    times: Mapping[str, TimedHolder] = MappingProxyType({}),
) -> None:
    """Store memberships of this kind; one of the other kind becomes both, and one that was to begin later begins."""
    rows = [Membership(user=user, group_id=group.group_id, **{kind: True}) for user, group in pairs]
    for row, (user, _) in zip(rows, pairs, strict=True):
        if holder := times.get(user.urn):
            set_times(row, holder.validity)
    time_columns = TIME_COLUMNS if kind == NATIVE else ()
    Membership.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["user", "group"], update_fields=[kind, *time_columns]
    )
    if kind == NATIVE and pairs:
        _delete_scheduled(pairs)


def _delete_scheduled(pairs: Collection[tuple[User, GroupProfile]]) -> None:
    """Delete the memberships of these users in these groups that have not begun."""
    keys = {(user.pk, group.group_id) for user, group in pairs}
    rows = ScheduledMembership.objects.filter(
        user__in={user_id for user_id, _ in keys}, group__in={group_id for _, group_id in keys}
    )
    scheduled_keys = rows.values_list("pk", "user_id", "group_id")
    if scheduled_ids := [pk for pk, user_id, group_id in scheduled_keys if (user_id, group_id) in keys]:
        ScheduledMembership.objects.filter(pk__in=scheduled_ids).delete()


def _end_memberships(rows: QuerySet[Membership], kind: str) -> None:
    """Delete memberships; one that is of the other kind, too, stays as that."""
    rows.filter(**{EXTERNAL if kind == NATIVE else NATIVE: False}).delete()
    ended_columns: dict[str, Any] = {kind: False}
    rows.update(**ended_columns | (dict.fromkeys(TIME_COLUMNS) if kind == NATIVE else {}))


def _record_members(
    group: GroupProfile,
    *,
    uow: UnitOfWork,
    added_users: Iterable[User] = (),
    removed_users: Iterable[User] = (),
    times: Mapping[str, TimedHolder] = MappingProxyType({}),
) -> None:
    before, after = [user.urn for user in removed_users], [user.urn for user in added_users]
    uow.touch_members(added_urns=after, removed_urns=before)
    if before or after:
        uow.audit(
            urn=group.urn,
            name=group.name,
            verb=Verb.MEMBERS_CHANGED,
            before={"members": before},
            after={"members": after} | describe_new_times({urn: times[urn] for urn in after if urn in times}),
        )
