"""Simplification of covers: the same entities with fewer conditions, so that the WHERE clause stays short.

Hundreds of policies can match a user in ten groups; most differ in one value only, or allow what a wider one allows.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from policies.engine import selectors
from policies.engine.model import Cover, Coverage
from policies.engine.selectors import Condition, Criterion

#: Rank of fields by how exactly they name an entity: values are united in the most exact criterion.
_FIELD_EXACTNESS = {selectors.URN: 3, selectors.ID: 2, selectors.PROJECT: 1}

#: Maximum number of criteria of a wider cover that is looked for; few have more.
_MAX_WIDER_CRITERIA = 2

#: Placeholder for entities of any type.
_ANY_TYPE = ""

_Criteria = frozenset[Criterion]


@dataclass(frozen=True, slots=True)
class ActorRelation:
    """The condition about the actor under which a statement reaches the entities that it covers."""

    is_unconditional: bool = False
    is_owned: bool = False
    owner_types: frozenset[str] | None = None
    is_self: bool = False
    excluded_owner_types: frozenset[str] = frozenset()

    @classmethod
    def from_cover(cls, cover: Cover) -> "ActorRelation":
        """Return the condition of a cover; one that is unconditional has no other condition but the exclusion."""
        if cover.is_unconditional:
            return replace(UNCONDITIONAL, excluded_owner_types=cover.excluded_owner_types)
        return cls(
            is_owned=cover.is_owned,
            owner_types=cover.owner_types,
            is_self=cover.is_self,
            excluded_owner_types=cover.excluded_owner_types,
        )


UNCONDITIONAL = ActorRelation(is_unconditional=True)


@dataclass(frozen=True, slots=True)
class CoveragePart:
    """Entities of any of these types (none: of any type) that meet all criteria of at least one alternative."""

    types: frozenset[str]
    alternatives: tuple[tuple[Criterion, ...], ...]


#: Entities that covers reach, by condition about the actor; a part that matches suffices.
SimplifiedCovers = Mapping[ActorRelation, tuple[CoveragePart, ...]]


def has_only_allows(coverage: Coverage) -> bool:
    """Whether the allows alone define a coverage: no deny, no grants, no restrictions that hide columns or rows."""
    is_whole = all(cover.statement.restriction is None for cover in coverage.allows)
    return is_whole and not coverage.denies and not coverage.granted_privilege


def narrow_coverage(coverage: Coverage, types: Collection[str] = ()) -> Coverage:
    """Return a coverage that reaches the same entities of these types (none: of any type), with less to test."""
    if coverage.is_everything or not has_only_allows(coverage):
        return coverage
    if any(_reaches_all(cover, types) for cover in coverage.allows):
        return replace(coverage, allows=(), is_everything=True)
    return replace(coverage, allows=tuple(cover for cover in coverage.allows if _may_reach(cover, types)))


def _may_reach(cover: Cover, types: Collection[str]) -> bool:
    """Whether a cover can reach an entity of one of the types: no criterion names other types only."""
    return not types or all(
        not _names_types(criterion) or not criterion.values.isdisjoint(types) for criterion in cover.selector.criteria
    )


def _reaches_all(cover: Cover, types: Collection[str]) -> bool:
    """Whether a cover reaches every entity of these types: it has no condition but the type."""
    return (
        cover.is_unconditional
        and not cover.excluded_owner_types
        and all(
            types and _names_types(criterion) and criterion.values.issuperset(types)
            for criterion in cover.selector.criteria
        )
    )


def _names_types(criterion: Criterion) -> bool:
    return criterion.field == selectors.TYPE and criterion.condition is Condition.EQUALS


def simplify_coverage(covers: Iterable[Cover]) -> SimplifiedCovers:
    """Return the entities that covers reach."""
    criteria_by_types: defaultdict[tuple[ActorRelation, frozenset[str]], list[tuple[Criterion, ...]]] = defaultdict(
        list
    )
    for relation, types, criteria in _unite(_drop_narrower(covers)):
        criteria_by_types[relation, types].append(criteria)
    parts_by_relation: defaultdict[ActorRelation, list[CoveragePart]] = defaultdict(list)
    for (relation, types), alternatives in criteria_by_types.items():
        parts_by_relation[relation].append(CoveragePart(types, tuple(alternatives)))
    return {relation: tuple(parts) for relation, parts in parts_by_relation.items()}


def _drop_narrower(covers: Iterable[Cover]) -> list[tuple[ActorRelation, _Criteria]]:
    """Drop covers contained in a wider one: fewer of the same criteria, same or weaker actor condition."""
    pairs = dict.fromkeys((ActorRelation.from_cover(cover), frozenset(cover.selector.criteria)) for cover in covers)
    return [(relation, criteria) for relation, criteria in pairs if not _is_within(relation, criteria, pairs)]


def _is_within(
    relation: ActorRelation, criteria: _Criteria, pairs: Mapping[tuple[ActorRelation, _Criteria], None]
) -> bool:
    wider_relations = [other for other in _wider_relations(relation) if other != relation]
    if any((other, criteria) in pairs for other in wider_relations):
        return True
    subsets = (
        frozenset(subset)
        for size in range(min(len(criteria), _MAX_WIDER_CRITERIA + 1))
        for subset in combinations(criteria, size)
    )
    return any((other, subset) in pairs for subset in subsets for other in (relation, *wider_relations))


def _wider_relations(relation: ActorRelation) -> list[ActorRelation]:
    wider_relations = [UNCONDITIONAL, relation]
    if relation.is_owned and relation.owner_types is not None:
        wider_relations.append(replace(relation, owner_types=None))
    if not relation.excluded_owner_types:
        return wider_relations
    # What excludes fewer owners is wider; exclusions of some of the types are rare and not looked for.
    return [
        replace(wider_relation, excluded_owner_types=excluded_types)
        for wider_relation in wider_relations
        for excluded_types in (frozenset[str](), relation.excluded_owner_types)
    ]


def _unite(
    pairs: Iterable[tuple[ActorRelation, _Criteria]],
) -> Iterable[tuple[ActorRelation, frozenset[str], tuple[Criterion, ...]]]:
    """Unite covers of one type that differ in the values of one criterion, then types with the same criteria: thousands
    of policies that each name one entity become one list of entities.
    """
    values: defaultdict[tuple[ActorRelation, str, _Criteria, Criterion | None], set[str]] = defaultdict(set)
    for relation, criteria in pairs:
        types, rest = _split_types(criteria)
        pivot = max(
            (criterion for criterion in rest if criterion.condition is not Condition.NOT_EQUALS),
            key=_exactness,
            default=None,
        )
        for type_ in types:
            if pivot is None:
                values[relation, type_, rest, None].clear()
            else:
                values[relation, type_, rest - {pivot}, replace(pivot, values=frozenset())].update(pivot.values)
    types_by_alternative: defaultdict[tuple[ActorRelation, tuple[Criterion, ...]], set[str]] = defaultdict(set)
    for (relation, type_, rest, pivot_template), wanted_values in values.items():
        united_criteria = () if pivot_template is None else (replace(pivot_template, values=frozenset(wanted_values)),)
        types_by_alternative[relation, (*united_criteria, *sorted(rest, key=_sort_key))].add(type_)
    for (relation, alternative), type_names in types_by_alternative.items():
        yield relation, frozenset() if _ANY_TYPE in type_names else frozenset(type_names), alternative


def _split_types(criteria: _Criteria) -> tuple[Iterable[str], _Criteria]:
    """Return the types of the only EQUALS criterion on types, or any type, and the remaining criteria."""
    type_criteria = [
        criterion
        for criterion in criteria
        if criterion.field == selectors.TYPE and criterion.condition is Condition.EQUALS
    ]
    if len(type_criteria) != 1:
        return (_ANY_TYPE,), criteria
    return type_criteria[0].values - {_ANY_TYPE}, criteria - {type_criteria[0]}


def _exactness(criterion: Criterion) -> tuple[bool, int, str, list[str]]:
    is_exact = criterion.condition is Condition.EQUALS
    return is_exact, _FIELD_EXACTNESS.get(criterion.field, 0), criterion.field, sorted(criterion.values)


def _sort_key(criterion: Criterion) -> tuple[str, str, list[str]]:
    return criterion.field, criterion.condition, sorted(criterion.values)
