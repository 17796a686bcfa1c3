"""Writes to roles and their assignments.

Roles that are not editable (Admin, Editor, Reader) are changed only by the bootstrap. A role that a policy names cannot
be deleted, since the policy would silently apply to nobody.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Conflict, Forbidden, NotFound
from policies.identity.queries import users_groups_roles
from policies.identity.services import role_times, role_writer
from policies.identity.services.people_writer import UserOrGroup
from policies.models import GroupProfile, Role, User, Verb, documents
from policies.models.fields import filter_storable
from policies.models.people import MAX_NAME_LENGTH, django_group_name
from policies.models.roles import ROLE_PREFIX
from policies.pdp import database_clock
from policies.writes import deleted_names, managed_rows, required_privileges
from policies.writes.timed_holders import HolderInput, check_holders, get_urn
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work, refuse_stale
from policies.writes.validation import MAX_TEXT_LENGTH, Checks

ENTITY_TYPE = "dataHubRole"

#: Maximum number of users and groups in one call that assigns or revokes roles; each is one entry in the change log.
MAX_ACTORS = 500


@dataclass(frozen=True, slots=True)
class AssignmentResult:
    """The result of a replacing assignment: the role, the URNs that now hold only it, and the unknown URNs."""

    role: str | None
    assigned_urns: tuple[str, ...]
    skipped_urns: tuple[str, ...]


def create(
    *,
    name: str,
    by: Actor,
    channel: str,
    identifier: str | None = None,
    description: str = "",
    object_id: str | None = None,
    is_editable: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> Role:
    """Create a role; a missing `identifier` is generated. `extra` are further fields of its aspect.

    Raises Forbidden (also for a role that is not editable, unless the caller is SYSTEM_ACTOR), Conflict when the id or
    object id is taken, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    identifier = str(uuid.uuid4()) if identifier is None else identifier
    checks = Checks()
    check_description(checks, identifier=identifier, name=name, description=description)
    if object_id is not None:
        object_id = object_id.lower()
        checks.validate_object_id(object_id, "/object_id")
    if not is_editable and by.urn != SYSTEM_ACTOR:
        checks.add("role.editable", "/editable", "Only the product itself makes roles that cannot be changed.")
    checks.finish()
    role = Role(urn=ROLE_PREFIX + identifier, identifier=identifier, is_editable=is_editable, created_by=by.urn)
    if object_id is not None:
        role.object_id = object_id
    _write_document(role, name, description, extra or {})
    with open_unit_of_work(by=by, channel=channel) as uow:
        if Role.objects.filter(urn=role.urn).exists():
            raise Conflict(f"The role {role.urn} already exists.")
        if Role.objects.filter(object_id=role.object_id).exists():
            raise Conflict(f"The object id {role.object_id} is taken.")
        deleted_names.release([role.urn])
        role.group = Group.objects.create(name=django_group_name(role.urn))
        role.save(force_insert=True)
        uow.audit(urn=role.urn, name=role.name, verb=Verb.CREATED, after=facts(role))
    return role


def check_description(checks: Checks, *, identifier: str, name: str, description: str) -> None:
    """Add a problem to `checks` for each of these that a role cannot have; places are `id`, `name`, `description`."""
    checks.validate_identifier(identifier, "/id")
    _check_profile(checks, {"name": name, "description": description})


