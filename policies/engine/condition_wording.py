"""Wording of conditions on properties, for reasons and near misses."""

from policies.engine import property_conditions
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import Condition, Criterion, Resource

#: Most values that a clause lists; the rest is counted.
_MAX_LISTED_VALUES = 3

_VERBS = {Condition.EQUALS: "is", Condition.STARTS_WITH: "begins with", Condition.NOT_EQUALS: "is not"}
_NEGATED_VERBS = {Condition.EQUALS: "is not", Condition.STARTS_WITH: "does not begin with", Condition.NOT_EQUALS: "is"}


def is_property(field: str) -> bool:
    """Whether a field is that of a property."""
    return property_conditions.property_prefix(field) != ""


def word_condition(condition: Criterion | ActorCondition, *, actor_name: str, resource_name: str) -> str:
    """Return a clause that states that a condition holds; `actor_name` and `resource_name` are display names."""
    name = _name_property(condition.field, actor_name, resource_name)
    return f"{name} {_VERBS[condition.condition]} {_join_values(condition, actor_name, resource_name)}"


def word_failed_condition(
    condition: Criterion | ActorCondition, attributes: dict[str, frozenset[str]], *, actor_name: str, resource_name: str
) -> str:
    """Return a clause that states that a condition fails; `attributes` are those known of actor and action."""
    unknown_fields = (
        sorted(condition.tested_attributes - attributes.keys()) if isinstance(condition, ActorCondition) else []
    )
    if unknown_fields:
        return f"{_name_property(unknown_fields[0], actor_name, resource_name)} is not known"
    name = _name_property(condition.field, actor_name, resource_name)
    return f"{name} {_NEGATED_VERBS[condition.condition]} {_join_values(condition, actor_name, resource_name)}"


def name_resource(resource: Resource | None) -> str:
    """Return the noun phrase for a resource in a clause, such as "the dataset"."""
    return f"the {resource.type}" if resource is not None and resource.type else "the resource"


def _name_property(field: str, actor_name: str, resource_name: str) -> str:
    prefix = property_conditions.property_prefix(field)
    owner = {property_conditions.ACTOR: actor_name, property_conditions.ACTION: "the action"}.get(prefix, resource_name)
    return f"{owner}'s {field.removeprefix(prefix)}"


def _join_values(condition: Criterion | ActorCondition, actor_name: str, resource_name: str) -> str:
    references = sorted(condition.references) if isinstance(condition, ActorCondition) else []
    value_names = [
        *sorted(condition.values),
        *(_name_property(field, actor_name, resource_name) for field in references),
    ]
    if not value_names:
        return "anything: no value is wanted"
    listed_names = value_names[:_MAX_LISTED_VALUES]
    rest_count = len(value_names) - len(listed_names)
    return f"{', '.join(listed_names)} or one of {rest_count} more" if rest_count else " or ".join(listed_names)
