"""Browsing the catalog: search with filters, trees of domains and containers, platforms and tags.

Every list and count contains only entities that the viewer may view.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet

from catalog.access.coverage_sql import criterion_condition
from catalog.access.entity_lists import NamedEntries, find_named_entries, search
from catalog.access.entity_types import find_present, load_types
from catalog.access.paged_list import CountedList
from catalog.access.view_permissions import build_view_conditions, filter_viewable, find_hidden
from catalog.aspects.facet_fields import ASSET, PLATFORM
from catalog.models import Ancestry, Entity, Facet
from policies.engine import selectors
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion
from policies.pdp import fact_cache
from policies.propagation.invalidating_cache import CacheRegion, process_cache

#: Filters of a list besides text and type, as parameter name -> facet.
FILTER_FIELDS: Mapping[str, str] = {
    "platform": PLATFORM,
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "tag": selectors.TAG,
    "term": selectors.GLOSSARY,
}

#: Types left out of browsing: they have pages of their own or only support other entities.
UNLISTED_TYPES = ("ownershipType", "role")


#: Numbers of entities by type, for those who may view them all.
_EVERYTHING = ""
_counts_by_type: CacheRegion[Mapping[str, int]] = process_cache.add_region(1, None)


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value of a facet and the number of entities that have it."""

    urn: str
    count: int


def find(*, q: str = "", type: str = "", by: Actor, **filters: str) -> QuerySet[Entity]:
    """Return the entities of a type that match the text `q`, best first, and the filters (keys of `FILTER_FIELDS`).

    A filter value that the viewer may not view gives an empty result, as if it did not exist.
    """
    return _find_named(q, type, by, filters)


def _find_named(
    q: str, type: str, by: Actor, filters: Mapping[str, str], named_entries: NamedEntries | None = None
) -> QuerySet[Entity]:
    """Return the page of `find`; `named_entries` are those of the text if they were read before."""
    values_by_field = {FILTER_FIELDS[name]: value for name, value in filters.items() if value}
    if find_hidden(urns=list(values_by_field.values()), by=by):
        return Entity.objects.none()
    entities = search(text=q, types=[type] if type else (), named_entries=named_entries)
    if not type:
        entities = entities.exclude(type__in=UNLISTED_TYPES)
    for field, value in values_by_field.items():
        entities = entities.filter(criterion_condition(Criterion(field, Condition.EQUALS, frozenset((value,)))))
    return filter_viewable(entities, by=by)


def find_counted(*, q: str = "", type: str = "", by: Actor, **filters: str) -> QuerySet[Entity] | CountedList:
    """Return the page of `find`, with its number if that is known from the numbers of all types or from an index."""
    if any(filters.values()) or build_view_conditions(by=by):
        return find(q=q, type=type, by=by, **filters)
    named_entries = find_named_entries(q)
    rows = _find_named(q, type, by, {}, named_entries)
    count = _count_named(named_entries, type) if q else _find_count(type, by)
    return rows if count is None else CountedList(rows, count)


def _find_count(type_: str, by: Actor) -> int | None:
    """Return the number of entities of a type (none: of all), None for a type that is not counted."""
    counts_by_type = count_types(by=by)
    return counts_by_type.get(type_) if type_ else sum(counts_by_type.values())


def _count_named(named_entries: NamedEntries, type_: str) -> int | None:
    """Return how many of the entities with some words are of a type (none: of all); None when only a test tells."""
    if named_entries.ids is None or named_entries.unread_words:
        return None
    present_ids = find_present(named_entries.ids)
    if present_ids is None:
        return None
    entity_types = load_types(present_ids)
    if type_:
        return len(entity_types.select(present_ids, [type_]))
    return len(entity_types.select(present_ids, ()) - entity_types.select(present_ids, UNLISTED_TYPES))


def count_types(*, by: Actor) -> Mapping[str, int]:
    """Return the number of entities of each type, ordered by type.

    Those of everything are kept until the next write: a database of a million entities counts them for half a second.
    """
    rows = Entity.objects.filter(is_removed=False).exclude(type__in=UNLISTED_TYPES).order_by("type")
    if build_view_conditions(by=by):
        return _count_rows_by_type(filter_viewable(rows, by=by))
    return fact_cache.get_or_load(_counts_by_type, [_EVERYTHING], lambda _: {_EVERYTHING: _count_rows_by_type(rows)})[
        _EVERYTHING
    ]


