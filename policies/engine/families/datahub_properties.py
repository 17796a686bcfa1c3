"""Criteria on properties in a DataHub policy: their spelling, checks and compilation.

The field names the party: `PROPERTY.status` of the resource, `ACTOR.PROPERTY.department` of the actor,
`ACTION.PROPERTY.soft` of the action. A value `${ACTOR.PROPERTY.department}` stands for the values of that property.
"""

from collections.abc import Mapping

from policies.engine import property_conditions
from policies.engine.families.document_reader import DocumentReader, JsonValue
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import NEVER_CRITERION, Condition, Criterion

_PREFIXES = (property_conditions.RESOURCE, property_conditions.ACTOR, property_conditions.ACTION)

#: The forms of such fields, for problems.
FIELD_FORMS = tuple(f"{start}<name>" for start in _PREFIXES)


def is_property_field(field: JsonValue) -> bool:
    """Whether a field is meant to name a property, valid or not."""
    return isinstance(field, str) and field.startswith(_PREFIXES)


def check(reader: DocumentReader, field: JsonValue, values: JsonValue, pointer: str) -> None:
    """Check the name of a property, and its values, references to another party's properties included."""
    prefix = property_conditions.property_prefix(field)
    if not prefix:
        length = property_conditions.MAX_NAME_LENGTH
        detail = f"A property has a name of up to {length} printable characters, no blanks around it."
        reader.note("property.name", f"{pointer}/field", detail)
    for index, value in enumerate(values if isinstance(values, list) else ()):
        problem = _find_problem(prefix, value) if isinstance(value, str) else None
        if problem is not None:
            reader.note(problem[0], f"{pointer}/values/{index}", problem[1])


def read(item: Mapping[str, JsonValue]) -> Criterion | ActorCondition | None:
    """Return the compiled criterion on a property, None for one on another field. Invalid ones never hold (a.4)."""
    field = str(item.get("field") or "")
    prefix = property_conditions.property_prefix(field)
    if not prefix:
        return None
    condition, values = item.get("condition") or Condition.EQUALS, frozenset(item.get("values") or ())
    if condition not in tuple(Condition) or any(_find_problem(prefix, value) is not None for value in values):
        return NEVER_CRITERION
    references = frozenset(
        property_conditions.referenced_field(value) for value in values if property_conditions.is_reference(value)
    )
    if not references and prefix == property_conditions.RESOURCE:
        return Criterion(field, Condition(condition), values)
    literals = frozenset(value for value in values if not property_conditions.is_reference(value))
    return ActorCondition(field, Condition(condition), literals, references)


def _find_problem(prefix: str, value: str) -> tuple[str, str] | None:
    """Return the code and the sentence of a value's problem, or None."""
    if not property_conditions.is_reference(value):
        detail = f"A value of a property has up to {property_conditions.MAX_VALUE_LENGTH} characters."
        return ("property.value", detail) if len(value) > property_conditions.MAX_VALUE_LENGTH else None
    referenced_field = property_conditions.referenced_field(value)
    if not referenced_field:
        detail = "Refer to ${ACTOR.PROPERTY.name} or ${ACTION.PROPERTY.name}; a resource's property is the field."
        return "property.reference", detail
    if property_conditions.property_prefix(referenced_field) == prefix:
        return "property.reference", "This compares a property with another one of the same party."
    return None
