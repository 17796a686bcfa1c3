"""Whom an actor clause speaks to: its tokens turned into the people behind them, as one WHERE."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, QuerySet

from policies.engine.matching import EVERYONE, IN_ANY_GROUP
from policies.models import Membership, RoleAssignment, User
from policies.models.fields import storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX


def reached(*, tokens: Collection[str]) -> QuerySet[User]:
    """Return the users who may act and whom one of these tokens names, by URN (rules/datahub.md a.2).

    Groups and roles are followed as `actors` follows them. A token for owners names nobody here.
    """
    users = User.objects.filter(state=User.State.ACTIVE, is_removed=False).order_by("urn")
    if EVERYONE in tokens:
        return users
    known = storable(tokens)
    groups = [urn for urn in known if urn.startswith(GROUP_PREFIX)]
    roles = [urn for urn in known if urn.startswith(ROLE_PREFIX)]
    memberships = Membership.objects.filter(user=OuterRef("pk"), group__profile__is_removed=False)
    named = Q(urn__in=[urn for urn in known if urn.startswith(USER_PREFIX)])
    if IN_ANY_GROUP in tokens:
        named |= Q(Exists(memberships))
    if groups:
        named |= Q(Exists(memberships.filter(group__profile__urn__in=groups)))
    if roles:
        named |= Q(Exists(RoleAssignment.objects.filter(user=OuterRef("pk"), role__urn__in=roles)))
        named |= Q(Exists(memberships.filter(group__role_assignments__role__urn__in=roles)))
    return users.filter(named)
