"""How accounts are shown, people and services alike: a row of a list, the head of a page, what goes with one."""

from typing import Any

from django.urls import reverse

from policies.errors import NotFound
from policies.identity.queries import credentials, users_groups_roles
from policies.models import User

STATE_BADGES = {"ACTIVE": ("Active", "success"), "SUSPENDED": ("Suspended", "warning")}

#: How many groups or roles a row names.
_MAX_NAMES = 3


def get_person(urn: str) -> User:
    """Return one person; raises NotFound, also for a service."""
    user = users_groups_roles.get_user(urn=urn)
    if user.kind != User.Kind.PERSON or user.is_removed:
        raise NotFound(f"There is no user {urn!r}.")
    return user


def account_url(user: User) -> str:
    """Return the page of a person or service."""
    return reverse("service-account" if user.kind == User.Kind.SERVICE else "user", args=[user.urn])


def account_row(user: User) -> dict[str, Any]:
    """Return a row of a list of users."""
    label, kind = STATE_BADGES[user.state]
    groups, roles = user.group_names, user.role_names
    return {
        "user": user,
        "url": account_url(user),
        "state": {"label": label, "kind": kind},
        "groups": groups[:_MAX_NAMES],
        "more_groups": max(0, len(groups) - _MAX_NAMES),
        "roles": roles[:_MAX_NAMES],
        "more_roles": max(0, len(roles) - _MAX_NAMES),
    }


def account_facts(user: User, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the head of the page of an account."""
    label, kind = STATE_BADGES[user.state]
    return [
        {"label": "State", "badges": [{"label": label, "kind": kind}]},
        {"label": "User name", "value": user.username},
        {"label": "Email", "value": user.email},
        {"label": "Title", "value": user.title},
        {"label": "About", "value": user.description},
        {"label": "URN", "template": "policies/_urn.html", "urn": user.urn},
        {
            "label": "Created",
            "template": "policies/_when.html",
            "at": user.created_at,
            "by": names.get(user.created_by, user.created_by),
        },
    ]


def list_account_losses(user: User) -> list[str]:
    """Return what goes with an account, in sentences."""
    counts = (
        (user.memberships.count(), "group membership ends.", "group memberships end."),
        (user.role_assignments.count(), "role is no longer assigned.", "roles are no longer assigned."),
        (
            credentials.list_tokens(owner=user.urn).count(),
            "access token stops working at once.",
            "access tokens stop working at once.",
        ),
    )
    losses = [f"{count} {singular if count == 1 else plural}" for count, singular, plural in counts if count]
    policy_count = len(users_groups_roles.load_policy_urns_by_actor(actors=[user.urn])[user.urn])
    if policy_count:
        losses.append(f"Policies that name this user ({policy_count}) stay, and apply to nobody of that name.")
    return ["Every session ends at once.", *losses, "Grants on single entities are deleted."]
