"""Writes to roles and to who holds them.

Roles that are not editable (Admin, Editor, Reader) change only with the bootstrap. A role that a policy names cannot be
deleted, since the policy would silently speak for nobody.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Conflict, Forbidden, NotFound
from policies.identity.queries import users_groups_roles
from policies.models import GroupProfile, Role, RoleAssignment, User, Verb, documents
from policies.models.fields import is_storable, storable
from policies.models.people import NAME_LENGTH, django_group_name
from policies.models.roles import ROLE_PREFIX
from policies.writes import required_privileges
from policies.writes.unit_of_work import Change, change, refuse_stale
from policies.writes.validation import TEXT_LENGTH, Checks

TYPE = "dataHubRole"

#: Most users and groups that one call gives a role or takes it from; each is an entry of its own in the change log.
MAX_ACTORS = 500

Holder = User | GroupProfile


@dataclass(frozen=True, slots=True)
class Assigned:
    """What a replacing assignment did: the role now held alone, by whom, and the URNs that nobody knows."""

    role: str | None
    assigned: tuple[str, ...]
    skipped: tuple[str, ...]


def create(
    *,
    name: str,
    by: Actor,
    door: str,
    identifier: str | None = None,
    description: str = "",
    object_id: str | None = None,
    is_editable: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> Role:
    """Store a new role; the id is made here when none is given. `extra` are further fields of its aspect.

    Raises Forbidden (also for a role that is not editable, unless the product itself makes it), Conflict when the id is
    taken, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    identifier = str(uuid.uuid4()) if identifier is None else identifier
    checks = Checks()
    checks.identifier(identifier, "/id")
    _check(checks, {"name": name, "description": description})
    if object_id is not None:
        object_id = object_id.lower()
        checks.object_id(object_id, "/object_id")
    if not is_editable and by.urn != SYSTEM_ACTOR:
        checks.add("role.editable", "/editable", "Only the product itself makes roles that cannot be changed.")
    checks.finish()
    role = Role(urn=ROLE_PREFIX + identifier, identifier=identifier, is_editable=is_editable, created_by=by.urn)
    if object_id is not None:
        role.object_id = object_id
    _write(role, name, description, extra or {})
    with change(by=by, door=door) as doing:
        if Role.objects.filter(urn=role.urn).exists():
            raise Conflict(f"The role {role.urn} already exists.")
        if Role.objects.filter(object_id=role.object_id).exists():
            raise Conflict(f"The object id {role.object_id} is taken.")
        role.group = Group.objects.create(name=django_group_name(role.urn))
        role.save(force_insert=True)
        doing.record(urn=role.urn, name=role.name, verb=Verb.CREATED, after=facts(role))
    return role


def update(
    *,
    urn: str,
    by: Actor,
    door: str,
    name: str | None = None,
    description: str | None = None,
    extra: Mapping[str, Any] | None = None,
    seen: str = "",
) -> Role:
    """Change what is given of a role; None leaves a field as it is. `seen` is the fingerprint of the facts seen.

    Raises Forbidden (also for a role that is not editable), NotFound, Stale, Invalid with every problem.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    checks = Checks()
    _check(checks, {key: value for key, value in (("name", name), ("description", description)) if value is not None})
    checks.finish()
    with change(by=by, door=door) as doing:
        role = _changeable(urn, by=by)
        before = facts(role)
        refuse_stale(seen=seen, facts=before)
        _write(
            role,
            role.name if name is None else name,
            role.description if description is None else description,
            documents.compose(role).get(documents.ROLE_INFO, {}) if extra is None else extra,
        )
        role.save()
        doing.record(urn=urn, name=role.name, verb=Verb.UPDATED, before=before, after=facts(role))
    return role


def delete(*, urn: str, by: Actor, door: str) -> None:
    """Remove a role with its assignments and grants.

    Raises Forbidden (also for a role that is not editable), NotFound, Conflict while policies name it.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    with change(by=by, door=door) as doing:
        role = _changeable(urn, by=by)
        if naming := users_groups_roles.policies_naming(actors=[urn])[urn]:
            raise Conflict(f"{role.name} is named by {len(naming)} policies: {', '.join(naming[:5])}.")
        doing.ends(urn)
        doing.record(urn=urn, name=role.name, verb=Verb.DELETED, before=facts(role))
        group = role.group
        role.delete()
        group.delete()


