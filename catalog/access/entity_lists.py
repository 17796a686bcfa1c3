"""Lists of entities by words of their names, by facet values and by container."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Lower
from pyroaring import FrozenBitMap64

from catalog.access.coverage_sql import criterion_condition, facet_condition, filter_covered
from catalog.access.index_entries import read_each
from catalog.aspects.facet_fields import PLATFORM, WORD
from catalog.models import Ancestry, Entity, Facet, prefix_range
from policies.engine import selectors
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.model import Coverage
from policies.engine.selectors import Condition, Criterion
from policies.errors import Invalid, NotFound
from policies.models.fields import is_storable
from policies.models.words import MAX_SEARCH_WORDS, split_search

_URN_PREFIX = "urn:li:"
#: Maximum number of entities with a word for which these are read first, and of words of a text that are read.
MAX_WORD_ENTRIES, _MAX_READ_WORDS = 10_000, 4


def parse_search(text: str) -> tuple[str, str]:
    """Return (words, '') of a search text, or ('', prefix) of one that begins like a URN; both '' match all."""
    query = text.strip()
    return ("", query) if query.startswith(_URN_PREFIX) else ("" if query == "*" else query, "")


def get(*, urn: str) -> Entity:
    """Return an entity, removed or not. Raises NotFound."""
    entity = Entity.objects.filter(urn=urn).first() if is_storable(urn) else None
    if entity is None:
        raise NotFound(f"There is no entity {urn}.")
    return entity


def list_stored_urns(*, urns: Collection[str]) -> frozenset[str]:
    """Return the URNs that the catalog stores, removed or not; one query."""
    return frozenset(Entity.objects.filter(urn__among=urns).order_by().values_list("urn", flat=True))


@dataclass(frozen=True, slots=True)
class NamedEntries:
    """Entities with all of some words, as ids (None: none of the words was read), and the words that were not read."""

    ids: FrozenBitMap64 | None
    unread_words: tuple[str, ...]


def find_named_entries(text: str) -> NamedEntries:
    """Return the entities with the words of a text, read from the index of words; one query, none without words.

    Words with too many entities are not read. Raises Invalid for more than MAX_SEARCH_WORDS.
    """
    words = split_search(parse_search(text)[0]) if is_storable(text) else []
    if len(words) > MAX_SEARCH_WORDS:
        detail = f"A search has at most {MAX_SEARCH_WORDS} different words."
        raise Invalid.from_problem(code="search.long", pointer="", detail=detail)
    # The longest words are the rarest, more or less.
    tried_words = sorted(words, key=len, reverse=True)[:_MAX_READ_WORDS]
    ids_by_word = dict(
        zip(tried_words, read_each([_list_word(word) for word in tried_words], MAX_WORD_ENTRIES), strict=True)
    )
    id_sets = [FrozenBitMap64(ids) for ids in ids_by_word.values() if ids is not None]
    return NamedEntries(
        FrozenBitMap64.intersection(*id_sets) if id_sets else None,
        tuple(word for word in words if ids_by_word.get(word) is None),
    )


def build_text_condition(text: str, named_entries: NamedEntries) -> Q:
    """Return the condition that an entity matches a text of which the entries were read (`find_named_entries`)."""
    if not is_storable(text):
        return Q(pk__in=[])
    urn_prefix = parse_search(text)[1]
    condition = prefix_range("urn", [urn_prefix]) if urn_prefix else Q()
    if named_entries.ids is not None:
        condition &= Q(pk__among=named_entries.ids)
    for word in named_entries.unread_words:
        condition &= Q(pk__in=_list_word(word))
    return condition


def _list_word(word: str) -> QuerySet[Facet, Any]:
    return Facet.objects.filter(prefix_range("value", [word]), field=WORD).values("entity")


def list_entities(
    *,
    coverage: Coverage | None = None,
    text: str = "",
    types: Collection[str] = (),
    domain: str = "",
    tag: str = "",
    platform: str = "",
    with_removed: bool = False,
    named_entries: NamedEntries | None = None,
) -> QuerySet[Entity]:
    """Return the entities that pass all filters, ordered by name.

    `coverage` limits to what its actor may reach; `domain` includes the domains below it; `text` is that of `search`,
    of which the entries may have been read (`find_named_entries`). Removed entities are left out unless `with_removed`.
    """
    rows = Entity.objects.all() if with_removed else Entity.objects.filter(is_removed=False)
    rows = rows.filter(build_text_condition(text, named_entries or find_named_entries(text)))
    if types:
        rows = rows.filter(type__among=types)
    for field, value in ((selectors.DOMAIN, domain), (selectors.TAG, tag), (PLATFORM, platform)):
        if value:
            rows = rows.filter(criterion_condition(Criterion(field, Condition.EQUALS, frozenset((value,)))))
    return rows if coverage is None else filter_covered(coverage, rows)


def search(
    *,
    text: str,
    types: Collection[str] = (),
    coverage: Coverage | None = None,
    with_removed: bool = False,
    named_entries: NamedEntries | None = None,
) -> QuerySet[Entity]:
    """Return the entities whose name or URN has, for each word of the text, a word beginning with it; best first.

    Order: the URN equal to the text, names equal to it, names beginning with it, then the rest. A text that begins like
    a URN matches URNs by prefix. An empty text and `*` match everything.
    """
    rows = list_entities(
        coverage=coverage, text=text, types=types, with_removed=with_removed, named_entries=named_entries
    )
    if not any(parse_search(text)) or not is_storable(text):
        return rows
    folded_text = text.strip().lower()
    rank = Case(
        When(urn=text.strip(), then=Value(0)),
        When(folded=folded_text, then=Value(1)),
        When(prefix_range("folded", [folded_text]), then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return rows.annotate(folded=Lower("name")).annotate(rank=rank).order_by("rank", "name", "urn")


def load_parents(*, urns: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Return (entity, parent) for each of the entities that has a parent."""
    rows = Entity.objects.filter(urn__among=urns, parent__isnull=False).order_by()
    return [(urn, parent) for urn, parent in rows.values_list("urn", "parent") if parent is not None]


