"""Scrolls: pages of entities by URN, each beginning after the last entity of the page before.

Users, groups, roles and policies have tables of their own, so a scroll goes through several sources in turn. Entities
that the caller may not view are not found.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
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
MAX_PAGE_SIZE = 1000

_DEFAULT_PAGE_SIZE = 10

#: Most types, and most aspects, that one scroll may list.
_MAX_TYPES = 100


@dataclass(frozen=True, slots=True)
class _ScrollRequest:
    """A scroll: types in order (empty: every type), text, filter, aspects to return (None: all, empty: none)."""

    types: tuple[str, ...]
    text: str
    entity_filter: Filter | None
    aspects: frozenset[str] | None
    digest: str
    is_filtered: bool


def scroll_type(request: HttpRequest, by: Actor, type_: str) -> HttpResponse:
    """Scroll through the entities of one type, with all aspects or those in `aspects`."""
    aspects = paths.read_list(request, "aspects") or None
    return _render_page(request, _read_scroll_request(request, [paths.spell_type(type_)], None, aspects, by), by)


def scroll_types(request: HttpRequest, by: Actor) -> HttpResponse:
    """Scroll through the entities of the types in the body, or of every type; `aspects` [] means all, absent none."""
    body = request_bodies.read(request)
    types = [paths.spell_type(type_) for type_ in _read_texts(body, "entities")]
    aspects = None if body.get("aspects") == [] else frozenset(_read_texts(body, "aspects"))
    return _render_page(request, _read_scroll_request(request, types, body.get("filter"), aspects, by), by)


def _read_scroll_request(
    request: HttpRequest, types: Sequence[str], filter_body: Any, aspects: frozenset[str] | None, by: Actor
) -> _ScrollRequest:
    text = request.GET.get("query", "*")
    with_removed = paths.read_boolean(request, "includeSoftDelete", default=False)
    digest_source = json.dumps([sorted(types), text, filter_body, with_removed], sort_keys=True)
    return _ScrollRequest(
        types=tuple(sorted(set(types))),
        text=text,
        entity_filter=_parse_filter(filter_body, by, types, with_removed=with_removed),
        aspects=aspects,
        digest=hashlib.sha256(digest_source.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        is_filtered=filter_body is not None,
    )


def _render_page(request: HttpRequest, scroll_request: _ScrollRequest, by: Actor) -> HttpResponse:
    count = min(paths.read_integer(request, "count", _DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE)
    source, after = _read_position(request.GET.get("scrollId", ""), scroll_request)
    urns: list[tuple[int, str]] = []
    total = 0
    for number, rows in enumerate(_list_sources(scroll_request, by)):
        total += rows.count()
        if number >= source and len(urns) <= count:
            remaining_rows = rows.filter(urn__gt=after) if number == source and after else rows
            # One row more than the page shows whether there is a next page.
            limit = count + 1 - len(urns)
            urns += [(number, urn) for urn in remaining_rows.order_by("urn").values_list("urn", flat=True)[:limit]]
    page_urns = urns[:count]
    is_more = len(urns) > count > 0
    scroll_id = responses.encode_json(_encode_position(*page_urns[-1], scroll_request)) if is_more else "null"
    with_metadata = paths.read_boolean(request, "systemMetadata", default=False)
    entities = _render_entities([urn for _, urn in page_urns], scroll_request, by, with_metadata=with_metadata)
    members = [("scrollId", scroll_id), ("totalCount", str(total)), ("entities", entity_json.render_list(entities))]
    return responses.json_response(responses.encode_object(members))


def _render_entities(
    urns: Sequence[str], scroll_request: _ScrollRequest, by: Actor, *, with_metadata: bool
) -> Iterator[str]:
    is_bare = scroll_request.aspects == frozenset()
    documents = (
        {}
        if is_bare
        else people_records.load_visible_documents(urns=urns, by=by, is_open=not settings.REST_API_AUTHORIZATION)
    )
    for urn in urns:
        yield entity_json.render_entity(
            urn, documents.get(urn, {}), names=scroll_request.aspects, with_metadata=with_metadata
        )


def _list_sources(scroll_request: _ScrollRequest, by: Actor) -> Iterator[QuerySet[Any]]:
    """Yield the sources of a scroll: catalog entities of all types at once, then each type of PEOPLE_TYPES."""
    catalog_types = [type_ for type_ in scroll_request.types if type_ not in PEOPLE_TYPES]
    if catalog_types or not scroll_request.types:
        with_removed = scroll_request.entity_filter is not None and scroll_request.entity_filter.includes_removed
        rows = entity_lists.list_entities(text=scroll_request.text, types=catalog_types, with_removed=with_removed)
        rows = rows.exclude(type__in=sorted(PEOPLE_TYPES))
        rows = rows if scroll_request.entity_filter is None else rows.filter(scroll_request.entity_filter.condition)
        yield view_permissions.filter_viewable(rows, by=by)
    for type_ in sorted(PEOPLE_TYPES):
        if type_ in scroll_request.types:
            yield search.find_entities(
                type_, scroll_request.text, scroll_request.entity_filter if scroll_request.is_filtered else None, by
            )
        elif not scroll_request.types and not scroll_request.is_filtered:
            try:
                yield search.find_entities(type_, scroll_request.text, None, by)
            except Forbidden:
                # In a scroll of every type, types that the caller may not read are left out.
                continue


def _parse_filter(filter_body: Any, by: Actor, types: Sequence[str], *, with_removed: bool) -> Filter | None:
    """Return the filter. Alternatives are in `and` and their criteria in `criteria`; `or` and `and` work as well.

    Raises Invalid for unknown fields and conditions.
    """
    if isinstance(filter_body, dict) and isinstance(filter_body.get("and"), list):
        alternatives = [
            {"and": alternative.get("criteria")}
            if isinstance(alternative, dict) and "criteria" in alternative
            else alternative
            for alternative in filter_body["and"]
        ]
        filter_body = {"or": alternatives}
    entity_filter = filters.parse(filter_body, "/filter", by=by, types=types)
    if entity_filter is None:
        return filters.match_all(with_removed=True) if with_removed else None
    return filters.Filter(entity_filter.condition, includes_removed=entity_filter.includes_removed or with_removed)


def _read_texts(body: dict[str, Any], name: str) -> list[str]:
    texts = [] if body.get(name) is None else body[name]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Invalid.from_problem(code="type", pointer=f"/{name}", detail="This must be a list of texts.")
    if len(texts) > _MAX_TYPES:
        raise Invalid.from_problem(
            code="list.long", pointer=f"/{name}", detail=f"The list has at most {_MAX_TYPES} entries."
        )
    return texts


def _encode_position(source: int, urn: str, scroll_request: _ScrollRequest) -> str:
    return base64.urlsafe_b64encode(json.dumps([scroll_request.digest, source, urn]).encode()).decode()


def _read_position(text: str, scroll_request: _ScrollRequest) -> tuple[int, str]:
    """Return the source and URN to continue after. Raises Invalid for a `scrollId` that is malformed or foreign."""
    if not text:
        return 0, ""
    try:
        match json.loads(base64.urlsafe_b64decode(text.encode()).decode()):
            case [scroll_request.digest, bool(), str()]:
                pass
            case [scroll_request.digest, int(source), str(urn)] if is_storable(urn):
                return source, urn
            case _:
                pass
    except (ValueError, binascii.Error, RecursionError):
        pass
    raise Invalid.from_problem(code="scroll.invalid", pointer="/scrollId", detail="This is no place in this scroll.")
