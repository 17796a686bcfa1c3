"""Searches within the lineage of an entity, by page or as a scroll."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ariadne import QueryType
from django.db.models import Q

from catalog.access import view_permissions
from catalog.access.lineage import LineageStep, list_path, walk_lineage
from catalog.protocols.datahub_graphql import entities, nodes, paging, search_facets, search_sources
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.search import ScrollPosition
from catalog.protocols.datahub_graphql.search_sources import SEARCH_PAGE_SIZE, SearchRows, SearchSource, build_search
from catalog.protocols.search_filters import FieldFilter, list_criteria
from policies.errors import Invalid

query = QueryType()

_DEGREE = "degree"
#: Values of `degree` for exact degrees; `3+` means every greater one.
_DEGREES = ("1", "2")
_FARTHER_DEGREES = "3+"

#: Sources of a search with their rows, its hits as (degree, URN), and the lineage step of each URN.
LineageResult = tuple[list[tuple[SearchSource, SearchRows]], list[tuple[int, str]], Mapping[str, LineageStep]]


@query.field("scrollAcrossLineage")
def scroll_across_lineage(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page of a lineage after `scrollId`, ordered by degree, then URN."""
    _, count = paging.parse_bounds({"count": input.get("count")}, default_count=SEARCH_PAGE_SIZE)
    position = _read_position(input.get("scrollId"))
    source_rows, hits, steps = _search_lineage(input, info)
    start = bisect_right(hits, position)
    page = hits[start : start + count]
    is_last = not page or start + count >= len(hits)
    next_position = None if is_last else str(ScrollPosition(str(page[-1][0]), page[-1][1]))
    return {"nextScrollId": next_position, **_render(page, hits, steps, source_rows, input, info)}


@query.field("searchAcrossLineage")
def search_across_lineage(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the entities of a lineage, ordered by degree, then URN."""
    start, count = paging.parse_bounds(input, default_count=SEARCH_PAGE_SIZE)
    source_rows, hits, steps = _search_lineage(input, info)
    return {"start": start, **_render(hits[start : start + count], hits, steps, source_rows, input, info)}


def _search_lineage(input: Mapping[str, Any], info: Info) -> LineageResult:
    """Walk the lineage and return the entities that match the search. Raises Invalid for unsupported arguments.

    The lineage of an entity that the caller may not view is empty, as for one that is not stored.
    """
    urn, by, or_filters = _parse_start_urn(input), info.context.by, input.get("orFilters") or ()
    limit = _find_limit(or_filters)
    is_hidden = bool(view_permissions.find_hidden(urns=[urn], by=by))
    is_upstream = input["direction"] == "UPSTREAM"
    steps = {} if is_hidden else walk_lineage(urn=urn, is_upstream=is_upstream, degree=limit, by=by)
    search_request = build_search(input, info, own_fields={_DEGREE: _build_degree_filter(steps)})
    source_rows = [
        (source, rows.filter(urn__among=list(steps)))
        for source, rows in search_sources.list_source_rows(search_request)
    ]
    matching_urns = {urn for _, rows in source_rows for urn in rows.order_by().values_list("urn", flat=True)}
    return source_rows, sorted((steps[urn].degree, urn) for urn in matching_urns), steps


def _parse_start_urn(input: Mapping[str, Any]) -> str:
    """Return the start URN of a lineage. Raises Invalid for times, ignored hops and columns, all unsupported."""
    flags = input.get("lineageFlags") or {}
    for name in ("startTimeMillis", "endTimeMillis", "ignoreAsHops"):
        if input.get(name) is not None or flags.get(name) is not None:
            detail = "Lineage is followed as it is now, step by step: no times are kept and no steps left out."
            raise Invalid.from_problem(code="lineage.unknown", pointer=f"/input/{name}", detail=detail)
    urn = entities.validate_urn(input.get("urn") or "")
    if urn.startswith("urn:li:schemaField:"):
        detail = "Lineage of columns is stored and not followed; ask for that of the dataset."
        raise Invalid.from_problem(code="lineage.column", pointer="/input/urn", detail=detail)
    return urn


def _find_limit(or_filters: Sequence[Any]) -> int | None:
    """Return the greatest degree that a filter allows, None for no limit."""
    limits = [min(map(_find_farthest, filter(_is_degree, list_criteria(group))), default=None) for group in or_filters]
    known_limits = [limit for limit in limits if limit is not None]
    return max(known_limits) if known_limits and len(known_limits) == len(limits) else None


def _is_degree(criterion: Mapping[str, Any]) -> bool:
    """Whether a criterion limits the degree."""
    values = criterion.get("values")
    return bool(
        criterion["field"] == _DEGREE and values and _FARTHER_DEGREES not in values and not criterion.get("negated")
    )


def _find_farthest(criterion: Mapping[str, Any]) -> int:
    return max((int(value) for value in criterion["values"] if value in _DEGREES), default=0)


def _build_degree_filter(steps: Mapping[str, LineageStep]) -> FieldFilter:
    """Return the filter on `degree`: 1, 2 or 3+."""

    def read(condition: str, values: list[str]) -> Q | None:
        if condition not in ("EQUAL", "IN"):
            return None
        return Q(urn__among=[urn for urn, step in steps.items() if _degree_label(step.degree) in values])

    return read


def _degree_label(degree: int) -> str:
    return str(degree) if degree <= len(_DEGREES) else _FARTHER_DEGREES


def _read_position(scroll_id: str | None) -> tuple[int, str]:
    if not scroll_id:
        return (0, "")
    position = ScrollPosition.parse(scroll_id)
    if not (position.source.isascii() and position.source.isdigit() and len(position.source) <= 5):
        raise Invalid.from_problem(code="scroll", pointer="/scrollId", detail="This names a page of another scroll.")
    return (int(position.source), position.urn)


def _render(
    page: Sequence[tuple[int, str]],
    hits: Sequence[tuple[int, str]],
    steps: Mapping[str, LineageStep],
    source_rows: Sequence[tuple[SearchSource, SearchRows]],
    input: Mapping[str, Any],
    info: Info,
) -> dict[str, Any]:
    def render_hit(degree: int, urn: str, entity: nodes.Node) -> dict[str, Any]:
        return {
            "entity": entity,
            "matchedFields": [],
            "degree": degree,
            "degrees": [degree],
            # Called only if the query selects it.
            "paths": lambda field: [{"path": nodes.build_many(list_path(steps, urn), field)}],
        }

    page_nodes = nodes.build_many([urn for _, urn in page], info)
    return {
        "count": len(page),
        "total": len(hits),
        "searchResults": [render_hit(*hit, entity) for hit, entity in zip(page, page_nodes, strict=True)],
        "facets": lambda field: search_facets.count_values(source_rows, input.get("searchFlags") or {}, field),
    }


BINDABLES = (query,)
