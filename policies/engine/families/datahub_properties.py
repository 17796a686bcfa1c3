"""Criteria on properties in a DataHub policy: how they are written, checked and read.

The field says whose property it is: `PROPERTY.status` of the resource, `ACTOR.PROPERTY.department` of the actor,
`ACTION.PROPERTY.soft` of the action. A value `${ACTOR.PROPERTY.department}` stands for what the other party has there.
"""

from collections.abc import Mapping

from policies.engine import properties
from policies.engine.families.document import Json, Reader
from policies.engine.matching import NEVER, Condition, Criterion
from policies.engine.properties import Proviso

_PARTIES = (properties.RESOURCE, properties.ACTOR, properties.ACTION)

#: How such fields are written, for a refusal.
FIELDS = tuple(f"{start}<name>" for start in _PARTIES)


def is_meant(field: Json) -> bool:
    """Whether a field is meant to name a property, well said or not."""
    return isinstance(field, str) and field.startswith(_PARTIES)


def check(reader: Reader, field: Json, values: Json, place: str) -> None:
    """Check the name of a property, and values that stand for those of another party."""
    party = properties.party(field)
    if not party:
        detail = f"A property has a name of up to {properties.NAME_LENGTH} printable characters, no blanks around it."
        reader.note("property.name", f"{place}/field", detail)
    for index, value in enumerate(values if isinstance(values, list) else ()):
        problem = _problem_of(party, value) if isinstance(value, str) else None
        if problem is not None:
            reader.note(problem[0], f"{place}/values/{index}", problem[1])


def read(item: Mapping[str, Json]) -> Criterion | Proviso | None:
    """Return what a criterion on a property says, None for one on something else. Odd ones hold for nothing (a.4)."""
    field = str(item.get("field") or "")
    party = properties.party(field)
    if not party:
        return None
    condition, values = item.get("condition") or Condition.EQUALS, frozenset(item.get("values") or ())
    if condition not in tuple(Condition) or any(_problem_of(party, value) is not None for value in values):
        return NEVER
    references = frozenset(properties.reference(value) for value in values if properties.is_reference(value))
    if not references and party == properties.RESOURCE:
        return Criterion(field, Condition(condition), values)
    literal = frozenset(value for value in values if not properties.is_reference(value))
    return Proviso(field, Condition(condition), literal, references)


def _problem_of(party: str, value: str) -> tuple[str, str] | None:
    """Return the code and sentence of what is wrong with a value."""
    if not properties.is_reference(value):
        detail = f"A value of a property has up to {properties.VALUE_LENGTH} characters."
        return ("property.value", detail) if len(value) > properties.VALUE_LENGTH else None
    referred = properties.reference(value)
    if not referred:
        detail = "Refer to ${ACTOR.PROPERTY.name} or ${ACTION.PROPERTY.name}; a resource's property is the field."
        return "property.reference", detail
    if properties.party(referred) == party:
        return "property.reference", "This compares a property with another one of the same party."
    return None
