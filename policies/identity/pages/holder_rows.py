"""Rows of the list of who holds a role, with the times of their assignments."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from policies.engine.families.validity import Phase, Validity
from policies.http.pages.times import build_times_badge
from policies.identity.pages.account_presenter import account_url
from policies.identity.queries.users_groups_roles import HolderRow
from policies.models import GroupProfile, User


def build_holder_rows(rows: Sequence[HolderRow]) -> list[dict[str, Any]]:
    """Return the rows of a page; two queries."""
    users = {user.urn: user for user in User.objects.filter(urn__in=[row.urn for row in rows if not row.is_group])}
    groups = GroupProfile.objects.filter(urn__in=[row.urn for row in rows if row.is_group])
    names = {urn: user.name for urn, user in users.items()} | {group.urn: group.name for group in groups}
    return [
        {
            "name": names[row.urn],
            "urn": row.urn,
            "kind": "group" if row.is_group else "user",
            "url": reverse("group", args=[row.urn]) if row.is_group else account_url(users[row.urn]),
            "times": build_times_badge(Validity(row.valid_from, row.valid_until), Phase(row.phase)),
        }
        for row in rows
    ]
