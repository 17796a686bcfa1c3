"""Writes to policies: checked, versioned, recorded, and announced.

Every function asks the authority itself, so that no door can forget. A refused write leaves nothing behind.
"""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from policies import announce, authority, queries
from policies.engine import families
from policies.engine.errors import InvalidPolicy, Problem, UnknownFamily
from policies.engine.matching import CONSTANTS
from policies.engine.model import SYSTEM_ACTOR, Actor, Origin, Statement
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.models import Policy, PolicyEvent, PolicyFacet, PolicyVersion, Verb
from policies.models.fields import is_storable
from policies.models.policy import POLICY_PREFIX
from policies.services import bindings, lockout

#: What a holder of the privilege can do: effectively everything (source 000, platform privileges).
MANAGE = (("MANAGE_POLICIES",),)

#: Ends of an id that would be another page of the API: `/policies/{urn}/versions/` are the versions of `{urn}`.
_TAKEN_END = re.compile(r"/versions(/[0-9]+(/restore)?)?\Z")

_VALUE_LENGTH = 1024
_NAME_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody wants stored: a family, its document, and what stands beside a document that cannot hold it.

    `state` and `description` belong to families whose document has neither; where the document has them they must agree
    with it or be None.
    """

    family: str
    document: Any
    state: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A stored policy and the version of all policies that its write made."""

    policy: Policy
    policy_version: int


def create(*, draft: Draft, by: Actor, door: str, urn: str | None = None, is_system: bool = False) -> Written:
    """Store a new policy, under the URN given or one made here.

    A system policy stays; one of a family whose documents do not say whether they may be changed stays as it is, too.
    Raises Forbidden, Invalid with every problem, or Conflict when the URN is taken.
    """
    authority.require(by=by, any_of=MANAGE)
    urn = f"{POLICY_PREFIX}{uuid.uuid4()}" if urn is None else checked_urn(urn)
    columns = _columns(draft)
    with transaction.atomic():
        policy_version = PolicyVersion.bump()
        _check_bound(draft)
        if Policy.objects.filter(urn=urn).exists():
            raise Conflict(f"There is a policy {urn} already.")
        columns.setdefault("is_editable", not is_system)
        policy = Policy(urn=urn, family=draft.family, is_system=is_system, created_by=by.urn, **columns)
        _save(policy, by=by)
        _record(policy, Verb.CREATED, policy_version, before=None, by=by, door=door)
    return Written(policy, policy_version)


def update(
    *, urn: str, draft: Draft, by: Actor, door: str, if_version: int | None = None, verb: Verb = Verb.UPDATED
) -> Written:
    """Replace a policy's document.

    Raises NotFound, Forbidden (also when the policy is not editable), Invalid with every problem, Conflict when nobody
    could manage policies afterwards, or Stale when `if_version` is given and the policy has another version by now.
    """
    authority.require(by=by, any_of=MANAGE)
    columns = _columns(draft)
    with transaction.atomic():
        policy_version = PolicyVersion.bump()
        _check_bound(draft)
        policy = _stored(urn, by=by, if_version=if_version)
        if policy.family != draft.family:
            raise Invalid.one(code="family.fixed", pointer="/family", detail="A policy keeps its family.")
        before = snapshot_of(policy)
        with lockout.guarded(policy=policy, by=by):
            for name, value in columns.items():
                setattr(policy, name, value)
            policy.version += 1
            _save(policy, by=by)
        _record(policy, verb, policy_version, before=before, by=by, door=door)
    return Written(policy, policy_version)


def put(*, urn: str, draft: Draft, by: Actor, door: str) -> Written:
    """Replace the policy with this URN, or create it where there is none."""
    if Policy.objects.filter(urn=checked_urn(urn)).exists():
        return update(urn=urn, draft=draft, by=by, door=door)
    return create(urn=urn, draft=draft, by=by, door=door)


def set_state(*, urn: str, state: str, by: Actor, door: str, if_version: int | None = None) -> Written:
    """Activate or deactivate a policy. The state of a DataHub policy stands in its document and is changed there."""
    if state not in (Policy.State.ACTIVE, Policy.State.INACTIVE):
        raise Invalid.one(code="choice", pointer="/state", detail="The state is ACTIVE or INACTIVE.")
    authority.require(by=by, any_of=MANAGE)
    policy = queries.policy(urn=urn)
    document = dict(policy.document)
    if "state" in document:
        document["state"] = state
    draft = Draft(policy.family, document, state=state, description=policy.description)
    verb = Verb.ACTIVATED if state == Policy.State.ACTIVE else Verb.DEACTIVATED
    return update(
        urn=urn,
        draft=draft,
        by=by,
        door=door,
        if_version=policy.version if if_version is None else if_version,
        verb=verb,
    )


def restore(*, urn: str, version: int, by: Actor, door: str, if_version: int | None = None) -> Written:
    """Store an earlier version of a policy again, as a new version; raises what `update` raises."""
    authority.require(by=by, any_of=MANAGE)
    event = queries.versions(urn=urn).filter(version=version, after__isnull=False).first()
    if event is None:
        raise NotFound(f"There is no version {version} of {urn}.")
    after = event.after
    draft = Draft(event.family, after["document"], state=after["state"], description=after["description"])
    return update(urn=urn, draft=draft, by=by, door=door, if_version=if_version, verb=Verb.RESTORED)


