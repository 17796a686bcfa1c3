"""What people call the things that have their home in this app."""

from collections.abc import Collection, Mapping

from django.db.models import Case, F, QuerySet, When

from policies.models import GroupProfile, Policy, Role, User
from policies.models.fields import storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX


def names(*, urns: Collection[str]) -> dict[str, str]:
    """Return URN → display name of the users, groups, roles and policies among these; one query for each kind.

    A URN of something else, or of nothing that is stored, is left out.
    """
    found: dict[str, str] = {}
    asked = storable(urns)
    for prefix, rows in _sources().items():
        if mine := [urn for urn in asked if urn.startswith(prefix)]:
            found |= dict(rows.filter(urn__in=mine).values_list("urn", "shown"))
    return found


def known_people() -> set[str]:
    """Return the URNs of all users, groups and roles there are; three queries."""
    users = User.objects.filter(is_removed=False).order_by().values_list("urn", flat=True)
    groups = GroupProfile.objects.filter(is_removed=False).order_by().values_list("urn", flat=True)
    return {*users, *groups, *Role.objects.order_by().values_list("urn", flat=True)}


def _sources() -> Mapping[str, QuerySet]:  # type: ignore[type-arg]  # four models, two columns each
    is_named = Case(When(display_name="", then=F("username")), default=F("display_name"))
    return {
        USER_PREFIX: User.objects.order_by().annotate(shown=is_named),
        GROUP_PREFIX: GroupProfile.objects.order_by().annotate(shown=F("name")),
        ROLE_PREFIX: Role.objects.order_by().annotate(shown=F("name")),
        POLICY_PREFIX: Policy.objects.order_by().annotate(shown=F("name")),
    }
