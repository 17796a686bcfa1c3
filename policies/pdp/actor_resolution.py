"""Who somebody is: groups and roles, read live for every question."""

from collections.abc import Collection

from django.db.models import TextField
from django.db.models.functions import Cast

from policies.engine.model import Actor
from policies.models import Membership, User, documents
from policies.models.fields import storable

_COLUMNS = ("urn", "state", "is_removed", "email", "said", "role_assignments__role__urn")


def actor(*, urn: str) -> Actor:
    """Return the actor with its groups and roles, in two queries; a user nobody knows is a bare actor."""
    return actors(urns=[urn])[urn]


def actors(*, urns: Collection[str]) -> dict[str, Actor]:
    """Return an actor for each URN, in two queries whatever their number.

    Roles are the user's own and those of its groups, one hop (rules/datahub.md a.2). A removed group counts for
    nothing; a suspended or removed user is inactive. What is known of a user is what `documents.circumstances` says.
    """
    known = storable(urns)
    groups: dict[str, set[str]] = {urn: set() for urn in urns}
    roles: dict[str, set[str]] = {urn: set() for urn in urns}
    inactive: set[str] = set()
    told: dict[str, frozenset[tuple[str, str]]] = {}
    # As text, since most have no properties and need not be parsed.
    users = User.objects.filter(urn__in=known).order_by().annotate(said=Cast("extra", TextField()))
    for urn, state, is_removed, email, said, role in users.values_list(*_COLUMNS):
        told[urn] = told[urn] if urn in told else documents.circumstances(email, said)
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
    nothing = frozenset[tuple[str, str]]()
    return {
        urn: Actor(urn, frozenset(groups[urn]), frozenset(roles[urn]), urn not in inactive, told.get(urn, nothing))
        for urn in groups
    }
