"""Display names of users, groups, roles, policies and guardrails."""

import difflib
from collections.abc import Collection, Mapping

from django.db.models import Case, F, QuerySet, When

from policies.models import GroupProfile, Guardrail, Policy, Role, User
from policies.models.fields import filter_storable, is_storable
from policies.models.guardrail import GUARDRAIL_PREFIX
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.models.words import LAST_CHARACTER


def load_names(*, urns: Collection[str]) -> dict[str, str]:
    """Return URN → display name of the users, groups, roles, policies and guardrails among these.

    There is one query for each kind. URNs of other kinds, and URNs that are not stored, are left out.
    """
    names_by_urn: dict[str, str] = {}
    storable_urns = filter_storable(urns)
    for prefix, rows in _build_name_queries().items():
        if matching_urns := [urn for urn in storable_urns if urn.startswith(prefix)]:
            names_by_urn |= dict(rows.filter(urn__in=matching_urns).values_list("urn", "shown"))
    return names_by_urn


def find_removed(*, urns: Collection[str]) -> frozenset[str]:
    """Return those of these URNs that are removed users or groups, which no write names anew; at most two queries."""
    storable_urns = filter_storable(urns)
    removed_urns: set[str] = set()
    for prefix, model in ((USER_PREFIX, User), (GROUP_PREFIX, GroupProfile)):
        if matching_urns := [urn for urn in storable_urns if urn.startswith(prefix)]:
            rows = model.objects.filter(urn__in=matching_urns, is_removed=True).order_by()
            removed_urns.update(rows.values_list("urn", flat=True))
    return frozenset(removed_urns)


def load_people_urns() -> set[str]:
    """Return the URNs of all users, groups and roles, without removed ones (three queries)."""
    users = User.objects.filter(is_removed=False).order_by().values_list("urn", flat=True)
    groups = GroupProfile.objects.filter(is_removed=False).order_by().values_list("urn", flat=True)
    return {*users, *groups, *Role.objects.order_by().values_list("urn", flat=True)}


def find_similar_users(*, urn: str, limit: int = 3) -> tuple[str, ...]:
    """Return up to `limit` URNs of users with names similar to that of an unknown URN, most similar first.

    Compares at most 5,000 user names with the same first two characters, so that the search is a range of an index.
    """
    name = urn.removeprefix(USER_PREFIX)
    if name == urn or not name or not is_storable(name):
        return ()
    candidates = User.objects.filter(is_removed=False, username__gte=name[:2], username__lt=name[:2] + LAST_CHARACTER)
    matches = difflib.get_close_matches(
        name, candidates.order_by("username").values_list("username", flat=True)[:5000], limit
    )
    return tuple(f"{USER_PREFIX}{username}" for username in matches)


def _build_name_queries() -> Mapping[str, QuerySet]:  # type: ignore[type-arg]  # five models, two columns each
    user_name = Case(When(display_name="", then=F("username")), default=F("display_name"))
    return {
        USER_PREFIX: User.objects.order_by().annotate(shown=user_name),
        GROUP_PREFIX: GroupProfile.objects.order_by().annotate(shown=F("name")),
        ROLE_PREFIX: Role.objects.order_by().annotate(shown=F("name")),
        POLICY_PREFIX: Policy.objects.order_by().annotate(shown=F("name")),
        GUARDRAIL_PREFIX: Guardrail.objects.order_by().annotate(shown=F("name")),
    }
