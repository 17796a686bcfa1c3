"""Entities numbered from 0, and the compressed sets of those that share a facet value or that a selector covers."""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

from pyroaring import FrozenBitMap

from policies.engine.errors import MissingFact
from policies.engine.selectors import (
    CONSTANTS,
    HIERARCHIES,
    OWNER,
    TYPE,
    URN,
    Condition,
    Criterion,
    Owner,
    Resource,
    Selector,
)

NONE = FrozenBitMap()

#: What a row says: the number of an entity, a field, one value, and for OWNER the ownership type ('' for none).
Row = tuple[int, str, str, str]
#: What a group says: a field, one value, for OWNER the ownership type, and the numbers of the entities that have it.
Group = tuple[str, str, str, "array[int]"]


class Postings:
    """Which entities have which facet values. Extents are kept, so one object should serve one set of facts.

    `urns` and `types` are those of entity 0, 1, 2 …; `rows` their other facets one by one, `groups` those that many
    share; `fields` the fields that were loaded, whether or not any row has them. `below` maps a node to all nodes under
    it when rows hold direct values of hierarchical fields; without it they must be closed already.
    """

    def __init__(
        self,
        *,
        urns: Sequence[str],
        types: Sequence[str],
        fields: Collection[str],
        rows: Iterable[Row] = (),
        groups: Iterable[Group] = (),
        below: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.urns = urns
        self.types = types
        self.everything = FrozenBitMap(range(len(urns)))
        self._numbers = {urn: number for number, urn in enumerate(urns)}
        self._below = below or {}
        self._values, self._owners = _gathered(rows, groups, types, fields)
        self._ordered: dict[str, list[str]] = {}
        self._closed: dict[tuple[str, str], FrozenBitMap] = {}
        self._extents: dict[Selector, FrozenBitMap] = {}
        self._direct: dict[int, dict[str, set[str]]] | None = None

    def number(self, urn: str) -> int | None:
        """Return the number of an entity, None when it is not one of these."""
        return self._numbers.get(urn)

    def extent(self, selector: Selector) -> FrozenBitMap:
        """Return the entities that a selector covers.

        Raises MissingFact when it tests a field that was not loaded.
        """
        found = self._extents.get(selector)
        if found is None:
            found = self.everything
            for criterion in selector.criteria:
                if criterion.field in CONSTANTS:
                    found = found if criterion.holds(frozenset((CONSTANTS[criterion.field],))) else NONE
                    continue
                named = self._named(criterion)
                found = found - named if criterion.condition is Condition.NOT_EQUALS else found & named
            self._extents[selector] = found
        return found

    def of_type(self, name: str) -> FrozenBitMap:
        """Return the entities of a type; '' for those without one."""
        if name:
            return self._values[TYPE].get(name, NONE)
        return self.everything - union(self._values[TYPE].values())

    def values(self, field: str) -> Mapping[str, FrozenBitMap]:
        """Return the direct values of a field, each with the entities that have it; none when it was not loaded."""
        return self._values.get(field, {})

    def owners(self, owner_type: str | None) -> Mapping[str, FrozenBitMap]:
        """Return who owns what, as any type of owner (None) or as this one.

        Raises MissingFact when owners were not loaded.
        """
        if OWNER not in self._values:
            raise MissingFact(OWNER, "")
        return self._values[OWNER] if owner_type is None else self._owners.get(owner_type, {})

    def resource(self, number: int) -> Resource:
        """Return an entity as a question takes it, with every facet that was loaded, hierarchies closed."""
        if self._direct is None:
            self._direct = self._by_entity()
        direct = self._direct.get(number, {})
        facets = {field: frozenset(direct.get(field, ())) for field in self._values if field != TYPE}
        for field in HIERARCHIES & facets.keys():
            facets[field] |= {node for node, under in self._below.items() if not facets[field].isdisjoint(under)}
        facets |= {field: frozenset((value,)) for field, value in CONSTANTS.items()}
        typed = {
            Owner(holder, type_)
            for type_, owners in self._owners.items()
            for holder in facets.get(OWNER, ())
            if number in owners.get(holder, NONE)
        }
        untyped = {Owner(holder, "") for holder in facets.get(OWNER, ())}
        return Resource(self.urns[number], self.types[number], facets, frozenset(typed | untyped))

    def _by_entity(self) -> dict[int, dict[str, set[str]]]:
        found: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for field, postings in self._values.items():
            for value, numbers in postings.items():
                for number in numbers:
                    found[number][field].add(value)
        return found

    def owned(self, holders: Iterable[str], owner_type: str | None) -> FrozenBitMap:
        """Return the entities that one of the holders owns, as any type of owner (None) or as this one.

        Raises MissingFact when owners were not loaded.
        """
        owners = self.owners(owner_type)
        return union(owners[holder] for holder in holders if holder in owners)

    def _named(self, criterion: Criterion) -> FrozenBitMap:
        """Return the entities that have a value the criterion names (for STARTS_WITH, begins)."""
        field, values = criterion.field, criterion.values
        if field == URN:
            return self._with_urns(criterion)
        if field not in self._values:
            raise MissingFact(field, "")
        if criterion.condition is Condition.STARTS_WITH:
            ordered = self._in_order(field)
            values = frozenset(value for prefix in values for value in ordered[_beginning(ordered, prefix)])
        return union(self._posting(field, value) for value in values)

    def _with_urns(self, criterion: Criterion) -> FrozenBitMap:
        if criterion.condition is not Condition.STARTS_WITH:
            return FrozenBitMap(self._numbers[urn] for urn in criterion.values if urn in self._numbers)
        ordered = self._in_order(URN)
        ranges = (ordered[_beginning(ordered, prefix)] for prefix in criterion.values)
        return FrozenBitMap(self._numbers[urn] for urns in ranges for urn in urns)

    def _posting(self, field: str, value: str) -> FrozenBitMap:
        """Return the entities with a value; a hierarchical one also stands for the nodes below it."""
        postings = self._values[field]
        if field not in HIERARCHIES or value not in self._below:
            return postings.get(value, NONE)
        key = (field, value)
        found = self._closed.get(key)
        if found is None:
            nodes = (value, *self._below[value])
            found = self._closed[key] = union(postings[node] for node in nodes if node in postings)
        return found

    def _in_order(self, field: str) -> list[str]:
        """Return every value the field can have, in order."""
        ordered = self._ordered.get(field)
        if ordered is None:
            values = set(self.urns) if field == URN else set(self._values[field])
            if field in HIERARCHIES:
                values.update(self._below)
            ordered = self._ordered[field] = sorted(values)
        return ordered


#: Up to how many sets are united two by two, which is quicker than all at once where they are small.
_FEW = 6


def union(sets: Iterable[FrozenBitMap]) -> FrozenBitMap:
    """Return the entities that are in one of the sets."""
    several = list(sets)
    if len(several) > _FEW:
        return FrozenBitMap.union(*several)
    return reduce(or_, several) if several else NONE


def _beginning(ordered: Sequence[str], prefix: str) -> slice:
    """Return the stretch of an ordered list whose values begin with the prefix."""
    start = bisect_left(ordered, prefix)
    return slice(start, bisect_right(ordered, prefix, lo=start, key=lambda value: value[: len(prefix)]))


_Table = dict[str, dict[str, FrozenBitMap]]


def _gathered(
    rows: Iterable[Row], groups: Iterable[Group], types: Sequence[str], fields: Collection[str]
) -> tuple[_Table, _Table]:
    """Return field → value → entities, and ownership type → owner → entities."""
    by_type: dict[str, array[int]] = defaultdict(_numbers)
    for number, name in enumerate(types):
        if name:
            by_type[name].append(number)
    values: dict[str, dict[str, array[int]]] = {field: defaultdict(_numbers) for field in fields}
    owners: dict[str, dict[str, array[int]]] = defaultdict(lambda: defaultdict(_numbers))
    for number, field, value, owner_type in rows:
        values[field][value].append(number)
        if owner_type:
            owners[owner_type][value].append(number)
    for field, value, owner_type, numbers in groups:
        values[field][value].extend(numbers)
        if owner_type:
            owners[owner_type][value].extend(numbers)
    values[TYPE] = by_type
    return _compressed(values), _compressed(owners)


def _numbers() -> "array[int]":
    return array("I")


def _compressed(table: Mapping[str, Mapping[str, "array[int]"]]) -> _Table:
    return {
        name: {value: FrozenBitMap(numbers) for value, numbers in postings.items()} for name, postings in table.items()
    }
