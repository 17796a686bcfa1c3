"""Entities that a coverage may reach, read from indexes: a short list costs what it holds, not what the catalog holds.

Who reaches a thousand of a million entities would otherwise wait until every entity was tested.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from catalog.access.coverage_simplify import ActorRelation, simplify_coverage
from catalog.access.coverage_sql import (
    ENTITY_CONDITIONS,
    build_owner_condition,
    build_value_condition,
    filter_covered,
    has_only_allows,
)
from catalog.models import Entity, Facet
from policies.engine import selectors
from policies.engine.model import Cover, Coverage
from policies.engine.selectors import Condition, Criterion
from policies.models.fields import filter_storable

#: Maximum number of entries that are read; with more, entities are tested in the order of the list.
MAX_ENTRIES = 30_000
#: Maximum number of indexes read in one query. SQLite joins at most 500.
_MAX_INDEXES = 100

#: Columns of entities with an index.
_COLUMN_FIELDS = frozenset({selectors.URN, selectors.ID, selectors.PROJECT})
#: Fields whose values are not stored as facets of entities.
_OTHER_FIELDS = frozenset({selectors.TYPE, selectors.GROUP_MEMBERSHIP, *selectors.CONSTANT_FACETS})


def filter_covered_by_entries(
    coverage: Coverage, rows: QuerySet[Entity], types: Collection[str] = (), max_entries: int = MAX_ENTRIES
) -> QuerySet[Entity]:
    """Return the entities of `rows`, all of these types (none: of any type), that a coverage reaches.

    Costs one query when every allow is about values that an index lists; the condition is that of `filter_covered`.
    """
    if not has_only_allows(coverage) or coverage.is_everything:
        return filter_covered(coverage, rows)
    coverage = replace(coverage, allows=tuple(cover for cover in coverage.allows if _may_reach(cover, types)))
    indexes = _list_indexes(coverage)
    ids = None if indexes is None else _read_ids(indexes, max_entries)
    return filter_covered(coverage, rows if ids is None else rows.filter(pk__among=ids))


def _may_reach(cover: Cover, types: Collection[str]) -> bool:
    """Whether a cover can reach an entity of one of the types: no criterion names other types only."""
    return not types or all(
        criterion.field != selectors.TYPE
        or criterion.condition is not Condition.EQUALS
        or not criterion.values.isdisjoint(types)
        for criterion in cover.selector.criteria
    )


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


def _read_ids(indexes: Iterable[QuerySet[Any]], max_entries: int) -> set[int] | None:
    """Return the ids in these lists; None when they have more entries than may be read."""
    statements: dict[tuple[str, str], tuple[Any, ...]] = {}
    for rows in indexes:
        try:
            sql, parameters = rows.order_by()[: max_entries + 1].query.sql_with_params()
        except EmptyResultSet:
            continue
        statements[sql, repr(parameters)] = parameters
    if len(statements) > _MAX_INDEXES:
        return None
    if not statements:
        return set()
    # The SQL is Django's own.
    union = " UNION ALL ".join(f"SELECT * FROM ({sql}) entries" for sql, _ in statements)  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(
            f"{union} LIMIT {max_entries + 1:d}", [value for parameters in statements.values() for value in parameters]
        )
        ids = [number for (number,) in cursor.fetchall()]
    return None if len(ids) > max_entries else set(ids)
