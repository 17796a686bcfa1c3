"""Statements by number, and for everything a statement mentions the bit set of the statements that mention it.

A number is a bit in every set. Numbers that became free are given to the next statements, so that sets stay short.
"""

from collections.abc import Iterable, Iterator
from typing import Self

from policies.engine.criterion_index import Column, column
from policies.engine.model import Effect, Statement
from policies.engine.selector_index import Covering, Slot, slots
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, TYPE


class Numbering:
    """The tables. Changing them is for whoever builds a snapshot; `seal` ends every round of changes.

    `_by_token` has the tokens of who an actor is, `_towards` those of what it is to the resource. Columns on TYPE are
    apart because the sets of a type are kept; what the others say of a resource is for `_covering`. `_provided` are the
    statements with provisos, `_compared` has the fields of the resource that these test.
    """

    __slots__ = (
        "_by_policy",
        "_by_privilege",
        "_by_token",
        "_columns",
        "_compared",
        "_constrained",
        "_covering",
        "_denies",
        "_free",
        "_provided",
        "_restricted",
        "_statements",
        "_subfields",
        "_towards",
        "_type_columns",
        "_without_resource",
    )

    def __init__(self) -> None:
        self._statements: list[Statement | None] = []
        self._free: list[int] = []
        self._by_policy: dict[str, tuple[int, ...]] = {}
        self._by_privilege: dict[str, int] = {}
        self._by_token: dict[str, int] = {}
        self._towards: dict[str, int] = {}
        self._subfields: dict[str, int] = {}
        self._compared: dict[str, int] = {}
        self._columns: dict[Slot, Column] = {}
        self._type_columns: tuple[Column, ...] = ()
        self._covering = Covering({}, 0)
        self._denies = 0
        self._restricted = 0
        self._constrained = 0
        self._provided = 0
        self._without_resource = 0

    def _copy_from(self, other: Self) -> None:
        self._statements = other._statements.copy()
        self._free = other._free.copy()
        self._by_policy = other._by_policy.copy()
        self._by_privilege = other._by_privilege.copy()
        self._by_token = other._by_token.copy()
        self._towards = other._towards.copy()
        self._subfields = other._subfields.copy()
        self._compared = other._compared.copy()
        self._columns = {key: kept.copy() for key, kept in other._columns.items()}
        self._denies, self._restricted = other._denies, other._restricted
        self._constrained, self._without_resource = other._constrained, other._without_resource
        self._provided = other._provided

    def _insert(self, policy: str, statements: tuple[Statement, ...]) -> None:
        numbers = []
        for statement in statements:
            number = self._free.pop() if self._free else len(self._statements)
            if number == len(self._statements):
                self._statements.append(statement)
            else:
                self._statements[number] = statement
            numbers.append(number)
            self._index(1 << number, statement)
        self._by_policy[policy] = tuple(numbers)

    def _index(self, bit: int, statement: Statement) -> None:
        for table, key in self._entries(statement):
            table[key] = table.get(key, 0) | bit
        for slot, values in slots(statement):
            kept = self._columns.get(slot)
            if kept is None:
                kept = self._columns[slot] = column(slot[0], slot[1])
            kept.put(bit, values)
        self._denies |= bit if statement.effect is Effect.DENY else 0
        self._restricted |= bit if statement.restriction is not None else 0
        self._constrained |= bit if statement.subresources is not None else 0
        self._provided |= bit if statement.provisos else 0
        self._without_resource |= 0 if statement.resources.needs_resource else bit

    def _remove(self, policy: str) -> None:
        for number in self._by_policy.pop(policy, ()):
            statement = self._statements[number]
            if statement is not None:
                self._unindex(1 << number, statement)
            self._statements[number] = None
            self._free.append(number)

    def _unindex(self, bit: int, statement: Statement) -> None:
        for table, key in self._entries(statement):
            left = table[key] & ~bit
            if left:
                table[key] = left
            else:
                del table[key]
        for slot, values in slots(statement):
            kept = self._columns[slot]
            kept.drop(bit, values)
            if not kept.mentions:
                del self._columns[slot]
        self._denies &= ~bit
        self._restricted &= ~bit
        self._constrained &= ~bit
        self._provided &= ~bit
        self._without_resource &= ~bit

    def _entries(self, statement: Statement) -> Iterator[tuple[dict[str, int], str]]:
        """Give the tables that have an entry for the statement, and under which key."""
        for privilege in statement.privileges:
            yield self._by_privilege, privilege
        for token in statement.actors.tokens:
            is_towards = token == ONESELF or token.startswith(OWNER_OF_ANY_TYPE)
            yield self._towards if is_towards else self._by_token, token
        if statement.subresources is not None:
            for field in statement.subresources.fields:
                yield self._subfields, field
        for field in {proviso.field for proviso in statement.provisos if proviso.is_about_resource}:
            yield self._compared, field

    def _seal(self) -> None:
        everything = (1 << len(self._statements)) - 1
        for kept in self._columns.values():
            kept.seal(everything)
        self._type_columns = tuple(kept for kept in self._columns.values() if kept.field == TYPE)
        self._covering = Covering(
            {slot: kept for slot, kept in self._columns.items() if kept.field != TYPE}, everything
        )

    def _each(self, bits: int) -> Iterator[Statement]:
        return (statement for _, statement in self._bits(bits))

    def _bits(self, bits: int) -> Iterator[tuple[int, Statement]]:
        while bits:
            low = bits & -bits
            statement = self._statements[low.bit_length() - 1]
            if statement is not None:
                yield low, statement
            bits ^= low


def union(sets: Iterable[int]) -> int:
    """Return the statements that are in one of the sets."""
    found = 0
    for bits in sets:
        found |= bits
    return found
