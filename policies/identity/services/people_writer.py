"""The one writer of users, groups, memberships and role assignments, for forms, SCIM, sign-in and aspects alike.

Its callers set the values of rows in memory (`policies.models.documents`) and choose members and roles; here that is
stored, indexed for searches and recorded, and who may no longer act is announced. All functions run inside an open unit
of work whose service has checked the privileges, and the number of queries does not depend on the number of rows.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from django.contrib.auth.models import Group
from django.db.models import QuerySet

from policies.engine.families.validity import UNLIMITED, Phase
from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.services import name_index
from policies.models import (
    GroupProfile,
    Membership,
    Role,
    RoleAssignment,
    ScheduledMembership,
    ScheduledRoleAssignment,
    User,
    Verb,
    documents,
)
from policies.models.people import GROUP_PREFIX, django_group_name
from policies.models.writes import announce_boundaries
from policies.writes.timed_holders import TimedHolder, describe_times
from policies.writes.timed_writes import TIME_COLUMNS, set_times
from policies.writes.unit_of_work import UnitOfWork, fingerprint

UserOrGroup = User | GroupProfile
Facts = Mapping[str, Any]

#: Kinds of membership: the column that is true of members assigned here, and of those that a source delivers.
NATIVE, EXTERNAL = "is_native", "is_external"

_USER_COLUMNS = ("display_name", "title", "email", "description", "state", "is_removed")
_GROUP_COLUMNS = ("name", "description", "email", "origin", "is_removed")


def facts(row: UserOrGroup) -> dict[str, Any]:
    """Return the state of a user or group as the change log stores it and forms compare it: its name or id, columns."""
    if isinstance(row, User):
        columns = ("display_name", "email", "title", "description", "state", "kind", "is_removed")
        return {"username": row.username} | {column: getattr(row, column) for column in columns}
    return {"id": row.identifier} | {column: getattr(row, column) for column in _GROUP_COLUMNS}


def source_facts(row: UserOrGroup) -> dict[str, Any]:
    """Return `facts` with what a source delivers: aspects, the external id, and a digest of what no aspect holds."""
    delivered = {"delivered": fingerprint(row.delivered)} if isinstance(row, User) and row.delivered else {}
    return facts(row) | {"external_id": row.external_id, "aspects": documents.to_aspects(row)} | delivered


def build_group(*, identifier: str, by: Actor, origin: str | None = None, **profile: str) -> GroupProfile:
    """Return an unsaved group with these columns; its id is also its name if none is given."""
    group = GroupProfile(urn=GROUP_PREFIX + identifier, identifier=identifier, name=identifier, created_by=by.urn)
    if origin is not None:
        documents.set_aspects(group, {documents.ORIGIN: {"type": origin}})
    documents.set_columns(group, profile)
    return group


@contextmanager
def edit(row: UserOrGroup, *, uow: UnitOfWork, describe: Callable[[UserOrGroup], Facts] = facts) -> Iterator[None]:
    """Store what the block changes of a stored user or group in memory. Raises as `store`."""
    facts_before = {row.urn: describe(row)}
    yield
    store([row], facts_before=facts_before, uow=uow, describe=describe)


def store(
    rows: Sequence[UserOrGroup],
    *,
    facts_before: Mapping[str, Facts | None],
    uow: UnitOfWork,
    describe: Callable[[UserOrGroup], Facts] = facts,
) -> None:
    """Store users and groups, and record those whose facts differ; None in `facts_before` (by URN) is a new row.

    Sessions of users who are suspended or removed end. Raises Forbidden for a root user who would be.
    """
    uow.announce(*(row.urn for row in rows))
    for row in rows:
        _announce_deactivation(row, facts_before[row.urn], uow)
    users = [row for row in rows if isinstance(row, User)]
    groups = [row for row in rows if isinstance(row, GroupProfile)]
    User.objects.bulk_create(row for row in users if facts_before[row.urn] is None)
    User.objects.bulk_update(
        [row for row in users if facts_before[row.urn] is not None],
        (*_USER_COLUMNS, "session_epoch", "external_id", "delivered", "extra"),
    )
    new_groups = [row for row in groups if facts_before[row.urn] is None]
    django_groups = Group.objects.bulk_create(Group(name=django_group_name(row.urn)) for row in new_groups)
    for row, django_group in zip(new_groups, django_groups, strict=True):
        row.group = django_group
    GroupProfile.objects.bulk_create(new_groups)
    GroupProfile.objects.bulk_update(
        [row for row in groups if facts_before[row.urn] is not None], (*_GROUP_COLUMNS, "external_id", "extra")
    )
    name_index.rebuild(users=users, groups=groups)
    for row in rows:
        before, after = facts_before[row.urn], describe(row)
        if before != after:
            uow.audit(urn=row.urn, name=row.name, verb=_find_verb(before, after), before=before, after=after)


def remove(row: UserOrGroup, *, uow: UnitOfWork) -> None:
    """Delete a user or group with its memberships and role assignments, a user also with its tokens and sessions."""
    _announce_loss(row, uow)
    uow.audit(urn=row.urn, name=row.name, verb=Verb.DELETED, before=facts(row))
    (row if isinstance(row, User) else row.group).delete()


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
    rows = Membership.objects.filter(user__urn__in=urns).select_related("user", "group__profile")
    for row in rows.order_by("pk"):
        memberships[row.user.urn][row.group.profile.urn] = row
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
            | _describe_new_times([role.urn for role in new_roles], times.get(holder.urn)),
        )
    RoleAssignment.objects.filter(pk__in=removed_ids).delete()
    RoleAssignment.objects.bulk_create(new_assignments)
    _delete_scheduled_roles(new_assignments)
    return changed_urns


def _announce_deactivation(row: UserOrGroup, before: Facts | None, uow: UnitOfWork) -> None:
    """Announce that a row may no longer act if it might before; raises Forbidden for the root user."""
    if row.is_active:
        return
    if isinstance(row, User) and row.is_root:
        raise Forbidden((), "The root user cannot be suspended or removed.")
    if before is not None and not before["is_removed"] and before.get("state", User.State.ACTIVE) == User.State.ACTIVE:
        _announce_loss(row, uow)
        if isinstance(row, User):
            row.session_epoch += 1


def _announce_loss(row: UserOrGroup, uow: UnitOfWork) -> None:
    uow.announce_revocation(f"the {'account of' if isinstance(row, User) else 'group'} {row.name}")
    uow.announce_removal(row.urn)
    uow.announce_deactivation(row.urn)


def _find_verb(before: Facts | None, after: Facts) -> Verb:
    if before is None:
        return Verb.CREATED
    if before.get("state") == after.get("state"):
        return Verb.UPDATED
    return Verb.SUSPENDED if after["state"] == User.State.SUSPENDED else Verb.ACTIVATED


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
    described_times = {
        urn: describe_times(times[urn].validity, times[urn].reason)
        for urn in after
        if urn in times and times[urn] != TimedHolder(urn)
    }
    if before or after:
        uow.audit(
            urn=group.urn,
            name=group.name,
            verb=Verb.MEMBERS_CHANGED,
            before={"members": before},
            after={"members": after} | ({"times": described_times} if described_times else {}),
        )


def _describe_new_times(urns: Iterable[str], holder: TimedHolder | None) -> dict[str, Any]:
    """Return the times of new memberships or assignments as the change log stores them; nothing for those without."""
    if holder is None or holder == TimedHolder(holder.urn):
        return {}
    times = {urn: describe_times(holder.validity, holder.reason) for urn in urns}
    return {"times": times} if times else {}


def _delete_scheduled_roles(assignments: Collection[RoleAssignment]) -> None:
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
