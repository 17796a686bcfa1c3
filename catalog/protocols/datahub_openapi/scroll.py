"""Scrolls: pages of entities by URN, each page beginning after the last entity of the one before.

Users, groups, roles and policies have tables of their own, so a scroll goes through sources one after the other. What
a caller may not view is not found.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from catalog.access import entity_lists, people_records, view_permissions
from catalog.protocols.datahub_openapi import entity_json, paths
from catalog.protocols.datahub_rest import filters, request_bodies, responses, search
from catalog.protocols.datahub_rest.filters import Filter
from catalog.urns import PEOPLE_TYPES
from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid
from policies.models.fields import is_storable

#: Longest page; a longer one is cut.
LONGEST_PAGE = 1000

#: How many a page has unless told otherwise.
_USUAL = 10

#: Most types that one scroll may name.
_MOST_TYPES = 100


@dataclass(frozen=True, slots=True)
class _Asked:
    """A scroll: types in order (none: every type), words, filter, and the aspects to show (None: all, (): none)."""

    types: tuple[str, ...]
    text: str
    narrowed: Filter | None
    aspects: frozenset[str] | None
    mark: str
    is_filtered: bool


def of_type(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Scroll through entities of one type, with all their aspects unless some are named."""
    aspects = paths.listed(request, "aspects") or None
    return _page(request, _read_search(request, [paths.spelled(type_)], None, aspects, by), by)


def of_types(request: HttpRequest, by: Actor) -> HttpResponse:
    """Scroll through entities of the types in the body, or of every type; with no aspects unless some are named."""
    body = request_bodies.read(request)
    types = [paths.spelled(one) for one in _texts(body, "entities")]
    aspects = None if body.get("aspects") == [] else frozenset(_texts(body, "aspects"))
    return _page(request, _read_search(request, types, body.get("filter"), aspects, by), by)


def _read_search(
    request: HttpRequest, types: Sequence[str], narrowing: Any, aspects: frozenset[str] | None, by: Actor
) -> _Asked:
    text = request.GET.get("query", "*")
    is_with_removed = paths.flag(request, "includeSoftDelete", default=False)
    mark = json.dumps([sorted(types), text, narrowing, is_with_removed], sort_keys=True)
    return _Asked(
        types=tuple(sorted(set(types))),
        text=text,
        narrowed=_narrowed(narrowing, by, is_with_removed=is_with_removed),
        aspects=aspects,
        mark=hashlib.sha256(mark.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        is_filtered=narrowing is not None,
    )


def _page(request: HttpRequest, asked: _Asked, by: Actor) -> HttpResponse:
    count = min(paths.whole(request, "count", _USUAL), LONGEST_PAGE)
    source, after = _read_place(request.GET.get("scrollId", ""), asked)
    urns: list[tuple[int, str]] = []
    total = 0
    for number, rows in enumerate(_sources(asked, by)):
        total += rows.count()
        if number >= source and len(urns) <= count:
            rest = rows.filter(urn__gt=after) if number == source and after else rows
            # One more than asked for says whether there is a next page.
            wanted = count + 1 - len(urns)
            urns += [(number, urn) for urn in rest.order_by("urn").values_list("urn", flat=True)[:wanted]]
    shown = urns[:count]
    is_more = len(urns) > count > 0
    place = responses.encoded(_place(*shown[-1], asked)) if is_more else "null"
    with_metadata = paths.flag(request, "systemMetadata", default=False)
    entities = _entities([urn for _, urn in shown], asked, by, with_metadata=with_metadata)
    members = [("scrollId", place), ("totalCount", str(total)), ("entities", entity_json.listed(entities))]
    return responses.text(responses.joined(members))


def _entities(urns: Sequence[str], asked: _Asked, by: Actor, *, with_metadata: bool) -> Iterator[str]:
    is_bare = asked.aspects == frozenset()
    found = {} if is_bare else people_records.documents_for(urns=urns, by=by)
    for urn in urns:
        yield entity_json.entity(urn, found.get(urn, {}), names=asked.aspects, with_metadata=with_metadata)


def _sources(asked: _Asked, by: Actor) -> Iterator[QuerySet[Any]]:
    """Yield what is scrolled through: entities of the catalog of all types at once, then each kind of people."""
    ordinary = [type_ for type_ in asked.types if type_ not in PEOPLE_TYPES]
    if ordinary or not asked.types:
        with_removed = asked.narrowed is not None and asked.narrowed.asks_removed
        rows = entity_lists.entities(text=asked.text, types=ordinary, with_removed=with_removed)
        rows = rows.exclude(type__in=sorted(PEOPLE_TYPES))
        rows = rows if asked.narrowed is None else rows.filter(asked.narrowed.condition)
        yield view_permissions.viewable(rows, by=by)
    for type_ in sorted(PEOPLE_TYPES):
        if type_ in asked.types:
            yield search.found(type_, asked.text, asked.narrowed if asked.is_filtered else None, by)
        elif not asked.types and not asked.is_filtered:
            try:
                yield search.found(type_, asked.text, None, by)
            except Forbidden:
                # Asked for everything, a caller gets what there is for it.
                continue


def _narrowed(found: Any, by: Actor, *, is_with_removed: bool) -> Filter | None:
    """Return a filter. Its alternatives are called `and` and what must hold `criteria`; `or` and `and` work too.

    Raises Invalid for fields and conditions that nobody knows.
    """
    if isinstance(found, dict) and isinstance(found.get("and"), list):
        alternatives = [
            {"and": one.get("criteria")} if isinstance(one, dict) and "criteria" in one else one for one in found["and"]
        ]
        found = {"or": alternatives}
    narrowed = filters.read(found, "/filter", by=by)
    if narrowed is None:
        return filters.everything(with_removed=True) if is_with_removed else None
    return filters.Filter(narrowed.condition, asks_removed=narrowed.asks_removed or is_with_removed)


def _texts(body: dict[str, Any], name: str) -> list[str]:
    found = [] if body.get(name) is None else body[name]
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Invalid.one(code="type", pointer=f"/{name}", detail="This must be a list of texts.")
    if len(found) > _MOST_TYPES:
        raise Invalid.one(code="list.long", pointer=f"/{name}", detail=f"The list has at most {_MOST_TYPES} entries.")
    return found


def _place(source: int, urn: str, asked: _Asked) -> str:
    return base64.urlsafe_b64encode(json.dumps([asked.mark, source, urn]).encode()).decode()


def _read_place(text: str, asked: _Asked) -> tuple[int, str]:
    """Return where a scroll goes on. Raises Invalid for what is no place, or one in another scroll."""
    if not text:
        return 0, ""
    try:
        match json.loads(base64.urlsafe_b64decode(text.encode()).decode()):
            case [asked.mark, bool(), str()]:
                pass
            case [asked.mark, int(source), str(urn)] if is_storable(urn):
                return source, urn
            case _:
                pass
    except (ValueError, binascii.Error, RecursionError):
        pass
    raise Invalid.one(code="scroll.invalid", pointer="/scrollId", detail="This is no place in this scroll.")
