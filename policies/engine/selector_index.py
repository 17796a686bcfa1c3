"""Which statements cover a resource, asked of their columns in the order that costs least.

Most statements have one criterion at most beside TYPE. Finding those that want the values of a resource costs less than
ruling out column by column, so a criterion that is its statement's only one stands in a column apart.
"""

from collections.abc import Iterator, Mapping, Sequence

from policies.engine.criterion_index import CriterionIndex
from policies.engine.errors import MissingFact
from policies.engine.model import Statement
from policies.engine.selectors import TYPE, URN, Condition, Resource

#: Where a criterion stands: field, condition, and which of several columns on both.
Slot = tuple[str, Condition, int]
Facets = Mapping[str, frozenset[str]]

#: The column of criteria that are their statement's only one but for TYPE; the others count from 0.
_SOLE_SLOT = -1


def iterate_slots(statement: Statement) -> Iterator[tuple[Slot, frozenset[str]]]:
    """Give each criterion its column. A second criterion on one field and condition needs a column of its own."""
    next_slots: dict[tuple[str, Condition], int] = {}
    criteria = statement.resources.criteria
    first_slot = _SOLE_SLOT if sum(criterion.field != TYPE for criterion in criteria) == 1 else 0
    for criterion in criteria:
        key = (criterion.field, criterion.condition)
        slot = next_slots.get(key, 0 if criterion.field == TYPE else first_slot)
        next_slots[key] = slot + 1
        yield (*key, slot), criterion.values


class SelectorIndex:
    """The sealed columns on everything but TYPE; good until the next change of the statements.

    `_unconstrained_bits` are the statements without a criterion, and those whose only one excludes, which
    `_excluding_lookups` finds; `_wanting_lookups` finds those whose only one is EQUALS or STARTS_WITH. `_multi_tests`
    are the columns of `_multi_bits`, the statements that are left.
    """

    __slots__ = (
        "_criterion_indexes",
        "_excluding_lookups",
        "_fields",
        "_multi_bits",
        "_multi_tests",
        "_unconstrained_bits",
        "_wanting_lookups",
    )

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
        self._criterion_indexes = tuple(indexes.values())
        self._fields = frozenset(index.field for index in self._criterion_indexes) - {URN}
        self._excluding_lookups = tuple((index.field, index.get_lookup()) for index in excluding_indexes)
        self._wanting_lookups = tuple((index.field, index.get_lookup()) for index in wanting_indexes)
        self._multi_tests = tuple((index.field, index.retain_matching) for index in multi_indexes)
        self._multi_bits = self._unconstrained_bits = 0
        for index in multi_indexes:
            self._multi_bits |= index.mentions
        for index in wanting_indexes:
            self._unconstrained_bits |= index.mentions
        self._unconstrained_bits = everything & ~(self._unconstrained_bits | self._multi_bits)

    def retain_covering(self, candidates: int, resource: Resource) -> int:
        """Keep the statements that cover the resource, whose type they were found to accept.

        Raises MissingFact when a facet that one of them tests was not loaded; what nobody tests does not matter.
        """
        urn = (resource.urn,) if resource.urn else ()
        try:
            return self._retain(candidates, resource.facets, urn)
        except KeyError:
            self._require_facts(candidates, resource)
            return self._retain(candidates, {**dict.fromkeys(self._fields, frozenset[str]()), **resource.facets}, urn)

    def _retain(self, candidates: int, facets: Facets, urn: Sequence[str]) -> int:
        for field, lookup in self._excluding_lookups:
            for value in urn if field == URN else facets[field]:
                bits = lookup(value)
                if bits:
                    candidates ^= candidates & bits
        covering_bits = self._unconstrained_bits
        for field, lookup in self._wanting_lookups:
            for value in urn if field == URN else facets[field]:
                bits = lookup(value)
                if bits:
                    covering_bits |= bits
        multi_bits = candidates & self._multi_bits
        return (
            candidates & covering_bits | self._retain_passing_all(multi_bits, facets, urn)
            if multi_bits
            else candidates & covering_bits
        )

    def _require_facts(self, candidates: int, resource: Resource) -> None:
        for index in self._criterion_indexes:
            if index.field in self._fields and index.field not in resource.facets and candidates & index.mentions:
                raise MissingFact(index.field, resource.urn)

    def _retain_passing_all(self, candidates: int, facets: Facets, urn: Sequence[str]) -> int:
        """Keep those of the statements with several criteria of which all hold."""
        for field, retain_matching in self._multi_tests:
            candidates = retain_matching(candidates, urn if field == URN else facets[field])
            if not candidates:
                break
        return candidates
