"""Impact of role assignments, as people, entities and privileges before and after, counted like the impact of a policy.

People are the users that hold the roles; entities are those on which policies allow a holder some privilege, and
privileges are those that policies give to the roles. Access by other policies is not subtracted.
"""

from collections.abc import Collection, Iterable

from django.db.models import Exists, OuterRef

from policies.engine.model import Actor, Cover, Coverage, Effect, Statement
from policies.models import Policy, PolicyFacet
from policies.pdp import active_policies, reach_comparison, snapshot_store, users_by_actor_clause
from policies.pdp.reach_comparison import Impact, PolicySide


def measure_assignment(*, role: str, actors: Collection[str]) -> Impact:
    """Return the impact of assigning a role to these users and groups (URNs)."""
    return reach_comparison.compare_reach(_load_side([role], [role]), _load_side([role], [role, *actors]))


def measure_role_change(*, actor: str, before: Collection[str], after: Collection[str]) -> Impact:
    """Return the impact of replacing the direct roles of a user or group; `before` and `after` are role URNs."""
    return reach_comparison.compare_reach(
        _load_side(before, [actor] if before else []), _load_side(after, [actor] if after else [])
    )


def _load_side(roles: Collection[str], tokens: Collection[str]) -> PolicySide:
    people = frozenset(tokens)
    if not roles or not users_by_actor_clause.list_users_by_actor_tokens(tokens=people).exists():
        return PolicySide(people)
    role_statements = tuple(
        statement
        for statement in snapshot_store.get_current().statements
        if not statement.actors.tokens.isdisjoint(roles) and statement.actors.excluded_tokens.isdisjoint(roles)
    )
    statements = _exclude_platform_statements(role_statements, roles)
    allows = [statement for statement in statements if statement.effect is Effect.ALLOW]
    if not allows:
        return PolicySide(people, None, role_statements)
    privileges = frozenset[str]().union(*(statement.privileges for statement in allows))
    # A deny is subtracted only if it denies every privilege that the allows give, to every holder.
    denies = [
        statement
        for statement in statements
        if statement.effect is Effect.DENY
        and privileges <= statement.privileges
        and not statement.needs_subresource
        and not statement.actors.excluded_tokens
    ]
    return PolicySide(people, Coverage(Actor(""), _unique_covers(allows), _unique_covers(denies)), role_statements)


def _exclude_platform_statements(statements: Iterable[Statement], roles: Collection[str]) -> list[Statement]:
    """Return these statements without those of platform policies that name one of the roles."""
    role_facets = PolicyFacet.objects.filter(policy=OuterRef("pk"), field=PolicyFacet.Field.ACTOR, value__in=roles)
    platform_policies = active_policies.list_active_policies().filter(Exists(role_facets), type=Policy.Type.PLATFORM)
    excluded_urns = frozenset(platform_policies.values_list("urn", flat=True))
    return [statement for statement in statements if statement.origin.policy not in excluded_urns]


def _unique_covers(statements: Collection[Statement]) -> tuple[Cover, ...]:
    return tuple(dict.fromkeys(reach_comparison.selector_cover(statement) for statement in statements))
