"""Searches among what data comes from or goes to, page by page or as a scroll."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ariadne import QueryType
from django.db.models import Q

from catalog.access import view_permissions
from catalog.access.lineage import Step, list_path, walk_lineage
from catalog.protocols.datahub_graphql import entities, nodes, paging, search_facets, search_sources
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.filters import Reading
from catalog.protocols.datahub_graphql.search import Place
from catalog.protocols.datahub_graphql.search_sources import Rows, Search, Segment
from policies.errors import Invalid

query = QueryType()

_USUAL = 10
_DEGREE = "degree"
#: Values of `degree` → the degrees that each stands for; `3+` is every one from there on.
_DEGREES = ("1", "2")
_FARTHER = "3+"

#: The lists a search goes through, what it found by degree and URN, and how each was reached.
Found = tuple[list[tuple[Segment, Rows]], list[tuple[int, str]], Mapping[str, Step]]


@query.field("scrollAcrossLineage")
def scroll_across_lineage(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entities of a lineage behind those of the page before, the nearest first, then by URN."""
    _, count = paging.bounds(_numbers(input, "count"))
    place = _read_place(input.get("scrollId"))
    lists, found, steps = _find(input, info)
    start = bisect_right(found, place)
    page = found[start : start + count]
    is_last = not page or start + count >= len(found)
    next_place = None if is_last else str(Place(str(page[-1][0]), page[-1][1]))
    return {"nextScrollId": next_place, **_render(page, found, steps, lists, input, info)}


@query.field("searchAcrossLineage")
def search_across_lineage(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the entities of a lineage, the nearest first, then by URN."""
    if input.get("viewUrn"):
        raise Invalid.one(code="view", pointer="/input/viewUrn", detail="There are no saved views of searches.")
    start, count = paging.bounds(_numbers(input, "start", "count"))
    lists, found, steps = _find(input, info)
    return {"start": start, **_render(found[start : start + count], found, steps, lists, input, info)}


def _find(input: Mapping[str, Any], info: Info) -> Found:
    """Walk the lineage and return what of it passes the search. Raises Invalid for what is not kept.

    That of an entity which the caller may not view is empty, as of one that is not stored.
    """
    urn, by, groups = _check(input), info.context.by, input.get("orFilters") or ()
    limit = _find_limit(groups)
    is_hidden = bool(view_permissions.hidden(urns=[urn], by=by))
    is_upstream = input["direction"] == "UPSTREAM"
    steps = {} if is_hidden else walk_lineage(urn=urn, is_upstream=is_upstream, degree=limit, by=by)
    sought = Search(
        text=input.get("query") or "*",
        kinds=tuple(nodes.kind_of(name) for name in input.get("types") or ()),
        criteria=(groups, [{"and": input["filters"]}] if input.get("filters") else []),
        by=by,
        with_removed=bool((input.get("searchFlags") or {}).get("includeSoftDeleted")),
        own_fields={_DEGREE: _read_degrees(steps)},
    )
    lists = [(segment, rows.filter(urn__among=list(steps))) for segment, rows in search_sources.of(sought)]
    listed = {urn for _, rows in lists for urn in rows.order_by().values_list("urn", flat=True)}
    return lists, sorted((steps[urn].degree, urn) for urn in listed), steps


def _check(input: Mapping[str, Any]) -> str:
    """Return the URN that a lineage begins at. Raises Invalid for what would be answered wrongly."""
    flags = input.get("lineageFlags") or {}
    for name in ("startTimeMillis", "endTimeMillis", "ignoreAsHops"):
        if input.get(name) is not None or flags.get(name) is not None:
            detail = "Lineage is followed as it is now, step by step: no times are kept and no steps left out."
            raise Invalid.one(code="lineage.unknown", pointer=f"/input/{name}", detail=detail)
    urn = entities.checked(input.get("urn") or "")
    if urn.startswith("urn:li:schemaField:"):
        detail = "Lineage of columns is stored and not followed; ask for that of the dataset."
        raise Invalid.one(code="lineage.column", pointer="/input/urn", detail=detail)
    return urn


def _find_limit(groups: Sequence[Any]) -> int | None:
    """Return the farthest degree that a filter lets through, None where it sets no limit."""
    limits = [min(map(_find_farthest, filter(_is_degree, group["and"] or ())), default=None) for group in groups]
    known = [limit for limit in limits if limit is not None]
    return max(known) if known and len(known) == len(limits) else None


def _is_degree(criterion: Mapping[str, Any]) -> bool:
    """Whether a criterion sets a limit to the degree."""
    values = criterion.get("values")
    return bool(criterion["field"] == _DEGREE and values and _FARTHER not in values and not criterion.get("negated"))


def _find_farthest(criterion: Mapping[str, Any]) -> int:
    return max((int(value) for value in criterion["values"] if value in _DEGREES), default=0)


def _read_degrees(steps: Mapping[str, Step]) -> Reading:
    """Return the reading of `degree`: 1, 2 or 3+."""

    def read(condition: str, values: list[str]) -> Q | None:
        if condition not in ("EQUAL", "IN"):
            return None
        return Q(urn__among=[urn for urn, step in steps.items() if _name_degree(step.degree) in values])

    return read


def _name_degree(degree: int) -> str:
    return str(degree) if degree <= len(_DEGREES) else _FARTHER


def _read_place(scroll_id: str | None) -> tuple[int, str]:
    if not scroll_id:
        return (0, "")
    place = Place.read(scroll_id)
    if not (place.segment.isascii() and place.segment.isdigit() and len(place.segment) <= 5):
        raise Invalid.one(code="scroll", pointer="/scrollId", detail="This names a page of another scroll.")
    return (int(place.segment), place.urn)


def _numbers(input: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {"count": _USUAL, **{name: input[name] for name in names if input.get(name) is not None}}


def _render(
    page: Sequence[tuple[int, str]],
    found: Sequence[tuple[int, str]],
    steps: Mapping[str, Step],
    lists: Sequence[tuple[Segment, Rows]],
    input: Mapping[str, Any],
    info: Info,
) -> dict[str, Any]:
    def show(degree: int, urn: str, entity: nodes.Node) -> dict[str, Any]:
        return {
            "entity": entity,
            "matchedFields": [],
            "degree": degree,
            "degrees": [degree],
            # Called where the query asks for it.
            "paths": lambda field: [{"path": nodes.many(list_path(steps, urn), field)}],
        }

    listed = nodes.many([urn for _, urn in page], info)
    return {
        "count": len(page),
        "total": len(found),
        "searchResults": [show(*one, entity) for one, entity in zip(page, listed, strict=True)],
        "facets": lambda field: search_facets.count_values(lists, input.get("searchFlags") or {}, field),
    }


BINDABLES = (query,)
