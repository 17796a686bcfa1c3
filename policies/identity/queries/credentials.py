"""Tokens, invitations and what people reach by groups and roles, as the pages and the API list them."""

from collections.abc import Collection

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from policies.models import AccessToken, GroupProfile, InviteToken, Membership, Policy, PolicyFacet, Role, User
from policies.models.fields import is_storable


def tokens(*, owner: str | None = None, made_by: str | None = None) -> QuerySet[AccessToken]:
    """Return tokens that work, or would if their user may act, newest first with their user."""
    rows = AccessToken.objects.filter(revoked_at__isnull=True).exclude(expires_at__lte=timezone.now())
    if not all(is_storable(urn) for urn in (owner, made_by) if urn):
        return rows.none()
    if owner:
        rows = rows.filter(user__urn=owner)
    if made_by:
        rows = rows.filter(created_by=made_by)
    return rows.order_by("-created_at", "id").select_related("user")


def token_counts(*, users: Collection[User]) -> dict[str, int]:
    """Return user URN → how many tokens it has that have not ended, for each of these users; one query."""
    counted = dict(tokens().filter(user__in=users).order_by().values_list("user_id").annotate(Count("pk")))
    return {user.urn: counted.get(user.pk, 0) for user in users}


def invites() -> QuerySet[InviteToken]:
    """Return the links that invite people and have not ended, with their roles, newest first."""
    return InviteToken.objects.filter(expires_at__gt=timezone.now()).select_related("role")


def member_counts(*, groups: Collection[GroupProfile]) -> dict[str, int]:
    """Return group URN → how many members it has, for each of these groups; one query."""
    # Asking each of tens of thousands of members whether it is removed takes longer than leaving out the few that are.
    removed = User.objects.filter(is_removed=True).order_by().values("pk")
    rows = Membership.objects.filter(group__in=[group.group_id for group in groups]).exclude(user__in=removed)
    counted = dict(rows.order_by().values_list("group_id").annotate(Count("user")))
    return {group.urn: counted.get(group.group_id, 0) for group in groups}


def roles_through_groups(*, urn: str) -> list[tuple[Role, GroupProfile]]:
    """Return the roles that a user has by being in groups, each with such a group; one query."""
    rows = GroupProfile.objects.filter(is_removed=False, group__memberships__user__urn=urn)
    found = rows.filter(group__role_assignments__isnull=False).distinct().select_related("group")
    return [
        (assignment.role, group)
        for group in found.prefetch_related("group__role_assignments__role")
        for assignment in group.group.role_assignments.all()
    ]


def named_policies(*, actor: str, most: int = 50) -> list[Policy]:
    """Return the policies that name a user, group or role, by name, the first of them."""
    if not is_storable(actor):
        return []
    naming = PolicyFacet.objects.filter(Q(field=PolicyFacet.Field.ACTOR, value=actor)).values("policy")
    return list(Policy.objects.filter(pk__in=naming).order_by("name", "urn")[:most])


def policies_of_roles(*, roles: Collection[Role]) -> dict[str, list[tuple[str, str]]]:
    """Return role URN → (URN, name) of the policies that name it, by name, for each of these roles; one query."""
    found: dict[str, list[tuple[str, str]]] = {role.urn: [] for role in roles}
    rows = PolicyFacet.objects.filter(field=PolicyFacet.Field.ACTOR, value__in=found)
    for role, urn, name in rows.order_by("policy__name", "policy__urn").values_list(
        "value", "policy__urn", "policy__name"
    ):
        found[role].append((urn, name))
    return found
