"""Lockout of the last administrator, the built-in guardrail: a change after which nobody manages policies is refused.

Checked inside the transaction that writes, on the tables as they are there, so that two concurrent changes cannot both
pass. Where a policy denies that privilege, or excludes people from it, joining a group can take it, too. Things that
end, and denials that begin later, count as if they had: nobody is asked when that time comes. The system actor is
exempt: an operator who runs its commands can also restore the privilege.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.families.validity import Phase
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement, StatementOrigin
from policies.engine.proofs.verdicts import describe_question
from policies.engine.snapshot import Snapshot
from policies.engine.way_ends import without_ending
from policies.errors import GuardrailBroken
from policies.models import EventType, Policy, PolicyEffect, PolicyFacet, User
from policies.models.guardrail import LOCKOUT_NAME, LOCKOUT_URN
from policies.models.outbox import build_event
from policies.models.people import HAS_PASSWORD
from policies.models.writes import get_open_write
from policies.pdp import actor_resolution, later_actors, users_by_actor_clause
from policies.writes.preview_disclosure import PreviewDisclosure

_MANAGE_POLICIES = "MANAGE_POLICIES"

#: Users examined per batch; one of the first can nearly always manage policies.
_USER_BATCH_SIZE = 200


class Manageability(IntEnum):
    """How long somebody who can sign in may manage policies, if nothing is changed."""

    LOST = 0
    FOR_NOW = 1
    LASTING = 2


class Management(NamedTuple):
    """How long somebody who can sign in may manage policies, and one who may."""

    lasts: Manageability = Manageability.LOST
    manager: Actor | None = None


@contextmanager
def guard_policies(*, policies: Collection[Policy], by: Actor, loss: str) -> Iterator[None]:
    """Run a write of policies; raises Conflict if it takes MANAGE_POLICIES from the last person who had it.

    They are in memory as they will be, and stored as they are; `loss` names what is lost.
    """
    is_watched = _may_give(policies) or any(map(_may_take, policies))
    before = measure_risk(by=by) if is_watched else Management()
    yield
    refuse_loss(before=before, loss=loss, by=by)


def measure_risk(*, by: Actor) -> Management:
    """Return the management that a change by this actor may not diminish (`refuse_loss`); call it before the change."""
    return Management() if by.urn == SYSTEM_ACTOR else find_management()


def refuse_loss(*, before: Management, loss: str, by: Actor) -> None:
    """Raise GuardrailBroken if policies can be managed less long than before; `loss` names what `by` revokes."""
    if not before.lasts:
        return
    after = find_management()
    if after.lasts < before.lasts:
        get_open_write().emit_after_refusal(
            build_event(
                EventType.GUARDRAIL_REFUSED,
                subject=LOCKOUT_URN,
                actor=by.urn,
                data={"name": LOCKOUT_NAME, "loss": loss},
            )
        )
    if not after.lasts:
        raise _build_refusal(f"Nobody who can sign in could manage policies without {loss}.", before, by)
    if after.lasts < before.lasts:
        detail = f"There would come a time at which nobody could manage policies without {loss}."
        raise _build_refusal(detail, after, by)


def _build_refusal(detail: str, management: Management, by: Actor) -> GuardrailBroken:
    """Return the refusal with the example of who is left, or was there where nobody is, as far as `by` may see them."""
    example = PreviewDisclosure.load(by).redact_example(describe_manager(management))
    return GuardrailBroken(detail, guardrail=LOCKOUT_URN, example=example)


def describe_manager(management: Management) -> dict[str, Any] | None:
    """Return the example of somebody who manages policies, if there is one."""
    manager = management.manager
    return None if manager is None else describe_question(Question(manager, _MANAGE_POLICIES))


def can_narrow(*, by: Actor) -> bool:
    """Whether additions can take MANAGE_POLICIES, because a policy denies it or excludes people from it.

    Not for the system actor, who may do that.
    """
    is_narrowing = Q(field=PolicyFacet.Field.EFFECT, value=PolicyEffect.DENY) | Q(field=PolicyFacet.Field.EXCEPTION)
    narrowing_facets = PolicyFacet.objects.filter(is_narrowing, policy=OuterRef("pk"))
    return by.urn != SYSTEM_ACTOR and _list_granting_policies().filter(Exists(narrowing_facets)).exists()


def find_management(
    staged_policies: Mapping[str, Policy | None] = MappingProxyType({}),
    changed_actors: Mapping[str, Actor] = MappingProxyType({}),
) -> Management:
    """Return how long some active person with a usable password may manage policies, and one of them.

    It is lasting by policies without an end alone, against each deny that has begun or will begin, and whatever groups
    and roles the person leaves or gets by then. Given facts count in place of stored ones: policies by URN (None for
    one that is gone), and people as they would be.
    """
    current_policies, lasting_policies = [], []
    stored_policies = [policy for policy in _list_granting_policies() if policy.urn not in staged_policies]
    staged = [policy for policy in staged_policies.values() if policy is not None and _is_counted(policy)]
    for policy in [*stored_policies, *staged]:
        origin = StatementOrigin(policy.urn, policy.name)
        statements = families.get(policy.family).compile(policy.document, origin)
        is_current = policy.phase == Phase.CURRENT
        if is_current:
            current_policies.append((policy.urn, statements))
        if _is_deny(statements) or (is_current and policy.valid_until is None):
            lasting_policies.append((policy.urn, statements))
    if manager := _find_manager(lasting_policies, changed_actors, is_lasting=True):
        return Management(Manageability.LASTING, manager)
    manager = _find_manager(current_policies, changed_actors, is_lasting=False)
    return Management(Manageability.LOST if manager is None else Manageability.FOR_NOW, manager)


def _find_manager(
    policies: Iterable[tuple[str, tuple[Statement, ...]]], changed_actors: Mapping[str, Actor], *, is_lasting: bool
) -> Actor | None:
    """Return who manages policies by these policies now and, if it has to be lasting, in each later state."""
    snapshot = Snapshot.build(0, policies)
    if changed_actors:
        people = User.objects.filter(
            HAS_PASSWORD, urn__in=list(changed_actors), kind=User.Kind.PERSON, is_removed=False
        )
        changed_urns = people.values_list("urn", flat=True)
        actors = [changed_actors[urn] for urn in changed_urns]
        states = {actor.urn: (without_ending(actor),) for actor in actors if is_lasting}
        if managers := _list_managers(snapshot, actors, states):
            return managers[0]
    statements = snapshot.list_statements(_MANAGE_POLICIES)
    tokens = frozenset[str]().union(*(item.actors.tokens for item in statements if item.effect is Effect.ALLOW))
    users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens).exclude(urn__in=list(changed_actors))
    urns = users.filter(HAS_PASSWORD, kind=User.Kind.PERSON).values_list("urn", flat=True)
    batch_urns = list(urns[:_USER_BATCH_SIZE])
    while batch_urns:
        managers = _list_managers(snapshot, actor_resolution.load_actors(urns=batch_urns).values())
        if managers and is_lasting:
            managers = _list_managers(snapshot, managers, later_actors.load_later_actors(actors=managers))
        if managers:
            return managers[0]
        batch_urns = list(urns.filter(urn__gt=batch_urns[-1])[:_USER_BATCH_SIZE])
    return None


def _list_managers(
    snapshot: Snapshot, actors: Iterable[Actor], later_states: Mapping[str, Sequence[Actor]] = MappingProxyType({})
) -> list[Actor]:
    """Return those of these people who manage policies, as they are and in each of their later states."""
    return [
        actor
        for actor in actors
        if all(
            decide(snapshot, Question(state, _MANAGE_POLICIES)).is_allowed
            for state in (actor, *later_states.get(actor.urn, ()))
        )
    ]


def _privilege_names() -> frozenset[str]:
    return vocabulary.load_datahub().implying_privileges(_MANAGE_POLICIES) | {_MANAGE_POLICIES}


def _may_give(policies: Collection[Policy]) -> bool:
    stored_keys = [policy.pk for policy in policies if policy.pk is not None]
    facets = PolicyFacet.objects.filter(policy__in=stored_keys[:1], field=PolicyFacet.Field.PRIVILEGE)
    # Of many, some may: they are not looked at one by one.
    return len(stored_keys) > 1 or (bool(stored_keys) and facets.filter(value__in=_privilege_names()).exists())


def _may_take(policy: Policy) -> bool:
    statements = families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))
    return _is_deny(statements) and any(_MANAGE_POLICIES in item.privileges for item in statements)


def _is_counted(policy: Policy) -> bool:
    """Whether a policy counts now or later."""
    return policy.state == Policy.State.ACTIVE and policy.phase != Phase.ENDED


def _is_deny(statements: Iterable[Statement]) -> bool:
    return any(item.effect is Effect.DENY for item in statements)


def _list_granting_policies() -> QuerySet[Policy]:
    """Return the policies that give or take the privilege, now or later."""
    granting_facets = PolicyFacet.objects.filter(
        policy=OuterRef("pk"), field=PolicyFacet.Field.PRIVILEGE, value__in=_privilege_names()
    )
    rows = Policy.objects.filter(state=Policy.State.ACTIVE).exclude(phase=Phase.ENDED).order_by("urn")
    return rows.filter(Exists(granting_facets))
