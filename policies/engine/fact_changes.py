"""Changes of facts about entities: what they can touch, and the entities as the changes would leave them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from policies.engine import access_change
from policies.engine.access_change import ChangeScope
from policies.engine.model import Statement
from policies.engine.postings import Postings
from policies.engine.selectors import (
    HIERARCHICAL_FIELDS,
    OWNER,
    OWNER_OF_ANY_TYPE,
    URN,
    ActorMatch,
    Condition,
    Criterion,
    Owner,
    Selector,
    owner_type,
)

#: Returns the ancestors of nodes, as they would be.
AncestorLoader = Callable[[Collection[str]], Mapping[str, Collection[str]]]


def _find_no_ancestors(nodes: Collection[str], /) -> Mapping[str, Collection[str]]:
    return dict.fromkeys(nodes, ())


@dataclass(frozen=True, slots=True)
class FactChanges:
    """The facts of entities that changes concern, as they would be.

    `values` are the direct values of changed fields but OWNER, as URN -> field -> values, `owners` those of entities
    whose owners change. `moved_nodes` are the nodes with another parent, by hierarchical field. `changed_values` are
    the values that any entity gains or loses, hierarchies closed; `changed_owners` the entries of owners.
    """

    values: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)
    owners: Mapping[str, Collection[Owner]] = field(default_factory=dict)
    moved_nodes: Mapping[str, Collection[str]] = field(default_factory=dict)
    changed_values: Mapping[str, Collection[str]] = field(default_factory=dict)
    changed_owners: frozenset[Owner] = frozenset()
    load_ancestors: AncestorLoader = _find_no_ancestors

    @property
    def has_changes(self) -> bool:
        """Whether any entity would have other facts."""
        return bool(self.changed_values or self.changed_owners)


NO_FACT_CHANGES = FactChanges()


def find_fact_scope(
    statements: Iterable[Statement], changes: FactChanges, privileges: Collection[str] | None = None
) -> ChangeScope:
    """Return the scope of changes of facts: these entities and those below moved nodes alone.

    Only statements can differ that test a value which an entity gains or loses, for the actors that they name, and
    those that name or except owners, for the owners who change.
    """
    owner_types = {owner.type for owner in changes.changed_owners}
    holders = ActorMatch(frozenset(owner.actor for owner in changes.changed_owners))
    touching: list[Statement] = []
    for statement in statements:
        if any(_tests_changed_value(criterion, changes) for criterion in statement.resources.criteria):
            touching.append(statement)
        if owner_types and any(_is_of_owners(token, owner_types) for token in statement.actors.tested_tokens):
            touching.append(replace(statement, actors=holders))
    scope = access_change.find_scope(touching, privileges)
    return replace(scope, selectors=tuple(list_selectors(changes)) if scope.privileges else (), platform_privileges=())


def apply_fact_changes(postings: Postings, changes: FactChanges) -> Postings:
    """Return the entities with the facts that they would have."""
    changed_postings, new_nodes = postings, set[str]()
    for field_name in sorted({name for values in changes.values.values() for name in values} & postings.fields):
        values_by_number = {
            number: values[field_name]
            for urn, values in changes.values.items()
            if field_name in values and (number := postings.number(urn)) is not None
        }
        changed_postings = changed_postings.replace_values(field_name, values_by_number)
        if field_name in HIERARCHICAL_FIELDS:
            new_nodes |= {value for values in values_by_number.values() for value in values}
    if changes.owners and OWNER in postings.fields:
        owners_by_number = {postings.number(urn): owners for urn, owners in changes.owners.items()}
        changed_postings = changed_postings.replace_owners(
            {number: owners for number, owners in owners_by_number.items() if number is not None}
        )
    moved_nodes = {node for nodes in changes.moved_nodes.values() for node in nodes}
    nodes = new_nodes | moved_nodes | postings.find_descendants(moved_nodes)
    return changed_postings.replace_ancestors(changes.load_ancestors(nodes)) if nodes else changed_postings


def _tests_changed_value(criterion: Criterion, changes: FactChanges) -> bool:
    changed_values = changes.changed_values.get(criterion.field, ())
    if criterion.condition is Condition.STARTS_WITH:
        return any(value.startswith(tuple(criterion.values)) for value in changed_values)
    return not criterion.values.isdisjoint(changed_values)


def _is_of_owners(token: str, owner_types: Collection[str]) -> bool:
    return token.startswith(OWNER_OF_ANY_TYPE) and owner_type(token) in (None, *owner_types)


def list_selectors(changes: FactChanges) -> Iterator[Selector]:
    """Yield selectors of the entities that the changes touch, as they are stored now."""
    for field_name, values in ((URN, changes.values.keys() | changes.owners.keys()), *changes.moved_nodes.items()):
        if values:
            criterion = Criterion(field_name, Condition.EQUALS, frozenset(values))
            yield Selector((criterion,), needs_resource=True)