def update(
    *,
    urn: str,
    by: Actor,
    channel: str,
    name: str | None = None,
    description: str | None = None,
    extra: Mapping[str, Any] | None = None,
    expected_fingerprint: str = "",
) -> Role:
    """Change the given fields of a role; None leaves a field unchanged. `expected_fingerprint` as in `users.update`.

    Raises Forbidden (also for a role that is not editable), NotFound, Stale, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    checks = Checks()
    _check_profile(
        checks, {key: value for key, value in (("name", name), ("description", description)) if value is not None}
    )
    checks.finish()
    with open_unit_of_work(by=by, channel=channel) as uow:
        role = get_editable_role(urn, by=by)
        before = facts(role)
        refuse_stale(expected_fingerprint=expected_fingerprint, facts=before)
        _write_document(
            role,
            role.name if name is None else name,
            role.description if description is None else description,
            documents.to_aspects(role).get(documents.ROLE_INFO, {}) if extra is None else extra,
        )
        role.save()
        uow.audit(urn=urn, name=role.name, verb=Verb.UPDATED, before=before, after=facts(role))
    return role


def delete(*, urn: str, by: Actor, channel: str) -> None:
    """Delete a role with its assignments and grants.

    Raises Forbidden (also for a role that is not editable), NotFound, Conflict while policies name it.
    """
    with open_unit_of_work(by=by, channel=channel) as uow:
        role = get_deletable_role(urn, by=by)
        uow.announce_deactivation(urn)
        uow.audit(urn=urn, name=role.name, verb=Verb.DELETED, before=facts(role))
        group = role.group
        role.delete()
        group.delete()
        deleted_names.mark([urn])


def grant(*, urn: str, actors: Sequence[HolderInput], by: Actor, channel: str) -> list[str]:
    """Assign a role to users and groups, now or from a time on; return the URNs that did not hold it before.

    They keep their roles. A URN leaves the times of a holder as they are, a TimedHolder sets them. Raises Forbidden,
    NotFound, Invalid naming every unknown actor and every problem of times, or for more than MAX_ACTORS.
    """
    require_assignment(actors=actors, by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        role, now = get_role(urn), database_clock.get_now()
        holders_by_urn = check_assignment(actors=actors, now=now)
        return role_times.assign_role(role=role, holders=actors, rows=holders_by_urn, uow=uow, now=now)


def check_assignment(*, actors: Sequence[HolderInput], now: datetime) -> dict[str, UserOrGroup]:
    """Check that a role can be assigned to users and groups, and return their rows. Raises Invalid as `grant`."""
    checks, holders_by_urn = Checks(), load_holders(urns=[get_urn(actor) for actor in actors])
    check_holders(checks, actors, holders_by_urn, pointer="/actors", noun="user or group", now=now)
    checks.finish()
    return holders_by_urn


def revoke(*, urn: str, actors: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Revoke a role from users and groups and return the URNs that held it; other actors are ignored.

    An assignment that has not begun is cancelled. Removed ones lose the role, too: what is revoked is not held again
    after a restoration. Raises Forbidden, NotFound, Invalid for more than MAX_ACTORS, Conflict when nobody could manage
    policies afterwards.
    """
    require_assignment(actors=actors, by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        role = get_role(urn)
        holders = load_holders(urns=actors, with_removed=True).values()
        revoked_urns = role_writer.change_roles(
            holders=holders, choose=lambda _, roles: [item for item in roles if item != role], uow=uow
        )
        role_times.cancel_scheduled(holders=holders, role=role, uow=uow)
        return revoked_urns


def assign(*, role: str | None, actors: Sequence[str], by: Actor, channel: str) -> AssignmentResult:
    """Make a role the only direct role of these actors; None removes all their roles (rules/datahub.md a.11).

    Roles that they were going to hold are cancelled. Unknown actors are skipped. Raises, without any change, Forbidden,
    NotFound for an unknown role, Invalid for more than MAX_ACTORS, or Conflict when nobody could manage policies
    afterwards.
    """
    require_assignment(actors=actors, by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        target_roles = [] if role is None else [get_role(role)]
        holders_by_urn = load_holders(urns=actors)
        role_writer.change_roles(holders=holders_by_urn.values(), choose=lambda *_: target_roles, uow=uow)
        role_times.cancel_scheduled(holders=holders_by_urn.values(), uow=uow)
    unique_urns = dict.fromkeys(actors)
    return AssignmentResult(
        role,
        tuple(urn for urn in unique_urns if urn in holders_by_urn),
        tuple(urn for urn in unique_urns if urn not in holders_by_urn),
    )


def set_roles(*, actor: str, roles: Sequence[str], by: Actor, channel: str) -> list[str]:
    """Replace the direct roles of a user or group; return its URN in a list, which is empty if nothing changed.

    Raises Forbidden, NotFound for an unknown actor, Invalid naming every unknown role, Conflict when nobody could
    manage policies afterwards.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    with open_unit_of_work(by=by, channel=channel) as uow:
        holders_by_urn = load_holders(urns=[actor])
        if actor not in holders_by_urn:
            raise NotFound(f"There is no user or group {actor!r}.")
        target_roles = users_groups_roles.get_rows(Role.objects.all(), urns=roles, pointer="/roles")
        return role_writer.change_roles(holders=holders_by_urn.values(), choose=lambda *_: target_roles, uow=uow)


def assign_initial_roles(*, holder: UserOrGroup, roles: Sequence[str], uow: UnitOfWork) -> None:
    """Assign roles (URNs) to a new user or group, inside the unit of work that creates it. Problems are at /roles."""
    if roles:
        required_privileges.require(by=uow.by, requirement=required_privileges.MANAGE_POLICIES)
        target_roles = users_groups_roles.get_rows(Role.objects.all(), urns=roles, pointer="/roles")
        role_writer.change_roles(holders=[holder], choose=lambda *_: target_roles, uow=uow)


def require_assignment(*, actors: Sequence[object], by: Actor) -> None:
    """Raise Forbidden, or Invalid for more than MAX_ACTORS, unless the actor may assign roles and take them away."""
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    Checks().validate_count(actors, "/actors", limit=MAX_ACTORS)


def load_holders(*, urns: Sequence[str], with_removed: bool = False) -> dict[str, UserOrGroup]:
    """Return URN → user or group for the URNs that exist, in the given order; two queries.

    Removed ones are included only `with_removed`.
    """
    storable_urns = filter_storable(urns)
    users = User.objects.all() if with_removed else users_groups_roles.select_present_users()
    groups = GroupProfile.objects.all() if with_removed else users_groups_roles.select_present_groups()
    holders_by_urn: dict[str, UserOrGroup] = {user.urn: user for user in users.filter(urn__in=storable_urns)}
    holders_by_urn |= {group.urn: group for group in groups.filter(urn__in=storable_urns)}
    return {urn: holders_by_urn[urn] for urn in storable_urns if urn in holders_by_urn}


def facts(role: Role) -> dict[str, Any]:
    """Return the state of a role as the change log stores it."""
    return {"id": role.identifier, "name": role.name, "description": role.description, "editable": role.is_editable}


def _check_profile(checks: Checks, values: Mapping[str, Any]) -> None:
    for column, value in values.items():
        limit = MAX_NAME_LENGTH if column == "name" else MAX_TEXT_LENGTH
        checks.validate_text(value, f"/{column}", limit=limit, is_required=column == "name")


def _write_document(role: Role, name: str, description: str, extra: Mapping[str, Any]) -> None:
    document = {"editable": role.is_editable, **extra, "name": name}
    if description or document.get("description"):
        document["description"] = description
    document.setdefault("description", "")
    documents.set_aspects(role, {documents.ROLE_INFO: document})


def get_role(urn: str) -> Role:
    """Return a role; raises NotFound."""
    return users_groups_roles.get_row(Role.objects.select_related("group"), urn=urn)


def get_deletable_role(urn: str, *, by: Actor) -> Role:
    """Return a role to delete. Raises Forbidden, NotFound, Conflict while policies name it, or deny its object id."""
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    role = get_editable_role(urn, by=by)
    if policy_urns := users_groups_roles.load_policy_urns_by_actor(actors=[urn])[urn]:
        raise Conflict(f"{role.name} is named by {len(policy_urns)} policies: {', '.join(policy_urns[:5])}.")
    deleted_names.refuse_narrowing(
        urn=urn, name=role.name, object_name=deleted_names.make_object_name("role", role.object_id)
    )
    return role


def get_editable_role(urn: str, *, by: Actor) -> Role:
    """Return a role to change. Raises NotFound, Forbidden for one that nobody changes, Conflict for a managed one."""
    role = get_role(urn)
    if not role.is_editable and by.urn != SYSTEM_ACTOR:
        raise Forbidden((), f"The role {role.name} cannot be changed.")
    managed_rows.refuse_managed(role, by=by)
    return role
