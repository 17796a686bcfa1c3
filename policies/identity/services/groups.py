"""Writes to groups and their members. Groups do not nest."""

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
from policies.models.people import GROUP_PREFIX, MAX_NAME_LENGTH, django_group_name
from policies.pdp import authorizer
from policies.pdp.authorizer import AccessRequest, ResourceRef
from policies.writes import required_privileges
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work, refuse_stale
from policies.writes.validation import MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH, Checks

ENTITY_TYPE = "corpGroup"

#: Maximum number of users that one call adds to a group or removes from it.
MAX_MEMBERS = 1_000

#: Editable columns → maximum length, in characters.
PROFILE_LENGTHS = {"name": MAX_NAME_LENGTH, "description": MAX_TEXT_LENGTH, "email": MAX_EMAIL_LENGTH}


def create(
    *,
    name: str,
    by: Actor,
    channel: str,
    identifier: str | None = None,
    description: str = "",
    email: str = "",
    origin: str = GroupProfile.Origin.NATIVE,
    members: Sequence[str] = (),
    roles: Sequence[str] = (),
) -> GroupProfile:
    """Create a group with its first members and roles (URNs); a missing `identifier` is generated. `origin` may be any.

    Raises Forbidden, Conflict when the id is taken, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.privilege_group("group.create"))
    identifier = str(uuid.uuid4()) if identifier is None else identifier
    profile = {"name": name, "description": description, "email": email}
    checks = Checks()
    checks.validate_identifier(identifier, "/id")
    _check_profile(checks, profile)
    checks.validate_choice(origin, "/origin", GroupProfile.Origin.values)
    checks.validate_count(members, "/members", limit=MAX_MEMBERS)
    checks.finish()
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = build_group(identifier=identifier, by=by)
        uow.announce(group.urn, *members)
        if GroupProfile.objects.filter(urn=group.urn).exists():
            raise Conflict(f"The group {group.urn} already exists.")
        documents.set_aspects(group, {documents.ORIGIN: {"type": origin}})
        documents.set_columns(group, profile)
        insert_groups([group])
        uow.audit(urn=group.urn, name=group.name, verb=Verb.CREATED, after=facts(group))
        users = _load_users(members, "/members")
        is_external = origin == GroupProfile.Origin.EXTERNAL
        Membership.objects.bulk_create(
            Membership(user=user, group=group.group, is_native=not is_external, is_external=is_external)
            for user in users
        )
        record_members(uow, group, added_users=users)
        role_service.assign_initial_roles(holder=group, roles=roles, uow=uow)
    return group


def update(
    *,
    urn: str,
    by: Actor,
    channel: str,
    name: str | None = None,
    description: str | None = None,
    email: str | None = None,
    expected_fingerprint: str = "",
) -> GroupProfile:
    """Change the given fields of a group; None leaves a field unchanged. `expected_fingerprint` as in `users.update`.

    Raises Forbidden, NotFound, Stale, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_profile(), urn=urn, type=ENTITY_TYPE)
    values = {"name": name, "description": description, "email": email}
    profile = {column: value for column, value in values.items() if value is not None}
    checks = Checks()
    _check_profile(checks, profile)
    checks.finish()
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = _get_group(urn)
        uow.announce(urn)
        before = facts(group)
        refuse_stale(expected_fingerprint=expected_fingerprint, facts=before)
        documents.set_columns(group, profile)
        group.save()
        name_index.rebuild(groups=[group])
        uow.audit(urn=urn, name=group.name, verb=Verb.UPDATED, before=before, after=facts(group))
    return group


def remove(*, urn: str, by: Actor, channel: str) -> None:
    """Delete a group with its memberships and role assignments.

    Raises Forbidden, NotFound, Conflict when nobody could manage policies without it.
    """
    required_privileges.require(by=by, requirement=required_privileges.privilege_group("group.delete"))
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = _get_group(urn)
        uow.announce_revocation(f"the group {group.name}")
        uow.announce_deactivation(urn)
        uow.audit(urn=urn, name=group.name, verb=Verb.DELETED, before=facts(group))
        group.group.delete()


def add_members(*, urn: str, members: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Add users to a group and return the URNs of those that were not native members before.

    Raises Forbidden, NotFound, Conflict for a group whose members come from its identity source, Invalid naming every
    unknown user, or for more than MAX_MEMBERS.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_members(), urn=urn, type=ENTITY_TYPE)
    Checks().validate_count(members, "/members", limit=MAX_MEMBERS)
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = _get_native_group(urn)
        users = _load_users(members, "/members")
        uow.announce(*(user.urn for user in users))
        rows = {row.user_id: row for row in Membership.objects.filter(group=group.group_id, user__in=users)}
        added_users = [user for user in users if user.pk not in rows or not rows[user.pk].is_native]
        Membership.objects.filter(pk__in=[rows[user.pk].pk for user in added_users if user.pk in rows]).update(
            is_native=True
        )
        Membership.objects.bulk_create(
            Membership(user=user, group=group.group, is_native=True) for user in added_users if user.pk not in rows
        )
        record_members(uow, group, added_users=added_users)
    return [user.urn for user in added_users]


