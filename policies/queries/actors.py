"""Who somebody is: groups and roles, read live for every question."""

from collections.abc import Collection

from policies.engine.model import Actor
from policies.models import Membership, User
from policies.models.fields import storable


def actor(*, urn: str) -> Actor:
    """Return the actor with its groups and roles, in two queries; a user nobody knows is a bare actor."""
    return actors(urns=[urn])[urn]


def actors(*, urns: Collection[str]) -> dict[str, Actor]:
    """Return an actor for each URN, in two queries whatever their number.

    Roles are the user's own and those of its groups, one hop (rules/datahub.md a.2). A removed group counts for
    nothing; a suspended or removed user is inactive.
    """
    known = storable(urns)
    groups: dict[str, set[str]] = {urn: set() for urn in urns}
    roles: dict[str, set[str]] = {urn: set() for urn in urns}
    inactive: set[str] = set()
    users = User.objects.filter(urn__in=known).order_by()
    for urn, state, is_removed, role in users.values_list("urn", "state", "is_removed", "role_assignments__role__urn"):
        if state != User.State.ACTIVE or is_removed:
            inactive.add(urn)
        if role is not None:
            roles[urn].add(role)
    memberships = Membership.objects.filter(user__urn__in=known, group__profile__is_removed=False)
    for urn, group, role in memberships.values_list(
        "user__urn", "group__profile__urn", "group__role_assignments__role__urn"
    ):
        groups[urn].add(group)
        if role is not None:
            roles[urn].add(role)
    return {urn: Actor(urn, frozenset(groups[urn]), frozenset(roles[urn]), urn not in inactive) for urn in groups}
