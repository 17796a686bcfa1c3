"""Conditions on users, groups, roles and policies, whose facts are in tables of their own."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from catalog.access.coverage_sql import ALL_ROWS, NO_ROWS, CoverageConditions
from catalog.access.index_entries import read_each
from catalog.models import Entity, Facet, prefix_range
from policies.engine import selectors
from policies.engine.model import Coverage
from policies.engine.selectors import Criterion
from policies.models import GroupProfile, Policy, Role, User
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX

#: What the URNs of the rows of each table begin with.
PREFIXES: dict[type[Any], str] = {
    User: USER_PREFIX,
    GroupProfile: GROUP_PREFIX,
    Role: ROLE_PREFIX,
    Policy: POLICY_PREFIX,
}


def find_described_models() -> frozenset[type[Any]]:
    """Return the tables that have rows about which the catalog could store something; one query."""
    indexes = [Entity.objects.filter(prefix_range("urn", [prefix])).values("pk") for prefix in PREFIXES.values()]
    ids_by_model = dict(zip(PREFIXES, read_each(indexes, max_entries=0), strict=True))
    return frozenset(model for model, ids in ids_by_model.items() if ids is None)


@dataclass(frozen=True)
class PeopleConditions(CoverageConditions):
    """Conditions on rows of one table of people or policies; facets stored for their URNs count too."""

    type: str
    table: QuerySet[Any]
    #: Whether the catalog stores something about any of them.
    is_described: bool = True

    def rows(self) -> QuerySet[Any]:
        """Return all rows of the table."""
        return self.table

    def build_grant_conditions(self, coverage: Coverage) -> list[Q]:  # noqa: ARG002 - grants are on entities of the catalog
        """Return no condition: nothing is granted on people."""
        return []

    def facet_condition(self, field: str, values: Q) -> Q:
        """Return the condition that the catalog stores such a facet value for the URN of a row."""
        if not self.is_described:
            return NO_ROWS
        facets = Facet.objects.filter(values, self._own_urns("entity__urn"), field=field)
        return Q(urn__in=facets.values("entity__urn"))

    def type_condition(self, criterion: Criterion) -> Q:
        """Return the constant condition whether the one type of the table passes a criterion."""
        return ALL_ROWS if criterion.holds(frozenset({self.type})) else NO_ROWS

    def object_condition(self, field: str, condition: Q) -> Q:
        """Return the condition on an object id (users and roles have one) or on the project stored for the URN."""
        stored_condition = Q(urn__in=Entity.objects.filter(condition, self._own_urns("urn")).values("urn"))
        has_id = field == selectors.ID and self.table.model in (User, Role)
        return stored_condition | condition if has_id else stored_condition

    def _own_urns(self, column: str) -> Q:
        """Return the condition that a URN can be one of the table: few of a million entities are people or policies."""
        return prefix_range(column, [PREFIXES[self.table.model]])
