"""Relationships between users, groups, roles and policies, under the names that DataHub gives them."""

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import QuerySet

from policies.models import Membership, PolicyFacet, RoleAssignment
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX

#: A relationship of several entities: its name, rows, and the field paths to the URN of the entity and the other URN.
RelationshipPairs = tuple[str, QuerySet[Any, Any], str, str]

_EXTERNAL_MEMBER, _NATIVE_MEMBER, _ROLE_MEMBER = "IsMemberOfGroup", "IsMemberOfNativeGroup", "IsMemberOfRole"
_ASSOCIATION_NAMES = {
    USER_PREFIX: "IsAssociatedWithUser",
    GROUP_PREFIX: "IsAssociatedWithGroup",
    ROLE_PREFIX: "IsAssociatedWithRole",
}


def list_outgoing(*, urns: Collection[str]) -> Iterator[RelationshipPairs]:
    """Yield the relationships that these users, groups and policies have to other entities."""
    if users := _filter_by_prefix(urns, USER_PREFIX):
        memberships = Membership.objects.filter(user__urn__among=users)
        yield _EXTERNAL_MEMBER, memberships.filter(is_external=True), "user__urn", "group__profile__urn"
        yield _NATIVE_MEMBER, memberships.filter(is_native=True), "user__urn", "group__profile__urn"
        yield _ROLE_MEMBER, RoleAssignment.objects.filter(user__urn__among=users), "user__urn", "role__urn"
    if groups := _filter_by_prefix(urns, GROUP_PREFIX):
        assignments = RoleAssignment.objects.filter(group__profile__urn__among=groups)
        yield _ROLE_MEMBER, assignments, "group__profile__urn", "role__urn"
    if policies := _filter_by_prefix(urns, POLICY_PREFIX):
        facets = PolicyFacet.objects.filter(policy__urn__among=policies, field=PolicyFacet.Field.ACTOR)
        for prefix, name in _ASSOCIATION_NAMES.items():
            yield name, facets.filter(value__startswith=prefix), "policy__urn", "value"


def list_incoming(*, urns: Collection[str]) -> Iterator[RelationshipPairs]:
    """Yield the relationships that users, groups and policies have to these users, groups and roles."""
    if groups := _filter_by_prefix(urns, GROUP_PREFIX):
        memberships = Membership.objects.filter(group__profile__urn__among=groups)
        yield _EXTERNAL_MEMBER, memberships.filter(is_external=True), "group__profile__urn", "user__urn"
        yield _NATIVE_MEMBER, memberships.filter(is_native=True), "group__profile__urn", "user__urn"
    if roles := _filter_by_prefix(urns, ROLE_PREFIX):
        assignments = RoleAssignment.objects.filter(role__urn__among=roles)
        yield _ROLE_MEMBER, assignments.filter(user__isnull=False), "role__urn", "user__urn"
        yield _ROLE_MEMBER, assignments.filter(group__isnull=False), "role__urn", "group__profile__urn"
    for prefix, name in _ASSOCIATION_NAMES.items():
        if prefixed_urns := _filter_by_prefix(urns, prefix):
            facets = PolicyFacet.objects.filter(field=PolicyFacet.Field.ACTOR, value__in=prefixed_urns)
            yield name, facets, "value", "policy__urn"


def _filter_by_prefix(urns: Collection[str], prefix: str) -> list[str]:
    return [urn for urn in urns if urn.startswith(prefix)]
