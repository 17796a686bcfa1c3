"""How many of what a search finds have which values: what clients offer for narrowing it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Count, Q

from catalog.access.naming_permissions import Nameable
from catalog.aspects.base import PLATFORM
from catalog.models import Facet
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.search_sources import Rows, Segment
from policies.engine import selectors
from policies.errors import Invalid

#: Field of the filter of a search → its display name, and the facet that is counted.
_FIELDS: Mapping[str, tuple[str, str]] = {
    "platform": ("Platform", PLATFORM),
    "domains": ("Domain", selectors.DOMAIN),
    "tags": ("Tag", selectors.TAG),
    "glossaryTerms": ("Glossary Term", selectors.GLOSSARY),
    "owners": ("Owned By", selectors.OWNER),
    "container": ("Container", selectors.CONTAINER),
}
_TYPE = "_entityType"

_USUAL = 20
#: Most values of one field.
MAX_VALUES = 100


def count_values(lists: Sequence[tuple[Segment, Rows]], flags: Mapping[str, Any], info: Info) -> list[dict[str, Any]]:
    """Return the values of each field with how many entities have them; values that may not be viewed are left out."""
    if flags.get("skipAggregates"):
        return []
    most = _USUAL if flags.get("maxAggValues") is None else flags["maxAggValues"]
    if not 0 <= most <= MAX_VALUES:
        detail = f"This is a whole number from 0 to {MAX_VALUES}."
        raise Invalid.one(code="range", pointer="/input/searchFlags/maxAggValues", detail=detail)
    found = [_types(lists, most, info)]
    # In the statement that counts, so that what may not be named is not counted among the most frequent, either.
    is_nameable = Nameable.to(info.context.by).condition("value")
    for field, (display, facet) in _FIELDS.items():
        catalog = [rows for segment, rows in lists if not segment.kinds]
        counted = [pair for rows in catalog for pair in _counted(rows, facet, is_nameable, most)]
        if counted:
            found.append(_shown(field, display, counted, info))
    return found


def _types(lists: Sequence[tuple[Segment, Rows]], most: int, info: Info) -> dict[str, Any]:
    counted: list[tuple[str, int]] = []
    for segment, rows in lists:
        if segment.kinds:
            counted.append((segment.kinds[0], rows.count()))
        else:
            counted += rows.order_by().values_list("type").annotate(Count("pk"))
    listed = sorted((pair for pair in counted if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:most]
    aggregations = [
        {"value": nodes.name_of(kind, info.schema), "count": number, "entity": None, "displayName": None}
        for kind, number in listed
    ]
    return {"field": _TYPE, "displayName": "Type", "entity": None, "aggregations": aggregations}


def _counted(rows: Rows, facet: str, is_nameable: Q, most: int) -> Iterable[tuple[str, int]]:
    of = Facet.objects.filter(is_nameable, field=facet, entity__in=rows.order_by().values("pk")).order_by()
    counts = of.values_list("value").annotate(number=Count("entity", distinct=True))
    return counts.order_by("-number", "value")[:most]


def _shown(field: str, display: str, counted: Sequence[tuple[str, int]], info: Info) -> dict[str, Any]:
    entities = nodes.many([value for value, _ in counted], info)
    aggregations = [
        {"value": value, "count": number, "entity": entity, "displayName": None}
        for (value, number), entity in zip(counted, entities, strict=True)
    ]
    return {"field": field, "displayName": display, "entity": None, "aggregations": aggregations}
