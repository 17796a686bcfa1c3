"""Tokens, invitations, and the roles and policies of users and groups, as pages and APIs list them."""

from collections.abc import Collection
from typing import TypeVar

from django.db.models import Count, QuerySet
from django.utils import timezone

from policies.models import (
    AccessToken,
    GroupProfile,
    InviteToken,
    Membership,
    ResetToken,
    Role,
    RoleAssignment,
    User,
)
from policies.writes import token_secrets

_Link = TypeVar("_Link", InviteToken, ResetToken)


def list_tokens(*, owner: str | None = None, created_by: str | None = None) -> QuerySet[AccessToken]:
    """Return tokens neither revoked nor expired, newest first, with their users, who may be suspended."""
    rows = AccessToken.objects.filter(revoked_at__isnull=True).exclude(expires_at__lte=timezone.now())
    if owner:
        rows = rows.filter(user__urn=owner)
    if created_by:
        rows = rows.filter(created_by=created_by)
    return rows.order_by("-created_at", "id").select_related("user")


def count_tokens(*, users: Collection[User]) -> dict[str, int]:
    """Return user URN → number of tokens neither revoked nor expired, for each of these users; one query."""
    counts_by_user_id = dict(
        list_tokens().filter(user__in=users).order_by().values_list("user_id").annotate(Count("pk"))
    )
    return {user.urn: counts_by_user_id.get(user.pk, 0) for user in users}


def find_link(rows: QuerySet[_Link], *, text: str, prefix: str) -> _Link | None:
    """Return the invitation or password reset with this text among these; None if there is none or it expired."""
    if not token_secrets.is_well_formed(text, prefix):
        return None
    return rows.filter(expires_at__gt=timezone.now(), digest=token_secrets.digest(text)).first()


def list_invitations() -> QuerySet[InviteToken]:
    """Return the invitations that have not expired, with their roles loaded, newest first."""
    return InviteToken.objects.filter(expires_at__gt=timezone.now()).select_related("role")


def count_members(*, groups: Collection[GroupProfile]) -> dict[str, int]:
    """Return group URN → number of members that are not removed, for each of these groups; one query."""
    # Testing tens of thousands of members for removal takes longer than excluding the few removed users.
    removed_users = User.objects.filter(is_removed=True).order_by().values("pk")
    rows = Membership.objects.filter(group__in=[group.group_id for group in groups]).exclude(user__in=removed_users)
    counts_by_group_id = dict(rows.order_by().values_list("group_id").annotate(Count("user")))
    return {group.urn: counts_by_group_id.get(group.group_id, 0) for group in groups}


def list_roles_through_groups(*, urn: str) -> list[tuple[Role, GroupProfile]]:
    """Return (role, group) for each role of each group that a user is in, by URN of group and role; one query."""
    rows = RoleAssignment.objects.filter(
        group__profile__is_removed=False, group__memberships__user__urn=urn
    ).select_related("role", "group__profile")
    return [(row.role, row.group.profile) for row in rows.order_by("group__profile__urn", "role__urn") if row.group]
