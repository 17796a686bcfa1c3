"""Facet counts of a search, by which clients let people filter it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Count, Q

from catalog.access.naming_permissions import NamingPermissions
from catalog.aspects.facet_fields import PLATFORM
from catalog.models import Facet
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.search_sources import SearchRows, SearchSource
from policies.engine import selectors
from policies.errors import Invalid

#: Filter field of a search → display name, and the facet that is counted.
_FIELDS: Mapping[str, tuple[str, str]] = {
    "platform": ("Platform", PLATFORM),
    "domains": ("Domain", selectors.DOMAIN),
    "tags": ("Tag", selectors.TAG),
    "glossaryTerms": ("Glossary Term", selectors.GLOSSARY),
    "owners": ("Owned By", selectors.OWNER),
    "container": ("Container", selectors.CONTAINER),
}
_TYPE_FIELD = "_entityType"

_DEFAULT_MAX_VALUES = 20
#: Most values of one field.
MAX_VALUES = 100


def count_values(
    source_rows: Sequence[tuple[SearchSource, SearchRows]], flags: Mapping[str, Any], info: Info
) -> list[dict[str, Any]]:
    """Return the most frequent values of each field with entity counts, without values that may not be viewed."""
    if flags.get("skipAggregates"):
        return []
    max_values = _DEFAULT_MAX_VALUES if flags.get("maxAggValues") is None else flags["maxAggValues"]
    if not 0 <= max_values <= MAX_VALUES:
        detail = f"This is a whole number from 0 to {MAX_VALUES}."
        raise Invalid.from_problem(code="range", pointer="/input/searchFlags/maxAggValues", detail=detail)
    facets = [_count_types(source_rows, max_values, info)]
    # Part of the counting statement, so that hidden values take no place among the most frequent ones.
    is_nameable = NamingPermissions.load(info.context.by).condition("value")
    for field, (display_name, facet) in _FIELDS.items():
        catalog_rows = [rows for source, rows in source_rows if not source.kinds]
        value_counts = [
            pair for rows in catalog_rows for pair in _count_facet_values(rows, facet, is_nameable, max_values)
        ]
        if value_counts:
            facets.append(_render_facet(field, display_name, value_counts, info))
    return facets


def _count_types(source_rows: Sequence[tuple[SearchSource, SearchRows]], max_values: int, info: Info) -> dict[str, Any]:
    type_counts: list[tuple[str, int]] = []
    for source, rows in source_rows:
        if source.kinds:
            type_counts.append((source.kinds[0], rows.count()))
        else:
            type_counts += rows.order_by().values_list("type").annotate(Count("pk"))
    top_types = sorted((pair for pair in type_counts if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:max_values]
    aggregations = [
        {"value": nodes.type_name(kind, info.schema), "count": number, "entity": None, "displayName": None}
        for kind, number in top_types
    ]
    return {"field": _TYPE_FIELD, "displayName": "Type", "entity": None, "aggregations": aggregations}


def _count_facet_values(rows: SearchRows, facet: str, is_nameable: Q, max_values: int) -> Iterable[tuple[str, int]]:
    facet_rows = Facet.objects.filter(is_nameable, field=facet, entity__in=rows.order_by().values("pk")).order_by()
    counts = facet_rows.values_list("value").annotate(number=Count("entity", distinct=True))
    return counts.order_by("-number", "value")[:max_values]


def _render_facet(field: str, display_name: str, value_counts: Sequence[tuple[str, int]], info: Info) -> dict[str, Any]:
    entities = nodes.build_many([value for value, _ in value_counts], info)
    aggregations = [
        {"value": value, "count": number, "entity": entity, "displayName": None}
        for (value, number), entity in zip(value_counts, entities, strict=True)
    ]
    return {"field": field, "displayName": display_name, "entity": None, "aggregations": aggregations}
