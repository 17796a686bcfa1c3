"""Entities numbered from 0, and compressed bitmaps of those that share a facet value or that a selector covers."""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import reduce
from operator import or_

from pyroaring import FrozenBitMap

from policies.engine.errors import MissingFact
from policies.engine.selectors import (
    CONSTANT_FACETS,
    HIERARCHICAL_FIELDS,
    OWNER,
    TYPE,
    URN,
    Condition,
    Criterion,
    Owner,
    Resource,
    Selector,
)

EMPTY = FrozenBitMap()

#: Entity number, field, one value, and for OWNER the ownership type ('' for none).
FacetRow = tuple[int, str, str, str]
#: Field, one value, for OWNER the ownership type, and the numbers of the entities that have the value.
FacetGroup = tuple[str, str, str, "Sequence[int] | array[int] | FrozenBitMap"]


class Postings:
    """Bitmaps of entities per facet value. Extents are cached, so one object should serve one set of facts.

    `urns` and `types` are those of entity 0, 1, 2 …; `rows` their other facets one by one, `groups` values that many
    entities share; `fields` the loaded fields, whether or not any row has them. `descendants` maps a node to all nodes
    below it if rows hold only direct values of hierarchical fields; without it the values must include ancestors.
    """

    def __init__(
        self,
        *,
        urns: Sequence[str],
        types: Sequence[str],
        fields: Collection[str],
        rows: Iterable[FacetRow] = (),
        groups: Iterable[FacetGroup] = (),
        descendants: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.urns = urns
        self.types = types
        self.everything = FrozenBitMap(range(len(urns)))
        self._numbers = {urn: number for number, urn in enumerate(urns)}
        self._descendants = descendants or {}
        self._values, self._owners = _collect_postings(rows, groups, types, fields)
        self._sorted_values: dict[str, list[str]] = {}
        self._closed_postings: dict[tuple[str, str], FrozenBitMap] = {}
        self._extents: dict[Selector, FrozenBitMap] = {}
        self._values_by_entity: dict[int, dict[str, set[str]]] | None = None
        self._base: Postings | None = None
        self._changed_fields: frozenset[str] = frozenset()
        self._holders: frozenset[str] | None = None
        self._limited_owners: dict[str | None, dict[str, FrozenBitMap]] = {}

    @property
    def fields(self) -> frozenset[str]:
        """The fields that were loaded."""
        return frozenset(self._values)

    def replace_values(self, field: str, values_by_entity: Mapping[int, Collection[str]]) -> "Postings":
        """Return the same entities, of which these have these values of a field other than OWNER, and no others."""
        other = self._copy_facts(frozenset({field}))
        other._values = self._values | {field: _replace_postings(self.values(field), values_by_entity)}
        return other

    def replace_owners(self, owners_by_entity: Mapping[int, Collection[Owner]]) -> "Postings":
        """Return the same entities, of which these have these owners, and no others."""
        holders_by_entity = {number: {owner.actor for owner in owners} for number, owners in owners_by_entity.items()}
        types = {owner.type for owners in owners_by_entity.values() for owner in owners} - {""}
        other = self._copy_facts(frozenset({OWNER}))
        other._values = self._values | {OWNER: _replace_postings(self.values(OWNER), holders_by_entity)}
        other._owners = {
            owner_type: _replace_postings(
                self._owners.get(owner_type, {}),
                {
                    number: {owner.actor for owner in owners if owner.type == owner_type}
                    for number, owners in owners_by_entity.items()
                },
            )
            for owner_type in self._owners.keys() | types
        }
        return other

    def replace_ancestors(self, ancestors_by_node: Mapping[str, Collection[str]]) -> "Postings":
        """Return the same entities in a hierarchy where these nodes are below these ancestors, and no others."""
        nodes_by_ancestor = {
            ancestor: set(nodes).difference(ancestors_by_node) for ancestor, nodes in self._descendants.items()
        }
        for node, ancestors in ancestors_by_node.items():
            for ancestor in ancestors:
                nodes_by_ancestor.setdefault(ancestor, set()).add(node)
        other = self._copy_facts(HIERARCHICAL_FIELDS)
        other._descendants = nodes_by_ancestor
        return other

    def find_descendants(self, nodes: Iterable[str]) -> frozenset[str]:
        """Return the nodes below these that an entity has as a value."""
        return frozenset[str]().union(*(self._descendants.get(node, ()) for node in nodes))

    def _copy_facts(self, changed_fields: frozenset[str]) -> "Postings":
        """Return a copy whose facts of these fields may be replaced."""
        other = copy(self)
        other._sorted_values, other._closed_postings, other._extents, other._limited_owners = {}, {}, {}, {}
        other._values_by_entity = None
        other._base, other._changed_fields = self, changed_fields
        return other

    def limit_owners(self, holders: Collection[str]) -> "Postings":
        """Return the same entities with the same facts, where `owners` names only these owners: thousands of others may
        own something. Criteria about owners still test all of them.
        """
        other = copy(self)
        other._holders, other._limited_owners = frozenset(holders), {}
        return other

    def has_same_owners(self, other: "Postings") -> bool:
        """Whether other postings have the owners of these; they may be copies of which other facts were replaced."""
        return self._values.get(OWNER) is other._values.get(OWNER) and self._owners is other._owners

    def number(self, urn: str) -> int | None:
        """Return the number of an entity, or None if it is not one of these."""
        return self._numbers.get(urn)

    def find_extent(self, selector: Selector) -> FrozenBitMap:
        """Return the entities that a selector covers.

        Raises MissingFact if it tests a field that was not loaded.
        """
        extent = self._extents.get(selector)
        if extent is None and self._base is not None and self._changed_fields.isdisjoint(selector.fields):
            extent = self._extents[selector] = self._base.find_extent(selector)
        if extent is None:
            extent = self.everything
            for criterion in selector.criteria:
                if criterion.field in CONSTANT_FACETS:
                    extent = extent if criterion.holds(frozenset((CONSTANT_FACETS[criterion.field],))) else EMPTY
                    continue
                matching_entities = self._find_matching(criterion)
                extent = (
                    extent - matching_entities
                    if criterion.condition is Condition.NOT_EQUALS
                    else extent & matching_entities
                )
            self._extents[selector] = extent
        return extent

    def with_type(self, name: str) -> FrozenBitMap:
        """Return the entities of a type; '' for those without one."""
        if name:
            return self._values[TYPE].get(name, EMPTY)
        return self.everything - union(self._values[TYPE].values())

    def values(self, field: str) -> Mapping[str, FrozenBitMap]:
        """Return the entities with each direct value of a field, as value -> entities; empty if it was not loaded."""
        return self._values.get(field, {})

    def owners(self, owner_type: str | None) -> Mapping[str, FrozenBitMap]:
        """Return the entities of each owner, for any ownership type (None) or for this one, as owner URN -> entities.

        Raises MissingFact if owners were not loaded.
        """
        if OWNER not in self._values:
            raise MissingFact(OWNER, "")
        all_owners = self._values[OWNER] if owner_type is None else self._owners.get(owner_type, {})
        if self._holders is None:
            return all_owners
        limited_owners = self._limited_owners.get(owner_type)
        if limited_owners is None:
            # Many people may be compared, and few of them own something; or few people, and there are many owners.
            names = all_owners.keys() & self._holders
            limited_owners = self._limited_owners[owner_type] = {name: all_owners[name] for name in names}
        return limited_owners

    def build_resource(self, number: int) -> Resource:
        """Return an entity as a Resource with every loaded facet, hierarchical ones with all ancestors."""
        if self._values_by_entity is None:
            self._values_by_entity = self._group_by_entity()
        values_by_field = self._values_by_entity.get(number, {})
        facets = {field: frozenset(values_by_field.get(field, ())) for field in self._values if field != TYPE}
        for field in HIERARCHICAL_FIELDS & facets.keys():
            facets[field] |= {
                node for node, descendants in self._descendants.items() if not facets[field].isdisjoint(descendants)
            }
        facets |= {field: frozenset((value,)) for field, value in CONSTANT_FACETS.items()}
        typed_owners = {
            Owner(holder, owner_type)
            for owner_type, owners in self._owners.items()
            for holder in facets.get(OWNER, ())
            if number in owners.get(holder, EMPTY)
        }
        untyped_owners = {Owner(holder, "") for holder in facets.get(OWNER, ())}
        return Resource(self.urns[number], self.types[number], facets, frozenset(typed_owners | untyped_owners))

    def _group_by_entity(self) -> dict[int, dict[str, set[str]]]:
        values_by_entity: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for field, postings in self._values.items():
            for value, numbers in postings.items():
                for number in numbers:
                    values_by_entity[number][field].add(value)
        return values_by_entity

    def find_owned_entities(self, holders: Iterable[str], owner_type: str | None) -> FrozenBitMap:
        """Return the entities that one of the holders owns, for any ownership type (None) or for this one.

        Raises MissingFact if owners were not loaded.
        """
        owners = self.owners(owner_type)
        return union(owners[holder] for holder in holders if holder in owners)

    def _find_matching(self, criterion: Criterion) -> FrozenBitMap:
        """Return the entities with a value that the criterion lists (for STARTS_WITH, that begins with one)."""
        field, values = criterion.field, criterion.values
        if field == URN:
            return self._with_urns(criterion)
        if field not in self._values:
            raise MissingFact(field, "")
        if criterion.condition is Condition.STARTS_WITH:
            sorted_values = self._sort_values(field)
            values = frozenset(
                value for prefix in values for value in sorted_values[_prefix_range(sorted_values, prefix)]
            )
        return union(self._find_posting(field, value) for value in values)

    def _with_urns(self, criterion: Criterion) -> FrozenBitMap:
        if criterion.condition is not Condition.STARTS_WITH:
            return FrozenBitMap(self._numbers[urn] for urn in criterion.values if urn in self._numbers)
        sorted_urns = self._sort_values(URN)
        ranges = (sorted_urns[_prefix_range(sorted_urns, prefix)] for prefix in criterion.values)
        return FrozenBitMap(self._numbers[urn] for urns in ranges for urn in urns)

    def _find_posting(self, field: str, value: str) -> FrozenBitMap:
        """Return the entities with a value; for a hierarchical field also those with a node below it."""
        postings = self._values[field]
        if field not in HIERARCHICAL_FIELDS or value not in self._descendants:
            return postings.get(value, EMPTY)
        key = (field, value)
        posting = self._closed_postings.get(key)
        if posting is None:
            nodes = (value, *self._descendants[value])
            posting = self._closed_postings[key] = union(postings[node] for node in nodes if node in postings)
        return posting

    def _sort_values(self, field: str) -> list[str]:
        """Return every value the field can have, sorted."""
        sorted_values = self._sorted_values.get(field)
        if sorted_values is None:
            values = set(self.urns) if field == URN else set(self._values[field])
            if field in HIERARCHICAL_FIELDS:
                values.update(self._descendants)
            sorted_values = self._sorted_values[field] = sorted(values)
        return sorted_values


#: Up to this many sets, pairwise unions are quicker than one union of all.
_MAX_PAIRWISE_SETS = 6


def union(sets: Iterable[FrozenBitMap]) -> FrozenBitMap:
    """Return the entities that are in any of the sets."""
    bitmaps = list(sets)
    if len(bitmaps) > _MAX_PAIRWISE_SETS:
        return FrozenBitMap.union(*bitmaps)
    return reduce(or_, bitmaps) if bitmaps else EMPTY


def _prefix_range(sorted_values: Sequence[str], prefix: str) -> slice:
    """Return the slice of a sorted list whose values begin with the prefix."""
    start = bisect_left(sorted_values, prefix)
    return slice(start, bisect_right(sorted_values, prefix, lo=start, key=lambda value: value[: len(prefix)]))


def _replace_postings(
    postings_by_value: Mapping[str, FrozenBitMap], values_by_entity: Mapping[int, Collection[str]]
) -> dict[str, FrozenBitMap]:
    """Return the postings of a field of which these entities have these values, and no others."""
    changed_entities = FrozenBitMap(values_by_entity)
    replaced_postings = {value: entities - changed_entities for value, entities in postings_by_value.items()}
    for number, values in values_by_entity.items():
        for value in values:
            replaced_postings[value] = replaced_postings.get(value, EMPTY) | FrozenBitMap((number,))
    return replaced_postings


_PostingTable = dict[str, dict[str, FrozenBitMap]]


def _collect_postings(
    rows: Iterable[FacetRow], groups: Iterable[FacetGroup], types: Sequence[str], fields: Collection[str]
) -> tuple[_PostingTable, _PostingTable]:
    """Return field -> value -> entities, and ownership type -> owner -> entities."""
    by_type: dict[str, array[int]] = defaultdict(_create_numbers)
    for number, name in enumerate(types):
        if name:
            by_type[name].append(number)
    values: dict[str, dict[str, array[int]]] = {field: defaultdict(_create_numbers) for field in fields}
    owners: dict[str, dict[str, array[int]]] = defaultdict(lambda: defaultdict(_create_numbers))
    for number, field, value, owner_type in rows:
        values[field][value].append(number)
        if owner_type:
            owners[owner_type][value].append(number)
    values[TYPE] = by_type
    value_postings, owner_postings = _compress(values), _compress(owners)
    for field, value, owner_type, entities in groups:
        _add_group(value_postings[field], value, entities)
        if owner_type:
            _add_group(owner_postings.setdefault(owner_type, {}), value, entities)
    return value_postings, owner_postings


def _add_group(
    postings: dict[str, FrozenBitMap], value: str, entities: "Sequence[int] | array[int] | FrozenBitMap"
) -> None:
    group = entities if isinstance(entities, FrozenBitMap) else FrozenBitMap(entities)
    stored_entities = postings.get(value)
    postings[value] = group if stored_entities is None else stored_entities | group


def _create_numbers() -> "array[int]":
    return array("I")


def _compress(table: Mapping[str, Mapping[str, "array[int]"]]) -> _PostingTable:
    return {
        name: {value: FrozenBitMap(numbers) for value, numbers in postings.items()} for name, postings in table.items()
    }
