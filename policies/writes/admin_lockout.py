"""Lockout of the last administrator: a change after which nobody can manage policies is refused.

Checked inside the transaction that writes, on the tables as they are there, so that two concurrent changes cannot both
pass. Where a policy denies that privilege, or excludes people from it, joining a group can take it, too. The
system actor is exempt: an operator who runs its commands can also restore the privilege.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db.models import Exists, OuterRef, Q, QuerySet

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, StatementOrigin
from policies.engine.snapshot import Snapshot
from policies.errors import Conflict
from policies.models import Policy, PolicyEffect, PolicyFacet, User
from policies.models.people import HAS_PASSWORD
from policies.pdp import active_policies, actor_resolution, users_by_actor_clause

_MANAGE_POLICIES = "MANAGE_POLICIES"

#: Users examined per batch; one of the first can nearly always manage policies.
_USER_BATCH_SIZE = 200


@contextmanager
def guard_policies(*, policies: Collection[Policy], by: Actor, loss: str) -> Iterator[None]:
    """Run a write of policies; raises Conflict if it takes MANAGE_POLICIES from the last person who had it.

    They are in memory as they will be, and stored as they are; `loss` names what is lost.
    """
    is_watched = (_may_give(policies) or any(map(_may_take, policies))) and is_at_risk(by=by)
    yield
    if is_watched:
        refuse_loss(loss=loss)


def is_at_risk(*, by: Actor) -> bool:
    """Whether a change that revokes something has to be checked by `refuse_loss`; call it before the change."""
    return by.urn != SYSTEM_ACTOR and is_manageable()


def refuse_loss(*, loss: str) -> None:
    """Raise Conflict if nobody can manage policies any more; `loss` names the revoked thing. Call after the change."""
    if not is_manageable():
        raise Conflict(f"Nobody who can sign in could manage policies without {loss}.")


def can_narrow(*, by: Actor) -> bool:
    """Whether additions can take MANAGE_POLICIES, because a policy denies it or excludes people from it.

    Not for the system actor, who may do that.
    """
    is_narrowing = Q(field=PolicyFacet.Field.EFFECT, value=PolicyEffect.DENY) | Q(field=PolicyFacet.Field.EXCEPTION)
    narrowing_facets = PolicyFacet.objects.filter(is_narrowing, policy=OuterRef("pk"))
    return by.urn != SYSTEM_ACTOR and _list_granting_policies().filter(Exists(narrowing_facets)).exists()


def is_manageable() -> bool:
    """Whether some active person with a usable password may manage policies."""
    compiled_policies = [
        (policy.urn, families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name)))
        for policy in _list_granting_policies()
    ]
    snapshot = Snapshot.build(0, compiled_policies)
    tokens = frozenset[str]().union(
        *(statement.actors.tokens for statement in snapshot.list_statements(_MANAGE_POLICIES))
    )
    users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)
    urns = users.filter(HAS_PASSWORD, kind=User.Kind.PERSON).values_list("urn", flat=True)
    batch_urns = list(urns[:_USER_BATCH_SIZE])
    while batch_urns:
        actors = actor_resolution.load_actors(urns=batch_urns).values()
        if any(decide(snapshot, Question(actor, _MANAGE_POLICIES)).is_allowed for actor in actors):
            return True
        batch_urns = list(urns.filter(urn__gt=batch_urns[-1])[:_USER_BATCH_SIZE])
    return False


def _privilege_names() -> frozenset[str]:
    return vocabulary.load_datahub().implying_privileges(_MANAGE_POLICIES) | {_MANAGE_POLICIES}


def _may_give(policies: Collection[Policy]) -> bool:
    stored_keys = [policy.pk for policy in policies if policy.pk is not None]
    facets = PolicyFacet.objects.filter(policy__in=stored_keys[:1], field=PolicyFacet.Field.PRIVILEGE)
    # Of many, some may: they are not looked at one by one.
    return len(stored_keys) > 1 or (bool(stored_keys) and facets.filter(value__in=_privilege_names()).exists())


def _may_take(policy: Policy) -> bool:
    statements = families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))
    return any(item.effect is Effect.DENY and _MANAGE_POLICIES in item.privileges for item in statements)


def _list_granting_policies() -> QuerySet[Policy]:
    granting_facets = PolicyFacet.objects.filter(
        policy=OuterRef("pk"), field=PolicyFacet.Field.PRIVILEGE, value__in=_privilege_names()
    )
    return active_policies.list_active_policies().filter(Exists(granting_facets))
