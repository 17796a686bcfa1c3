"""What holding roles reaches, counted like what a policy reaches: before and after roles are given or taken.

The people are those who hold the roles; the entities are those that policies let some holder of one of them use some
privilege on, and the privileges are those that policies give to holders of the roles. What people may do anyhow,
by other policies, is not subtracted.
"""

from collections.abc import Collection, Iterable

from django.db.models import Exists, OuterRef

from policies.engine.model import Actor, Cover, Coverage, Effect, Statement
from policies.models import Policy, PolicyFacet
from policies.pdp import active_policies, reach_comparison, snapshot_store, users_by_actor_clause
from policies.pdp.reach_comparison import Impact, Side


def given(*, role: str, actors: Collection[str]) -> Impact:
    """Return what giving a role to these users and groups means, beside those who hold it already."""
    return reach_comparison.compared(_side([role], [role]), _side([role], [role, *actors]))


def held(*, actor: str, before: Collection[str], after: Collection[str]) -> Impact:
    """Return what a user or group reaches by the roles it holds, before and after they become others."""
    return reach_comparison.compared(_side(before, [actor] if before else []), _side(after, [actor] if after else []))


def _side(roles: Collection[str], tokens: Collection[str]) -> Side:
    people = frozenset(tokens)
    if not roles or not users_by_actor_clause.reached(tokens=people).exists():
        return Side(people)
    naming = tuple(one for one in snapshot_store.current().statements if not one.actors.tokens.isdisjoint(roles))
    statements = _without_platform(naming, roles)
    allows = [one for one in statements if one.effect is Effect.ALLOW]
    if not allows:
        return Side(people, None, naming)
    privileges = frozenset[str]().union(*(one.privileges for one in allows))
    # A deny takes away what an allow gives only if it is about all of that.
    denies = [one for one in statements if one.effect is Effect.DENY and privileges <= one.privileges]
    return Side(people, Coverage(Actor(""), _covers(allows), _covers(denies)), naming)


def _without_platform(statements: Iterable[Statement], roles: Collection[str]) -> list[Statement]:
    """Return these statements that name one of the roles, but for those of platform policies."""
    naming = PolicyFacet.objects.filter(policy=OuterRef("pk"), field=PolicyFacet.Field.ACTOR, value__in=roles)
    platform = active_policies.active_policies().filter(Exists(naming), type=Policy.Type.PLATFORM)
    left_out = frozenset(platform.values_list("urn", flat=True))
    return [one for one in statements if one.origin.policy not in left_out]


def _covers(statements: Collection[Statement]) -> tuple[Cover, ...]:
    return tuple(dict.fromkeys(reach_comparison.cover_of(one) for one in statements))