def give(*, urn: str, actors: Sequence[str], by: Actor, door: str) -> list[str]:
    """Give a role to users and groups beside what they hold, and return the URNs of those that did not hold it.

    Raises Forbidden, NotFound, Invalid naming every unknown actor, or for more than MAX_ACTORS.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    Checks().count(actors, "/actors", limit=MAX_ACTORS)
    with change(by=by, door=door) as doing:
        role = _stored(urn)
        found = holders(urns=actors)
        checks = Checks()
        checks.known(actors, found, "/actors", "user or group")
        checks.finish()
        held = held_by(holders=found.values())
        more = [(holder, [*(row.role for row in held[holder.urn]), role]) for holder in found.values()]
        return replace(targets=more, held=held, doing=doing)


def take(*, urn: str, actors: Sequence[str], by: Actor, door: str) -> list[str]:
    """Take a role from users and groups and return the URNs of those that held it; others are no problem.

    Raises Forbidden, NotFound, Conflict when nobody could manage policies without it.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    Checks().count(actors, "/actors", limit=MAX_ACTORS)
    with change(by=by, door=door) as doing:
        role = _stored(urn)
        found = holders(urns=actors)
        held = held_by(holders=found.values())
        left = [(holder, [row.role for row in held[holder.urn] if row.role_id != role.pk]) for holder in found.values()]
        return replace(targets=left, held=held, doing=doing)


def assign(*, role: str | None, actors: Sequence[str], by: Actor, door: str) -> Assigned:
    """Make a role the only one these actors hold; None clears their roles (rules/datahub.md a.11).

    An unknown actor is skipped. Nothing changes when it raises Forbidden, NotFound for an unknown role, or Conflict
    because nobody could manage policies afterwards.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    Checks().count(actors, "/actors", limit=MAX_ACTORS)
    with change(by=by, door=door) as doing:
        wanted = [] if role is None else [_stored(role)]
        found = holders(urns=actors)
        held = held_by(holders=found.values())
        replace(targets=[(holder, wanted) for holder in found.values()], held=held, doing=doing)
    asked = dict.fromkeys(actors)
    return Assigned(role, tuple(urn for urn in asked if urn in found), tuple(urn for urn in asked if urn not in found))


def set_roles(*, actor: str, roles: Sequence[str], by: Actor, door: str) -> list[str]:
    """Make these the roles that a user or group holds itself, and return those it held before.

    Raises Forbidden, NotFound for an actor nobody knows, Invalid naming every unknown role, Conflict when nobody could
    manage policies afterwards.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    with change(by=by, door=door) as doing:
        found = holders(urns=[actor])
        if actor not in found:
            raise NotFound(f"There is no user or group {actor!r}.")
        known = {role.urn: role for role in Role.objects.filter(urn__in=roles)}
        checks = Checks()
        checks.known(roles, known, "/roles", "role")
        checks.finish()
        held = held_by(holders=found.values())
        replace(targets=[(found[actor], list(known.values()))], held=held, doing=doing)
    return [row.role.urn for row in held[actor]]


def hold(*, holder: Holder, roles: Sequence[str], doing: Change) -> None:
    """Give roles to a new user or group, as part of the change that makes it. Problems are at /roles."""
    if not roles:
        return
    required_privileges.require(by=doing.by, requirement=required_privileges.MANAGE_POLICIES)
    found = {role.urn: role for role in Role.objects.filter(urn__in=roles)}
    checks = Checks()
    checks.known(roles, found, "/roles", "role")
    checks.finish()
    replace(targets=[(holder, list(found.values()))], held={holder.urn: []}, doing=doing)


