"""Actors with their groups and roles, read from the database at every call."""

from collections.abc import Collection

from django.db.models import TextField
from django.db.models.functions import Cast

from policies.engine.model import Actor
from policies.models import Membership, User, documents
from policies.models.fields import filter_storable

_COLUMNS = ("urn", "state", "is_removed", "email", "said", "role_assignments__role__urn")


def load_actor(*, urn: str) -> Actor:
    """Return the actor with its groups and roles (two queries); an unknown user is an actor without either."""
    return load_actors(urns=[urn])[urn]


def load_actors(*, urns: Collection[str]) -> dict[str, Actor]:
    """Return an actor for each URN (two queries, whatever their number).

    Roles are the user's own and those of its groups, one hop (rules/datahub.md a.2). A removed group and its roles do
    not count; a suspended or removed user is inactive. Attributes come from `documents.actor_attributes`.
    """
    storable_urns = filter_storable(urns)
    groups: dict[str, set[str]] = {urn: set() for urn in urns}
    roles: dict[str, set[str]] = {urn: set() for urn in urns}
    inactive_urns: set[str] = set()
    attributes_by_urn: dict[str, frozenset[tuple[str, str]]] = {}
    # Cast to text: most users have no properties, so their JSON need not be parsed.
    users = User.objects.filter(urn__in=storable_urns).order_by().annotate(said=Cast("extra", TextField()))
    for urn, state, is_removed, email, extra_text, role in users.values_list(*_COLUMNS):
        attributes_by_urn[urn] = (
            attributes_by_urn[urn] if urn in attributes_by_urn else documents.actor_attributes(email, extra_text)
        )
        if state != User.State.ACTIVE or is_removed:
            inactive_urns.add(urn)
        if role is not None:
            roles[urn].add(role)
    memberships = Membership.objects.filter(user__urn__in=storable_urns, group__profile__is_removed=False)
    for urn, group, role in memberships.values_list(
        "user__urn", "group__profile__urn", "group__role_assignments__role__urn"
    ):
        groups[urn].add(group)
        if role is not None:
            roles[urn].add(role)
    no_attributes = frozenset[tuple[str, str]]()
    return {
        urn: Actor(
            urn,
            frozenset(groups[urn]),
            frozenset(roles[urn]),
            urn not in inactive_urns,
            attributes_by_urn.get(urn, no_attributes),
        )
        for urn in groups
    }
