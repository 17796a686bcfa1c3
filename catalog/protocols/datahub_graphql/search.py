"""Searches by page or as a scroll; entities that the caller may not view are not found (clients.md 2.3)."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ariadne import QueryType

from catalog.protocols.datahub_graphql import nodes, paging, search_facets, search_sources
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.search_sources import SEARCH_PAGE_SIZE, SearchRows, SearchSource, build_search
from catalog.protocols.search_filters import ColumnFilter
from policies.errors import Invalid
from policies.models.fields import is_storable

query = QueryType()


@dataclass(frozen=True, slots=True)
class ScrollPosition:
    """Position of a scroll: the source and URN of the last entity returned."""

    source: str
    urn: str

    @classmethod
    def parse(cls, text: str) -> "ScrollPosition":
        """Return the position in a `scrollId`. Raises Invalid."""
        try:
            source, urn = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
        except (ValueError, TypeError, binascii.Error, RecursionError):
            source = urn = None
        if not isinstance(source, str) or not isinstance(urn, str) or not is_storable(urn):
            raise Invalid.from_problem(code="scroll", pointer="/scrollId", detail="This names no page of a scroll.")
        return cls(source, urn)

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.source, self.urn]).encode()).decode("ascii")


@query.field("search")
def search_entities(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the entities of one type, best first."""
    search_request = build_search(input, info)
    (source, rows), *_ = search_sources.list_source_rows(search_request)

    def render_rows(page_rows: list[Any]) -> list[dict[str, Any]]:
        return _render_hits(_load_hits(page_rows, source, input, info), info)

    return paging.load_page(rows, input, "searchResults", render_rows, default_count=SEARCH_PAGE_SIZE)


@query.field("searchAcrossEntities")
def search_across_entities(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the entities of several types, source by source, best first in each."""
    start, count = paging.parse_bounds(input, default_count=SEARCH_PAGE_SIZE)
    source_rows = search_sources.list_source_rows(build_search(input, info))
    hits: list[Mapping[str, str]] = []
    total = 0
    for source, rows in source_rows:
        size = rows.count()
        first_index, remaining_count = max(start - total, 0), count - len(hits)
        if remaining_count > 0 and first_index < size:
            hits += _load_hits(list(rows[first_index : first_index + remaining_count]), source, input, info)
        total += size
    return {
        "start": start,
        "count": len(hits),
        "total": total,
        "searchResults": _render_hits(hits, info),
        # Called only if the query selects it.
        "facets": lambda field: search_facets.count_values(source_rows, input.get("searchFlags") or {}, field),
    }


@query.field("scrollAcrossEntities")
def scroll_across_entities(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page of a search after `scrollId`, source by source, by URN in each."""
    _, count = paging.parse_bounds(input, default_count=SEARCH_PAGE_SIZE)
    source_rows = search_sources.list_source_rows(build_search(input, info))
    positioned_hits: list[tuple[ScrollPosition, Mapping[str, str]]] = []
    for source, rows in _skip_to_position(source_rows, input.get("scrollId")):
        # One row more than the page shows whether there is a next page.
        next_rows = list(rows.order_by("urn")[: count + 1 - len(positioned_hits)])
        positioned_hits += [
            (ScrollPosition(source.name, row.urn), hit)
            for row, hit in zip(next_rows, _load_hits(next_rows, source, input, info), strict=True)
        ]
        if len(positioned_hits) > count:
            break
    page = positioned_hits[:count]
    return {
        "nextScrollId": str(page[-1][0]) if page and len(positioned_hits) > count else None,
        "count": len(page),
        "total": sum(rows.count() for _, rows in source_rows),
        "searchResults": _render_hits([hit for _, hit in page], info),
    }


def _skip_to_position(
    source_rows: Sequence[tuple[SearchSource, SearchRows]], scroll_id: str | None
) -> Iterator[tuple[SearchSource, SearchRows]]:
    """Yield the sources from a position on, the first of them with only the rows after its URN. Raises Invalid."""
    if not scroll_id:
        yield from source_rows
        return
    position = ScrollPosition.parse(scroll_id)
    index_by_source = {source.name: index for index, (source, _) in enumerate(source_rows)}
    if position.source not in index_by_source:
        raise Invalid.from_problem(code="scroll", pointer="/scrollId", detail="This names a page of another scroll.")
    (source, rows), *later_sources = source_rows[index_by_source[position.source] :]
    yield source, rows.filter(urn__gt=position.urn)
    yield from later_sources


def _extra_columns(source: SearchSource, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Return field → column of the requested extra fields that the source has."""
    requested_fields = (input.get("searchFlags") or {}).get("fetchExtraFields") or ()
    columns = ((field, source.fields.get(field)) for field in requested_fields)
    return {field: column.name for field, column in columns if isinstance(column, ColumnFilter)}


def _load_hits(
    rows: Sequence[Any], source: SearchSource, input: Mapping[str, Any], info: Info
) -> list[Mapping[str, str]]:
    """Return the URN (under '') and extra fields of each row; private fields only of rows that the caller may see."""
    extra_columns = _extra_columns(source, input)
    guarded_fields = source.private_fields & extra_columns.keys()
    private_urns = source.list_private_urns(rows, by=info.context.by) if guarded_fields else frozenset()
    return [
        {"": row.urn}
        | {
            field: _to_text(getattr(row, column))
            for field, column in extra_columns.items()
            if not (field in guarded_fields and row.urn in private_urns)
        }
        for row in rows
    ]


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _render_hits(hits: Sequence[Mapping[str, str]], info: Info) -> list[dict[str, Any]]:
    entities = nodes.build_many([hit[""] for hit in hits], info)
    return [
        {
            "entity": entity,
            "matchedFields": [],
            "extraProperties": [{"name": name, "value": value} for name, value in hit.items() if name],
        }
        for entity, hit in zip(entities, hits, strict=True)
    ]


BINDABLES = (query,)
