"""What ties users, groups, roles and policies to one another, under the names that DataHub gives these ties."""

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import QuerySet

from policies.models import Membership, PolicyFacet, RoleAssignment
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX

#: A relationship: its name, rows, and the path from a row to the URN of the other side.
Ties = tuple[str, QuerySet[Any, Any], str]
#: The same of many: its name, rows, and the paths to the URNs of the side asked about and of the other one.
Bonds = tuple[str, QuerySet[Any, Any], str, str]

_EXTERNAL, _NATIVE, _ROLE = "IsMemberOfGroup", "IsMemberOfNativeGroup", "IsMemberOfRole"
_NAMED = {
    USER_PREFIX: "IsAssociatedWithUser",
    GROUP_PREFIX: "IsAssociatedWithGroup",
    ROLE_PREFIX: "IsAssociatedWithRole",
}


def outgoing(*, urn: str) -> Iterator[Ties]:
    """Yield what a user, group or policy says of others; nothing for anything else."""
    return ((name, rows, far) for name, rows, _, far in outgoing_of(urns=[urn]))


def incoming(*, urn: str) -> Iterator[Ties]:
    """Yield what users, groups and policies say of this user, group or role."""
    return ((name, rows, far) for name, rows, _, far in incoming_of(urns=[urn]))


def outgoing_of(*, urns: Collection[str]) -> Iterator[Bonds]:
    """Yield what users, groups and policies say of others."""
    if users := _of(urns, USER_PREFIX):
        member = Membership.objects.filter(user__urn__among=users)
        yield _EXTERNAL, member.filter(is_external=True), "user__urn", "group__profile__urn"
        yield _NATIVE, member.filter(is_native=True), "user__urn", "group__profile__urn"
        yield _ROLE, RoleAssignment.objects.filter(user__urn__among=users), "user__urn", "role__urn"
    if groups := _of(urns, GROUP_PREFIX):
        held = RoleAssignment.objects.filter(group__profile__urn__among=groups)
        yield _ROLE, held, "group__profile__urn", "role__urn"
    if policies := _of(urns, POLICY_PREFIX):
        named = PolicyFacet.objects.filter(policy__urn__among=policies, field=PolicyFacet.Field.ACTOR)
        for prefix, name in _NAMED.items():
            yield name, named.filter(value__startswith=prefix), "policy__urn", "value"


def incoming_of(*, urns: Collection[str]) -> Iterator[Bonds]:
    """Yield what users, groups and policies say of these users, groups and roles."""
    if groups := _of(urns, GROUP_PREFIX):
        members = Membership.objects.filter(group__profile__urn__among=groups)
        yield _EXTERNAL, members.filter(is_external=True), "group__profile__urn", "user__urn"
        yield _NATIVE, members.filter(is_native=True), "group__profile__urn", "user__urn"
    if roles := _of(urns, ROLE_PREFIX):
        holders = RoleAssignment.objects.filter(role__urn__among=roles)
        yield _ROLE, holders.filter(user__isnull=False), "role__urn", "user__urn"
        yield _ROLE, holders.filter(group__isnull=False), "role__urn", "group__profile__urn"
    for prefix, name in _NAMED.items():
        if mine := _of(urns, prefix):
            named = PolicyFacet.objects.filter(field=PolicyFacet.Field.ACTOR, value__in=mine)
            yield name, named, "value", "policy__urn"


def _of(urns: Collection[str], prefix: str) -> list[str]:
    return [urn for urn in urns if urn.startswith(prefix)]
