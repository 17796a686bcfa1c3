"""Writes to groups and their members. Groups do not nest.

A removed user or group is as unknown here until its `status` aspect restores it; only deletion finds it.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from policies.engine.model import Actor
from policies.errors import Conflict
from policies.identity.queries import users_groups_roles
from policies.identity.services import membership_times, membership_writer, people_writer
from policies.identity.services import roles as role_service
from policies.models import GroupProfile, Membership, User, documents
from policies.models.fields import filter_storable, is_storable
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import authorizer, database_clock
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.writes import people_records, required_privileges
from policies.writes.timed_holders import HolderInput, check_holders, get_urn
from policies.writes.unit_of_work import open_unit_of_work, refuse_stale
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
        group = people_writer.build_group(identifier=identifier, by=by, origin=origin, **profile)
        if GroupProfile.objects.filter(urn=group.urn).exists():
            raise Conflict(f"The group {group.urn} already exists.")
        people_writer.store([group], facts_before={group.urn: None}, uow=uow)
        users = users_groups_roles.get_rows(users_groups_roles.select_present_users(), urns=members, pointer="/members")
        kind = membership_writer.EXTERNAL if origin == GroupProfile.Origin.EXTERNAL else membership_writer.NATIVE
        membership_writer.add_members(users=users, groups=[group], kind=kind, uow=uow)
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
    values = {"name": name, "description": description, "email": email}
    stored_group = users_groups_roles.find_group(urn=urn) if is_storable(urn) else None
    # A write is judged by the difference that it makes.
    profile = {
        column: value
        for column, value in values.items()
        if value is not None and (stored_group is None or getattr(stored_group, column) != value)
    }
    for part in sorted(profile) or (None,):
        requirement = required_privileges.group_profile(part)
        required_privileges.require(by=by, requirement=requirement, urn=urn, type=ENTITY_TYPE)
    checks = Checks()
    _check_profile(checks, profile)
    checks.finish()
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = _get_group(urn)
        refuse_stale(expected_fingerprint=expected_fingerprint, facts=people_writer.facts(group))
        with people_writer.edit(group, uow=uow):
            documents.set_columns(group, profile)
    return group


def remove(*, urn: str, by: Actor, channel: str) -> None:
    """Delete a group, also a removed one, with its memberships and role assignments.

    Raises Forbidden, NotFound, Conflict when nobody could manage policies without it.
    """
    require_removal(by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        people_writer.remove(get_removable_group(urn), uow=uow)


def require_removal(*, by: Actor) -> None:
    """Raise Forbidden unless the actor may delete groups."""
    required_privileges.require(by=by, requirement=required_privileges.privilege_group("group.delete"))


def get_removable_group(urn: str) -> GroupProfile:
    """Return a group to delete, also a removed one; raises NotFound."""
    return users_groups_roles.get_row(GroupProfile.objects.select_related("group"), urn=urn)


def add_members(*, urn: str, members: Sequence[HolderInput], by: Actor, channel: str) -> list[str]:
    """Add users to a group, now or from a time on, and return the URNs of those that were not native members before.

    A URN leaves the times of a member as they are, a TimedHolder sets them. Raises Forbidden, NotFound, Conflict for a
    group whose members come from its identity source, Invalid naming every unknown user and every problem of times, or
    for more than MAX_MEMBERS.
    """
    require_member_change(urn=urn, members=members, by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        addition = check_addition(urn=urn, members=members, by=by)
        return membership_times.add_members(
            group=addition.group, holders=members, users=addition.users, uow=uow, now=addition.now
        )


class MemberAddition(NamedTuple):
    """Members that may be added: the group, the users by URN, and the time of the check."""

    group: GroupProfile
    users: Mapping[str, User]
    now: datetime


def check_addition(*, urn: str, members: Sequence[HolderInput], by: Actor) -> MemberAddition:
    """Check that these users can become members of a group, and return their rows. Raises as `add_members`.

    Whether the actor may is `require_member_change`. Users that are removed, or hidden from the actor, are unknown.
    """
    group, now, checks = get_native_group(urn), database_clock.get_now(), Checks()
    urns = filter_storable(get_urn(member) for member in members)
    known_users = users_groups_roles.select_present_users().exclude(
        urn__in=people_records.find_hidden(urns=urns, by=by)
    )
    users = {user.urn: user for user in known_users.filter(urn__in=urns)}
    check_holders(checks, members, users, pointer="/members", noun="user", now=now)
    checks.finish()
    return MemberAddition(group, users, now)


def remove_members(*, urn: str, members: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Remove users from a group, also before they are members, and return the URNs of those that were native members.

    Unknown users are ignored; external membership stays. Raises Forbidden, NotFound, Conflict as `add_members`, and
    when nobody could manage policies afterwards.
    """
    require_member_change(urn=urn, members=members, by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        group = get_native_group(urn)
        rows = Membership.objects.filter(group=group.group_id, user__urn__in=members, is_native=True)
        removed_users = [row.user for row in rows.select_related("user").order_by("user__urn")]
        membership_writer.remove_members(users=removed_users, group=group, kind=membership_writer.NATIVE, uow=uow)
        membership_times.cancel_scheduled(group=group, urns=members, uow=uow)
    return [user.urn for user in removed_users]


def require_member_change(*, urn: str, members: Sequence[object], by: Actor) -> None:
    """Raise Forbidden, or Invalid for more than MAX_MEMBERS, unless the actor may change members of a group."""
    required_privileges.require(by=by, requirement=required_privileges.group_members(), urn=urn, type=ENTITY_TYPE)
    Checks().validate_count(members, "/members", limit=MAX_MEMBERS)


def add_to_groups(*, user: str, groups: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Add one user to groups and return the URNs of the groups of which it was not a native member before.

    Raises Forbidden, NotFound for the user, Invalid naming every group that is unknown or whose members come from its
    identity source.
    """
    with open_unit_of_work(by=by, channel=channel) as uow:
        user_row = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=user)
        target_groups = load_joinable_groups(urns=groups, by=by)
        native_ids = set(Membership.objects.filter(user=user_row, is_native=True).values_list("group_id", flat=True))
        joined_groups = [group for group in target_groups if group.group_id not in native_ids]
        membership_writer.add_members(users=[user_row], groups=joined_groups, kind=membership_writer.NATIVE, uow=uow)
    return [group.urn for group in joined_groups]


def load_joinable_groups(*, urns: Sequence[str], by: Actor) -> list[GroupProfile]:
    """Return the groups to which this actor adds a user.

    Raises Forbidden, Invalid naming every group (at /groups) that is unknown or has members from its identity source.
    """
    rows = {row.urn: row for row in users_groups_roles.select_present_groups().filter(urn__in=urns)}
    checks = Checks()
    checks.validate_known(urns, rows, "/groups", "group")
    for position, urn in enumerate(urns):
        if urn in rows and rows[urn].origin == GroupProfile.Origin.EXTERNAL:
            checks.add("group.external", f"/groups/{position}", _external_members_message(rows[urn]))
    checks.finish()
    requirement = required_privileges.group_members()
    asks = [AccessRequest(requirement, ResourceRef(urn, ENTITY_TYPE)) for urn in rows]
    if refusal := authorizer.find_refusal(by=by, requests=asks):
        raise refusal
    return list({urn: rows[urn] for urn in urns}.values())


def _check_profile(checks: Checks, profile: dict[str, str]) -> None:
    for column, value in profile.items():
        checks.validate_text(value, f"/{column}", limit=PROFILE_LENGTHS[column], is_required=column == "name")


def _get_group(urn: str) -> GroupProfile:
    return users_groups_roles.get_row(users_groups_roles.select_present_groups().select_related("group"), urn=urn)


def get_native_group(urn: str) -> GroupProfile:
    """Return a group whose members are changed here; raises NotFound, or Conflict for one of an identity source."""
    group = _get_group(urn)
    if group.origin == GroupProfile.Origin.EXTERNAL:
        raise Conflict(_external_members_message(group))
    return group


def _external_members_message(group: GroupProfile) -> str:
    return f"The members of {group.name} come from its identity source and are not changed here."
