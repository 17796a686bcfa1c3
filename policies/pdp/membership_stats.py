"""Who is in many groups, and who holds the roles that view everything: what the status page asks."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count

from policies.models import Membership, Role, User


@dataclass(frozen=True, slots=True)
class FrequentMembers:
    """Users in more groups than a number, those in most first; `user_count` is how many there are in all."""

    user_count: int
    top_users: tuple[tuple[str, str, int], ...]


def list_users_in_many_groups(*, threshold: int, limit: int) -> FrequentMembers:
    """Return the users who are in more groups than this: URN, name and number of groups of the first few."""
    counts_by_user = (
        Membership.objects.order_by().values("user").annotate(groups=Count("pk")).filter(groups__gt=threshold)
    )
    top_counts = dict(counts_by_user.order_by("-groups", "user").values_list("user", "groups")[:limit])
    users = User.objects.in_bulk(list(top_counts))
    top_users = tuple(
        (users[key].urn, users[key].get_full_name(), group_count) for key, group_count in top_counts.items()
    )
    return FrequentMembers(counts_by_user.count() if len(top_counts) == limit else len(top_counts), top_users)


def count_role_assignments(*, roles: Collection[str]) -> dict[str, int]:
    """Return how many users and groups hold each of these roles; one that nobody holds is left out."""
    rows = Role.objects.filter(urn__in=roles).order_by().annotate(holders=Count("assignments"))
    return dict(rows.filter(holders__gt=0).values_list("urn", "holders"))
