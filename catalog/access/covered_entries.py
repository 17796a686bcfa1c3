"""Entities that a coverage may reach, read from indexes: a short list costs what it holds, not what the catalog holds.

Who reaches a thousand of a million entities would otherwise wait until every entity was tested.
"""

from typing import Any

from django.db.models import QuerySet

from catalog.access.coverage_simplify import ActorRelation, simplify_coverage
from catalog.access.coverage_sql import ENTITY_CONDITIONS, build_owner_condition, build_value_condition
from catalog.access.index_entries import read_union
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
        if not relation.is_unconditional:
            indexes += _list_related(relation, coverage)
            continue
        for criteria in (criteria for part in parts for criteria in part.alternatives):
            criterion = min(filter(_is_indexed, criteria), key=_sort_key, default=None)
            if criterion is None:
                return None
            indexes.append(_list_passing(criterion))
    return indexes


def _list_related(relation: ActorRelation, coverage: Coverage) -> list[QuerySet[Any]]:
    related: list[QuerySet[Any]] = []
    if relation.is_self:
        related.append(Entity.objects.filter(urn=coverage.actor.urn).values("pk"))
    if relation.is_owned:
        owners = build_owner_condition(relation, coverage)
        related.append(Facet.objects.filter(owners, field=selectors.OWNER).values("entity"))
    return related


def _is_indexed(criterion: Criterion) -> bool:
    """Whether an index lists the entities that pass a criterion."""
    if criterion.field in _COLUMN_FIELDS:
        return criterion.condition is not Condition.NOT_EQUALS
    return criterion.condition is Condition.EQUALS and criterion.field not in _OTHER_FIELDS


def _sort_key(criterion: Criterion) -> tuple[bool, bool, str, list[str]]:
    """Return a key by which the criterion with probably the fewest entities comes first."""
    is_prefix = criterion.condition is not Condition.EQUALS
    return criterion.field not in _COLUMN_FIELDS, is_prefix, criterion.field, sorted(criterion.values)


def _list_passing(criterion: Criterion) -> QuerySet[Any]:
    if criterion.field in _COLUMN_FIELDS:
        return Entity.objects.filter(ENTITY_CONDITIONS.criterion_condition(criterion)).values("pk")
    values = build_value_condition(criterion.field, filter_storable(criterion.values))
    return Facet.objects.filter(values, field=criterion.field).values("entity")
