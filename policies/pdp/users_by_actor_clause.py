"""The users that an actor clause names: its tokens resolved to users, as one WHERE."""

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.models import Membership, RoleAssignment, User
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX


def list_users_by_actor_tokens(*, tokens: Collection[str]) -> QuerySet[User]:
    """Return the active users that one of these tokens names, ordered by URN (rules/datahub.md a.2).

    Groups and roles are resolved as in `actor_resolution`. Tokens for owners name nobody here.
    """
    users = User.objects.filter(state=User.State.ACTIVE, is_removed=False).order_by("urn")
    token_set = frozenset(tokens)
    if not token_set:
        return users.none()
    return users if EVERYONE in token_set else users.filter(_build_token_condition(token_set))


def count_users_by_actor_tokens(*, token_sets: Sequence[frozenset[str]]) -> list[int]:
    """Return the number of users of `list_users_by_actor_tokens` for each set of tokens; one query for all."""
    distinct_sets = [tokens for tokens in dict.fromkeys(token_sets) if tokens]
    if not distinct_sets:
        return [0] * len(token_sets)
    everybody = list_users_by_actor_tokens(tokens={EVERYONE}).order_by()
    counts = everybody.aggregate(
        **{
            f"number_{index}": Count("pk", filter=None if EVERYONE in tokens else _build_token_condition(tokens))
            for index, tokens in enumerate(distinct_sets)
        }
    )
    count_by_tokens = {tokens: int(counts[f"number_{index}"]) for index, tokens in enumerate(distinct_sets)}
    return [count_by_tokens.get(tokens, 0) for tokens in token_sets]


def _build_token_condition(tokens: Collection[str]) -> Q:
    """Return the condition that one of these tokens names a user.

    The users named by URNs are a subquery that the database evaluates once, from indexes, and not once for each user.
    """
    user_querysets = [rows.values("user") for rows in _list_relation_querysets(tokens)]
    users = User.objects.filter(urn__among=_filter_by_prefix(tokens, USER_PREFIX)).order_by().values("pk")
    condition = Q(pk__in=users.union(*user_querysets, all=True) if user_querysets else users)
    return (
        condition | Q(Exists(_list_active_memberships().filter(user=OuterRef("pk"))))
        if IN_ANY_GROUP in tokens
        else condition
    )


def _list_relation_querysets(tokens: Collection[str]) -> list[QuerySet[Any, Any]]:
    """Return the querysets of rows that link users to the groups and roles among the tokens."""
    groups, roles = _filter_by_prefix(tokens, GROUP_PREFIX), _filter_by_prefix(tokens, ROLE_PREFIX)
    querysets: list[QuerySet[Any, Any]] = []
    if groups:
        querysets.append(_list_active_memberships().filter(group__profile__urn__among=groups))
    if roles:
        querysets.append(RoleAssignment.objects.filter(role__urn__among=roles, user__isnull=False))
        querysets.append(_list_active_memberships().filter(group__role_assignments__role__urn__among=roles))
    return querysets


def _list_active_memberships() -> QuerySet[Membership]:
    return Membership.objects.filter(group__profile__is_removed=False)


def _filter_by_prefix(tokens: Collection[str], prefix: str) -> list[str]:
    return [urn for urn in filter_storable(tokens) if urn.startswith(prefix)]
