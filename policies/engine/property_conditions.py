"""Conditions on properties: of the resource, of the actor, of the action, and comparisons between them.

A property of the resource is a facet like any other (`PROPERTY.status`). A condition that depends on the actor or the
action is an actor condition: for one actor and one action it becomes a plain criterion on the resource, or true or
false. So decisions, lists and reports test facets only, once actor and action are known.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.engine.selectors import Condition, Criterion, Resource

#: Prefix of a property's field, by its party. The property's name follows, case-sensitive.
RESOURCE, ACTOR, ACTION = "PROPERTY.", "ACTOR.PROPERTY.", "ACTION.PROPERTY."
_PREFIXES = (RESOURCE, ACTOR, ACTION)

#: Longest name and longest value, in characters, that are stored whole. A longer value is stored as its beginning and a
#: digest; no policy names one.
MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 55, 500
_DIGEST_LENGTH = 64

#: Delimiters of a reference to a property of the actor or the action: ${ACTOR.PROPERTY.department}.
_OPENING, _CLOSING = "${", "}"


def property_prefix(field: str) -> str:
    """Return the prefix of a property's field, '' for another field or an invalid property name."""
    if not field.startswith(_PREFIXES):
        return ""
    prefix = next(candidate for candidate in _PREFIXES if field.startswith(candidate))
    name = field.removeprefix(prefix)
    return prefix if name.strip() == name and 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable() else ""


def is_reference(value: str) -> bool:
    """Whether a value is a reference, valid or not."""
    return value.startswith(_OPENING)


def referenced_field(value: str) -> str:
    """Return the field that a value refers to, '' if it is no valid reference to actor or action."""
    if not (is_reference(value) and value.endswith(_CLOSING)):
        return ""
    field = value[len(_OPENING) : -len(_CLOSING)]
    return field if property_prefix(field) in (ACTOR, ACTION) else ""


def to_texts(value: Any) -> frozenset[str]:
    """Return the values of a JSON property as texts; null, an empty text and an empty list are no value.

    Numbers and booleans are written as in JSON, whole numbers without a fraction; an object is its JSON with sorted
    keys. Raises RecursionError for a value that is nested too deeply.
    """
    match value:
        case None | "":
            return frozenset()
        case str():
            return frozenset((_shorten(value),))
        case list():
            return frozenset(text for item in value for text in to_texts(item))
        case float() if value.is_integer():
            return frozenset((str(int(value)),))
        case _:
            return frozenset((_shorten(json.dumps(value, sort_keys=True, separators=(",", ":"))),))


def to_facets(properties: Mapping[str, Any], prefix: str) -> dict[str, frozenset[str]]:
    """Return JSON properties as field -> values, under a party's `prefix`, without those with invalid names."""
    return {
        f"{prefix}{name}": to_texts(value) for name, value in properties.items() if property_prefix(f"{prefix}{name}")
    }


@dataclass(frozen=True, slots=True)
class ActorCondition:
    """A criterion that depends on the actor or action: through its field, or through the fields its values refer to."""

    field: str
    condition: Condition
    values: frozenset[str]
    references: frozenset[str] = frozenset()

    @property
    def is_about_resource(self) -> bool:
        """Whether it compares a property of the resource."""
        return self.field.startswith(RESOURCE)

    @property
    def tested_attributes(self) -> frozenset[str]:
        """The fields of actor and action that it tests."""
        return self.references if self.is_about_resource else self.references | {self.field}

    def bind(self, attributes: Mapping[str, frozenset[str]], *, is_deny: bool) -> Criterion | bool:
        """Return the criterion on the resource that remains for these facts about actor and action, or the outcome.

        An unknown attribute makes it false for an allow and true for a deny, under NOT_EQUALS too: nobody gains access
        by withholding a fact.
        """
        if is_deny and not self.tested_attributes <= attributes.keys():
            return True
        no_values = frozenset[str]()
        if self.condition is Condition.NOT_EQUALS and not self.references <= attributes.keys():
            return False
        values = self.values.union(*(attributes.get(field, no_values) for field in self.references))
        criterion = Criterion(self.field, self.condition, values)
        if self.is_about_resource:
            return criterion
        return self.field in attributes and criterion.holds(attributes[self.field])

    def holds(self, attributes: Mapping[str, frozenset[str]], resource: Resource | None, *, is_deny: bool) -> bool:
        """Whether it holds for these facts and this resource. Raises MissingFact for a facet that was not loaded."""
        outcome = self.bind(attributes, is_deny=is_deny)
        if isinstance(outcome, bool):
            return outcome
        return resource is not None and outcome.holds(resource.values(self.field))


def _shorten(text: str) -> str:
    if len(text) <= MAX_VALUE_LENGTH:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return text[: MAX_VALUE_LENGTH - _DIGEST_LENGTH] + digest
