"""Writes to users, groups, roles and policies that arrive as aspects, through any protocol.

They write the same rows as the pages and require the same privileges (clients.md 2.6). A list of changes is applied
completely or not at all, with a number of queries that does not grow with it; only roles, usually few, are written one
by one by their service. All policies of a list become one version. Where the document of a policy leaves out a field of
our own (`datahub_fields`), what is stored stays: programs that do not know the field send whole documents.

`groupMembership` and `nativeGroupMembership` replace that kind of membership of their user. A group that they name and
that does not exist is created, since programs write in any order. `roleMembership` replaces the roles.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from policies.aspects import schemas
from policies.aspects.people_import import AspectImport
from policies.aspects.schemas import POLICY_INFO, ROLE, SCHEMAS, SECRET_ASPECTS, USER, AspectChange
from policies.authoring.services import lints, policies, policy_drafts
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
from policies.writes.unit_of_work import open_unit_of_work

__all__ = ["OWNED_ASPECTS", "AspectChange", "amend", "apply", "remove"]

#: (entity type, aspect name) of all aspects that are written or refused here, and never stored as aspects.
OWNED_ASPECTS: frozenset[tuple[str, str]] = frozenset(SCHEMAS) | SECRET_ASPECTS


def apply(*, changes: Sequence[AspectChange], by: Actor, channel: str = "gms") -> tuple[Problem, ...]:
    """Write these aspects, all or none, in their order; return the lints of policies with unknown fields.

    A policy with unknown fields is stored with them and INACTIVE. Raises Invalid with every problem (pointers are
    `/<index>/<field>`, also in lints), Forbidden with everything that is missing, or with an empty list for what nobody
    may do here: writing credentials and tokens, suspending the root user. Raises Conflict if a role that policies name
    is deleted, and ValueError for an aspect that is not in OWNED_ASPECTS.
    """
    _check(changes)
    with open_unit_of_work(by=by, channel=channel) as uow:
        # Restoring a group gives privileges to members without an event for each of them.
        PolicyVersion.touch_everything()
        changes = _keep_own_fields(changes)
        aspect_import = AspectImport(changes, uow)
        aspect_import.read()
        aspect_import.plan()
        if refusal := authorizer.find_refusal(by=by, requests=aspect_import.requests):
            raise refusal
        for aspect_change in changes:
            if (aspect_change.entity_type, aspect_change.name) == (ROLE, documents.ROLE_INFO):
                _write_role(aspect_change, by=by, channel=channel)
        aspect_import.write()
        return _write_policies(changes, by=by, channel=channel)


def amend(*, urn: str, entity_type: str, name: str, fields: Mapping[str, Any], by: Actor, channel: str = "gms") -> None:
    """Set these fields of an aspect of a user or group and leave the rest unchanged; None and '' remove a field.

    Raises NotFound for an unknown or removed user or group, Invalid and Forbidden as `apply`; pointers are `/<field>`.
    """
    with open_unit_of_work(by=by, channel=channel):
        # Read after the gate, so that of two concurrent calls for different fields neither is lost.
        row = users_groups_roles.find_user(urn=urn) if entity_type == USER else users_groups_roles.find_group(urn=urn)
        if row is None or row.is_removed:
            raise NotFound(f"There is no {entity_type} {urn!r}.")
        empty_fields = [field for field, value in fields.items() if value in (None, "")]
        document = {**documents.to_aspects(row).get(name, {}), **fields}
        amended_document = {field: value for field, value in document.items() if field not in empty_fields}
        try:
            apply(changes=[AspectChange(urn, entity_type, name, amended_document)], by=by, channel=channel)
        except Invalid as refusal:
            raise Invalid(
                [Problem(problem.code, problem.pointer[len("/0") :], problem.detail) for problem in refusal.problems]
            ) from None


def remove(*, urn: str, by: Actor, channel: str = "gms") -> None:
    """Delete a user, group, role or policy through its own service, and raise what that raises."""
    removers: Mapping[str, Callable[..., object]] = {
        USER_PREFIX: users.remove,
        GROUP_PREFIX: groups.remove,
        ROLE_PREFIX: roles.delete,
    }
    for prefix, service in removers.items():
        if urn.startswith(prefix):
            service(urn=urn, by=by, channel=channel)
            return
    policies.delete(urn=urn, by=by, channel=channel)


def _check(changes: Sequence[AspectChange]) -> None:
    if (
        unknown_aspects := {(aspect_change.entity_type, aspect_change.name) for aspect_change in changes}
        - OWNED_ASPECTS
    ):
        raise ValueError(f"Not aspects of this app: {sorted(unknown_aspects)}")
    for aspect_change in changes:
        if (aspect_change.entity_type, aspect_change.name) in SECRET_ASPECTS:
            raise Forbidden((), f"{aspect_change.name} of {aspect_change.urn} is written on its own page only.")
    if problems := schemas.find_problems(changes):
        raise Invalid(problems)


def _keep_own_fields(changes: Sequence[AspectChange]) -> Sequence[AspectChange]:
    """Return the changes with the documents of policies that keep fields of ours, each as the one before left them.

    Raises Invalid if a kept field contradicts the rest of a document.
    """
    urns = {item.urn for item in changes if item.name == POLICY_INFO}
    stored_policies = Policy.objects.filter(urn__in=urns, family=datahub.NAME) if urns else ()
    documents_by_urn: dict[str, Mapping[str, Any] | None] = {policy.urn: policy.document for policy in stored_policies}
    kept_changes: list[AspectChange] = []
    for item in changes:
        kept_item, stored_document = item, documents_by_urn.get(item.urn)
        if item.name == POLICY_INFO:
            if item.document is not None and stored_document is not None:
                kept_document = datahub_fields.keep_own_fields(
                    item.document, stored_document, removed_paths=item.removed_paths
                )
                kept_item = replace(item, document=kept_document)
            documents_by_urn[item.urn] = kept_item.document
        kept_changes.append(kept_item)
    if kept_changes != list(changes) and (problems := schemas.find_problems(kept_changes)):
        raise Invalid(problems)
    return kept_changes


def _write_role(aspect_change: AspectChange, *, by: Actor, channel: str) -> None:
    is_stored = Role.objects.filter(urn=aspect_change.urn).exists()
    if aspect_change.document is None:
        if is_stored:
            roles.delete(urn=aspect_change.urn, by=by, channel=channel)
        return
    fields: dict[str, Any] = {
        "name": aspect_change.document["name"],
        "description": aspect_change.document.get("description") or "",
        "extra": aspect_change.document,
    }
    if is_stored:
        roles.update(urn=aspect_change.urn, **fields, by=by, channel=channel)
    else:
        roles.create(identifier=aspect_change.urn.removeprefix(ROLE_PREFIX), **fields, by=by, channel=channel)


def _write_policies(changes: Sequence[AspectChange], *, by: Actor, channel: str) -> tuple[Problem, ...]:
    """Store the last document of each policy, and return the lints of those with unknown fields."""
    positions = {item.urn: position for position, item in enumerate(changes) if item.name == POLICY_INFO}
    documents_by_urn = {urn: changes[position].document for urn, position in positions.items()}
    drafts = {
        urn: policy_drafts.PolicyInput(datahub.NAME, document, keeps_unknown=True)
        for urn, document in documents_by_urn.items()
        if document is not None
    }
    _refuse_activation([changes[position] for position in positions.values()], positions)
    if drafts:
        policies.put_many(drafts=drafts, by=by, channel=channel)
    deleted_policies = Policy.objects.filter(urn__in=positions.keys() - drafts.keys()).order_by("urn")
    for urn in deleted_policies.values_list("urn", flat=True):
        policies.delete(urn=urn, by=by, channel=channel)
    return tuple(
        Problem(item.code, f"/{positions[urn]}{item.pointer}", item.detail)
        for urn, draft in drafts.items()
        for item in lints.unknown_fields(draft)
    )


def _refuse_activation(changes: Sequence[AspectChange], positions: Mapping[str, int]) -> None:
    """Raise Invalid for patches that activate a policy with unknown fields.

    A whole document with ACTIVE is accepted, since it may be the one that was deactivated when it first arrived:
    programs send their documents repeatedly, and the policy stays inactive.
    """
    active_documents = {
        item.urn: item.document
        for item in changes
        if item.is_patch and item.document is not None and item.document.get("state") == Policy.State.ACTIVE
    }
    activated_urns = (
        Policy.objects.filter(urn__in=active_documents).exclude(state=Policy.State.ACTIVE).values_list("urn", flat=True)
    )
    problems = [
        Problem(item.code, f"/{positions[urn]}{item.pointer}", item.detail)
        for urn in (activated_urns if active_documents else ())
        for item in datahub_fields.list_unknown_fields(active_documents[urn])
    ]
    if problems:
        raise Invalid(problems)
