"""What ties users, groups, roles and policies to one another, under the names that DataHub gives these ties."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from policies.models import Membership, PolicyFacet, RoleAssignment
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX

#: A relationship: its name, rows, and the path from a row to the URN of the other side.
Ties = tuple[str, QuerySet[Any, Any], str]

_EXTERNAL, _NATIVE, _ROLE = "IsMemberOfGroup", "IsMemberOfNativeGroup", "IsMemberOfRole"
_NAMED = {
    USER_PREFIX: "IsAssociatedWithUser",
    GROUP_PREFIX: "IsAssociatedWithGroup",
    ROLE_PREFIX: "IsAssociatedWithRole",
}


def outgoing(*, urn: str) -> Iterator[Ties]:
    """Yield what a user, group or policy says of others; nothing for anything else."""
    if urn.startswith(USER_PREFIX):
        member = Membership.objects.filter(user__urn=urn)
        yield _EXTERNAL, member.filter(is_external=True), "group__profile__urn"
        yield _NATIVE, member.filter(is_native=True), "group__profile__urn"
        yield _ROLE, RoleAssignment.objects.filter(user__urn=urn), "role__urn"
    elif urn.startswith(GROUP_PREFIX):
        yield _ROLE, RoleAssignment.objects.filter(group__profile__urn=urn), "role__urn"
    elif urn.startswith(POLICY_PREFIX):
        named = PolicyFacet.objects.filter(policy__urn=urn, field=PolicyFacet.Field.ACTOR)
        for prefix, name in _NAMED.items():
            yield name, named.filter(value__startswith=prefix), "value"


def incoming(*, urn: str) -> Iterator[Ties]:
    """Yield what users, groups and policies say of this user, group or role."""
    if urn.startswith(GROUP_PREFIX):
        members = Membership.objects.filter(group__profile__urn=urn)
        yield _EXTERNAL, members.filter(is_external=True), "user__urn"
        yield _NATIVE, members.filter(is_native=True), "user__urn"
    elif urn.startswith(ROLE_PREFIX):
        holders = RoleAssignment.objects.filter(role__urn=urn)
        yield _ROLE, holders.filter(user__isnull=False), "user__urn"
        yield _ROLE, holders.filter(group__isnull=False), "group__profile__urn"
    for prefix, name in _NAMED.items():
        if urn.startswith(prefix):
            yield name, PolicyFacet.objects.filter(field=PolicyFacet.Field.ACTOR, value=urn), "policy__urn"
