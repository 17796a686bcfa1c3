"""Whom an actor clause speaks to: its tokens turned into the people behind them, as one WHERE."""

from collections.abc import Collection
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.models import Membership, RoleAssignment, User
from policies.models.fields import storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX


def reached(*, tokens: Collection[str], without: Collection[str] = ()) -> QuerySet[User]:
    """Return the users who may act and whom one of these tokens names, by URN (rules/datahub.md a.2).

    Groups and roles are followed as `actors` follows them. A token for owners names nobody here. Whom a token of
    `without` names is left out.
    """
    users = User.objects.filter(state=User.State.ACTIVE, is_removed=False).order_by("urn")
    named, others = frozenset(tokens) - frozenset(without), frozenset(without)
    if not named or EVERYONE in others:
        return users.none()
    if EVERYONE not in named:
        users = users.filter(_named(named))
    users = users.exclude(urn__in=_of(others, USER_PREFIX)) if others else users
    for ties in _ties(others):
        # Not NOT IN: a list too long for memory would be gone through for each user.
        users = users.filter(~Exists(ties.filter(user=OuterRef("pk"))))
    return users


def _named(tokens: Collection[str]) -> Q:
    """Return the condition that one of these tokens names a user.

    Whom URNs name is a list that the database makes once, from indexes, and not a question about each user.
    """
    ties = [rows.values("user") for rows in _ties(frozenset(tokens) - {IN_ANY_GROUP})]
    users = User.objects.filter(urn__in=_of(tokens, USER_PREFIX)).order_by().values("pk")
    named = Q(pk__in=users.union(*ties, all=True) if ties else users)
    return named | Q(Exists(_in_force().filter(user=OuterRef("pk")))) if IN_ANY_GROUP in tokens else named


def _ties(tokens: Collection[str]) -> list[QuerySet[Any, Any]]:
    """Return the rows that tie users to the groups and roles among tokens."""
    groups, roles = _of(tokens, GROUP_PREFIX), _of(tokens, ROLE_PREFIX)
    found: list[QuerySet[Any, Any]] = [_in_force()] if IN_ANY_GROUP in tokens else []
    if groups:
        found.append(_in_force().filter(group__profile__urn__in=groups))
    if roles:
        found.append(RoleAssignment.objects.filter(role__urn__in=roles, user__isnull=False))
        found.append(_in_force().filter(group__role_assignments__role__urn__in=roles))
    return found


def _in_force() -> QuerySet[Membership]:
    return Membership.objects.filter(group__profile__is_removed=False)


def _of(tokens: Collection[str], prefix: str) -> list[str]:
    return [urn for urn in storable(tokens) if urn.startswith(prefix)]
