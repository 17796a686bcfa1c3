"""Labels of properties, and of values that refer to a property of another party."""

from types import MappingProxyType

from policies.engine import property_conditions

#: Prefix of the fields of properties → label of the party that has the property.
PARTIES = MappingProxyType(
    {
        property_conditions.RESOURCE: "Property of the resource",
        property_conditions.ACTOR: "Property of the user who asks",
        property_conditions.ACTION: "Property of the action",
    }
)
_POSSESSIVES = {property_conditions.ACTOR: "the user's ", property_conditions.ACTION: "the action's "}

_CONDITION_VERBS = {"EQUALS": "is", "STARTS_WITH": "begins with", "NOT_EQUALS": "is not"}


def split(field: str) -> tuple[str, str]:
    """Return prefix and name of the field of a property, whether or not it is valid; '' twice for other fields."""
    start = next((prefix for prefix in PARTIES if field.startswith(prefix)), "")
    return start, field.removeprefix(start) if start else ""


def label(field: str) -> str:
    """Return the label of a condition on a property; '' for another field."""
    start, name = split(field)
    return f"{PARTIES[start]}: {name}" if name else PARTIES.get(start, "")


def describe_value(text: str) -> str:
    """Return a value in words: the property it refers to, or the value itself."""
    field = property_conditions.referenced_field(text)
    return _property_phrase(field) if field else text


def clause(field: str, condition: str, values_text: str) -> str:
    """Return a condition as a clause about resources; `values_text` are its values in words."""
    start, name = split(field)
    verb = _CONDITION_VERBS.get(condition, condition)
    if start == property_conditions.RESOURCE:
        return f"whose {name or 'property'} {verb} {values_text}"
    return f"if {_property_phrase(field)} {verb} {values_text}"


def _property_phrase(field: str) -> str:
    start, name = split(field)
    return f"{_POSSESSIVES.get(start, '')}{name or 'property'}"
