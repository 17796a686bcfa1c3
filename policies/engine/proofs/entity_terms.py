"""Terms about one entity that a catalog could hold, and statements as terms for one person: named, or as its owner.

An entity has a URN that names its type. It is of a type that there is, or that somebody names: a dataset where it can
be.
"""

from collections.abc import Collection, Iterable
from itertools import count

from policies.engine.actor_conditions import bind_actor
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Statement
from policies.engine.proofs.formula import FALSE, TRUE, Formula
from policies.engine.proofs.resource_terms import ResourceTerms
from policies.engine.selectors import (
    ONESELF,
    OWNER,
    TYPE,
    Condition,
    Owner,
    Resource,
    Selector,
    is_relational,
    owner_type,
)

#: The type that an example has where nothing says another.
USUAL_TYPE = "dataset"


class EntityTerms:
    """The literals of an entity. `named_types` are types that it may have besides those of the vocabulary."""

    def __init__(self, formula: Formula, named_types: Collection[str] = ()) -> None:
        self._formula = formula
        self._named_types = frozenset(named_types)
        self._resource = ResourceTerms(formula, is_given=TRUE, is_subresource=True)
        self._typed_owners: dict[tuple[str, str], int] = {}
        self._has_types = False

    def covers(self, selector: Selector) -> int:
        """Return the literal of a selector that covers the entity."""
        return self._resource.covers(selector)

    def applies(self, statement: Statement, actor: Actor, holders: Iterable[str]) -> int:
        """Return the literal of a statement that matches a question of this actor without sub-resources.

        `holders` are the URNs by which the actor can own the entity. Nobody is the entity itself.
        """
        if statement.needs_subresource:
            return FALSE
        bound_statement = bind_actor(statement, actor)
        if bound_statement is None:
            return FALSE
        clause = bound_statement.actors
        parts = [self._resource.covers(bound_statement.resources)]
        if clause.tokens.isdisjoint(actor.tokens):
            parts.append(
                self._formula.define_any([self._find_ownership(token, holders) for token in sorted(clause.tokens)])
            )
        parts += [
            -self._find_ownership(token, holders) for token in sorted(clause.excluded_tokens) if is_relational(token)
        ]
        return self._formula.define_all(parts)

    def exclude(self, urn: str) -> None:
        """Require that the entity is not this one."""
        self._formula.require(-self._resource.urn.value(urn))

    def solve(self) -> bool:
        """Whether there can be such an entity; a dataset that a catalog can hold if one is among them."""
        storable, dataset = self._resource.is_storable, self._resource.type.value(USUAL_TYPE)
        if self._formula.solve([storable, dataset]):
            return True
        if not self._has_types:
            names = self._named_types | vocabulary.load_datahub().resource_types.keys()
            # What no entity can be, or one of a type that there is can, needs no terms for each of them.
            if not self._formula.solve([storable]) and not self._formula.solve():
                return False
            if self._resource.find_type(count(1)) in names:
                return True
            self._has_types = True
            self._formula.require(*(self._resource.type.value(name) for name in sorted(names)))
        return self._formula.solve([storable]) or self._formula.solve()

    def find_resource(self, fields: Iterable[str]) -> Resource:
        """Return the entity of the solution, with a facet for each of these fields."""
        numbers = count(1)
        urn = self._resource.find_urn(self._resource.find_type(numbers), numbers)
        facets = dict.fromkeys(fields, frozenset[str]()) | self._resource.find_facets(urn, numbers, {})
        typed = [pair for pair, literal in self._typed_owners.items() if self._formula.holds(literal)]
        typed_urns = {holder for holder, _ in typed}
        owners = {Owner(owner, "") for owner in facets.get(OWNER, ()) if owner not in typed_urns}
        return Resource(urn, urn.split(":")[2], facets, frozenset(owners | {Owner(*pair) for pair in typed}))

    def _find_ownership(self, token: str, holders: Iterable[str]) -> int:
        """Return the literal of an owner; FALSE for any other token, and for a type that no entry has."""
        if not is_relational(token) or token == ONESELF:
            return FALSE
        type_name = owner_type(token)
        if type_name == "":
            return FALSE
        owners = self._resource.terms(OWNER)
        literals = [
            owners.value(holder) if type_name is None else self._find_typed_owner(holder, type_name)
            for holder in holders
        ]
        return self._formula.define_any(literals)

    def _find_typed_owner(self, holder: str, type_name: str) -> int:
        literal = self._typed_owners.get((holder, type_name))
        if literal is None:
            literal = self._typed_owners[holder, type_name] = self._formula.create_literal()
            self._formula.require(-literal, self._resource.terms(OWNER).value(holder))
        return literal


def list_types(selectors: Iterable[Selector]) -> frozenset[str]:
    """Return the types that selectors name."""
    return frozenset(
        value
        for selector in selectors
        for criterion in selector.criteria
        if criterion.field == TYPE and criterion.condition is Condition.EQUALS
        for value in criterion.values
    )


def find_entity(selectors: Collection[Selector], fields: Iterable[str] = ()) -> Resource | None:
    """Return an entity that all selectors cover, None if no catalog could hold one. Raises ProofUnavailable."""
    with Formula(lambda: False) as formula:
        terms = EntityTerms(formula, list_types(selectors))
        for selector in selectors:
            formula.require(terms.covers(selector))
        return terms.find_resource(fields) if terms.solve() else None
