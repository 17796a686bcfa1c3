"""Criteria on properties in a DataHub policy: how they are written, checked and read.

The field says whose property it is: `PROPERTY.status` of the resource, `ACTOR.PROPERTY.department` of the actor,
`ACTION.PROPERTY.soft` of the action. A value `${ACTOR.PROPERTY.department}` stands for what the other party has there.
"""

from collections.abc import Mapping

from policies.engine import property_conditions
from policies.engine.families.document_reader import Json, Reader
from policies.engine.property_conditions import Proviso
from policies.engine.selectors import NEVER, Condition, Criterion

_PARTIES = (property_conditions.RESOURCE, property_conditions.ACTOR, property_conditions.ACTION)

#: How such fields are written, for a refusal.
FIELDS = tuple(f"{start}<name>" for start in _PARTIES)


def is_meant(field: Json) -> bool:
    """Whether a field is meant to name a property, well said or not."""
    return isinstance(field, str) and field.startswith(_PARTIES)


def check(reader: Reader, field: Json, values: Json, place: str) -> None:
    """Check the name of a property, and values that stand for those of another party."""
    party = property_conditions.party(field)
    if not party:
        length = property_conditions.NAME_LENGTH
        detail = f"A property has a name of up to {length} printable characters, no blanks around it."
        reader.note("property.name", f"{place}/field", detail)
    for index, value in enumerate(values if isinstance(values, list) else ()):
        problem = _problem_of(party, value) if isinstance(value, str) else None
        if problem is not None:
            reader.note(problem[0], f"{place}/values/{index}", problem[1])


def read(item: Mapping[str, Json]) -> Criterion | Proviso | None:
    """Return what a criterion on a property says, None for one on something else. Odd ones hold for nothing (a.4)."""
    field = str(item.get("field") or "")
    party = property_conditions.party(field)
    if not party:
        return None
    condition, values = item.get("condition") or Condition.EQUALS, frozenset(item.get("values") or ())
    if condition not in tuple(Condition) or any(_problem_of(party, value) is not None for value in values):
        return NEVER
    references = frozenset(
        property_conditions.reference(value) for value in values if property_conditions.is_reference(value)
    )
    if not references and party == property_conditions.RESOURCE:
        return Criterion(field, Condition(condition), values)
    literal = frozenset(value for value in values if not property_conditions.is_reference(value))
    return Proviso(field, Condition(condition), literal, references)


def _problem_of(party: str, value: str) -> tuple[str, str] | None:
    """Return the code and sentence of what is wrong with a value."""
    if not property_conditions.is_reference(value):
        detail = f"A value of a property has up to {property_conditions.VALUE_LENGTH} characters."
        return ("property.value", detail) if len(value) > property_conditions.VALUE_LENGTH else None
    referred = property_conditions.reference(value)
    if not referred:
        detail = "Refer to ${ACTOR.PROPERTY.name} or ${ACTION.PROPERTY.name}; a resource's property is the field."
        return "property.reference", detail
    if property_conditions.party(referred) == party:
        return "property.reference", "This compares a property with another one of the same party."
    return None
