"""Actor conditions of statements: binding them to one actor and its action, and testing them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from policies.engine.model import Actor, Cover, Effect, Statement
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import (
    ONESELF,
    OWNER_OF_ANY_TYPE,
    Criterion,
    Resource,
    Selector,
    is_relational,
    owner_type,
    resource_tokens,
)

#: Maximum number of clauses about owners whose relation is kept.
_MAX_RELATIONS = 1_024


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
    """Return the statement for one actor, its actor conditions turned into criteria.

    None if one of them fails, or if the statement excludes the actor whatever the resource.
    """
    if not statement.actors.excluded_tokens.isdisjoint(actor.tokens):
        return None
    if not statement.actor_conditions:
        return statement
    attributes, is_deny = attributes_of(actor), statement.effect is Effect.DENY
    criteria = list(statement.resources.criteria)
    for condition in statement.actor_conditions:
        outcome = condition.bind(attributes, is_deny=is_deny)
        if outcome is False:
            return None
        if isinstance(outcome, Criterion):
            criteria.append(outcome)
    selector = Selector(tuple(criteria), statement.resources.needs_resource)
    return replace(statement, resources=selector, actor_conditions=())


def is_excluded(statement: Statement, actor: Actor, resource: Resource | None) -> bool:
    """Whether the actor clause of a statement excludes the actor, whatever the resource or as an owner of it."""
    excluded_tokens = statement.actors.excluded_tokens
    return bool(excluded_tokens) and not (
        excluded_tokens.isdisjoint(actor.tokens)
        and excluded_tokens.isdisjoint(resource_tokens(actor.urn, actor.holders, resource))
    )


def meets_conditions(statement: Statement, actor: Actor, resource: Resource | None) -> bool:
    """Whether every actor condition of a statement holds. Raises MissingFact for a facet that was not loaded."""
    return not (statement.actor_conditions and failing_conditions(statement, actor, resource))


def failing_conditions(statement: Statement, actor: Actor, resource: Resource | None) -> list[ActorCondition]:
    """Return the failing actor conditions of a statement. Raises MissingFact for a facet that was not loaded."""
    attributes, is_deny = attributes_of(actor), statement.effect is Effect.DENY
    return [
        condition
        for condition in statement.actor_conditions
        if not condition.holds(attributes, resource, is_deny=is_deny)
    ]


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
    """Return the cover of a bound statement (`bind_actor`), for an actor with these tokens."""
    actors = statement.actors
    is_unconditional = not actors.tokens.isdisjoint(actor_tokens)
    if not actors.is_relational:
        return Cover(statement, is_unconditional)
    return Cover(statement, is_unconditional, *_find_relation(actors.tokens, actors.excluded_tokens))


@lru_cache(_MAX_RELATIONS)
def _find_relation(
    tokens: frozenset[str], excluded_tokens: frozenset[str]
) -> tuple[bool, frozenset[str] | None, bool, frozenset[str]]:
    """Return a cover's terms of owners and oneself: `is_owned`, `owner_types`, `is_self`, `excluded_owner_types`.

    It follows from the tokens alone. A company's clauses about owners have few different ones.
    """
    types = {owner_type(token) for token in tokens if token.startswith(OWNER_OF_ANY_TYPE)}
    excluded_types = (owner_type(token) for token in excluded_tokens if is_relational(token))
    return (
        bool(types),
        None if None in types else frozenset(kind for kind in types if kind is not None),
        ONESELF in tokens,
        frozenset(kind for kind in excluded_types if kind),
    )
