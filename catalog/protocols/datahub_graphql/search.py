"""Searches, page by page or as a scroll; what the caller may not view is not found (clients.md 2.3)."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ariadne import QueryType

from catalog.protocols.datahub_graphql import nodes, paging, search_facets, search_sources
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.filters import Column
from catalog.protocols.datahub_graphql.search_sources import Rows, Search, Segment
from policies.errors import Invalid
from policies.models.fields import is_storable

query = QueryType()

_USUAL = 10


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scroll goes on: behind a URN of one of the lists it goes through."""

    segment: str
    urn: str

    @classmethod
    def read(cls, text: str) -> "Place":
        """Return the place that a `scrollId` names. Raises Invalid."""
        try:
            segment, urn = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
        except (ValueError, TypeError, binascii.Error, RecursionError):
            segment = urn = None
        if not isinstance(segment, str) or not isinstance(urn, str) or not is_storable(urn):
            raise Invalid.one(code="scroll", pointer="/scrollId", detail="This names no page of a scroll.")
        return cls(segment, urn)

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.segment, self.urn]).encode()).decode("ascii")


@query.field("search")
def search(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the entities of one type, best first."""
    sought = _sought(input, [input["type"]], info)
    (segment, rows), *_ = search_sources.of(sought)

    def show(found: list[Any]) -> list[dict[str, Any]]:
        return _results(_told(found, segment, input, info), info)

    return paging.part(rows, {"count": _USUAL, **_numbers(input)}, "searchResults", show)


@query.field("searchAcrossEntities")
def search_across_entities(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the entities of several types, one list after the other, best first in each."""
    if input.get("viewUrn"):
        raise Invalid.one(code="view", pointer="/input/viewUrn", detail="There are no saved views of searches.")
    start, count = paging.bounds({"count": _USUAL, **_numbers(input)})
    lists = search_sources.of(_sought(input, input.get("types") or (), info))
    found: list[Mapping[str, str]] = []
    total = 0
    for segment, rows in lists:
        size = rows.count()
        first, wanted = max(start - total, 0), count - len(found)
        if wanted > 0 and first < size:
            found += _told(list(rows[first : first + wanted]), segment, input, info)
        total += size
    return {
        "start": start,
        "count": len(found),
        "total": total,
        "searchResults": _results(found, info),
        # Called where the query asks for it.
        "facets": lambda field: search_facets.count_values(lists, input.get("searchFlags") or {}, field),
    }


@query.field("scrollAcrossEntities")
def scroll_across_entities(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entities of some types behind those of the page before, by URN, one list after the other."""
    count = input.get("count")
    count = _USUAL if count is None else count
    if not 0 <= count <= paging.MOST:
        detail = f"This is a whole number from 0 to {paging.MOST}."
        raise Invalid.one(code="range", pointer="/input/count", detail=detail)
    lists = search_sources.of(_sought(input, input.get("types") or (), info))
    found: list[tuple[Place, Mapping[str, str]]] = []
    for segment, rows in _ahead(lists, input.get("scrollId")):
        # One more than wanted tells whether there is a page behind this one.
        some = list(rows.order_by("urn")[: count + 1 - len(found)])
        found += [
            (Place(segment.name, row.urn), told)
            for row, told in zip(some, _told(some, segment, input, info), strict=True)
        ]
        if len(found) > count:
            break
    page = found[:count]
    return {
        "nextScrollId": str(page[-1][0]) if page and len(found) > count else None,
        "count": len(page),
        "total": sum(rows.count() for _, rows in lists),
        "searchResults": _results([told for _, told in page], info),
    }


def _sought(input: Mapping[str, Any], types: Sequence[str], info: Info) -> Search:
    flags = input.get("searchFlags") or {}
    narrowing = [{"and": input["filters"]}] if input.get("filters") else []
    return Search(
        text=input["query"],
        kinds=tuple(nodes.kind_of(name) for name in types),
        criteria=(input.get("orFilters") or (), narrowing),
        by=info.context.by,
        with_removed=bool(flags.get("includeSoftDeleted")),
    )


def _ahead(lists: Sequence[tuple[Segment, Rows]], scroll_id: str | None) -> Iterator[tuple[Segment, Rows]]:
    """Yield the lists from a place on, the first of them from behind its URN."""
    if not scroll_id:
        yield from lists
        return
    place = Place.read(scroll_id)
    numbers = {segment.name: number for number, (segment, _) in enumerate(lists)}
    if place.segment not in numbers:
        raise Invalid.one(code="scroll", pointer="/scrollId", detail="This names a page of another scroll.")
    (segment, rows), *others = lists[numbers[place.segment] :]
    yield segment, rows.filter(urn__gt=place.urn)
    yield from others


def _extras(segment: Segment, input: Mapping[str, Any]) -> Mapping[str, str]:
    """Return field → column of the further fields that are asked for and that the list has."""
    wanted = (input.get("searchFlags") or {}).get("fetchExtraFields") or ()
    columns = ((field, segment.fields.get(field)) for field in wanted)
    return {field: column.name for field, column in columns if isinstance(column, Column)}


def _told(rows: Sequence[Any], segment: Segment, input: Mapping[str, Any], info: Info) -> list[Mapping[str, str]]:
    """Return URN and further fields of each row; private fields only of rows that the caller may see."""
    extras = _extras(segment, input)
    guarded = segment.private & extras.keys()
    private = segment.list_private(rows, by=info.context.by) if guarded else frozenset()
    return [
        {"": row.urn}
        | {
            field: _text(getattr(row, column))
            for field, column in extras.items()
            if not (field in guarded and row.urn in private)
        }
        for row in rows
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _results(found: Sequence[Mapping[str, str]], info: Info) -> list[dict[str, Any]]:
    entities = nodes.many([one[""] for one in found], info)
    return [
        {
            "entity": entity,
            "matchedFields": [],
            "extraProperties": [{"name": name, "value": value} for name, value in one.items() if name],
        }
        for entity, one in zip(entities, found, strict=True)
    ]


def _numbers(input: Mapping[str, Any]) -> dict[str, Any]:
    return {name: input[name] for name in ("start", "count") if input.get(name) is not None}


BINDABLES = (query,)
