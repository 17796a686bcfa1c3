"""Somebody must be left who can manage policies: a change that locks the last one out is refused.

Asked inside the transaction that writes, of the tables as they stand there, so that two changes made at once cannot
pass together. The system may make such a change: whoever runs its commands can also give that power back.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Exists, OuterRef, QuerySet

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR, Actor, Origin, Question
from policies.engine.snapshot import Snapshot
from policies.errors import Conflict
from policies.models import Policy, PolicyFacet, User
from policies.pdp import active_policies, actor_resolution, users_by_actor_clause

_MANAGE = "MANAGE_POLICIES"

#: How many people are looked at in one go; the first of them can nearly always manage policies.
_CHUNK = 200


@contextmanager
def guarded(*, policy: Policy, by: Actor) -> Iterator[None]:
    """Make a change to a policy, or raise Conflict when it takes the power over policies from the last who had it."""
    is_watched = _may_give(policy) and is_at_risk(by=by)
    yield
    if is_watched:
        refuse_loss(of=f"{policy.name} as it is")


def is_at_risk(*, by: Actor) -> bool:
    """Whether a change that takes something away has to be looked at when it is made; asked before it is written."""
    return by.urn != SYSTEM_ACTOR and is_manageable()


def refuse_loss(*, of: str) -> None:
    """Raise Conflict when nobody can manage policies any more, now that this is taken away."""
    if not is_manageable():
        raise Conflict(f"Nobody who can sign in could manage policies without {of}.")


def is_manageable() -> bool:
    """Whether some active person with a password may manage policies."""
    compiled = [
        (one.urn, families.get(one.family).compile(one.document, Origin(one.urn, one.name))) for one in _giving()
    ]
    snapshot = Snapshot.build(0, compiled)
    tokens = frozenset[str]().union(*(statement.actors.tokens for statement in snapshot.listed(_MANAGE)))
    people = users_by_actor_clause.reached(tokens=tokens).filter(kind=User.Kind.PERSON)
    urns = people.exclude(password="").exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    listed = list(urns.values_list("urn", flat=True)[:_CHUNK])
    while listed:
        actors = actor_resolution.actors(urns=listed).values()
        if any(decide(snapshot, Question(actor, _MANAGE)).is_allowed for actor in actors):
            return True
        listed = list(urns.filter(urn__gt=listed[-1]).values_list("urn", flat=True)[:_CHUNK])
    return False


def _names() -> frozenset[str]:
    return vocabulary.datahub().implied_by(_MANAGE) | {_MANAGE}


def _may_give(policy: Policy) -> bool:
    return policy.facets.filter(field=PolicyFacet.Field.PRIVILEGE, value__in=_names()).exists()


def _giving() -> QuerySet[Policy]:
    named = PolicyFacet.objects.filter(policy=OuterRef("pk"), field=PolicyFacet.Field.PRIVILEGE, value__in=_names())
    return active_policies.active_policies().filter(Exists(named))
