"""Writes to people, groups, roles and policies that arrive as aspects, from whatever door.

The same rows are written that the pages write, and the same privileges are needed (clients.md 2.6). A list of changes
is all or nothing and costs the same number of queries whatever its length; only roles, which come a few at a time, are
written one by one by their own service. Policies are one version of all of them.

`groupMembership` and `nativeGroupMembership` replace that kind of membership of their user. A group that they name and
nobody has described yet is made, since programs write in any order. `roleMembership` replaces the roles.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from policies.aspects import schemas
from policies.aspects.people_import import Batch
from policies.aspects.schemas import POLICY_INFO, ROLE, SECRETS, SHAPES, USER, AspectChange
from policies.authoring.services import lints, policies
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid, NotFound
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, users
from policies.models import Policy, PolicyVersion, Role, documents
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer
from policies.writes.unit_of_work import change

__all__ = ["OWNED", "AspectChange", "amend", "apply", "remove"]

#: (entity type, aspect name) of everything that is written here or refused here, and never stored as an aspect.
OWNED: frozenset[tuple[str, str]] = frozenset(SHAPES) | SECRETS


def apply(*, changes: Sequence[AspectChange], by: Actor, door: str = "gms") -> tuple[Problem, ...]:
    """Write these aspects, all or none, in their order, and return the lints of policies that were put out of force.

    A policy with fields that are unknown here is stored with them and INACTIVE. Raises Invalid with every problem
    (places are `/<position>/<field>`, those of lints, too), Forbidden with everything that is missing, or without a
    list for what nobody may do: credentials and tokens through this door, suspending the root user. Raises Conflict
    when a role that policies name is deleted. ValueError for an aspect that is not OWNED.
    """
    _check(changes)
    with change(by=by, door=door) as doing:
        # A group that is there again gives its members what none of them is recorded to get.
        PolicyVersion.touch_everything()
        batch = Batch(changes, doing)
        batch.read()
        batch.plan()
        if refusal := authorizer.find_refusal(by=by, asks=batch.asks):
            raise refusal
        for one in changes:
            if (one.entity_type, one.name) == (ROLE, documents.ROLE_INFO):
                _write_role(one, by=by, door=door)
        batch.write()
        return _write_policies(changes, by=by, door=door)


def amend(*, urn: str, entity_type: str, name: str, fields: Mapping[str, Any], by: Actor, door: str = "gms") -> None:
    """Set these fields of an aspect of a user or group, and leave the others as they are; None and '' take a field out.

    Raises NotFound for a user or group nobody knows, Invalid and Forbidden as `apply`; places are `/<field>`.
    """
    with change(by=by, door=door):
        # Read behind the lock of the change, so that of two who set different fields both are heard.
        row = (
            users_groups_roles.stored_user(urn=urn) if entity_type == USER else users_groups_roles.stored_group(urn=urn)
        )
        if row is None:
            raise NotFound(f"There is no {entity_type} {urn!r}.")
        emptied = [field for field, value in fields.items() if value in (None, "")]
        document = {**documents.compose(row).get(name, {}), **fields}
        kept = {field: value for field, value in document.items() if field not in emptied}
        try:
            apply(changes=[AspectChange(urn, entity_type, name, kept)], by=by, door=door)
        except Invalid as refusal:
            raise Invalid(
                [Problem(one.code, one.pointer[len("/0") :], one.detail) for one in refusal.problems]
            ) from None


def remove(*, urn: str, by: Actor, door: str = "gms") -> None:
    """Delete a user, group, role or policy with all that belongs to it, as its own service does (and raises)."""
    remover: Mapping[str, Callable[..., object]] = {
        USER_PREFIX: users.remove,
        GROUP_PREFIX: groups.remove,
        ROLE_PREFIX: roles.delete,
    }
    for prefix, service in remover.items():
        if urn.startswith(prefix):
            service(urn=urn, by=by, door=door)
            return
    policies.delete(urn=urn, by=by, door=door)


def _check(changes: Sequence[AspectChange]) -> None:
    if strangers := {(one.entity_type, one.name) for one in changes} - OWNED:
        raise ValueError(f"Not aspects of this app: {sorted(strangers)}")
    for one in changes:
        if (one.entity_type, one.name) in SECRETS:
            raise Forbidden((), f"{one.name} of {one.urn} is written on its own page only.")
    if problems := schemas.problems_of(changes):
        raise Invalid(problems)


def _write_role(one: AspectChange, *, by: Actor, door: str) -> None:
    is_stored = Role.objects.filter(urn=one.urn).exists()
    if one.document is None:
        if is_stored:
            roles.delete(urn=one.urn, by=by, door=door)
        return
    name, description = one.document["name"], one.document.get("description") or ""
    if is_stored:
        roles.update(urn=one.urn, name=name, description=description, extra=one.document, by=by, door=door)
    else:
        identifier = one.urn.removeprefix(ROLE_PREFIX)
        roles.create(identifier=identifier, name=name, description=description, extra=one.document, by=by, door=door)


def _write_policies(changes: Sequence[AspectChange], *, by: Actor, door: str) -> tuple[Problem, ...]:
    """Store what is said last of each policy, and return the lints of those with unknown fields."""
    said = {one.urn: position for position, one in enumerate(changes) if one.name == POLICY_INFO}
    documents_of = {urn: changes[position].document for urn, position in said.items()}
    drafts = {
        urn: policies.Draft(datahub.NAME, document, keeps_unknown=True)
        for urn, document in documents_of.items()
        if document is not None
    }
    _refuse_activation([changes[position] for position in said.values()], said)
    if drafts:
        policies.put_many(drafts=drafts, by=by, door=door)
    gone = Policy.objects.filter(urn__in=said.keys() - drafts.keys()).order_by("urn")
    for urn in gone.values_list("urn", flat=True):
        policies.delete(urn=urn, by=by, door=door)
    return tuple(
        Problem(one.code, f"/{said[urn]}{one.pointer}", one.detail)
        for urn, draft in drafts.items()
        for one in lints.unknown_fields(draft)
    )


def _refuse_activation(changes: Sequence[AspectChange], positions: Mapping[str, int]) -> None:
    """Raise Invalid for patches that put a policy in force although it holds fields that are unknown here.

    A whole document that says ACTIVE may be the one that was put out of force when it first arrived: programs send
    their documents again and again, and it stays out of force.
    """
    patched = {
        one.urn: one.document
        for one in changes
        if one.is_patch and one.document is not None and one.document.get("state") == Policy.State.ACTIVE
    }
    waking = Policy.objects.filter(urn__in=patched).exclude(state=Policy.State.ACTIVE).values_list("urn", flat=True)
    problems = [
        Problem(one.code, f"/{positions[urn]}{one.pointer}", one.detail)
        for urn in (waking if patched else ())
        for one in datahub_fields.list_unknown(patched[urn])
    ]
    if problems:
        raise Invalid(problems)
