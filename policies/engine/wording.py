"""Words for the fields and conditions of policies, and joined lists: every sentence about a policy takes them here."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from policies.engine import property_conditions, selectors
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import Condition, Criterion, Resource

#: Most names that a sentence lists; the rest is counted.
MAX_LISTED_NAMES = 3

#: End of a clause about a condition that no value meets.
NO_VALUE = "anything: no value is wanted"


@dataclass(frozen=True, slots=True)
class FieldWords:
    """Words for one field of an entity.

    `selecting` is the phrase for entities that have one of the values, and `having` the predicate of an entity that has
    one. `remedy` is the privilege to change that; '' where it takes a change of the policy.
    """

    label: str
    noun: str
    selecting: str
    having: str
    remedy: str = ""

    @property
    def lacking(self) -> str:
        """The predicate of an entity that does not have one of the values."""
        verb, _, complement = self.having.partition(" ")
        return f"{'does not have' if verb == 'has' else 'is not'} {complement}".rstrip()


FIELDS: Mapping[str, FieldWords] = MappingProxyType(
    {
        selectors.TYPE: FieldWords("Type", "type", "of the type {}", "is a"),
        selectors.URN: FieldWords("URN", "URN", "that are {}", "is"),
        selectors.OWNER: FieldWords("Owner", "owner", "owned by {}", "is owned by", "EDIT_ENTITY_OWNERS"),
        selectors.DOMAIN: FieldWords("Domain", "domain", "in the domain {}", "is in domain", "EDIT_DOMAINS_PRIVILEGE"),
        selectors.CONTAINER: FieldWords("Container", "container", "in the container {}", "is in"),
        selectors.TAG: FieldWords("Tag", "tag", "tagged {}", "is tagged", "EDIT_ENTITY_TAGS"),
        selectors.GLOSSARY: FieldWords(
            "Glossary term", "glossary term", "with the term {}", "has the glossary term", "EDIT_ENTITY_GLOSSARY_TERMS"
        ),
        selectors.DATA_PLATFORM_INSTANCE: FieldWords(
            "Platform instance", "platform instance", "on the platform instance {}", "is on platform instance"
        ),
        selectors.GROUP_MEMBERSHIP: FieldWords(
            "Group of the user", "group", "in the group {}", "is a member of", "MANAGE_USERS_AND_GROUPS"
        ),
        selectors.ID: FieldWords("Id", "id", "with the id {}", "has the id"),
        selectors.PROJECT: FieldWords("Project", "project", "in the project {}", "is in project"),
    }
)

#: Label of a condition in a form or table, and its verb.
CONDITION_LABELS: Mapping[str, str] = {
    Condition.EQUALS: "is one of",
    Condition.STARTS_WITH: "begins with one of",
    Condition.NOT_EQUALS: "is none of",
}
_VERBS = {Condition.EQUALS: "is", Condition.STARTS_WITH: "begins with", Condition.NOT_EQUALS: "is not"}
_NEGATED_VERBS = {Condition.EQUALS: "is not", Condition.STARTS_WITH: "does not begin with", Condition.NOT_EQUALS: "is"}

#: Prefix of the fields of properties → label of the party that has the property.
PARTIES = MappingProxyType(
    {
        property_conditions.RESOURCE: "Property of the resource",
        property_conditions.ACTOR: "Property of the user who asks",
        property_conditions.ACTION: "Property of the action",
    }
)


def word_time(instant: datetime) -> str:
    """Return a time as sentences have it, as "11 Dec 2026, 18:00 UTC"."""
    moment = instant.astimezone(UTC)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def get_field_words(field: str) -> FieldWords:
    """Return the words for a field, also under its older name; an unknown one is named as it is."""
    name = field.removeprefix("RESOURCE_")
    return FIELDS.get(name) or FieldWords(get_property_label(field) or name, name, f"whose {name} is {{}}", "has")


def get_condition_label(condition: str | None) -> str:
    """Return the label of a condition as a document has it: none is EQUALS, and an unknown one is named as it is."""
    return CONDITION_LABELS.get(condition or Condition.EQUALS, condition or "")


def word_count(number: int, noun: str, plural_noun: str) -> str:
    """Return a number with its noun, as "1 person" and "2,000 people"."""
    return f"{number:,} {noun if number == 1 else plural_noun}"


def join_words(words: Iterable[str], conjunction: str, more_count: int = 0) -> str:
    """Return words as a list in a sentence (a, b and c), with the number of those that are not named."""
    *first, last = [*words, *([f"{more_count:,} more"] if more_count > 0 else [])] or [""]
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def join_alternatives(values: Sequence[str], name_of: Callable[[str], str] = str) -> str:
    """Return the names of the first few values as a list with "or"; the rest is counted, and not named."""
    more_count = len(values) - MAX_LISTED_NAMES
    overflow_note = [f"one of {more_count} more"] if more_count > 0 else []
    return join_words([*map(name_of, values[:MAX_LISTED_NAMES]), *overflow_note], "or")


def capitalize(text: str) -> str:
    """Return a text with a capital at its beginning, unless it begins with a URN."""
    return text if text.startswith("urn:") else text[:1].upper() + text[1:]


def join_clauses(clauses: Iterable[str]) -> str:
    """Return clauses as one sentence, '' for none."""
    text = capitalize("; ".join(clauses))
    return f"{text}." if text else ""


def name_resource(resource: Resource | None) -> str:
    """Return the noun phrase for a resource in a clause, such as "the dataset"."""
    return f"the {resource.type}" if resource is not None and resource.type else "the resource"


# -- properties --------------------------------------------------------------------------------------------------------


def split_property(field: str) -> tuple[str, str]:
    """Return prefix and name of the field of a property, whether or not it is valid; '' twice for other fields."""
    prefix = next((prefix for prefix in PARTIES if field.startswith(prefix)), "")
    return prefix, field.removeprefix(prefix) if prefix else ""


def get_property_label(field: str) -> str:
    """Return the label of a condition on a property; '' for another field."""
    prefix, name = split_property(field)
    return f"{PARTIES[prefix]}: {name}" if name else PARTIES.get(prefix, "")


def describe_value(text: str) -> str:
    """Return a value of a property in words: the property it refers to, or the value itself."""
    field = property_conditions.referenced_field(text)
    return name_property(field) if field else text


def name_property(field: str, actor_name: str = "the user", resource_name: str = "") -> str:
    """Return the noun phrase for a property of a party; one of the resource stands alone where that has no name."""
    prefix, name = split_property(field)
    owner = {property_conditions.ACTOR: actor_name, property_conditions.ACTION: "the action"}.get(prefix, resource_name)
    return f"{owner}'s {name or 'property'}" if owner else name or "property"


def word_property_clause(field: str, condition: str, values_text: str) -> str:
    """Return a condition on a property as a clause about resources; `values_text` are its values in words."""
    verb = _VERBS[Condition(condition)] if condition in _VERBS else condition
    opening = "whose" if field.startswith(property_conditions.RESOURCE) else "if"
    return f"{opening} {name_property(field)} {verb} {values_text}"


def word_property_condition(
    condition: Criterion | ActorCondition,
    *,
    resource_name: str,
    actor_name: str = "",
    is_met: bool,
    known_attributes: Set[str] = frozenset(),
) -> str:
    """Return a clause that states that a condition on a property holds, or why it fails.

    The names are display names; `known_attributes` are those of actor and action that are known to a failed condition.
    """
    references: Iterable[str] = ()
    if isinstance(condition, ActorCondition):
        references = sorted(condition.references)
        if not is_met and (unknown_fields := sorted(condition.tested_attributes - known_attributes)):
            return f"{name_property(unknown_fields[0], actor_name, resource_name)} is not known"
    value_names = [
        *sorted(condition.values),
        *(name_property(field, actor_name, resource_name) for field in references),
    ]
    verb = (_VERBS if is_met else _NEGATED_VERBS)[condition.condition]
    name = name_property(condition.field, actor_name, resource_name)
    return f"{name} {verb} {join_alternatives(value_names) or NO_VALUE}"
