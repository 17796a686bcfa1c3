"""Writes to groups and to who is in them. Groups do not nest."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.models import Group

from policies.engine.model import Actor
from policies.errors import Conflict, NotFound
from policies.identity.services import name_index
from policies.identity.services import roles as role_service
from policies.models import GroupProfile, Membership, User, Verb, documents
from policies.models.fields import is_storable
from policies.models.people import GROUP_PREFIX, NAME_LENGTH, django_group_name
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked
from policies.writes import required_privileges
from policies.writes.unit_of_work import Change, change, refuse_stale
from policies.writes.validation import EMAIL_LENGTH, TEXT_LENGTH, Checks

TYPE = "corpGroup"

#: Most users that one call puts into a group or takes out of it.
MAX_MEMBERS = 1_000

#: The columns people edit, and how many characters each holds.
PROFILE = {"name": NAME_LENGTH, "description": TEXT_LENGTH, "email": EMAIL_LENGTH}


def create(
    *,
    name: str,
    by: Actor,
    door: str,
    identifier: str | None = None,
    description: str = "",
    email: str = "",
    origin: str = GroupProfile.Origin.NATIVE,
    members: Sequence[str] = (),
    roles: Sequence[str] = (),
) -> GroupProfile:
    """Store a new group; the id is made here when none is given. `members` are put in whatever the origin.

    Raises Forbidden, Conflict when the id is taken, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_of("group.create"))
    identifier = str(uuid.uuid4()) if identifier is None else identifier
    profile = {"name": name, "description": description, "email": email}
    checks = Checks()
    checks.identifier(identifier, "/id")
    _check_profile(checks, profile)
    checks.choice(origin, "/origin", GroupProfile.Origin.values)
    checks.count(members, "/members", limit=MAX_MEMBERS)
    checks.finish()
    with change(by=by, door=door) as doing:
        group = blank(identifier=identifier, by=by)
        doing.announce(group.urn, *members)
        if GroupProfile.objects.filter(urn=group.urn).exists():
            raise Conflict(f"The group {group.urn} already exists.")
        documents.reduce(group, {documents.ORIGIN: {"type": origin}})
        documents.edit(group, profile)
        store_new([group])
        doing.record(urn=group.urn, name=group.name, verb=Verb.CREATED, after=facts(group))
        users = _users(members, "/members")
        is_external = origin == GroupProfile.Origin.EXTERNAL
        Membership.objects.bulk_create(
            Membership(user=user, group=group.group, is_native=not is_external, is_external=is_external)
            for user in users
        )
        record_members(doing, group, added=users)
        role_service.hold(holder=group, roles=roles, doing=doing)
    return group


def update(
    *,
    urn: str,
    by: Actor,
    door: str,
    name: str | None = None,
    description: str | None = None,
    email: str | None = None,
    seen: str = "",
) -> GroupProfile:
    """Change what is given of a group; None leaves a field as it is. `seen` is the fingerprint of the facts seen.

    Raises Forbidden, NotFound, Stale, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_profile(), urn=urn, type=TYPE)
    given = {"name": name, "description": description, "email": email}
    profile = {column: value for column, value in given.items() if value is not None}
    checks = Checks()
    _check_profile(checks, profile)
    checks.finish()
    with change(by=by, door=door) as doing:
        group = _stored(urn)
        doing.announce(urn)
        before = facts(group)
        refuse_stale(seen=seen, facts=before)
        documents.edit(group, profile)
        group.save()
        name_index.index(groups=[group])
        doing.record(urn=urn, name=group.name, verb=Verb.UPDATED, before=before, after=facts(group))
    return group


def remove(*, urn: str, by: Actor, door: str) -> None:
    """Delete a group with its memberships and assignments.

    Raises Forbidden, NotFound, Conflict when nobody could manage policies without it.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_of("group.delete"))
    with change(by=by, door=door) as doing:
        group = _stored(urn)
        doing.takes(f"the group {group.name}")
        doing.ends(urn)
        doing.record(urn=urn, name=group.name, verb=Verb.DELETED, before=facts(group))
        group.group.delete()


def add_members(*, urn: str, members: Sequence[str], by: Actor, door: str) -> list[str]:
    """Put users into a group and return the URNs of those that were not in it by hand before.

    Raises Forbidden, NotFound, Conflict for a group whose members come from its source, Invalid naming every unknown
    user, or for more than MAX_MEMBERS.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_members(), urn=urn, type=TYPE)
    Checks().count(members, "/members", limit=MAX_MEMBERS)
    with change(by=by, door=door) as doing:
        group = _native(urn)
        users = _users(members, "/members")
        doing.announce(*(user.urn for user in users))
        rows = {row.user_id: row for row in Membership.objects.filter(group=group.group_id, user__in=users)}
        added = [user for user in users if user.pk not in rows or not rows[user.pk].is_native]
        Membership.objects.filter(pk__in=[rows[user.pk].pk for user in added if user.pk in rows]).update(is_native=True)
        Membership.objects.bulk_create(
            Membership(user=user, group=group.group, is_native=True) for user in added if user.pk not in rows
        )
        record_members(doing, group, added=added)
    return [user.urn for user in added]


def remove_members(*, urn: str, members: Sequence[str], by: Actor, door: str) -> list[str]:
    """Take users out of a group and return the URNs of those that were in it by hand before.

    A user nobody knows is not in it, so it is no problem. Raises Forbidden, NotFound, Conflict as `add_members`, and
    when nobody could manage policies afterwards.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_members(), urn=urn, type=TYPE)
    Checks().count(members, "/members", limit=MAX_MEMBERS)
    with change(by=by, door=door) as doing:
        group = _native(urn)
        rows = Membership.objects.filter(group=group.group_id, user__urn__in=members, is_native=True)
        removed = [row.user for row in rows.select_related("user").order_by("user__urn")]
        if removed:
            doing.takes(f"the members of {group.name} as they are")
        touched = Membership.objects.filter(group=group.group_id, user__in=removed)
        touched.filter(is_external=False).delete()
        touched.update(is_native=False)
        record_members(doing, group, removed=removed)
    return [user.urn for user in removed]


