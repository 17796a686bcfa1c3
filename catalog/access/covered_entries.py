"""Entities that a coverage reaches, from lists of ids that indexes give: short lists are united and intersected here.

The database then tests few entities, and each of them against a list of numbers or two. Tested against every statement
by itself, who reaches a thousand of a million entities would wait until every entity was tested.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from django.db.models import Q
from pyroaring import FrozenBitMap64

from catalog.access.coverage_simplify import (
    UNCONDITIONAL,
    ActorRelation,
    CoveragePart,
    SimplifiedCovers,
    has_only_allows,
    simplify_coverage,
)
from catalog.access.coverage_sql import ALL_ROWS, ENTITY_CONDITIONS, PROBING_CONDITIONS
from catalog.access.entity_types import EntityTypes
from catalog.access.entry_sets import ALL_ENTRIES, EntrySet, unite_ids
from catalog.access.facet_entries import MAX_ENTRIES, FacetList, read_facet_lists
from catalog.access.index_entries import MAX_INDEXES, read_each
from catalog.models import Entity
from policies.engine import selectors
from policies.engine.model import Cover, Coverage
from policies.engine.selectors import Condition, Criterion

#: Maximum number of lists of facet values; with more, somebody probably reaches too many entities for lists.
_MAX_FACET_LISTS = 200

#: Maximum number of entities that a condition names before anything else: of more, a page needs only some.
MAX_SOUGHT = 3_000

#: Columns of entities with an index.
_COLUMN_FIELDS = frozenset({selectors.URN, selectors.ID, selectors.PROJECT})
#: Fields whose values are not stored as facets of entities.
_OTHER_FIELDS = frozenset({selectors.TYPE, selectors.GROUP_MEMBERSHIP, *selectors.CONSTANT_FACETS})


@dataclass(frozen=True, slots=True)
class _CoveredPart:
    """Entities of these types (none: of any) in a set; all that are reached are among them, and maybe others."""

    types: frozenset[str]
    entries: EntrySet
    needs_test: bool = False

    def build_condition(self, among: EntrySet) -> Q:
        """Return the condition that an entity is in the part; it is only asked of the entities `among`."""
        types = Criterion(selectors.TYPE, Condition.EQUALS, self.types)
        condition = ENTITY_CONDITIONS.type_condition(types) if self.types else ALL_ROWS
        return condition & self.entries.intersect(among).build_condition()


@dataclass(frozen=True, slots=True)
class CoveredEntries:
    """The entities that a coverage reaches.

    `parts` are the lists that tell which; None when lists do not tell. `allows` are those of the coverage, simplified,
    if they had to be.
    """

    coverage: Coverage
    parts: tuple[_CoveredPart, ...] | None = None
    allows: SimplifiedCovers | None = None

    def list_ids(self) -> FrozenBitMap64 | None:
        """Return the ids of some entities among which are all; None when only a test tells."""
        if self.parts is None or any(part.entries.is_complement for part in self.parts):
            return None
        return unite_ids(part.entries.ids for part in self.parts)

    @property
    def is_exact(self) -> bool:
        """Whether ids and types tell what is reached. Allowed and denied entities may change together."""
        if self.parts is None:
            return self.coverage.is_everything
        return has_only_allows(self.coverage) and not any(part.needs_test for part in self.parts)

    def select_ids(self, ids: FrozenBitMap64, entity_types: EntityTypes) -> FrozenBitMap64:
        """Return those of the ids, whose types are loaded, that are reached. Only if `is_exact`."""
        if self.parts is None:
            return entity_types.select(ids, ())
        return unite_ids(
            entity_types.select(part.entries.intersect(EntrySet(ids)).ids, part.types) for part in self.parts
        )

    def build_condition(self, ids: FrozenBitMap64 | None = None) -> Q:
        """Return the condition that the coverage reaches an entity; with `ids`, and that it is one of these."""
        id_condition = Q() if ids is None else Q(pk__among=ids)
        if self.parts is None or not self.is_exact:
            return id_condition & ENTITY_CONDITIONS.build_coverage_condition(self.coverage, self.allows)
        among = ALL_ENTRIES if ids is None else EntrySet(ids)
        condition = ENTITY_CONDITIONS.combine_or([part.build_condition(among) for part in self.parts])
        # A page of many is found sooner in the order of the list.
        return condition if ids is not None and len(ids) > MAX_SOUGHT else id_condition & condition

    def build_probing_condition(self) -> Q:
        """Return the condition that the coverage reaches an entity, for few entities."""
        return PROBING_CONDITIONS.build_coverage_condition(self.coverage, self.allows)


def find_covered_entries(coverage: Coverage, max_entries: int = MAX_ENTRIES) -> CoveredEntries:
    """Return the entities that a coverage reaches; two queries at most.

    Nothing is read when no list bounds what an allow reaches, or when there would be too many lists.
    """
    if coverage.is_everything or coverage.granted_privilege:
        return CoveredEntries(coverage)
    parts_by_relation = simplify_coverage(coverage.allows)
    for relation, parts in parts_by_relation.items():
        if relation.is_unconditional and not all(_is_bounded(part, relation) for part in parts):
            return CoveredEntries(coverage, allows=parts_by_relation)
    lists = _read_lists(parts_by_relation, coverage, max_entries)
    if lists is None:
        return CoveredEntries(coverage, allows=parts_by_relation)
    covered_parts = _unite(
        covered_part
        for relation, parts in parts_by_relation.items()
        for part in parts
        for covered_part in _find_parts(part, relation, lists, coverage)
    )
    return CoveredEntries(coverage, tuple(covered_parts), parts_by_relation)


def select_boundless(coverage: Coverage) -> Coverage:
    """Return the coverage with only those allows that no list bounds; with none, unless there are only allows.

    Allows without any criterion but types come alone, because counting what they reach costs least.
    """
    covers = [cover for cover in coverage.allows if _is_boundless(cover)] if has_only_allows(coverage) else []
    typed_covers = [
        cover for cover in covers if all(criterion.field == selectors.TYPE for criterion in cover.selector.criteria)
    ]
    return replace(coverage, allows=tuple(typed_covers or covers))


def _is_boundless(cover: Cover) -> bool:
    is_free = cover.is_unconditional and not cover.excluded_owner_types
    return is_free and not any(_is_listed(criterion, UNCONDITIONAL) for criterion in cover.selector.criteria)


def _is_bounded(part: CoveragePart, relation: ActorRelation) -> bool:
    """Whether each alternative has a list with all entities that pass it."""
    return all(any(_is_listed(criterion, relation) for criterion in alternative) for alternative in part.alternatives)


def _is_listed(criterion: Criterion, relation: ActorRelation) -> bool:
    """Whether there is a list with all entities that pass a criterion."""
    is_known = _find_facet_list(criterion, relation) is not None or _find_column_criterion(criterion) is not None
    return is_known and criterion.condition is not Condition.NOT_EQUALS


def _find_parts(
    part: CoveragePart, relation: ActorRelation, lists: "_EntryLists", coverage: Coverage
) -> Iterable[_CoveredPart]:
    """Yield a part for each alternative."""
    related_entries = lists.find_related(relation, coverage)
    for alternative in part.alternatives:
        passing_sets = [lists.find_passing(criterion, relation) for criterion in alternative]
        known_sets = [entries for entries in passing_sets if entries is not None]
        entries = reduce(EntrySet.intersect, known_sets, related_entries or ALL_ENTRIES)
        is_exact = related_entries is not None and len(known_sets) == len(passing_sets)
        yield _CoveredPart(part.types, entries, needs_test=not (is_exact and all(map(_is_lasting, alternative))))


def _unite(parts: Iterable[_CoveredPart]) -> list[_CoveredPart]:
    """Return one part for all of the same types; empty ones are left out."""
    united_parts: dict[tuple[frozenset[str], bool], _CoveredPart] = {}
    for part in parts:
        kind = (part.types, part.needs_test)
        united = united_parts.get(kind)
        united_parts[kind] = part if united is None else replace(part, entries=united.entries.unite(part.entries))
    return [part for part in united_parts.values() if part.entries.ids or part.entries.is_complement]


@dataclass(frozen=True, slots=True)
class _EntryLists:
    """Lists of ids that were read; None for one that was too long."""

    by_facets: Mapping[FacetList, FrozenBitMap64 | None]
    by_columns: Mapping[Criterion, FrozenBitMap64 | None]

    def find_passing(self, criterion: Criterion, relation: ActorRelation) -> EntrySet | None:
        """Return the entities that pass a criterion; None when no list was read."""
        if (facet_list := _find_facet_list(criterion, relation)) is not None:
            ids = self.by_facets[facet_list]
        elif (column_criterion := _find_column_criterion(criterion)) is not None:
            ids = self.by_columns[column_criterion]
        else:
            return None
        return None if ids is None else EntrySet(ids, is_complement=criterion.condition is Condition.NOT_EQUALS)

    def find_related(self, relation: ActorRelation, coverage: Coverage) -> EntrySet | None:
        """Return the entities that have a relation to the actor; None when a list was not read."""
        if relation.is_unconditional:
            related_entries: EntrySet | None = ALL_ENTRIES
        else:
            id_sets = [self.by_columns[_name_self(coverage)]] if relation.is_self else []
            if relation.is_owned:
                id_sets.append(self.by_facets[_name_owned(relation.owner_types, coverage)])
            known_sets = [ids for ids in id_sets if ids is not None]
            related_entries = EntrySet(unite_ids(known_sets)) if len(known_sets) == len(id_sets) else None
        if not relation.excluded_owner_types or related_entries is None:
            return related_entries
        excluded_ids = self.by_facets[_name_owned(relation.excluded_owner_types, coverage)]
        return None if excluded_ids is None else related_entries.intersect(EntrySet(excluded_ids).invert())


def _read_lists(parts_by_relation: SimplifiedCovers, coverage: Coverage, max_entries: int) -> _EntryLists | None:
    """Read the lists of all criteria and relations; None when there are too many lists."""
    facet_lists, column_criteria = set[FacetList](), set[Criterion]()
    for relation, parts in parts_by_relation.items():
        facet_lists.update(_list_relation(relation, coverage))
        if relation.is_self:
            column_criteria.add(_name_self(coverage))
        for criterion in (
            criterion for part in parts for alternative in part.alternatives for criterion in alternative
        ):
            if (facet_list := _find_facet_list(criterion, relation)) is not None:
                facet_lists.add(facet_list)
            elif (column_criterion := _find_column_criterion(criterion)) is not None:
                column_criteria.add(column_criterion)
    if len(facet_lists) > _MAX_FACET_LISTS or len(column_criteria) > MAX_INDEXES:
        return None
    holders = coverage.actor.holders if any(relation.is_owned for relation in parts_by_relation) else ()
    columns = list(column_criteria)
    return _EntryLists(
        read_facet_lists(facet_lists, holders, max_entries),
        dict(zip(columns, _read_columns(columns, max_entries), strict=True)),
    )


def _read_columns(criteria: Iterable[Criterion], max_entries: int) -> list[FrozenBitMap64 | None]:
    indexes = [
        Entity.objects.filter(ENTITY_CONDITIONS.criterion_condition(criterion)).values("pk") for criterion in criteria
    ]
    return [None if ids is None else FrozenBitMap64(ids) for ids in read_each(indexes, max_entries)]


def _find_facet_list(criterion: Criterion, relation: ActorRelation) -> FacetList | None:
    """Return the list of the entities that have a value of a criterion; None when it is none of facets."""
    is_prefix = criterion.condition is Condition.STARTS_WITH
    if is_prefix or criterion.field in _COLUMN_FIELDS or criterion.field in _OTHER_FIELDS:
        return None
    # Who may use it on herself need not own herself.
    return FacetList(criterion.field, criterion.values, is_owned=relation.is_owned and not relation.is_self)


def _find_column_criterion(criterion: Criterion) -> Criterion | None:
    """Return the criterion by which an index of a column lists the entities that have a value of a criterion."""
    if criterion.field not in _COLUMN_FIELDS:
        return None
    return replace(criterion, condition=Condition.EQUALS) if criterion.condition is Condition.NOT_EQUALS else criterion


def _is_lasting(criterion: Criterion) -> bool:
    """Whether a list of a criterion needs no test: all facets are read at one time, and a URN stays what it is."""
    return criterion.field == selectors.URN or criterion.field not in _COLUMN_FIELDS


def _list_relation(relation: ActorRelation, coverage: Coverage) -> Iterable[FacetList]:
    """Yield the lists of what the actor owns that a relation asks for."""
    if relation.is_owned:
        yield _name_owned(relation.owner_types, coverage)
    if relation.excluded_owner_types:
        yield _name_owned(relation.excluded_owner_types, coverage)


def _name_owned(owner_types: frozenset[str] | None, coverage: Coverage) -> FacetList:
    types = frozenset(("",)) if owner_types is None else owner_types - {""}
    return FacetList(selectors.OWNER, coverage.actor.holders, types)


def _name_self(coverage: Coverage) -> Criterion:
    return Criterion(selectors.URN, Condition.EQUALS, frozenset((coverage.actor.urn,)))
