"""Actor conditions of statements: binding them to one actor and its action, and testing them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from policies.engine.model import Actor, Cover, Statement
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, Criterion, Resource, Selector, owner_type


def actor_attributes(facts: Mapping[str, Iterable[str]]) -> frozenset[tuple[str, str]]:
    """Return facts about an actor or an action as (field, value) pairs, as actors hold them."""
    return frozenset((field, value) for field, values in facts.items() for value in values)


def override_attributes(actor: Actor, overrides: Mapping[str, frozenset[str]]) -> Actor:
    """Return the actor with these facts in place of its own values of the same fields, for one question."""
    if not overrides:
        return actor
    unchanged_attributes = frozenset(pair for pair in actor.attributes if pair[0] not in overrides)
    return replace(actor, attributes=unchanged_attributes | actor_attributes(overrides))


def attributes_of(actor: Actor) -> dict[str, frozenset[str]]:
    """Return the attributes of an actor and its action, as field -> values."""
    values_by_field: dict[str, frozenset[str]] = {}
    for field, value in actor.attributes:
        values_by_field[field] = values_by_field.get(field, frozenset()) | {value}
    return values_by_field


def bind_actor(statement: Statement, actor: Actor) -> Statement | None:
    """Return the statement for one actor, its actor conditions turned into criteria; None if one of them fails."""
    if not statement.actor_conditions:
        return statement
    attributes = attributes_of(actor)
    criteria = list(statement.resources.criteria)
    for condition in statement.actor_conditions:
        outcome = condition.bind(attributes)
        if outcome is False:
            return None
        if isinstance(outcome, Criterion):
            criteria.append(outcome)
    selector = Selector(tuple(criteria), statement.resources.needs_resource)
    return replace(statement, resources=selector, actor_conditions=())


def meets_conditions(statement: Statement, actor: Actor, resource: Resource | None) -> bool:
    """Whether every actor condition of a statement holds. Raises MissingFact for a facet that was not loaded."""
    return not (statement.actor_conditions and failing_conditions(statement, actor, resource))


def failing_conditions(statement: Statement, actor: Actor, resource: Resource | None) -> list[ActorCondition]:
    """Return the failing actor conditions of a statement. Raises MissingFact for a facet that was not loaded."""
    attributes = attributes_of(actor)
    return [condition for condition in statement.actor_conditions if not condition.holds(attributes, resource)]


def relevant_attributes(actor: Actor, fields: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return the actor's attributes in these fields, which decide how statements on these fields apply to it."""
    return frozenset(pair for pair in actor.attributes if pair[0] in fields)


def tested_attributes(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the fields of actor and action that the conditions of these statements test."""
    return frozenset(
        field
        for statement in statements
        for condition in statement.actor_conditions
        for field in condition.tested_attributes
    )


def actor_cover(statement: Statement, actor_tokens: frozenset[str]) -> Cover:
    """Return the cover of a statement without actor conditions, for an actor with these tokens."""
    tokens = statement.actors.tokens
    types = {owner_type(token) for token in tokens if token.startswith(OWNER_OF_ANY_TYPE)}
    return Cover(
        statement=statement,
        is_unconditional=not tokens.isdisjoint(actor_tokens),
        is_owned=bool(types),
        owner_types=None if None in types else frozenset(kind for kind in types if kind is not None),
        is_self=ONESELF in tokens,
    )
