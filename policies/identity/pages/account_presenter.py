"""How accounts are shown, people and services alike: a row of a list, the head of a page, what goes with one."""

from typing import Any

from django.urls import reverse

from policies.errors import NotFound
from policies.identity.queries import credentials, users_groups_roles
from policies.models import User

STATES = {"ACTIVE": ("Active", "success"), "SUSPENDED": ("Suspended", "warning")}

#: How many groups or roles a row names.
_SHOWN = 3


def person(urn: str) -> User:
    """Return one person; raises NotFound, also for a service."""
    user = users_groups_roles.user(urn=urn)
    if user.kind != User.Kind.PERSON or user.is_removed:
        raise NotFound(f"There is no user {urn!r}.")
    return user


def account_url(user: User) -> str:
    """Return the page of a person or service."""
    return reverse("service-account" if user.kind == User.Kind.SERVICE else "user", args=[user.urn])


def row_of(user: User) -> dict[str, Any]:
    """Return a row of a list of users."""
    label, kind = STATES[user.state]
    groups, held = user.group_names, user.role_names
    return {
        "user": user,
        "url": account_url(user),
        "state": {"label": label, "kind": kind},
        "groups": groups[:_SHOWN],
        "more_groups": max(0, len(groups) - _SHOWN),
        "roles": held[:_SHOWN],
        "more_roles": max(0, len(held) - _SHOWN),
    }


def facts_of(user: User, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return the head of the page of an account."""
    label, kind = STATES[user.state]
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


def losses_of(user: User) -> list[str]:
    """Return what goes with an account, in sentences."""
    counted = (
        (user.memberships.count(), "group membership ends.", "group memberships end."),
        (user.role_assignments.count(), "role is no longer assigned.", "roles are no longer assigned."),
        (
            credentials.tokens(owner=user.urn).count(),
            "access token stops working at once.",
            "access tokens stop working at once.",
        ),
    )
    found = [f"{count} {one if count == 1 else many}" for count, one, many in counted if count]
    naming = len(users_groups_roles.policies_naming(actors=[user.urn])[user.urn])
    if naming:
        found.append(f"Policies that name this user ({naming}) stay, and apply to nobody of that name.")
    return ["Every session ends at once.", *found, "Grants on single entities are deleted."]