def holders(*, urns: Sequence[str]) -> dict[str, Holder]:
    """Return URN → user or group of those that are stored, in the order asked; two queries."""
    known = storable(urns)
    found: dict[str, Holder] = {user.urn: user for user in User.objects.filter(urn__in=known)}
    found |= {group.urn: group for group in GroupProfile.objects.filter(urn__in=known)}
    return {urn: found[urn] for urn in known if urn in found}


def held_by(*, holders: Iterable[Holder]) -> dict[str, list[RoleAssignment]]:
    """Return holder URN → its assignments with their roles, in the order they were given; two queries."""
    held: dict[str, list[RoleAssignment]] = {holder.urn: [] for holder in holders}
    users: dict[int | None, str] = {one.pk: one.urn for one in holders if isinstance(one, User)}
    groups: dict[int | None, str] = {one.group_id: one.urn for one in holders if isinstance(one, GroupProfile)}
    rows = RoleAssignment.objects.select_related("role").order_by("pk")
    for row in rows.filter(user__in=list(users)):
        held[users[row.user_id]].append(row)
    for row in rows.filter(group__in=list(groups)):
        held[groups[row.group_id]].append(row)
    return held


def replace(
    *,
    targets: Sequence[tuple[Holder, Sequence[Role]]],
    held: Mapping[str, Sequence[RoleAssignment]],
    doing: Change,
) -> list[str]:
    """Make each holder hold exactly these roles, and return the URNs of those for which that was a change.

    `held` is what they hold now (`held_by`). A number of queries that does not grow with the holders. The change ends
    with Conflict when nobody could manage policies without a role that is taken here.
    """
    doing.announce(*(holder.urn for holder, _ in targets))
    new: list[RoleAssignment] = []
    gone: list[int] = []
    changed: list[str] = []
    for holder, roles in targets:
        wanted = {role.pk: role for role in roles}
        had = {row.role_id: row for row in held[holder.urn]}
        if had.keys() == wanted.keys():
            continue
        changed.append(holder.urn)
        new += [_assignment(role, holder, doing) for key, role in wanted.items() if key not in had]
        lost = [row.pk for key, row in had.items() if key not in wanted]
        if lost:
            doing.takes(f"the roles of {holder.name} as they are")
        gone += lost
        doing.record(
            urn=holder.urn,
            name=holder.name,
            verb=Verb.ROLES_CHANGED,
            before={"roles": [row.role.urn for row in had.values()]},
            after={"roles": [role.urn for role in wanted.values()]},
        )
    RoleAssignment.objects.filter(pk__in=gone).delete()
    RoleAssignment.objects.bulk_create(new)
    return changed


def facts(role: Role) -> dict[str, Any]:
    """Return what the record of changes says about a role."""
    return {"id": role.identifier, "name": role.name, "description": role.description, "editable": role.is_editable}


def _assignment(role: Role, holder: Holder, doing: Change) -> RoleAssignment:
    if isinstance(holder, User):
        return RoleAssignment(role=role, user=holder, created_by=doing.by.urn)
    return RoleAssignment(role=role, group_id=holder.group_id, created_by=doing.by.urn)


def _check(checks: Checks, given: Mapping[str, Any]) -> None:
    for column, value in given.items():
        limit = NAME_LENGTH if column == "name" else TEXT_LENGTH
        checks.text(value, f"/{column}", limit=limit, is_required=column == "name")


def _write(role: Role, name: str, description: str, extra: Mapping[str, Any]) -> None:
    document = {"editable": role.is_editable, **extra, "name": name}
    if description or document.get("description"):
        document["description"] = description
    document.setdefault("description", "")
    documents.reduce(role, {documents.ROLE_INFO: document})


def _stored(urn: str) -> Role:
    role = Role.objects.select_related("group").filter(urn=urn).first() if is_storable(urn) else None
    if role is None:
        raise NotFound(f"There is no role {urn!r}.")
    return role


def _changeable(urn: str, *, by: Actor) -> Role:
    role = _stored(urn)
    if not role.is_editable and by.urn != SYSTEM_ACTOR:
        raise Forbidden((), f"The role {role.name} cannot be changed.")
    return role
