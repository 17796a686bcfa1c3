"""Conditions on properties in words, for reasons and near misses."""

from policies.engine import property_conditions
from policies.engine.property_conditions import Proviso
from policies.engine.selectors import Condition, Criterion, Resource

#: How many values a clause lists before it says how many more there are.
_LISTED = 3

_HELD = {Condition.EQUALS: "is", Condition.STARTS_WITH: "begins with", Condition.NOT_EQUALS: "is not"}
_FAILED = {Condition.EQUALS: "is not", Condition.STARTS_WITH: "does not begin with", Condition.NOT_EQUALS: "is"}


def is_property(field: str) -> bool:
    """Whether a field is that of a property."""
    return property_conditions.party(field) != ""


def held(test: Criterion | Proviso, *, who: str, what: str) -> str:
    """Say that a condition holds; `who` and `what` are what the actor and the resource are called."""
    return f"{_whose(test.field, who, what)} {_HELD[test.condition]} {_wanted(test, who, what)}"


def failed(test: Criterion | Proviso, known: dict[str, frozenset[str]], *, who: str, what: str) -> str:
    """Say that a condition does not hold; `known` is what is known of actor and action."""
    unknown = sorted(test.mentions - known.keys()) if isinstance(test, Proviso) else []
    if unknown:
        return f"{_whose(unknown[0], who, what)} is not known"
    return f"{_whose(test.field, who, what)} {_FAILED[test.condition]} {_wanted(test, who, what)}"


def called(resource: Resource | None) -> str:
    """Return what a resource is called in a clause."""
    return f"the {resource.type}" if resource is not None and resource.type else "the resource"


def _whose(field: str, who: str, what: str) -> str:
    party = property_conditions.party(field)
    owner = {property_conditions.ACTOR: who, property_conditions.ACTION: "the action"}.get(party, what)
    return f"{owner}'s {field.removeprefix(party)}"


def _wanted(test: Criterion | Proviso, who: str, what: str) -> str:
    references = sorted(test.references) if isinstance(test, Proviso) else []
    wanted = [*sorted(test.values), *(_whose(field, who, what) for field in references)]
    if not wanted:
        return "anything: no value is wanted"
    shown = wanted[:_LISTED]
    rest = len(wanted) - len(shown)
    return f"{', '.join(shown)} or one of {rest} more" if rest else " or ".join(shown)