def remove_members(*, urn: str, members: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Remove users from a group and return the URNs of those that were native members.

    Unknown users are ignored; external membership stays. Raises Forbidden, NotFound, Conflict as `add_members`, and
    when nobody could manage policies afterwards.
    """
    required_privileges.require(by=by, requirement=required_privileges.group_members(), urn=urn, type=ENTITY_TYPE)
    Checks().validate_count(members, "/members", limit=MAX_MEMBERS)
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = _get_native_group(urn)
        rows = Membership.objects.filter(group=group.group_id, user__urn__in=members, is_native=True)
        removed_users = [row.user for row in rows.select_related("user").order_by("user__urn")]
        if removed_users:
            uow.announce_revocation(f"the members of {group.name} as they are")
        memberships = Membership.objects.filter(group=group.group_id, user__in=removed_users)
        memberships.filter(is_external=False).delete()
        memberships.update(is_native=False)
        record_members(uow, group, removed_users=removed_users)
    return [user.urn for user in removed_users]


def add_to_groups(*, user: str, groups: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Add one user to groups and return the URNs of the groups of which it was not a native member before.

    Raises Forbidden, NotFound for the user, Invalid naming every group that is unknown or whose members come from its
    identity source.
    """
    with open_unit_of_work(by=by, channel=channel) as uow:
        user_row = User.objects.filter(urn=user).first() if is_storable(user) else None
        if user_row is None:
            raise NotFound(f"There is no user {user!r}.")
        uow.announce(user)
        rows = _load_joinable_groups(groups, by)
        memberships = {row.group_id: row for row in Membership.objects.filter(user=user_row)}
        new_groups = [row for row in rows if row.group_id not in memberships]
        external_memberships = [
            memberships[row.group_id]
            for row in rows
            if row.group_id in memberships and not memberships[row.group_id].is_native
        ]
        Membership.objects.filter(pk__in=[membership.pk for membership in external_memberships]).update(is_native=True)
        Membership.objects.bulk_create(Membership(user=user_row, group=row.group, is_native=True) for row in new_groups)
        updated_group_ids = {membership.group_id for membership in external_memberships}
        changed_groups = [row for row in rows if row.group_id in updated_group_ids or row in new_groups]
        for row in changed_groups:
            record_members(uow, row, added_users=[user_row])
    return [row.urn for row in changed_groups]


def join_new_user(*, user: User, groups: Sequence[str], uow: UnitOfWork) -> None:
    """Add a new user to groups, inside the unit of work that creates it.

    Raises as `add_to_groups`, with problems at /groups.
    """
    if not groups:
        return
    rows = _load_joinable_groups(groups, uow.by)
    Membership.objects.bulk_create(Membership(user=user, group=row.group, is_native=True) for row in rows)
    for row in rows:
        record_members(uow, row, added_users=[user])


def _load_joinable_groups(groups: Sequence[str], by: Actor) -> list[GroupProfile]:
    rows = {row.urn: row for row in GroupProfile.objects.filter(urn__in=groups).select_related("group")}
    checks = Checks()
    checks.validate_known(groups, rows, "/groups", "group")
    for position, urn in enumerate(groups):
        if urn in rows and rows[urn].origin == GroupProfile.Origin.EXTERNAL:
            checks.add("group.external", f"/groups/{position}", _external_members_message(rows[urn]))
    checks.finish()
    requirement = required_privileges.group_members()
    asks = [AccessRequest(requirement, ResourceRef(urn, ENTITY_TYPE)) for urn in rows]
    if refusal := authorizer.find_refusal(by=by, requests=asks):
        raise refusal
    return [rows[urn] for urn in dict.fromkeys(groups)]


def build_group(*, identifier: str, by: Actor) -> GroupProfile:
    """Return an unsaved group with this id, which is also its name."""
    urn = GROUP_PREFIX + identifier
    return GroupProfile(urn=urn, identifier=identifier, name=identifier, created_by=by.urn)


def insert_groups(groups: Sequence[GroupProfile]) -> None:
    """Store new groups in bulk, each with its Django group and its words in the name index."""
    django_groups = Group.objects.bulk_create(Group(name=django_group_name(group.urn)) for group in groups)
    for group, django_group in zip(groups, django_groups, strict=True):
        group.group = django_group
    GroupProfile.objects.bulk_create(groups)
    name_index.rebuild(groups=groups)


def facts(group: GroupProfile) -> dict[str, Any]:
    """Return the state of a group as the change log stores it: id and columns."""
    columns = ("name", "description", "email", "origin", "is_removed")
    return {"id": group.identifier} | {column: getattr(group, column) for column in columns}


def _check_profile(checks: Checks, profile: dict[str, str]) -> None:
    for column, value in profile.items():
        checks.validate_text(value, f"/{column}", limit=PROFILE_LENGTHS[column], is_required=column == "name")


def _get_group(urn: str) -> GroupProfile:
    group = GroupProfile.objects.select_related("group").filter(urn=urn).first() if is_storable(urn) else None
    if group is None:
        raise NotFound(f"There is no group {urn!r}.")
    return group


def _get_native_group(urn: str) -> GroupProfile:
    group = _get_group(urn)
    if group.origin == GroupProfile.Origin.EXTERNAL:
        raise Conflict(_external_members_message(group))
    return group


def _external_members_message(group: GroupProfile) -> str:
    return f"The members of {group.name} come from its identity source and are not changed here."


def _load_users(urns: Sequence[str], pointer: str) -> list[User]:
    rows = {user.urn: user for user in User.objects.filter(urn__in=urns)}
    checks = Checks()
    checks.validate_known(urns, rows, pointer, "user")
    checks.finish()
    return [rows[urn] for urn in dict.fromkeys(urns)]


def record_members(
    uow: UnitOfWork, group: GroupProfile, *, added_users: Iterable[User] = (), removed_users: Iterable[User] = ()
) -> None:
    """Record in the unit of work the users added to a group and removed from it."""
    before, after = [user.urn for user in removed_users], [user.urn for user in added_users]
    uow.touch_members(added_urns=after, removed_urns=before)
    if before or after:
        uow.audit(
            urn=group.urn,
            name=group.name,
            verb=Verb.MEMBERS_CHANGED,
            before={"members": before},
            after={"members": after},
        )
