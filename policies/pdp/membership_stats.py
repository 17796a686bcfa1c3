"""Who is in many groups, and who holds the roles that view everything: what the status page asks."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count

from policies.models import Membership, Role, User


@dataclass(frozen=True, slots=True)
class Crowd:
    """Users in more groups than a number, those in most first; `count` is how many there are in all."""

    count: int
    first: tuple[tuple[str, str, int], ...]


def in_many_groups(*, more_than: int, limit: int) -> Crowd:
    """Return the users who are in more groups than this: URN, name and number of groups of the first few."""
    crowded = Membership.objects.order_by().values("user").annotate(groups=Count("pk")).filter(groups__gt=more_than)
    top = dict(crowded.order_by("-groups", "user").values_list("user", "groups")[:limit])
    users = User.objects.in_bulk(list(top))
    first = tuple((users[key].urn, users[key].get_full_name(), groups) for key, groups in top.items())
    return Crowd(crowded.count() if len(top) == limit else len(top), first)


def holders_of(*, roles: Collection[str]) -> dict[str, int]:
    """Return how many users and groups hold each of these roles; one that nobody holds is left out."""
    rows = Role.objects.filter(urn__in=roles).order_by().annotate(holders=Count("assignments"))
    return dict(rows.filter(holders__gt=0).values_list("urn", "holders"))
