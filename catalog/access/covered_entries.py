"""Entities that a coverage may reach, read from indexes: a short list costs what it holds, not what the catalog holds.

Who reaches a thousand of a million entities would otherwise wait until every entity was tested.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from catalog.access.coverage_simplify import ActorRelation, simplify_coverage
from catalog.access.coverage_sql import ENTITY_CONDITIONS, build_owner_condition, build_value_condition
from catalog.access.index_entries import MAX_INDEXES, read_union
from catalog.models import Entity, Facet
from policies.engine import selectors
from policies.engine.model import Coverage
from policies.engine.selectors import Condition, Criterion
from policies.models.fields import filter_storable

#: Maximum number of entries that are read; with more, entities are tested in the order of the list.
MAX_ENTRIES = 30_000

#: Columns of entities with an index.
_COLUMN_FIELDS = frozenset({selectors.URN, selectors.ID, selectors.PROJECT})
#: Fields whose values are not stored as facets of entities.
_OTHER_FIELDS = frozenset({selectors.TYPE, selectors.GROUP_MEMBERSHIP, *selectors.CONSTANT_FACETS})


def find_covered_entries(coverage: Coverage, max_entries: int = MAX_ENTRIES) -> set[int] | None:
    """Return the ids of some entities among which are all that a coverage reaches; one query.

    None when no index lists the entities of an allow, or when there are too many. What denies hide is among them.
    """
    if coverage.is_everything or coverage.granted_privilege:
        return None
    indexes = _list_indexes(coverage)
    return None if indexes is None else read_union(indexes, max_entries)


def _list_indexes(coverage: Coverage) -> list[QuerySet[Any]] | None:
    """Return lists of ids that together have every entity that the allows reach; None when no index lists some."""
    indexes: list[QuerySet[Any]] = []
    for relation, parts in simplify_coverage(coverage.allows).items():
        part_indexes = [_list_passing(criteria) for part in parts for criteria in part.alternatives]
        known_indexes = [index for index in part_indexes if index is not None]
        is_known = len(known_indexes) == len(part_indexes)
        if relation.is_unconditional and not is_known:
            return None
        if relation.is_unconditional:
            indexes += known_indexes
        if relation.is_self:
            indexes.append(Entity.objects.filter(urn=coverage.actor.urn).values("pk"))
        if relation.is_owned:
            indexes.append(_list_owned(relation, coverage, known_indexes if is_known else []))
    return indexes


def _list_owned(relation: ActorRelation, coverage: Coverage, indexes: list[QuerySet[Any]]) -> QuerySet[Any]:
    """Return the ids of the entities that the actor owns; with `indexes`, only of those in one of them."""
    owned = Facet.objects.filter(build_owner_condition(relation.owner_types, coverage), field=selectors.OWNER)
    if 0 < len(indexes) <= MAX_INDEXES:
        owned = owned.filter(reduce(or_, (Q(entity__in=index) for index in indexes)))
    return owned.values("entity")


def _is_indexed(criterion: Criterion) -> bool:
    """Whether an index lists the entities that pass a criterion."""
    if criterion.field in _COLUMN_FIELDS:
        return criterion.condition is not Condition.NOT_EQUALS
    return criterion.condition is Condition.EQUALS and criterion.field not in _OTHER_FIELDS


def _sort_key(criterion: Criterion) -> tuple[bool, bool, str, list[str]]:
    """Return a key by which the criterion with probably the fewest entities comes first."""
    is_prefix = criterion.condition is not Condition.EQUALS
    return criterion.field not in _COLUMN_FIELDS, is_prefix, criterion.field, sorted(criterion.values)


def _list_passing(criteria: Iterable[Criterion]) -> QuerySet[Any] | None:
    """Return a list that has every entity that passes some criteria, None when no index has one."""
    criterion = min(filter(_is_indexed, criteria), key=_sort_key, default=None)
    if criterion is None:
        return None
    if criterion.field in _COLUMN_FIELDS:
        return Entity.objects.filter(ENTITY_CONDITIONS.criterion_condition(criterion)).values("pk")
    values = build_value_condition(criterion.field, filter_storable(criterion.values))
    return Facet.objects.filter(values, field=criterion.field).values("entity")
