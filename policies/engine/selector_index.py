"""Which statements cover a resource, asked of their columns in the order that costs least.

Most statements have one criterion at most beside TYPE. Finding those that want the values of a resource costs less than
ruling out column by column, so a criterion that is its statement's only one stands in a column apart.
"""

from collections.abc import Iterator, Mapping, Sequence

from policies.engine.criterion_index import Column
from policies.engine.errors import MissingFact
from policies.engine.model import Statement
from policies.engine.selectors import TYPE, URN, Condition, Resource

#: Where a criterion stands: field, condition, and which of several columns on both.
Slot = tuple[str, Condition, int]
Facets = Mapping[str, frozenset[str]]

#: The column of criteria that are their statement's only one but for TYPE; the others count from 0.
_ALONE = -1


def slots(statement: Statement) -> Iterator[tuple[Slot, frozenset[str]]]:
    """Give each criterion its column. A second criterion on one field and condition needs a column of its own."""
    seen: dict[tuple[str, Condition], int] = {}
    criteria = statement.resources.criteria
    first = _ALONE if sum(criterion.field != TYPE for criterion in criteria) == 1 else 0
    for criterion in criteria:
        key = (criterion.field, criterion.condition)
        slot = seen.get(key, 0 if criterion.field == TYPE else first)
        seen[key] = slot + 1
        yield (*key, slot), criterion.values


class Covering:
    """The sealed columns on everything but TYPE; good until the next change of the statements.

    `_open` are the statements without a criterion, and those whose only one excludes, which `_excluding` finds;
    `_wanting` finds those whose only one is EQUALS or STARTS_WITH. `_tests` are the columns of `_several`, the
    statements that are left.
    """

    __slots__ = ("_columns", "_excluding", "_fields", "_open", "_several", "_tests", "_wanting")

    def __init__(self, columns: Mapping[Slot, Column], everything: int) -> None:
        excluding, wanting, several = list[Column](), list[Column](), list[Column]()
        for (_, condition, place), column in columns.items():
            is_excluding = condition is Condition.NOT_EQUALS
            (several if place != _ALONE else excluding if is_excluding else wanting).append(column)
        self._columns = tuple(columns.values())
        self._fields = frozenset(column.field for column in self._columns) - {URN}
        self._excluding = tuple((column.field, column.finder()) for column in excluding)
        self._wanting = tuple((column.field, column.finder()) for column in wanting)
        self._tests = tuple((column.field, column.keep) for column in several)
        self._several = self._open = 0
        for column in several:
            self._several |= column.mentions
        for column in wanting:
            self._open |= column.mentions
        self._open = everything & ~(self._open | self._several)

    def keep(self, live: int, resource: Resource) -> int:
        """Keep the statements that cover the resource, whose type they were found to accept.

        Raises MissingFact when a facet that one of them tests was not loaded; what nobody tests does not matter.
        """
        urn = (resource.urn,) if resource.urn else ()
        try:
            return self._keep(live, resource.facets, urn)
        except KeyError:
            self._require(live, resource)
            return self._keep(live, {**dict.fromkeys(self._fields, frozenset[str]()), **resource.facets}, urn)

    def _keep(self, live: int, facets: Facets, urn: Sequence[str]) -> int:
        for field, find in self._excluding:
            for value in urn if field == URN else facets[field]:
                found = find(value)
                if found:
                    live ^= live & found
        covering = self._open
        for field, find in self._wanting:
            for value in urn if field == URN else facets[field]:
                found = find(value)
                if found:
                    covering |= found
        several = live & self._several
        return live & covering | self._passing_all(several, facets, urn) if several else live & covering

    def _require(self, live: int, resource: Resource) -> None:
        for column in self._columns:
            if column.field in self._fields and column.field not in resource.facets and live & column.mentions:
                raise MissingFact(column.field, resource.urn)

    def _passing_all(self, live: int, facets: Facets, urn: Sequence[str]) -> int:
        """Keep those of the statements with several criteria of which all hold."""
        for field, keep in self._tests:
            live = keep(live, urn if field == URN else facets[field])
            if not live:
                break
        return live
