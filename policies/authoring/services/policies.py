"""Writes of policies: validated, versioned, recorded, and published to all processes.

Every function checks the privilege itself, so that no interface can omit it. A refused write stores nothing.
"""

import re
import uuid
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.authoring.queries import policies
from policies.authoring.services import policy_storage
from policies.authoring.services.policy_drafts import (
    PolicyInput,
    check_references,
    draft_with_state,
    find_references,
    validate_columns,
    version_draft,
)
from policies.engine.families.validity import Phase, Validity
from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.models import Gate, Policy, Verb, open_write
from policies.models.fields import is_storable
from policies.models.policy import POLICY_PREFIX
from policies.pdp import authorizer, database_clock
from policies.writes import admin_lockout, managed_rows

#: Requirement of every write. A holder can effectively do everything (source 000, platform privileges).
MANAGE_POLICIES = (("MANAGE_POLICIES",),)

#: Endings of an id that collide with API paths: `/policies/{urn}/versions/` is the list of versions of `{urn}`.
_RESERVED_SUFFIX = re.compile(r"/versions(/[0-9]+(/restore)?)?\Z")

#: What a new policy that denies would take.
_POLICIES_AS_THEY_ARE = "the policies as they are"


@dataclass(frozen=True, slots=True)
class PolicyWrite:
    """One of many writes: the draft replaces the policy with this URN at this version (None: it is new)."""

    urn: str
    draft: PolicyInput
    version: int | None


@dataclass(frozen=True, slots=True)
class PolicyWriteResult:
    """A stored policy, the version of all policies after the write, and its own version before (None: it is new)."""

    policy: Policy
    policy_version: int
    replaced_version: int | None = None


def create(
    *, draft: PolicyInput, by: Actor, channel: str, urn: str | None = None, is_system: bool = False
) -> PolicyWriteResult:
    """Store a new policy, under `urn` or a generated one.

    A system policy cannot be deleted; one of a family whose documents have no `editable` flag cannot be changed either.
    Raises Forbidden, Invalid with every problem, or Conflict when the URN is taken or nobody could manage policies.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    urn = generate_urn() if urn is None else validate_urn(urn)
    columns = validate_columns(draft)
    with open_write(Gate.PEOPLE) as write:
        policy_version = write.bump_version()
        check_references(draft)
        if Policy.objects.filter(urn=urn).exists():
            raise Conflict(f"There is a policy {urn} already.")
        policy = _build_policy(urn, draft, columns, by=by, is_system=is_system)
        with admin_lockout.guard_policies(policies=[policy], by=by, loss=_POLICIES_AS_THEY_ARE):
            policy_storage.store(new_policies=[policy], by=by)
        policy_storage.record({Verb.CREATED: [policy]}, policy_version, before={}, by=by, channel=channel)
    return PolicyWriteResult(policy, policy_version)


def update(
    *, urn: str, draft: PolicyInput, by: Actor, channel: str, if_version: int | None = None, verb: Verb = Verb.UPDATED
) -> PolicyWriteResult:
    """Replace a policy's document.

    Raises NotFound, Forbidden (also for a change of more than the state of a policy that is not editable), Invalid with
    every problem, Conflict when nobody could manage policies afterwards, or Stale when `if_version` is given and is not
    the current version.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    columns = validate_columns(draft)
    with open_write(Gate.PEOPLE) as write:
        policy_version = write.bump_version()
        check_references(draft)
        policy = policies.get_policy(urn=urn)
        _check_change(policy, columns, by=by, if_version=if_version, is_restoration=verb is Verb.RESTORED)
        replaced_version = policy.version
        before = {urn: policy.build_snapshot()}
        loss = f"{policy.name} as it is"
        _apply_columns(policy, family=draft.family, columns=columns)
        with admin_lockout.guard_policies(policies=[policy], by=by, loss=loss):
            policy_storage.store(changed_policies=[policy], by=by)
        policy_storage.record({verb: [policy]}, policy_version, before=before, by=by, channel=channel)
    return PolicyWriteResult(policy, policy_version, replaced_version)


