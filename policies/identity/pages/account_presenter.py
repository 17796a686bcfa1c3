"""Presentation of accounts (people and service accounts): list rows, facts of a page, losses on removal."""

from typing import Any

from django.urls import reverse

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import NotFound
from policies.identity.queries import credentials, users_groups_roles
from policies.models import GroupProfile, Role, User
from policies.pdp import authorizer

STATE_BADGES = {"ACTIVE": ("Active", "success"), "SUSPENDED": ("Suspended", "warning")}

#: Maximum number of groups, and of roles, that a row names.
_MAX_NAMES = 3


def get_account(urn: str) -> User:
    """Return a person or service account; raises NotFound, also for a removed one."""
    user = users_groups_roles.get_user(urn=urn)
    if user.is_removed:
        raise NotFound(f"There is no user {urn!r}.")
    return user


def get_person(urn: str) -> User:
    """Return a person; raises NotFound, also for a service account."""
    user = get_account(urn)
    if user.kind != User.Kind.PERSON:
        raise NotFound(f"There is no user {urn!r}.")
    return user


def account_url(user: User) -> str:
    """Return the URL of the page of a person or service account."""
    return reverse("service-account" if user.kind == User.Kind.SERVICE else "user", args=[user.urn])


def account_row(user: User) -> dict[str, Any]:
    """Return the context of a row in a list of users."""
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


def created_fact(record: User | GroupProfile | Role) -> dict[str, Any]:
    """Return the fact when an account, group or role was created and by whom."""
    names = authorizer.load_names(urns=[record.created_by]) | {SYSTEM_ACTOR: "the system"}
    by = names.get(record.created_by, record.created_by)
    return {"label": "Created", "template": "policies/_when.html", "at": record.created_at, "by": by}


def account_facts(user: User) -> list[dict[str, Any]]:
    """Return the facts at the top of an account's page."""
    label, kind = STATE_BADGES[user.state]
    return [
        {"label": "State", "badges": [{"label": label, "kind": kind}]},
        {"label": "User name", "value": user.username},
        {"label": "Email", "value": user.email},
        {"label": "Title", "value": user.title},
        {"label": "About", "value": user.description},
        {"label": "URN", "template": "policies/_urn.html", "urn": user.urn},
        created_fact(user),
    ]


def name_facts(user: User) -> list[dict[str, Any]]:
    """Return what everybody may know of an account, for its page."""
    return [
        {"label": "User name", "value": user.username},
        {"label": "URN", "template": "policies/_urn.html", "urn": user.urn},
    ]


def list_account_losses(user: User) -> list[str]:
    """Return sentences about everything that is deleted with an account."""
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
