"""Statements gathered by what they cover, and entities by the statements that cover them.

Statements that say the same of entities of one type are one unit. Units without a positive criterion cover nearly
everything of their type; of them an entity is told those that do not cover it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from policies.engine.actor_conditional_reach import kind_of
from policies.engine.postings import Postings
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, TYPE, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Unit:
    """Statements that cover the same entities of a type: whom the plain allows, the restricted and the denies name."""

    type: str
    criteria: tuple[Criterion, ...]
    plain: frozenset[str]
    limited: frozenset[str]
    denied: frozenset[str]

    @property
    def is_wide(self) -> bool:
        """Whether it covers its whole type but for what its criteria leave out."""
        return all(criterion.condition is Condition.NOT_EQUALS for criterion in self.criteria)

    def tokens(self, kind: int) -> frozenset[str]:
        """Return whom statements of one kind name (`policies.engine.actor_conditional_reach.kind_of`)."""
        return (self.plain, self.limited, self.denied)[kind]

    @property
    def towards(self) -> frozenset[str]:
        """The tokens that an actor has only towards an entity."""
        tokens = self.plain | self.limited | self.denied
        return frozenset(token for token in tokens if token == ONESELF or token.startswith(OWNER_OF_ANY_TYPE))


def units_of(snapshot: Snapshot, privilege: str, types: Iterable[str]) -> tuple[Unit, ...]:
    """Return the units of a privilege for these types of entities, in an order that depends on the statements alone.

    Statements with provisos are in none: they speak to each actor apart (`policies.engine.actor_conditional_reach`).
    """
    said: dict[tuple[str, tuple[Criterion, ...]], tuple[set[str], set[str], set[str]]] = {}
    wanted = sorted(set(types))
    for statement in snapshot.listed(privilege):
        if statement.provisos:
            continue
        criteria = statement.resources.criteria
        rest = tuple(criterion for criterion in criteria if criterion.field != TYPE)
        tests = [criterion for criterion in criteria if criterion.field == TYPE]
        for type_ in wanted:
            if all(test.holds(frozenset((type_,)) if type_ else frozenset()) for test in tests):
                kinds = said.setdefault((type_, rest), (set(), set(), set()))
                kinds[kind_of(statement)].update(statement.actors.tokens)
    ordered = sorted(said.items(), key=lambda item: (item[0][0], [_order(one) for one in item[0][1]]))
    return tuple(
        Unit(type_, rest, frozenset(plain), frozenset(limited), frozenset(denied))
        for (type_, rest), (plain, limited, denied) in ordered
    )


@dataclass(frozen=True, slots=True)
class Alike:
    """Entities that the same units cover, by number: `covering` units that want something, `without` wide ones."""

    covering: tuple[int, ...]
    without: tuple[int, ...]
    type: str
    entities: Sequence[int]


def groups(postings: Postings, units: Sequence[Unit]) -> Iterator[Alike]:
    """Give the entities of the slice, grouped by the units that cover them."""
    covering: list[list[int]] = [[] for _ in postings.urns]
    without: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        block = postings.of_type(unit.type)
        if not block:
            continue
        extent = postings.extent(Selector(unit.criteria)) & block
        if unit.is_wide:
            for number in block - extent:
                without[number].append(place)
        else:
            for number in extent:
                covering[number].append(place)
    alike: dict[tuple[str, tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for number, type_ in enumerate(postings.types):
        alike[type_, tuple(covering[number]), tuple(without.get(number, ()))].append(number)
    for (type_, wanting, missing), numbers in alike.items():
        yield Alike(wanting, missing, type_, numbers)


def _order(criterion: Criterion) -> tuple[str, str, list[str]]:
    return criterion.field, criterion.condition, sorted(criterion.values)
