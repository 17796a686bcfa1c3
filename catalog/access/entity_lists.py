"""Lists of entities: by words of their names, by what they are tagged with, by whom they lie in."""

from collections.abc import Collection, Iterable

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Lower

from catalog.access.coverage_sql import covered, having, meets
from catalog.aspects.base import PLATFORM, WITHIN, WORD
from catalog.models import Ancestry, Entity, Facet, prefix_range
from policies.engine import selectors
from policies.engine.families import cdap_entity_ids
from policies.engine.model import Coverage
from policies.engine.selectors import Condition, Criterion
from policies.errors import NotFound
from policies.models.fields import is_storable, storable
from policies.models.words import words

_URN_PREFIX = "urn:li:"
#: What clients send to say "anything".
_ANYTHING = frozenset({"", "*"})


def get(*, urn: str) -> Entity:
    """Return an entity, removed or not. Raises NotFound."""
    found = Entity.objects.filter(urn=urn).first() if is_storable(urn) else None
    if found is None:
        raise NotFound(f"There is no entity {urn}.")
    return found


def stored(*, urns: Collection[str]) -> frozenset[str]:
    """Return those of these that the catalog holds, removed or not; one query."""
    return frozenset(Entity.objects.filter(urn__among=storable(urns)).order_by().values_list("urn", flat=True))


def entities(
    *,
    coverage: Coverage | None = None,
    text: str = "",
    types: Collection[str] = (),
    domain: str = "",
    tag: str = "",
    platform: str = "",
    with_removed: bool = False,
) -> QuerySet[Entity]:
    """Return entities in the order of their names, narrowed by everything that is given.

    `coverage` keeps what its actor may reach; a domain finds what is in it and in the domains below; `text` as in
    `search`. Removed entities are left out unless asked for.
    """
    found = Entity.objects.all() if with_removed else Entity.objects.filter(is_removed=False)
    found = found.filter(_has_words(text))
    if types:
        found = found.filter(type__among=types)
    for field, value in ((selectors.DOMAIN, domain), (selectors.TAG, tag), (PLATFORM, platform)):
        if value:
            found = found.filter(meets(Criterion(field, Condition.EQUALS, frozenset((value,)))))
    return found if coverage is None else covered(coverage, found)


def search(
    *, text: str, types: Collection[str] = (), coverage: Coverage | None = None, with_removed: bool = False
) -> QuerySet[Entity]:
    """Return entities whose name or URN has, for each word of the text, a word beginning with it; best first.

    Best is the URN itself, then a name equal to the text, then a name beginning with it. A text that begins like a URN
    finds URNs that begin so. An empty text and `*` find everything.
    """
    found = entities(coverage=coverage, text=text, types=types, with_removed=with_removed)
    if text.strip() in _ANYTHING or not is_storable(text):
        return found
    wanted = text.strip().lower()
    rank = Case(
        When(urn=text.strip(), then=Value(0)),
        When(folded=wanted, then=Value(1)),
        When(prefix_range("folded", [wanted]), then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return found.annotate(folded=Lower("name")).annotate(rank=rank).order_by("rank", "name", "urn")


def members(*, field: str, value: str) -> QuerySet[Entity]:
    """Return the entities that have this value of this facet, directly."""
    return Entity.objects.filter(having(field, Q(value__among=[value])))


def parents(*, urns: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Return (entity, parent) for those of the entities that lie in something."""
    rows = Entity.objects.filter(urn__among=urns, parent__isnull=False).order_by()
    return [(urn, parent) for urn, parent in rows.values_list("urn", "parent") if parent is not None]


def ancestors(*, nodes: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return node → what it is in, directly or not, in order, for those that are in something."""
    found: dict[str, list[str]] = {}
    rows = Ancestry.objects.filter(node__among=list(nodes)).order_by("node", "ancestor")
    for node, ancestor in rows.values_list("node", "ancestor"):
        found.setdefault(node, []).append(ancestor)
    return {node: tuple(above) for node, above in found.items()}


def within(*, urns: Iterable[str]) -> list[str]:
    """Return the CDAP entities that lie in one of these, on any level, in order; one query, none without a place."""
    places = [
        urn for urn in urns if (name := cdap_entity_ids.read(urn)) is not None and name.kind in cdap_entity_ids.PLACES
    ]
    if not places:
        return []
    return list(contents(place=places).order_by("urn").values_list("urn", flat=True))


def contents(*, place: Collection[str], kind: str = "") -> QuerySet[Entity]:
    """Return the CDAP entities (of one kind) that lie in one of these places, on any level."""
    found = Entity.objects.filter(having(WITHIN, Q(value__among=place)))
    return found.filter(type=kind) if kind else found


def _has_words(text: str) -> Q:
    wanted = text.strip()
    if wanted in _ANYTHING:
        return Q()
    if not is_storable(wanted):
        return Q(pk__in=[])
    if wanted.startswith(_URN_PREFIX):
        return prefix_range("urn", [wanted])
    found = Q()
    for word in words(wanted):
        found &= having(WORD, prefix_range("value", [word]))
    return found


def values_of(*, urns: Collection[str], field: str) -> dict[str, list[str]]:
    """Return the direct values of a facet of each of these that has any, in order."""
    rows = Facet.objects.filter(entity__urn__among=urns, field=field).order_by("value")
    found: dict[str, list[str]] = {}
    for urn, value in rows.values_list("entity__urn", "value"):
        found.setdefault(urn, []).append(value)
    return found
