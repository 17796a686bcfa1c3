"""Membership statistics for the status page: users in many groups, and holders of the roles that view everything."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q

from policies.models import Membership, Role, User


@dataclass(frozen=True, slots=True)
class FrequentMembers:
    """Users in many groups: their number, and the first few with the most groups, as (URN, name, number of groups)."""

    user_count: int
    top_users: tuple[tuple[str, str, int], ...]


def list_users_in_many_groups(*, threshold: int, limit: int) -> FrequentMembers:
    """Return the active users in more than `threshold` groups that are not removed, naming the first `limit`."""
    memberships = Membership.objects.filter(_build_active_condition("user__"), group__profile__is_removed=False)
    counts_by_user = memberships.order_by().values("user").annotate(groups=Count("pk")).filter(groups__gt=threshold)
    top_counts = dict(counts_by_user.order_by("-groups", "user").values_list("user", "groups")[:limit])
    users = User.objects.in_bulk(list(top_counts))
    top_users = tuple(
        (users[key].urn, users[key].get_full_name(), group_count) for key, group_count in top_counts.items()
    )
    return FrequentMembers(counts_by_user.count() if len(top_counts) == limit else len(top_counts), top_users)


def count_role_assignments(*, roles: Collection[str]) -> dict[str, int]:
    """Return role URN → number of its active users and groups not removed; roles without any are left out."""
    active_holders = _build_active_condition("assignments__user__") | Q(assignments__group__profile__is_removed=False)
    rows = Role.objects.filter(active_holders, urn__in=roles).order_by().annotate(holders=Count("assignments"))
    return dict(rows.values_list("urn", "holders"))


def _build_active_condition(path: str) -> Q:
    """Return the condition that the user at the end of a path is active."""
    return Q(**{f"{path}state": User.State.ACTIVE, f"{path}is_removed": False})
