"""Ways through the catalog for people: search with filters, trees of domains and containers, platforms and tags.

Everything is narrowed to what the reader may view before it is listed or counted.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet

from catalog.access.coverage_sql import meets
from catalog.access.entity_lists import search
from catalog.access.view_permissions import hidden, limits, viewable
from catalog.aspects.base import ASSET, PLATFORM
from catalog.models import Ancestry, Entity, Facet
from policies.engine import selectors
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion

#: What a list can be narrowed by beside words and type, and the facet each looks at.
FILTERS: Mapping[str, str] = {
    "platform": PLATFORM,
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "tag": selectors.TAG,
    "term": selectors.GLOSSARY,
}

#: Types that are no part of what people look for: they have pages of their own, or only serve others.
ELSEWHERE = ("ownershipType", "role")


@dataclass(frozen=True, slots=True)
class Counted:
    """A value of a facet, and how many entities have it."""

    urn: str
    count: int


def find(*, text: str = "", type: str = "", by: Actor, **filters: str) -> QuerySet[Entity]:
    """Return entities with these words, best first, of this type and with these values (keys of `FILTERS`).

    A value that the reader may not view finds nothing, as if it were not there.
    """
    wanted = {FILTERS[name]: value for name, value in filters.items() if value}
    if hidden(urns=list(wanted.values()), by=by):
        return Entity.objects.none()
    found = search(text=text, types=[type] if type else ())
    if not type:
        found = found.exclude(type__in=ELSEWHERE)
    for field, value in wanted.items():
        found = found.filter(meets(Criterion(field, Condition.EQUALS, frozenset((value,)))))
    return viewable(found, by=by)


def types(*, by: Actor) -> dict[str, int]:
    """Return how many entities there are of each type, in the order of the types."""
    rows = viewable(Entity.objects.filter(is_removed=False), by=by).exclude(type__in=ELSEWHERE).order_by("type")
    return dict(rows.values_list("type").annotate(Count("type")))


def choices(*, type: str, by: Actor, limit: int) -> list[tuple[str, str]]:
    """Return (URN, name) of the first entities of a type, by name."""
    rows = viewable(Entity.objects.filter(type=type, is_removed=False), by=by).order_by("name", "urn")
    return list(rows.values_list("urn", "name")[:limit])


def below(*, type: str, under: str, by: Actor) -> QuerySet[Entity]:
    """Return the nodes of a type directly under one of them, or (`under` empty) those under none that may be viewed."""
    nodes = viewable(Entity.objects.filter(type=type, is_removed=False), by=by).order_by("name", "urn")
    if under:
        return nodes.filter(parent__among=[under])
    return nodes.filter(Q(parent__isnull=True) | ~Q(parent__in=nodes.order_by().values("urn")))


def without_parent(*, type: str, by: Actor) -> QuerySet[Entity]:
    """Return the entities of a type that lie in nothing, by name."""
    rows = Entity.objects.filter(type=type, is_removed=False, parent__isnull=True)
    return viewable(rows, by=by).order_by("name", "urn")


def trail(*, entity: Entity, by: Actor) -> list[Entity]:
    """Return what an entity lies in, outermost first, as far up as it may be viewed; two queries, and those of view."""
    if entity.parent is None:
        return []
    above = Ancestry.objects.filter(node=entity.parent).values("ancestor")
    rows = viewable(Entity.objects.filter(Q(urn=entity.parent) | Q(urn__in=above), is_removed=False), by=by)
    known = {row.urn: row for row in rows.order_by()}
    found: list[Entity] = []
    following = entity.parent
    while following in known:
        found.append(known.pop(following))
        following = found[-1].parent or ""
    return found[::-1]


def counts(*, field: str, values: Collection[str], by: Actor) -> dict[str, int]:
    """Return how many other entities have each of these values directly; zeros are left out."""
    rows = _visible_facets(field, by).filter(value__among=values).exclude(entity__urn=F("value"))
    return dict(rows.values_list("value").annotate(Count("entity")))


def node_counts(*, parents: Sequence[str], type: str, by: Actor) -> dict[str, int]:
    """Return how many nodes of a type lie directly under each of these."""
    rows = viewable(Entity.objects.filter(type=type, is_removed=False, parent__among=parents), by=by)
    return {str(parent): count for parent, count in rows.order_by().values_list("parent").annotate(Count("pk"))}


def in_use(*, field: str, by: Actor) -> Sequence[Counted]:
    """Return the values of a facet that entities have, the most used first."""
    rows = _visible_facets(field, by).values_list("value").annotate(number=Count("entity")).order_by("-number", "value")
    found = [Counted(urn, count) for urn, count in rows]
    concealed = hidden(urns=[one.urn for one in found], by=by)
    return [one for one in found if one.urn not in concealed]


def assets(*, urn: str, by: Actor) -> QuerySet[Entity]:
    """Return the assets of a data product, by name."""
    named = Facet.objects.filter(entity__urn=urn, field=ASSET).values("value")
    return viewable(Entity.objects.filter(urn__in=named, is_removed=False), by=by).order_by("name", "urn")


def children(*, urn: str, by: Actor) -> QuerySet[Entity]:
    """Return what lies directly in an entity, by name."""
    return viewable(Entity.objects.filter(parent=urn, is_removed=False), by=by).order_by("name", "urn")


def _visible_facets(field: str, by: Actor) -> QuerySet[Facet]:
    # Of a million facets few are of removed entities: leaving those out is one look at an index.
    removed = Entity.objects.filter(is_removed=True).order_by().values("pk")
    rows = Facet.objects.filter(field=field).exclude(entity__in=removed)
    for condition in limits(by=by):
        rows = rows.filter(entity__in=Entity.objects.filter(condition).order_by().values("pk"))
    return rows.order_by()