def _count_rows_by_type(rows: QuerySet[Entity]) -> Mapping[str, int]:
    return dict(rows.values_list("type").annotate(Count("type")))


def list_choices(*, type: str, by: Actor, limit: int) -> list[tuple[str, str]]:
    """Return (URN, name) of the first `limit` entities of a type, by name."""
    rows = filter_viewable(Entity.objects.filter(type=type, is_removed=False), by=by).order_by("name", "urn")
    return list(rows.values_list("urn", "name")[:limit])


def list_child_nodes(*, type: str, parent: str, by: Actor) -> QuerySet[Entity]:
    """Return the nodes of a type directly under `parent`; without one, those with no parent that may be viewed."""
    nodes = filter_viewable(Entity.objects.filter(type=type, is_removed=False), by=by).order_by("name", "urn")
    if parent:
        return nodes.filter(parent__among=[parent])
    return nodes.filter(Q(parent__isnull=True) | ~Q(parent__in=nodes.order_by().values("urn")))


def list_parentless(*, type: str, by: Actor) -> QuerySet[Entity]:
    """Return the entities of a type that have no parent, by name."""
    rows = Entity.objects.filter(type=type, is_removed=False, parent__isnull=True)
    return filter_viewable(rows, by=by).order_by("name", "urn")


def load_trail(*, entity: Entity, by: Actor) -> list[Entity]:
    """Return the visible chain of ancestors, outermost first; one query, plus those of the view conditions."""
    if entity.parent is None:
        return []
    ancestors = Ancestry.objects.filter(node=entity.parent).values("ancestor")
    rows = filter_viewable(Entity.objects.filter(Q(urn=entity.parent) | Q(urn__in=ancestors), is_removed=False), by=by)
    entities_by_urn = {row.urn: row for row in rows.order_by()}
    path: list[Entity] = []
    parent = entity.parent
    while parent in entities_by_urn:
        path.append(entities_by_urn.pop(parent))
        parent = path[-1].parent or ""
    return path[::-1]


def count_by_value(*, field: str, values: Collection[str], by: Actor) -> dict[str, int]:
    """Return the number of other entities that have each value directly, without zeros."""
    rows = _filter_visible_facets(field, by).filter(value__among=values).exclude(entity__urn=F("value"))
    return dict(rows.values_list("value").annotate(Count("entity")))


def count_child_nodes(*, parents: Sequence[str], type: str, by: Actor) -> dict[str, int]:
    """Return the number of nodes of a type directly under each parent, without zeros."""
    rows = filter_viewable(Entity.objects.filter(type=type, is_removed=False, parent__among=parents), by=by)
    return {str(parent): count for parent, count in rows.order_by().values_list("parent").annotate(Count("pk"))}


def list_used_values(*, field: str, by: Actor) -> Sequence[ValueCount]:
    """Return the values of a facet that entities have, most used first, without values that may not be viewed."""
    rows = (
        _filter_visible_facets(field, by)
        .values_list("value")
        .annotate(number=Count("entity"))
        .order_by("-number", "value")
    )
    value_counts = [ValueCount(urn, count) for urn, count in rows]
    hidden_urns = find_hidden(urns=[value_count.urn for value_count in value_counts], by=by)
    return [value_count for value_count in value_counts if value_count.urn not in hidden_urns]


def list_assets(*, urn: str, by: Actor) -> QuerySet[Entity]:
    """Return the assets of a data product, by name."""
    asset_urns = Facet.objects.filter(entity__urn=urn, field=ASSET).values("value")
    return filter_viewable(Entity.objects.filter(urn__in=asset_urns, is_removed=False), by=by).order_by("name", "urn")


def list_children(*, urn: str, by: Actor) -> QuerySet[Entity]:
    """Return the entities directly in an entity, by name."""
    return filter_viewable(Entity.objects.filter(parent=urn, is_removed=False), by=by).order_by("name", "urn")


def _filter_visible_facets(field: str, by: Actor) -> QuerySet[Facet]:
    # Few of a million facets belong to removed entities: excluding those costs one index lookup.
    removed_entities = Entity.objects.filter(is_removed=True).order_by().values("pk")
    rows = Facet.objects.filter(field=field).exclude(entity__in=removed_entities)
    for condition in build_view_conditions(by=by):
        rows = rows.filter(entity__in=Entity.objects.filter(condition).order_by().values("pk"))
    return rows.order_by()