def write_many(
    *,
    writes: Sequence[PolicyWrite],
    by: Actor,
    channel: str,
    verb: Verb = Verb.UPDATED,
    deleted_urns: Collection[str] = (),
) -> int:
    """Store new policies, replace and delete stored ones, all or none, as one version of all; return that version.

    The number of statements grows with batches of rows, not with policies. Raises the errors of `create`, `update` and
    `delete` for the first policy that cannot be written; the lockout check covers all writes together, so that one may
    take the power to manage policies while another gives it.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    with open_write(Gate.PEOPLE) as write:
        policy_version = write.bump_version()
        existing_urns = find_references(policy_write.draft for policy_write in writes)
        policies_by_urn = {
            policy.urn: policy for policy in policies.find_policies(urns=[policy_write.urn for policy_write in writes])
        }
        new_policies: list[Policy] = []
        changed_policies: list[Policy] = []
        before: dict[str, policy_storage.PolicySnapshot] = {}
        for policy_write in writes:
            columns = validate_columns(policy_write.draft, existing_urns=existing_urns)
            policy = policies_by_urn.get(policy_write.urn)
            if policy_write.version is None:
                if policy is not None:
                    raise Conflict(f"There is a policy {policy_write.urn} already.")
                new_policies.append(_build_policy(policy_write.urn, policy_write.draft, columns, by=by))
            elif policy is None:
                raise NotFound(f"There is no policy {policy_write.urn!r}.")
            else:
                _check_change(policy, columns, by=by, if_version=policy_write.version)
                before[policy.urn] = policy.build_snapshot()
                _apply_columns(policy, family=policy_write.draft.family, columns=columns)
                changed_policies.append(policy)
        deleted_policies = list(policies.find_policies(urns=deleted_urns)) if deleted_urns else []
        for policy in deleted_policies:
            check_deletion(policy, by=by)
            before[policy.urn] = policy.build_snapshot()
            policy.version += 1
        is_replacing = bool(changed_policies or deleted_policies)
        loss = "the policies that this replaces, as they are" if is_replacing else _POLICIES_AS_THEY_ARE
        written_policies = [*new_policies, *changed_policies, *deleted_policies]
        with admin_lockout.guard_policies(policies=written_policies, by=by, loss=loss):
            policy_storage.store(new_policies=new_policies, changed_policies=changed_policies, by=by)
            if deleted_policies:
                Policy.objects.filter(pk__in=[policy.pk for policy in deleted_policies]).delete()
        policies_by_verb = {Verb.CREATED: new_policies, verb: changed_policies, Verb.DELETED: deleted_policies}
        policy_storage.record(policies_by_verb, policy_version, before=before, by=by, channel=channel)
    return policy_version


def put_many(*, drafts: Mapping[str, PolicyInput], by: Actor, channel: str) -> int:
    """Replace the policies with these URNs, or create the missing ones, with the result and errors of `write_many`."""
    for urn in drafts:
        validate_urn(urn)
    # Inside the write, so that nobody changes the policies that are looked up here.
    with open_write(Gate.PEOPLE):
        versions_by_urn = {policy.urn: policy.version for policy in policies.find_policies(urns=list(drafts))}
        writes = [PolicyWrite(urn, draft, versions_by_urn.get(urn)) for urn, draft in drafts.items()]
        return write_many(writes=writes, by=by, channel=channel)


def set_state(*, urn: str, state: str, by: Actor, channel: str, if_version: int | None = None) -> PolicyWriteResult:
    """Activate or deactivate a policy, for a DataHub policy in its document; raises the errors of `update`."""
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    verb = _state_verb(state)
    policy = policies.get_policy(urn=urn)
    version = policy.version if if_version is None else if_version
    return update(urn=urn, draft=draft_with_state(policy, state), by=by, channel=channel, if_version=version, verb=verb)


def set_states(*, urns: Collection[str], state: str, by: Actor, channel: str) -> int:
    """Activate or deactivate policies, all or none, as one version of all policies; return that version.

    Raises NotFound, and the errors of `write_many`.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    verb = _state_verb(state)
    with open_write(Gate.PEOPLE):
        policies_by_urn = {policy.urn: policy for policy in policies.find_policies(urns=urns)}
        if missing_urns := sorted(set(urns) - policies_by_urn.keys()):
            raise NotFound(f"There is no policy {missing_urns[0]!r}.")
        writes = [
            PolicyWrite(urn, draft_with_state(policy, state), policy.version) for urn, policy in policies_by_urn.items()
        ]
        return write_many(writes=writes, by=by, channel=channel, verb=verb)


def restore(*, urn: str, version: int, by: Actor, channel: str, if_version: int | None = None) -> PolicyWriteResult:
    """Store an earlier version of a policy again, as a new version; raises the errors of `update`."""
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    event = policies.list_versions(urn=urn).filter(version=version, after__isnull=False).first()
    if event is None:
        raise NotFound(f"There is no version {version} of {urn}.")
    return update(
        urn=urn, draft=version_draft(event), by=by, channel=channel, if_version=if_version, verb=Verb.RESTORED
    )


