"""Users, groups, roles and policies as resources, whether or not the catalog describes them."""

from collections.abc import Collection
from typing import Any

from django.db.models import Q

from catalog.access.coverage_simplify import narrow_coverage
from catalog.access.people_conditions import PREFIXES, PeopleConditions, find_described_models
from policies.engine import selectors
from policies.engine.model import Coverage
from policies.engine.selectors import Condition, Selector
from policies.models import GroupProfile, Policy, Role, User

_NOT_REMOVED, _ALL = Q(is_removed=False), Q()

#: Each type with its table, and the condition that one of them is listed as a resource.
_TABLES: tuple[tuple[str, type[Any], Q], ...] = (
    ("corpuser", User, _NOT_REMOVED),
    ("corpGroup", GroupProfile, _NOT_REMOVED),
    ("dataHubRole", Role, _ALL),
    ("dataHubPolicy", Policy, _ALL),
)


def list_covered_people(coverage: Coverage, limit: int) -> list[str]:
    """Return the URNs of those that a coverage of everybody reaches, by type and URN, `limit` at most.

    Removed ones are left out, and policies are in whatever state. At most one query for each type, and one more.
    """
    urns: list[str] = []
    described_models: frozenset[type[Any]] | None = None
    for type_, model, is_listed in _TABLES:
        type_coverage = narrow_coverage(coverage, [type_])
        is_possible = type_coverage.is_everything or any(
            _can_name(cover.selector, PREFIXES[model]) for cover in type_coverage.allows
        )
        if not is_possible or len(urns) >= limit:
            continue
        if described_models is None:
            described_models = find_described_models()
        conditions = PeopleConditions(type_, model.objects.all(), is_described=model in described_models)
        rows = model.objects.filter(is_listed, conditions.build_coverage_condition(type_coverage)).order_by("urn")
        urns += rows.values_list("urn", flat=True)[: limit - len(urns)]
    return urns


def find_removed_people(urns: Collection[str]) -> frozenset[str]:
    """Return the users and groups among these that are removed; at most one query for each."""
    removed_urns: set[str] = set()
    for _, model, is_listed in _TABLES:
        own_urns = [urn for urn in urns if urn.startswith(PREFIXES[model])]
        if is_listed and own_urns:
            removed_urns.update(model.objects.filter(~is_listed, urn__among=own_urns).values_list("urn", flat=True))
    return frozenset(removed_urns)


def _can_name(selector: Selector, prefix: str) -> bool:
    """Whether the URNs that a selector lists, if it does, include one with the prefix."""
    return all(
        criterion.field != selectors.URN
        or criterion.condition is not Condition.EQUALS
        or any(urn.startswith(prefix) for urn in criterion.values)
        for criterion in selector.criteria
    )