def delete(*, urn: str, by: Actor, door: str, if_version: int | None = None) -> int:
    """Remove a policy and return the version of all policies that this made.

    Raises NotFound, Stale, Forbidden (a policy that is not editable, and a system policy, stay), or Conflict when
    nobody could manage policies afterwards.
    """
    authority.require(by=by, any_of=MANAGE)
    with transaction.atomic():
        policy_version = PolicyVersion.bump()
        policy = _stored(urn, by=by, if_version=if_version)
        if policy.is_system:
            raise Forbidden((), f"{policy.name} is a system policy and cannot be deleted.")
        before = snapshot_of(policy)
        policy.version += 1
        _record(policy, Verb.DELETED, policy_version, before=before, by=by, door=door)
        with lockout.guarded(policy=policy, by=by):
            policy.delete()
    return policy_version


def checked(draft: Draft) -> dict[str, Any]:
    """Return the document as it would be stored; raises Invalid with every problem. Stores nothing."""
    document: dict[str, Any] = _columns(draft)["document"]
    return document


def checked_urn(urn: str) -> str:
    """Return a URN that a policy can have; raises Invalid."""
    rest = urn.removeprefix(POLICY_PREFIX)
    if rest == urn or not rest.strip() or len(urn) > 512 or not is_storable(urn) or not rest.isprintable():
        detail = f"The URN of a policy is {POLICY_PREFIX} and an id of printable characters, up to 512 in all."
        raise Invalid.one(code="urn.invalid", pointer="/urn", detail=detail)
    if end := _TAKEN_END.search(rest):
        detail = f"The id of a policy cannot end in {end[0]}: its address would be that of the versions of another."
        raise Invalid.one(code="urn.taken", pointer="/urn", detail=detail)
    return urn


def snapshot_of(policy: Policy) -> dict[str, Any]:
    """Return what the change log keeps of a policy."""
    return {"document": policy.document, "state": policy.state, "description": policy.description}


def _stored(urn: str, *, by: Actor, if_version: int | None) -> Policy:
    policy = queries.policy(urn=urn)
    if not policy.is_editable and by.urn != SYSTEM_ACTOR:
        raise Forbidden((), f"{policy.name} cannot be changed.")
    if if_version is not None and policy.version != if_version:
        raise Stale(f"{policy.name} is at version {policy.version} now, not {if_version}.")
    return policy


def _columns(draft: Draft) -> dict[str, Any]:
    """Check a draft and return the columns that follow from it."""
    try:
        family = families.get(draft.family)
    except UnknownFamily as error:
        raise Invalid.one(code=error.code, pointer="/family", detail=str(error)) from None
    try:
        document = family.parse(draft.document)
    except InvalidPolicy as error:
        raise Invalid([*error.problems, *bindings.unbound(family=family, document=draft.document)]) from None
    columns = family.columns(document)
    problems = bindings.unbound(family=family, document=document)
    problems += bindings.locking_out(family=family, statements=family.compile(document, Origin("", "")))
    problems += [
        Problem(f"{name}.disagrees", f"/{name}", f"The {name} beside the document is not the one in it.")
        for name, beside in (("state", draft.state), ("description", draft.description))
        if beside is not None and name in document and beside != columns[name]
    ]
    if len(columns["name"]) > _NAME_LENGTH:
        place = "/name" if "name" in document else "/displayName"
        problems.append(Problem("name.long", place, f"A name has up to {_NAME_LENGTH} characters."))
    if problems:
        raise Invalid(problems)
    columns.setdefault("state", draft.state or Policy.State.ACTIVE)
    columns.setdefault("description", draft.description or "")
    return {**columns, "document": document}


def _check_bound(draft: Draft) -> None:
    """Look again at what the document binds, behind every write that came before: a role may have been deleted."""
    if problems := bindings.unbound(family=families.get(draft.family), document=draft.document):
        raise Invalid(problems)


def _save(policy: Policy, *, by: Actor) -> None:
    policy.updated_at = timezone.now()
    policy.updated_by = by.urn
    policy.save()
    family = families.get(policy.family)
    # A list can be searched for what an inactive policy would grant, too.
    statements = family.compile(family.activated(policy.document), Origin(policy.urn, policy.name))
    policy.facets.all().delete()
    PolicyFacet.objects.bulk_create(
        PolicyFacet(policy=policy, field=field, value=value[:_VALUE_LENGTH])
        for field, value in sorted(_facets(*family.mentioned(policy.document), statements))
    )


def _facets(
    privileges: frozenset[str], resources: frozenset[str], statements: Iterable[Statement]
) -> set[tuple[str, str]]:
    """Return what the policy names: privileges and resources as written, actors as tokens, the values of criteria."""
    found = {(PolicyFacet.Field.PRIVILEGE.value, name) for name in privileges}
    found |= {(PolicyFacet.Field.RESOURCE.value, name) for name in resources}
    for statement in statements:
        found |= {(PolicyFacet.Field.ACTOR.value, token) for token in statement.actors.tokens}
        for criterion in statement.resources.criteria:
            if criterion.field not in CONSTANTS:
                found |= {(PolicyFacet.Field.RESOURCE.value, value) for value in criterion.values if value}
    return found


def _record(
    policy: Policy, verb: Verb, policy_version: int, *, before: dict[str, Any] | None, by: Actor, door: str
) -> None:
    PolicyEvent.objects.create(
        policy_urn=policy.urn,
        name=policy.name,
        family=policy.family,
        version=policy.version,
        policy_version=policy_version,
        verb=verb,
        by=by.urn,
        door=door,
        before=before,
        after=None if verb is Verb.DELETED else snapshot_of(policy),
    )
    transaction.on_commit(announce.policies_changed)