def put_into(*, user: str, groups: Sequence[str], by: Actor, door: str) -> list[str]:
    """Put one user into groups and return the URNs of those it was not in by hand before.

    Raises Forbidden, NotFound for the user, Invalid naming every group that is unknown or whose members come from its
    source.
    """
    with change(by=by, door=door) as doing:
        found = User.objects.filter(urn=user).first() if is_storable(user) else None
        if found is None:
            raise NotFound(f"There is no user {user!r}.")
        doing.announce(user)
        rows = _joinable(groups, by)
        held = {row.group_id: row for row in Membership.objects.filter(user=found)}
        new = [row for row in rows if row.group_id not in held]
        touched = [held[row.group_id] for row in rows if row.group_id in held and not held[row.group_id].is_native]
        Membership.objects.filter(pk__in=[one.pk for one in touched]).update(is_native=True)
        Membership.objects.bulk_create(Membership(user=found, group=row.group, is_native=True) for row in new)
        moved = {one.group_id for one in touched}
        changed = [row for row in rows if row.group_id in moved or row in new]
        for row in changed:
            record_members(doing, row, added=[found])
    return [row.urn for row in changed]


def join(*, user: User, groups: Sequence[str], doing: Change) -> None:
    """Put a new user into groups, as part of the change that makes it. Raises as `put_into`, problems at /groups."""
    if not groups:
        return
    rows = _joinable(groups, doing.by)
    Membership.objects.bulk_create(Membership(user=user, group=row.group, is_native=True) for row in rows)
    for row in rows:
        record_members(doing, row, added=[user])


def _joinable(groups: Sequence[str], by: Actor) -> list[GroupProfile]:
    rows = {row.urn: row for row in GroupProfile.objects.filter(urn__in=groups).select_related("group")}
    checks = Checks()
    checks.known(groups, rows, "/groups", "group")
    for position, urn in enumerate(groups):
        if urn in rows and rows[urn].origin == GroupProfile.Origin.EXTERNAL:
            checks.add("group.external", f"/groups/{position}", _comes_from_source(rows[urn]))
    checks.finish()
    requirement = required_privileges.group_members()
    asks = [Ask(requirement, Asked(urn, TYPE)) for urn in rows]
    if refusal := authorizer.find_refusal(by=by, asks=asks):
        raise refusal
    return [rows[urn] for urn in dict.fromkeys(groups)]


def blank(*, identifier: str, by: Actor) -> GroupProfile:
    """Return an unsaved group of which only the id is known; its name is its id."""
    urn = GROUP_PREFIX + identifier
    return GroupProfile(urn=urn, identifier=identifier, name=identifier, created_by=by.urn)


def store_new(groups: Sequence[GroupProfile]) -> None:
    """Store groups that are not there yet, each with its words and the Django group behind it, in a few queries."""
    behind = Group.objects.bulk_create(Group(name=django_group_name(group.urn)) for group in groups)
    for group, django_group in zip(groups, behind, strict=True):
        group.group = django_group
    GroupProfile.objects.bulk_create(groups)
    name_index.index(groups=groups)


def facts(group: GroupProfile) -> dict[str, Any]:
    """Return what the record of changes says about a group."""
    columns = ("name", "description", "email", "origin", "is_removed")
    return {"id": group.identifier} | {column: getattr(group, column) for column in columns}


def _check_profile(checks: Checks, profile: dict[str, str]) -> None:
    for column, value in profile.items():
        checks.text(value, f"/{column}", limit=PROFILE[column], is_required=column == "name")


def _stored(urn: str) -> GroupProfile:
    group = GroupProfile.objects.select_related("group").filter(urn=urn).first() if is_storable(urn) else None
    if group is None:
        raise NotFound(f"There is no group {urn!r}.")
    return group


def _native(urn: str) -> GroupProfile:
    group = _stored(urn)
    if group.origin == GroupProfile.Origin.EXTERNAL:
        raise Conflict(_comes_from_source(group))
    return group


def _comes_from_source(group: GroupProfile) -> str:
    return f"The members of {group.name} come from its identity source and are not changed here."


def _users(urns: Sequence[str], pointer: str) -> list[User]:
    rows = {user.urn: user for user in User.objects.filter(urn__in=urns)}
    checks = Checks()
    checks.known(urns, rows, pointer, "user")
    checks.finish()
    return [rows[urn] for urn in dict.fromkeys(urns)]


def record_members(
    doing: Change, group: GroupProfile, *, added: Iterable[User] = (), removed: Iterable[User] = ()
) -> None:
    """Say who is in a group now, and who is not any more."""
    before, after = [user.urn for user in removed], [user.urn for user in added]
    doing.reach(joined=after, left=before)
    if before or after:
        doing.record(
            urn=group.urn,
            name=group.name,
            verb=Verb.MEMBERS_CHANGED,
            before={"members": before},
            after={"members": after},
        )
