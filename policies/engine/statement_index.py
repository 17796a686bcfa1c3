"""Statements by number, and bit sets of statements for every privilege, token, field and criterion they mention.

A statement's number is its bit in every set. Free numbers are given to the next statements, so that sets stay short.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Self

from policies.engine.criterion_index import CriterionIndex, create_criterion_index
from policies.engine.model import Effect, Statement, StatementOrigin
from policies.engine.selector_index import SelectorIndex, Slot, iterate_slots
from policies.engine.selectors import TYPE, Criterion, is_relational


class StatementIndex:
    """The tables of a snapshot. Only the construction of a snapshot changes them; `_seal` ends every round of changes.

    `_by_token` holds the tokens that do not depend on the resource, `_by_relational_token` those that do. Criterion
    indexes on TYPE are separate because the sets of a type are cached; `_selector_index` has all others.
    `_criteria` has the criteria of each statement on fields other than TYPE, `_sort_keys` the order of their origins.
    `_conditional_bits` are the statements with actor conditions, `_condition_fields` the fields of the resource that
    these conditions test. `_by_excluded_token` has the tokens of both kinds that statements exclude.
    """

    __slots__ = (
        "_by_excluded_token",
        "_by_policy",
        "_by_privilege",
        "_by_relational_token",
        "_by_token",
        "_condition_fields",
        "_conditional_bits",
        "_constrained_bits",
        "_criteria",
        "_criterion_indexes",
        "_deny_bits",
        "_excluding_bits",
        "_free_numbers",
        "_resourceless_bits",
        "_restricted_bits",
        "_selector_index",
        "_sort_keys",
        "_statements",
        "_subfields",
        "_type_indexes",
    )

    def __init__(self) -> None:
        self._statements: list[Statement | None] = []
        self._criteria: list[tuple[Criterion, ...]] = []
        self._sort_keys: list[str] = []
        self._free_numbers: list[int] = []
        self._by_policy: dict[str, tuple[int, ...]] = {}
        self._by_privilege: dict[str, int] = {}
        self._by_token: dict[str, int] = {}
        self._by_relational_token: dict[str, int] = {}
        self._by_excluded_token: dict[str, int] = {}
        self._subfields: dict[str, int] = {}
        self._condition_fields: dict[str, int] = {}
        self._criterion_indexes: dict[Slot, CriterionIndex] = {}
        self._type_indexes: tuple[CriterionIndex, ...] = ()
        self._selector_index = SelectorIndex({}, 0)
        self._deny_bits = 0
        self._restricted_bits = 0
        self._constrained_bits = 0
        self._conditional_bits = 0
        self._excluding_bits = 0
        self._resourceless_bits = 0

    def select(self, bits: int) -> tuple[Statement, ...]:
        """Return the statements with these numbers, in the order of their origin."""
        statements, highest_number = self._statements, bits.bit_length() - 1
        if bits and bits == 1 << highest_number:  # most questions are decided by one policy
            statement = statements[highest_number]
            return () if statement is None else (statement,)
        numbers = self._list_numbers(bits)
        numbers.sort(key=self._sort_keys.__getitem__)
        return tuple([statement for number in numbers if (statement := statements[number]) is not None])

    def find_differences(self, other: "StatementIndex") -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """Return the statements that only this index has, and those that only the other one has."""
        pairs = [
            pair for pair in zip_longest(self._statements, other._statements) if pair[0] is not pair[1]
        ]  # of two snapshots of which one replaced the other, few pairs are left
        own_statements = {statement: None for statement, _ in pairs if statement is not None}
        other_statements = {statement: None for _, statement in pairs if statement is not None}
        return (
            tuple(statement for statement in own_statements if statement not in other_statements),
            tuple(statement for statement in other_statements if statement not in own_statements),
        )

    def list_allows(self, privileges: Iterable[str]) -> tuple[Statement, ...]:
        """Return the allows that list one of the privileges."""
        return self.select(self._match_privileges(privileges) & ~self._deny_bits)

    def has_restrictions(self, privileges: Iterable[str]) -> bool:
        """Whether an allow that lists one of the privileges has a restriction."""
        return bool(self._match_privileges(privileges) & self._restricted_bits)

    def has_constraints(self, privileges: Iterable[str]) -> bool:
        """Whether a statement that lists one of the privileges constrains sub-resources."""
        return bool(self._match_privileges(privileges) & self._constrained_bits)

    def _match_privileges(self, privileges: Iterable[str]) -> int:
        return union(self._by_privilege.get(privilege, 0) for privilege in privileges)

    def _copy_from(self, other: Self) -> None:
        self._statements = other._statements.copy()
        self._criteria = other._criteria.copy()
        self._sort_keys = other._sort_keys.copy()
        self._free_numbers = other._free_numbers.copy()
        self._by_policy = other._by_policy.copy()
        self._by_privilege = other._by_privilege.copy()
        self._by_token = other._by_token.copy()
        self._by_relational_token = other._by_relational_token.copy()
        self._by_excluded_token = other._by_excluded_token.copy()
        self._subfields = other._subfields.copy()
        self._condition_fields = other._condition_fields.copy()
        self._criterion_indexes = {key: index.copy() for key, index in other._criterion_indexes.items()}
        self._deny_bits, self._restricted_bits = other._deny_bits, other._restricted_bits
        self._constrained_bits, self._resourceless_bits = other._constrained_bits, other._resourceless_bits
        self._conditional_bits, self._excluding_bits = other._conditional_bits, other._excluding_bits

    def _insert(self, policy: str, statements: tuple[Statement, ...]) -> None:
        numbers = []
        for statement in statements:
            number = self._free_numbers.pop() if self._free_numbers else self._append_number()
            self._statements[number] = statement
            self._criteria[number] = tuple(item for item in statement.resources.criteria if item.field != TYPE)
            self._sort_keys[number] = _get_sort_key(statement.origin)
            numbers.append(number)
            self._index(1 << number, statement)
        self._by_policy[policy] = tuple(numbers)

    def _append_number(self) -> int:
        self._statements.append(None)
        self._criteria.append(())
        self._sort_keys.append("")
        return len(self._statements) - 1

    def _index(self, bit: int, statement: Statement) -> None:
        for table, key in self._iterate_entries(statement):
            table[key] = table.get(key, 0) | bit
        for slot, values in iterate_slots(statement):
            index = self._criterion_indexes.get(slot)
            if index is None:
                index = self._criterion_indexes[slot] = create_criterion_index(slot[0], slot[1])
            index.put(bit, values)
        self._deny_bits |= bit if statement.effect is Effect.DENY else 0
        self._restricted_bits |= bit if statement.restriction is not None else 0
        self._constrained_bits |= bit if statement.subresources is not None else 0
        self._conditional_bits |= bit if statement.actor_conditions else 0
        self._excluding_bits |= bit if statement.actors.excluded_tokens else 0
        self._resourceless_bits |= 0 if statement.resources.needs_resource else bit

    def _remove(self, policy: str) -> None:
        for number in self._by_policy.pop(policy, ()):
            statement = self._statements[number]
            if statement is not None:
                self._unindex(1 << number, statement)
            self._statements[number] = None
            self._free_numbers.append(number)

    def _unindex(self, bit: int, statement: Statement) -> None:
        for table, key in self._iterate_entries(statement):
            remaining_bits = table[key] & ~bit
            if remaining_bits:
                table[key] = remaining_bits
            else:
                del table[key]
        for slot, values in iterate_slots(statement):
            index = self._criterion_indexes[slot]
            index.drop(bit, values)
            if not index.mentions:
                del self._criterion_indexes[slot]
        self._deny_bits &= ~bit
        self._restricted_bits &= ~bit
        self._constrained_bits &= ~bit
        self._conditional_bits &= ~bit
        self._excluding_bits &= ~bit
        self._resourceless_bits &= ~bit

    def _iterate_entries(self, statement: Statement) -> Iterator[tuple[dict[str, int], str]]:
        """Yield each table that has an entry for the statement, with its key there."""
        for privilege in statement.privileges:
            yield self._by_privilege, privilege
        for token in statement.actors.tokens:
            yield self._by_relational_token if is_relational(token) else self._by_token, token
        for token in statement.actors.excluded_tokens:
            yield self._by_excluded_token, token
        if statement.subresources is not None:
            for field in statement.subresources.fields:
                yield self._subfields, field
        for field in {condition.field for condition in statement.actor_conditions if condition.is_about_resource}:
            yield self._condition_fields, field

    def _seal(self) -> None:
        everything = (1 << len(self._statements)) - 1
        for index in self._criterion_indexes.values():
            index.seal(everything)
        self._type_indexes = tuple(index for index in self._criterion_indexes.values() if index.field == TYPE)
        self._selector_index = SelectorIndex(
            {slot: index for slot, index in self._criterion_indexes.items() if index.field != TYPE}, everything
        )

    def _list_numbers(self, bits: int) -> list[int]:
        """Return the numbers in a set, highest first: finding the lowest one would cost ten times more."""
        numbers = []
        while bits:
            number = bits.bit_length() - 1
            numbers.append(number)
            bits ^= 1 << number
        return numbers

    def _iterate_bits(self, bits: int) -> Iterator[tuple[int, Statement]]:
        """Yield the statements with these numbers, each with its bit."""
        for number in self._list_numbers(bits):
            statement = self._statements[number]
            if statement is not None:
                yield 1 << number, statement


def _get_sort_key(origin: StatementOrigin) -> str:
    """Return a text that sorts as policy and index do: texts are compared faster than tuples."""
    return f"{origin.policy}\0{origin.index:09}" if origin.index else origin.policy


def union(sets: Iterable[int]) -> int:
    """Return the statements that are in any of the sets."""
    union_bits = 0
    for bits in sets:
        union_bits |= bits
    return union_bits
