"""Contents of domains and data products, and counts of entities by type."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from ariadne import ObjectType, QueryType
from django.db.models import Count, F, Q

from catalog import urns
from catalog.access import browsing
from catalog.access.coverage_sql import facet_condition
from catalog.aspects.facet_fields import ASSET
from catalog.models import Facet
from catalog.protocols.datahub_graphql import nodes, paging, search_sources
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node
from catalog.protocols.datahub_graphql.search_sources import SEARCH_PAGE_SIZE, SearchRows, build_search
from policies.engine import selectors
from policies.errors import Invalid

query = QueryType()
domain_type = ObjectType("Domain")
product_type = ObjectType("DataProduct")

#: Most domains or products of one response whose contents are listed; counts have no such limit.
MAX_LISTED_PARENTS = 100


@query.field("getEntityCounts")
def count_entities(_root: None, info: Info, *, input: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the number of entities of each type that the caller may view; without `types`, of each catalog type."""
    kinds = dict.fromkeys(nodes.parse_type_name(name) for name in (input or {}).get("types") or ())
    counts = browsing.count_types(by=info.context.by)
    if kinds:
        counts = {kind: counts[kind] if kind in counts else _build_rows(info, kind=kind).count() for kind in kinds}
    return {
        "counts": [
            {"entityType": nodes.type_name(kind, info.schema), "count": number} for kind, number in counts.items()
        ]
    }


@domain_type.field("entities")
@product_type.field("entities")
def resolve_entities(node: Node, info: Info, *, input: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a page of the entities directly in a domain, or of the assets of a product; totals load in a batch."""
    arguments = input or {}
    start, count = paging.parse_bounds(arguments, default_count=SEARCH_PAGE_SIZE)
    cache_key = ("contents", node.kind, json.dumps(arguments, sort_keys=True))

    def load(entity_urns: Collection[str]) -> Mapping[str, int]:
        parent_urns = [urn for urn in entity_urns if urns.entity_type(urn) == node.kind]
        if count and len(parent_urns) > MAX_LISTED_PARENTS:
            detail = (
                f"The contents of at most {MAX_LISTED_PARENTS} are listed in one answer; "
                "with a count of 0 they are counted."
            )
            raise Invalid.from_problem(code="range", pointer="/input/count", detail=detail)
        return _count_contents(parent_urns, _build_rows(info, arguments), node.kind)

    total = info.context.load_batched(node.urn, cache_key, load) or 0
    page_rows = (
        list(_filter_contents(node, _build_rows(info, arguments))[start : start + count])
        if count and start < total
        else []
    )
    page_nodes = nodes.build_many([row.urn for row in page_rows], info)
    results = [{"entity": entity, "matchedFields": []} for entity in page_nodes]
    return {"start": start, "count": len(page_rows), "total": total, "searchResults": results}


def _build_rows(info: Info, arguments: Mapping[str, Any] | None = None, *, kind: str = "") -> SearchRows:
    """Return the entities of one type, or of the catalog, that the caller may view, filtered by an input."""
    source_rows = search_sources.list_source_rows(build_search(arguments or {}, info, kind=kind))
    return next(rows for source, rows in source_rows if kind or not source.kinds)


def _count_contents(parent_urns: Collection[str], rows: SearchRows, kind: str) -> Mapping[str, int]:
    if kind == "domain":
        facet_rows = Facet.objects.filter(
            field=selectors.DOMAIN, value__among=parent_urns, entity__in=rows.order_by().values("pk")
        ).exclude(entity__urn=F("value"))
        return dict(facet_rows.order_by().values_list("value").annotate(Count("entity", distinct=True)))
    facet_rows = Facet.objects.filter(
        field=ASSET, entity__urn__among=parent_urns, value__in=rows.order_by().values("urn")
    )
    return dict(facet_rows.order_by().values_list("entity__urn").annotate(Count("value", distinct=True)))


def _filter_contents(node: Node, rows: SearchRows) -> SearchRows:
    if node.kind == "domain":
        return rows.filter(facet_condition(selectors.DOMAIN, Q(value=node.urn))).exclude(urn=node.urn)
    return rows.filter(urn__in=Facet.objects.filter(entity__urn=node.urn, field=ASSET).values("value"))


BINDABLES = (query, domain_type, product_type)