def load_ancestors(*, nodes: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return node -> its direct and indirect ancestors, sorted, for the nodes that have any."""
    ancestors_by_node: dict[str, list[str]] = {}
    rows = Ancestry.objects.filter(node__among=list(nodes)).order_by("node", "ancestor")
    for node, ancestor in rows.values_list("node", "ancestor"):
        ancestors_by_node.setdefault(node, []).append(ancestor)
    return {node: tuple(node_ancestors) for node, node_ancestors in ancestors_by_node.items()}


def list_urns_within(*, urns: Iterable[str]) -> list[str]:
    """Return the CDAP entities in any of these, at any depth, sorted. One query; none when no URN is a container."""
    container_urns = [
        urn
        for urn in urns
        if (name := cdap_entity_ids.parse(urn)) is not None and name.kind in cdap_entity_ids.CONTAINER_KINDS
    ]
    if not container_urns:
        return []
    return list(list_contents(containers=container_urns).order_by("urn").values_list("urn", flat=True))


def list_contents(*, containers: Collection[str], kind: str = "") -> QuerySet[Entity]:
    """Return the CDAP entities (of one kind) in any of these containers, at any depth."""
    rows = Entity.objects.filter(facet_condition(cdap.WITHIN, Q(value__among=containers)))
    return rows.filter(type=kind) if kind else rows


def load_values(*, urns: Collection[str], field: str) -> dict[str, list[str]]:
    """Return URN -> its direct values of a facet, sorted, for the entities that have any."""
    rows = Facet.objects.filter(entity__urn__among=urns, field=field).order_by("value")
    values_by_urn: dict[str, list[str]] = {}
    for urn, value in rows.values_list("entity__urn", "value"):
        values_by_urn.setdefault(urn, []).append(value)
    return values_by_urn
