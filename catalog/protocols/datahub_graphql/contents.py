"""What is in a domain or a data product, and how much there is of each type."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from ariadne import ObjectType, QueryType
from django.db.models import Count, F, Q

from catalog import urns
from catalog.access import browsing
from catalog.access.coverage_sql import having
from catalog.aspects.base import ASSET
from catalog.models import Facet
from catalog.protocols.datahub_graphql import nodes, paging, search_sources
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node
from catalog.protocols.datahub_graphql.search_sources import Rows, Search
from policies.engine import selectors
from policies.errors import Invalid

query = QueryType()
domain = ObjectType("Domain")
product = ObjectType("DataProduct")

_USUAL = 10
#: Most domains or products of one answer whose contents are listed; how much is in them is counted for any number.
MAX_LISTED = 100


@query.field("getEntityCounts")
def count_entities(_root: None, info: Info, *, input: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return how many entities of each type the caller may view; without types, of those of the catalog."""
    asked = dict.fromkeys(nodes.kind_of(name) for name in (input or {}).get("types") or ())
    counts = browsing.types(by=info.context.by)
    if asked:
        counts = {kind: counts[kind] if kind in counts else _rows(info, kind=kind).count() for kind in asked}
    return {
        "counts": [{"entityType": nodes.name_of(kind, info.schema), "count": number} for kind, number in counts.items()]
    }


@domain.field("entities")
@product.field("entities")
def entities(node: Node, info: Info, *, input: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a page of what is directly in a domain, or of the assets of a product; all are counted at once."""
    given = input or {}
    numbers = {name: given[name] for name in ("start", "count") if given.get(name) is not None}
    start, count = paging.bounds({"count": _USUAL, **numbers})
    what = ("contents", node.kind, json.dumps(given, sort_keys=True))

    def load(asked: Collection[str]) -> Mapping[str, int]:
        alike = [urn for urn in asked if urns.type_of(urn) == node.kind]
        if count and len(alike) > MAX_LISTED:
            detail = (
                f"The contents of at most {MAX_LISTED} are listed in one answer; with a count of 0 they are counted."
            )
            raise Invalid.one(code="range", pointer="/input/count", detail=detail)
        return _totals(alike, _rows(info, given), node.kind)

    total = info.context.look_up(node.urn, what, load) or 0
    found = list(_within(node, _rows(info, given))[start : start + count]) if count and start < total else []
    listed = nodes.many([row.urn for row in found], info)
    results = [{"entity": one, "matchedFields": []} for one in listed]
    return {"start": start, "count": len(found), "total": total, "searchResults": results}


def _rows(info: Info, given: Mapping[str, Any] | None = None, *, kind: str = "") -> Rows:
    """Return what the caller may view of one type, or of the catalog, narrowed as an input says."""
    asked = given or {}
    narrowing = [{"and": asked["filters"]}] if asked.get("filters") else []
    sought = Search(
        text=asked.get("query") or "*",
        kinds=(kind,) if kind else (),
        criteria=(asked.get("orFilters") or (), narrowing),
        by=info.context.by,
    )
    lists = search_sources.of(sought)
    return next(rows for segment, rows in lists if kind or not segment.kinds)


def _totals(alike: Collection[str], rows: Rows, kind: str) -> Mapping[str, int]:
    if kind == "domain":
        of = Facet.objects.filter(
            field=selectors.DOMAIN, value__among=alike, entity__in=rows.order_by().values("pk")
        ).exclude(entity__urn=F("value"))
        return dict(of.order_by().values_list("value").annotate(Count("entity", distinct=True)))
    of = Facet.objects.filter(field=ASSET, entity__urn__among=alike, value__in=rows.order_by().values("urn"))
    return dict(of.order_by().values_list("entity__urn").annotate(Count("value", distinct=True)))


def _within(node: Node, rows: Rows) -> Rows:
    if node.kind == "domain":
        return rows.filter(having(selectors.DOMAIN, Q(value=node.urn))).exclude(urn=node.urn)
    return rows.filter(urn__in=Facet.objects.filter(entity__urn=node.urn, field=ASSET).values("value"))


BINDABLES = (query, domain, product)
