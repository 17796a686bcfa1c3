"""The one writer of users and groups, for forms, SCIM, sign-in and aspects alike.

`membership_writer` and `role_writer` write what they belong to and hold. Its callers set the values of rows in memory
(`policies.models.documents`); here that is stored, indexed for searches and recorded, and who may no longer act is
announced. All functions run inside an open unit of work whose service has checked the privileges, and the number of
queries does not depend on the number of rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group

from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.services import name_index
from policies.models import GroupProfile, User, Verb, documents
from policies.models.people import GROUP_PREFIX, django_group_name
from policies.writes import deleted_names
from policies.writes.unit_of_work import UnitOfWork, fingerprint

UserOrGroup = User | GroupProfile
Facts = Mapping[str, Any]

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

    Sessions of users who are suspended or removed end. Raises Forbidden for a root user who would be, and Conflict for
    a new row whose name was deleted and is still named by what the task has to change.
    """
    new_urns = [row.urn for row in rows if facts_before[row.urn] is None]
    # While the names still count as deleted: whoever comes back gains all that the name is given then.
    uow.guardrail_check.announce(new_urns)
    deleted_names.release(new_urns)
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


def set_origin(groups: Sequence[GroupProfile], *, origin: str, uow: UnitOfWork) -> None:
    """Set the origin of stored groups, all of which have another one, and record it; one statement for all."""
    if not groups:
        return
    uow.announce(*(group.urn for group in groups))
    for group in groups:
        before = source_facts(group)
        group.origin = origin
        uow.audit(urn=group.urn, name=group.name, verb=Verb.UPDATED, before=before, after=source_facts(group))
    GroupProfile.objects.filter(pk__in=[group.pk for group in groups]).update(origin=origin)


def remove(row: UserOrGroup, *, uow: UnitOfWork) -> None:
    """Delete a user or group with its memberships and role assignments, a user also with its tokens and sessions.

    Raises Conflict for a name by which a policy keeps access from somebody.
    """
    refuse_narrowing(row)
    _announce_loss(row, uow)
    uow.audit(urn=row.urn, name=row.name, verb=Verb.DELETED, before=facts(row))
    (row if isinstance(row, User) else row.group).delete()
    deleted_names.mark([row.urn])


def refuse_narrowing(row: UserOrGroup) -> None:
    """Raise Conflict for a user or group by whose name a policy keeps access from somebody."""
    object_name = deleted_names.make_object_name("user", row.object_id) if isinstance(row, User) else ""
    deleted_names.refuse_narrowing(urn=row.urn, name=row.name, object_name=object_name)


def refuse_root(user: User) -> None:
    """Raise Forbidden for the root user, who is always active."""
    if user.is_root:
        raise Forbidden((), "The root user cannot be suspended or removed.")


def _announce_deactivation(row: UserOrGroup, before: Facts | None, uow: UnitOfWork) -> None:
    """Announce that a row may no longer act if it might before; raises Forbidden for the root user."""
    if row.is_active:
        return
    if isinstance(row, User):
        refuse_root(row)
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
