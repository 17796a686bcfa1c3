"""Whom an actor clause speaks to: its tokens turned into the people behind them, as one WHERE."""

from collections.abc import Collection
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from policies.engine.matching import EVERYONE, IN_ANY_GROUP
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
    return users.exclude(_named(others)) if others else users


def _named(tokens: Collection[str]) -> Q:
    """Return the condition that one of these tokens names a user.

    Whom URNs name is a list that the database makes once, from indexes, and not a question about each user.
    """
    known = storable(tokens)
    users = [urn for urn in known if urn.startswith(USER_PREFIX)]
    groups = [urn for urn in known if urn.startswith(GROUP_PREFIX)]
    roles = [urn for urn in known if urn.startswith(ROLE_PREFIX)]
    memberships = Membership.objects.filter(group__profile__is_removed=False)
    lists: list[QuerySet[Any, Any]] = [User.objects.filter(urn__in=users).order_by().values("pk")]
    if groups:
        lists.append(memberships.filter(group__profile__urn__in=groups).values("user"))
    if roles:
        lists.append(RoleAssignment.objects.filter(role__urn__in=roles, user__isnull=False).values("user"))
        lists.append(memberships.filter(group__role_assignments__role__urn__in=roles).values("user"))
    named = Q(pk__in=lists[0].union(*lists[1:], all=True) if len(lists) > 1 else lists[0])
    return named | Q(Exists(memberships.filter(user=OuterRef("pk")))) if IN_ANY_GROUP in tokens else named
