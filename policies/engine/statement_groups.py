"""Statements grouped by the entities they cover, and entities grouped by the statement groups that cover them.

Statements with equal criteria on entities of one type are one statement group. Groups without a positive criterion
cover nearly all of their type; for those, an entity group lists the ones that do not cover it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from policies.engine.actor_conditional_reach import statement_kind
from policies.engine.postings import Postings
from policies.engine.selectors import TYPE, Condition, Criterion, Selector, is_relational
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class StatementGroup:
    """Statements with equal criteria on a type, and the tokens of their plain allows, restricted allows and denies."""

    type: str
    criteria: tuple[Criterion, ...]
    allow_tokens: frozenset[str]
    restricted_tokens: frozenset[str]
    deny_tokens: frozenset[str]

    @property
    def covers_whole_type(self) -> bool:
        """Whether it covers its whole type except for the entities that its criteria exclude."""
        return all(criterion.condition is Condition.NOT_EQUALS for criterion in self.criteria)

    def tokens(self, kind: int) -> frozenset[str]:
        """Return the tokens of one kind of statement (`policies.engine.actor_conditional_reach.statement_kind`)."""
        return (self.allow_tokens, self.restricted_tokens, self.deny_tokens)[kind]

    @property
    def relational_tokens(self) -> frozenset[str]:
        """The tokens that an actor has only in relation to an entity: ONESELF and owners."""
        tokens = self.allow_tokens | self.restricted_tokens | self.deny_tokens
        return frozenset(filter(is_relational, tokens))


def group_statements(snapshot: Snapshot, privilege: str, types: Iterable[str]) -> tuple[StatementGroup, ...]:
    """Return the statement groups of a privilege for these entity types, in an order that depends on statements alone.

    Actor-specific statements are in none (see `policies.engine.actor_conditional_reach`).
    """
    tokens_by_criteria: dict[tuple[str, tuple[Criterion, ...]], tuple[set[str], set[str], set[str]]] = {}
    type_names = sorted(set(types))
    for statement in snapshot.list_statements(privilege):
        if statement.is_actor_specific:
            continue
        criteria = statement.resources.criteria
        other_criteria = tuple(criterion for criterion in criteria if criterion.field != TYPE)
        type_criteria = [criterion for criterion in criteria if criterion.field == TYPE]
        for type_name in type_names:
            if all(
                type_criterion.holds(frozenset((type_name,)) if type_name else frozenset())
                for type_criterion in type_criteria
            ):
                kinds = tokens_by_criteria.setdefault((type_name, other_criteria), (set(), set(), set()))
                kinds[statement_kind(statement)].update(statement.actors.tokens)
    sorted_groups = sorted(
        tokens_by_criteria.items(),
        key=lambda item: (item[0][0], [_criterion_sort_key(criterion) for criterion in item[0][1]]),
    )
    return tuple(
        StatementGroup(
            type_name, other_criteria, frozenset(allow_tokens), frozenset(restricted_tokens), frozenset(deny_tokens)
        )
        for (type_name, other_criteria), (allow_tokens, restricted_tokens, deny_tokens) in sorted_groups
    )


@dataclass(frozen=True, slots=True)
class EntityGroup:
    """Entities with the same statement groups, by number: positive ones covering, whole-type ones excluding them."""

    covering_groups: tuple[int, ...]
    excluding_groups: tuple[int, ...]
    type: str
    entities: Sequence[int]


def group_entities(postings: Postings, statement_groups: Sequence[StatementGroup]) -> Iterator[EntityGroup]:
    """Yield the entities of the postings, grouped by the statement groups that cover them."""
    covering_groups: list[list[int]] = [[] for _ in postings.urns]
    for group_number, statement_group in enumerate(statement_groups):
        typed_entities = postings.with_type(statement_group.type)
        if typed_entities and not statement_group.covers_whole_type:
            for number in postings.find_extent(Selector(statement_group.criteria)) & typed_entities:
                covering_groups[number].append(group_number)
    excluding_groups = list_excluding_groups(postings, statement_groups)
    entities_by_key: dict[tuple[str, tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for number, type_name in enumerate(postings.types):
        entities_by_key[type_name, tuple(covering_groups[number]), tuple(excluding_groups.get(number, ()))].append(
            number
        )
    for (type_name, covering_key, excluding_key), numbers in entities_by_key.items():
        yield EntityGroup(covering_key, excluding_key, type_name, numbers)


def list_excluding_groups(
    postings: Postings, statement_groups: Sequence[StatementGroup]
) -> Mapping[int, Sequence[int]]:
    """Return the whole-type statement groups that exclude an entity, as entity -> groups, where there are such."""
    excluding_groups: dict[int, list[int]] = defaultdict(list)
    for group_number, statement_group in enumerate(statement_groups):
        if statement_group.covers_whole_type and (typed_entities := postings.with_type(statement_group.type)):
            for number in typed_entities - postings.find_extent(Selector(statement_group.criteria)):
                excluding_groups[number].append(group_number)
    return excluding_groups


def _criterion_sort_key(criterion: Criterion) -> tuple[str, str, list[str]]:
    return criterion.field, criterion.condition, sorted(criterion.values)