def delete(*, urn: str, by: Actor, channel: str, if_version: int | None = None) -> int:
    """Delete a policy and return the version of all policies after it.

    Raises NotFound, Stale, Forbidden (for a system policy), or Conflict when nobody could manage policies afterwards.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    with open_write(Gate.PEOPLE) as write:
        policy_version = write.bump_version()
        policy = policies.get_policy(urn=urn)
        _check_version(policy, if_version=if_version)
        check_deletion(policy, by=by)
        before = {urn: policy.build_snapshot()}
        policy.version += 1
        policy_storage.record({Verb.DELETED: [policy]}, policy_version, before=before, by=by, channel=channel)
        with admin_lockout.guard_policies(policies=[policy], by=by, loss=f"{policy.name} as it is"):
            policy.delete()
    return policy_version


def check_deletion(policy: Policy, *, by: Actor) -> None:
    """Raise Forbidden if this policy cannot be deleted by anybody, or Conflict if it is managed as code."""
    managed_rows.refuse_managed(policy, by=by)
    if policy.is_system:
        raise Forbidden((), f"{policy.name} is a system policy and cannot be deleted.")


def stage_write(
    *,
    urn: str,
    policy: Policy | None,
    draft: PolicyInput,
    by: Actor,
    existing_urns: Container[str] | None = None,
) -> Policy:
    """Return the policy, which nothing stores, as a write of this draft would leave it; without `policy` a new one.

    `existing_urns` as in `policy_drafts.validate_columns`. Raises what `create` and `update` raise, but for the loss of
    everybody who could manage policies.
    """
    columns = validate_columns(draft, existing_urns=existing_urns)
    if policy is None:
        return _build_policy(validate_urn(urn), draft, columns, by=by)
    _check_change(policy, columns, by=by, if_version=None)
    _apply_columns(policy, family=draft.family, columns=columns)
    return policy


def generate_urn() -> str:
    """Return a new random policy URN."""
    return f"{POLICY_PREFIX}{uuid.uuid4()}"


def validate_urn(urn: str) -> str:
    """Return `urn` if a policy can have it; raises Invalid."""
    identifier = urn.removeprefix(POLICY_PREFIX)
    if (
        identifier == urn
        or not identifier.strip()
        or len(urn) > 512
        or not is_storable(urn)
        or not identifier.isprintable()
    ):
        detail = f"The URN of a policy is {POLICY_PREFIX} and an id of printable characters, up to 512 in all."
        raise Invalid.from_problem(code="urn.invalid", pointer="/urn", detail=detail)
    if reserved_suffix := _RESERVED_SUFFIX.search(identifier):
        ending = reserved_suffix[0]
        detail = f"The id of a policy cannot end in {ending}: its address would be that of the versions of another."
        raise Invalid.from_problem(code="urn.taken", pointer="/urn", detail=detail)
    return urn


def _build_policy(
    urn: str, draft: PolicyInput, columns: dict[str, Any], *, by: Actor, is_system: bool = False
) -> Policy:
    columns.setdefault("is_editable", not is_system)
    columns["phase"] = Validity(columns.get("valid_from"), columns.get("valid_until")).find_phase(
        database_clock.get_now()
    )
    return Policy(urn=urn, family=draft.family, is_system=is_system, created_by=by.urn, **columns)


def _state_verb(state: str) -> Verb:
    if state not in (Policy.State.ACTIVE, Policy.State.INACTIVE):
        raise Invalid.from_problem(code="choice", pointer="/state", detail="The state is ACTIVE or INACTIVE.")
    return Verb.ACTIVATED if state == Policy.State.ACTIVE else Verb.DEACTIVATED


def is_only_state_change(policy: Policy, columns: Mapping[str, Any]) -> bool:
    """Whether validated columns differ from the policy in a state that may be changed at most.

    The text of a policy that is not editable is fixed, but its grant must remain revocable: only system policies keep
    their state, too (rules/datahub.md a.12).
    """
    if policy.is_state_fixed or columns["state"] not in (Policy.State.ACTIVE, Policy.State.INACTIVE):
        return False
    expected_document = (
        {**policy.document, "state": columns["state"]} if "state" in policy.document else policy.document
    )
    validity = Validity(columns.get("valid_from", policy.valid_from), columns.get("valid_until", policy.valid_until))
    return bool(
        columns["document"] == expected_document
        and columns["description"] == policy.description
        and validity == policy.validity
    )


def _check_change(
    policy: Policy, columns: Mapping[str, Any], *, by: Actor, if_version: int | None, is_restoration: bool = False
) -> None:
    managed_rows.refuse_managed(policy, by=by, is_restoration=is_restoration)
    if not policy.is_editable and by.urn != SYSTEM_ACTOR and not is_only_state_change(policy, columns):
        raise Forbidden((), f"{policy.name} cannot be changed.")
    _check_version(policy, if_version=if_version)


def _check_version(policy: Policy, *, if_version: int | None) -> None:
    if if_version is not None and policy.version != if_version:
        raise Stale(f"{policy.name} is at version {policy.version} now, not {if_version}.")


def _apply_columns(policy: Policy, *, family: str, columns: Mapping[str, Any]) -> None:
    if policy.family != family:
        raise Invalid.from_problem(code="family.fixed", pointer="/family", detail="A policy keeps its family.")
    replaced_validity = policy.validity
    for name, value in columns.items():
        setattr(policy, name, value)
    # A clock that was set back does not revive what has ended.
    if policy.phase != Phase.ENDED or policy.validity != replaced_validity:
        policy.phase = policy.validity.find_phase(database_clock.get_now())
    policy.version += 1
