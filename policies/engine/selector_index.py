"""The statements that cover a resource, from the criterion indexes on every field but TYPE, cheapest test first.

Most statements have at most one criterion besides TYPE. Looking up the statements that accept a value costs less than
excluding statements index by index, so a criterion that is its statement's only one is in a separate index.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from policies.engine.criterion_index import CriterionIndex, ValueLookup
from policies.engine.errors import MissingFact
from policies.engine.model import Statement
from policies.engine.selectors import TYPE, URN, Condition, Resource

#: Key of a criterion index: field, condition, and a number to tell several indexes on both apart.
Slot = tuple[str, Condition, int]
#: A field -> its values, None if they were not loaded.
GetValues = Callable[[str], Collection[str] | None]

#: A field, the statements that test it, and what finds those that list a value.
Lookup = tuple[str, int, ValueLookup]

#: The number of the index of criteria that are their statement's only one besides TYPE; others count from 0.
_SOLE_SLOT = -1


def iterate_slots(statement: Statement) -> Iterator[tuple[Slot, frozenset[str]]]:
    """Yield slot and values of each criterion; a second one on the same field and condition has its own slot."""
    next_slots: dict[tuple[str, Condition], int] = {}
    criteria = statement.resources.criteria
    first_slot = _SOLE_SLOT if sum(criterion.field != TYPE for criterion in criteria) == 1 else 0
    for criterion in criteria:
        key = (criterion.field, criterion.condition)
        slot = next_slots.get(key, 0 if criterion.field == TYPE else first_slot)
        next_slots[key] = slot + 1
        yield (*key, slot), criterion.values


class SelectorIndex:
    """The sealed criterion indexes on all fields but TYPE; valid until the statements change.

    `_wanting_lookups` find the statements whose only criterion is EQUALS or STARTS_WITH, `_excluding_lookups` those
    whose only one is NOT_EQUALS. `_unconstrained_bits` are the latter and the statements without a criterion;
    `_multi_bits` are all others, and `_multi_tests` their indexes. With each comes its field, and the statements that
    test it.
    """

    __slots__ = ("_excluding_lookups", "_multi_bits", "_multi_tests", "_unconstrained_bits", "_wanting_lookups")

    def __init__(self, indexes: Mapping[Slot, CriterionIndex], everything: int) -> None:
        excluding_indexes, wanting_indexes, multi_indexes = (
            list[CriterionIndex](),
            list[CriterionIndex](),
            list[CriterionIndex](),
        )
        for (_, condition, slot_number), index in indexes.items():
            is_excluding = condition is Condition.NOT_EQUALS
            (
                multi_indexes if slot_number != _SOLE_SLOT else excluding_indexes if is_excluding else wanting_indexes
            ).append(index)
        self._excluding_lookups = tuple(
            (index.field, index.mentions, index.get_lookup()) for index in excluding_indexes
        )
        self._wanting_lookups = tuple((index.field, index.mentions, index.get_lookup()) for index in wanting_indexes)
        self._multi_tests = tuple((index.field, index.mentions, index.retain_matching) for index in multi_indexes)
        self._multi_bits = self._unconstrained_bits = 0
        for index in multi_indexes:
            self._multi_bits |= index.mentions
        for index in wanting_indexes:
            self._unconstrained_bits |= index.mentions
        self._unconstrained_bits = everything & ~(self._unconstrained_bits | self._multi_bits)

    def retain_covering(self, candidates: int, resource: Resource) -> int:
        """Keep the candidates that cover the resource; they must already accept its type.

        Raises MissingFact if a facet that a candidate tests was not loaded, unless another of its criteria failed
        before; other facets may be missing.
        """
        urn: Collection[str] = (resource.urn,) if resource.urn else ()
        if self._excluding_lookups:
            candidates ^= candidates & _find_listing(self._excluding_lookups, candidates, resource, urn)
        multi_bits = candidates & self._multi_bits
        covering_bits = self._unconstrained_bits | _find_listing(self._wanting_lookups, candidates, resource, urn)
        return (
            candidates & covering_bits | self._retain_passing_all(multi_bits, resource, urn)
            if multi_bits
            else candidates & covering_bits
        )

    def _retain_passing_all(self, candidates: int, resource: Resource, urn: Collection[str]) -> int:
        """Keep the statements with several criteria all of which hold."""
        get_values: GetValues = resource.facets.get
        for field, mentions, retain_matching in self._multi_tests:
            values = urn if field == URN else get_values(field)
            if values is None:
                values = _skip_facet(field, candidates & mentions, resource)
            candidates = retain_matching(candidates, values)
            if not candidates:
                break
        return candidates


def _find_listing(lookups: Iterable[Lookup], candidates: int, resource: Resource, urn: Collection[str]) -> int:
    """Return the statements whose only criterion lists a value of the resource; `candidates` are those that matter."""
    get_values: GetValues = resource.facets.get
    listing_bits = 0
    for field, mentions, lookup in lookups:
        values = urn if field == URN else get_values(field)
        if values is None:
            values = _skip_facet(field, candidates & mentions, resource)
        for value in values:
            bits = lookup(value)
            if bits:
                listing_bits |= bits
    return listing_bits


def _skip_facet(field: str, testing_bits: int, resource: Resource) -> tuple[str, ...]:
    """Return no values for a facet that was not loaded, which no statement tests; raises MissingFact if one does."""
    if testing_bits:
        raise MissingFact(field, resource.urn)
    return ()
