"""Filters of searches and lists: alternatives, each a list of criteria that must all hold (clients.md 2.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q

from catalog.access import view_permissions
from catalog.access.coverage_sql import criterion_condition, facet_condition
from catalog.access.naming_permissions import NamingPermissions
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion
from policies.errors import Invalid
from policies.models.fields import MAX_URN_LENGTH, filter_storable

#: Most criteria of one filter; each is a condition in one SQL statement.
MAX_CRITERIA = 200

#: Comparison and values of a criterion → the condition, None for an unsupported comparison.
FieldFilter = Callable[[str, list[str]], Q | None]


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filter on a text column or, with `words`, on a column whose values have other names for clients."""

    name: str
    words: Mapping[str, Any] | None = None

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None for a comparison that the column does not support."""
        # No column that is filtered holds a longer text, and SQLite refuses a LIKE that is much longer.
        texts = [text for text in filter_storable(values) if len(text) <= MAX_URN_LENGTH]
        if condition in ("EQUAL", "IN"):
            return self._match_any(texts)
        if self.words is not None:
            return None
        if condition in _TEXT_LOOKUPS:
            clause = Q(pk__in=[])
            for value in texts:
                clause |= Q(**{f"{self.name}__{_TEXT_LOOKUPS[condition]}": value})
            return clause
        return ~Q(**{self.name: ""}) if condition == "EXISTS" else None

    def _match_any(self, values: Sequence[str]) -> Q:
        if self.words is None:
            return Q(**{f"{self.name}__among": values})
        return Q(**{f"{self.name}__in": {self.words[value] for value in map(str.lower, values) if value in self.words}})


@dataclass(frozen=True, slots=True)
class FacetFilter:
    """A filter on a facet: one of these values, directly or (`is_path`) above; EXISTS: any value.

    A value that `by` may not view counts as absent.
    """

    field: str
    is_path: bool = False
    by: Actor | None = None

    def __call__(self, condition: str, values: list[str]) -> Q | None:
        """Return the condition, None for a comparison that facets do not support."""
        if condition == "EXISTS" and not self.is_path:
            return facet_condition(self.field, NamingPermissions.load(self.by).condition("value") if self.by else Q())
        if condition not in ("EQUAL", "IN") and not (condition == "CONTAIN" and self.is_path):
            return None
        storable_values = filter_storable(values)
        hidden_urns = view_permissions.find_hidden(urns=storable_values, by=self.by) if self.by else frozenset()
        visible_values = [value for value in storable_values if value not in hidden_urns]
        if self.is_path:
            return criterion_condition(Criterion(self.field, Condition.EQUALS, frozenset(visible_values)))
        return facet_condition(self.field, Q(value__among=visible_values))


def bind_filters(filters_by_field: Mapping[str, FieldFilter], by: Actor) -> dict[str, FieldFilter]:
    """Return the filters for a caller: values of facets that the caller may not view count as absent."""
    return {
        name: replace(field_filter, by=by) if isinstance(field_filter, FacetFilter) else field_filter
        for name, field_filter in filters_by_field.items()
    }


#: Comparison of text → Django lookup.
_TEXT_LOOKUPS = {"CONTAIN": "icontains", "START_WITH": "startswith", "END_WITH": "endswith", "IEQUAL": "iexact"}

BOOLEAN_WORDS: Mapping[str, bool] = {"true": True, "false": False}


def list_criteria(alternative: Mapping[str, Any]) -> Sequence[Any]:
    """Return the criteria of one alternative; a client may leave them out, or send null."""
    return alternative.get("and") or ()


def field_names(or_filters: Sequence[Any] | None) -> frozenset[str]:
    """Return the fields that a filter tests."""
    return frozenset(_field_name(criterion) for group in or_filters or () for criterion in list_criteria(group))


def build_condition(
    or_filters: Sequence[Any] | None, filters_by_field: Mapping[str, FieldFilter], *, pointer: str = "/orFilters"
) -> Q:
    """Return a filter as one condition; no alternatives, or one without criteria, match everything.

    Raises Invalid for unknown fields and comparisons, and for more than MAX_CRITERIA.
    """
    if (
        sum(_count_conditions(criterion) for group in or_filters or () for criterion in list_criteria(group))
        > MAX_CRITERIA
    ):
        raise Invalid.from_problem(
            code="filter.large", pointer=pointer, detail=f"A filter has at most {MAX_CRITERIA} criteria."
        )
    disjunction = Q()
    for group_index, group in enumerate(or_filters or ()):
        criteria = list_criteria(group)
        if not criteria:
            return Q()
        conjunction = Q()
        for criterion_index, criterion in enumerate(criteria):
            conjunction &= _build_criterion(
                criterion, filters_by_field, f"{pointer}/{group_index}/and/{criterion_index}"
            )
        disjunction |= conjunction
    return disjunction


def _build_criterion(criterion: Mapping[str, Any], filters_by_field: Mapping[str, FieldFilter], pointer: str) -> Q:
    field = _field_name(criterion)
    if field not in filters_by_field:
        names = ", ".join(sorted(filters_by_field))
        raise Invalid.from_problem(
            code="filter.field", pointer=f"{pointer}/field", detail=f"{field!r} is none of {names}."
        )
    values = criterion.get("values")
    if values is None:
        values = [criterion["value"]] if criterion.get("value") is not None else []
    comparison = criterion.get("condition") or "EQUAL"
    clause = filters_by_field[field](comparison, values)
    if clause is None:
        raise Invalid.from_problem(
            code="filter.condition", pointer=f"{pointer}/condition", detail=f"{field} is not compared by {comparison}."
        )
    return ~clause if criterion.get("negated") else clause


def _count_conditions(criterion: Mapping[str, Any]) -> int:
    """Return the number of conditions in SQL: the values of a comparison of texts are compared one by one."""
    return max(1, len(criterion.get("values") or ())) if criterion.get("condition") in _TEXT_LOOKUPS else 1


def _field_name(criterion: Mapping[str, Any]) -> str:
    return str(criterion["field"]).removesuffix(".keyword")
