"""Wording of a DataHub policy as one English sentence, also while it is incomplete."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.engine import wording
from policies.engine.families import datahub, datahub_fields, vocabulary
from policies.pdp import authorizer

PolicyDocument = Mapping[str, Any]

#: Most items of one kind that the sentence names before it counts the rest.
_MAX_NAMED_VALUES = 3

#: The lists of an actors block (key, kind of actor, label), and its flags.
ACTOR_LISTS = (("users", "person", "Users"), ("groups", "group", "Groups"), ("roles", "role", "Roles"))
ACTOR_FLAGS = (("allUsers", "All users"), ("allGroups", "All groups"), ("resourceOwners", "Owners"))

#: The fields of a resources block that are deprecated.
DEPRECATED_KEYS = ("type", "resources", "allResources")

_STATE_SENTENCES = {
    datahub.INACTIVE: " It is not active, so it grants nothing.",
    datahub.DRAFT: " It is a draft, so it grants nothing.",
}


def describe_policy(document: PolicyDocument) -> str:
    """Return the sentence for a document; missing parts are worded as missing."""
    sentence = _PolicySentence(authorizer.load_names(urns=_sentence_urns(document)))
    subject, privileges = sentence.describe_actors(document), sentence.describe_privileges(document)
    main_clause = (
        f"{subject or 'nobody yet'} may {privileges}"
        if privileges
        else f"{subject or 'nobody'} may do {'nothing' if subject else 'anything'} yet"
    )
    text = f"{main_clause} {sentence.describe_resources(document)}{sentence.describe_constraints(document)}."
    return wording.capitalize(text) + _STATE_SENTENCES.get(document.get("state") or "", "")


def effective_criteria(document: PolicyDocument) -> list[PolicyDocument]:
    """Return the effective criteria of a document: those of the filter, or else the deprecated fields as criteria."""
    block = document.get("resources") or {}
    if block.get("filter") is not None:
        return list(block["filter"].get("criteria") or ())
    criteria: list[PolicyDocument] = []
    if block.get("type") is not None:
        criteria.append({"field": "TYPE", "values": [block["type"]]})
    if block.get("resources") is not None and not block.get("allResources"):
        criteria.append({"field": "URN", "values": block["resources"]})
    return criteria


def subresource_constraints(document: PolicyDocument) -> list[PolicyDocument] | None:
    """Return the criteria that every sub-resource must meet, or None when sub-resources are not checked."""
    block = (document.get("resources") or {}).get(datahub_fields.CONSTRAINTS)
    return None if block is None else list(block.get("criteria") or ())


def _sentence_urns(document: PolicyDocument) -> set[str]:
    actors = document.get("actors") or {}
    lists = [actors.get(key) or () for key in ("users", "groups", "roles", "resourceOwnersTypes")]
    lists += [
        criterion.get("values") or ()
        for criterion in (*effective_criteria(document), *(subresource_constraints(document) or ()))
    ]
    return {value for values in lists for value in values[:_MAX_NAMED_VALUES] if value.startswith("urn:")}


@dataclass(frozen=True, slots=True)
class _PolicySentence:
    """The parts of the sentence; `names` has the names of the URNs in it."""

    names: Mapping[str, str]

    def describe_actors(self, document: PolicyDocument) -> str:
        """Return the subject, '' without actors."""
        actors = document.get("actors") or {}
        if actors.get("allUsers"):
            return "everybody"
        groups, roles = actors.get("groups") or (), actors.get("roles") or ()
        phrases = [self._join_names(actors["users"], "and")] if actors.get("users") else []
        if actors.get("allGroups"):
            phrases.append("everybody in a group")
        elif groups:
            phrases.append(f"the members of {self._join_names(groups, 'and')}")
        if roles:
            phrases.append(f"holders of the role {self._join_names(roles, 'or')}")
        if actors.get("resourceOwners") and document.get("type") != datahub.PLATFORM:
            phrases.append(self._owners_phrase(actors.get("resourceOwnersTypes")))
        return wording.join_words(phrases, "and")

    def describe_privileges(self, document: PolicyDocument) -> str:
        """Return the verbs, '' without privileges."""
        registry = vocabulary.load_datahub()
        privileges = list(dict.fromkeys(document.get("privileges") or ()))
        visible_names = [
            info.display if (info := registry.get(name)) else name for name in privileges[:_MAX_NAMED_VALUES]
        ]
        return wording.join_words(visible_names, "and", len(privileges) - len(visible_names))

    def describe_resources(self, document: PolicyDocument) -> str:
        """Return the object of the sentence."""
        if document.get("type") == datahub.PLATFORM:
            return "across the platform"
        if document.get("resources") is None:
            return "on everything"
        criteria = effective_criteria(document)
        return f"on {self._resource_noun(criteria)}{self._clauses(criteria)}"

    def describe_constraints(self, document: PolicyDocument) -> str:
        """Return the condition on tags, '' without one."""
        constraints = subresource_constraints(document)
        if not constraints or document.get("type") == datahub.PLATFORM:
            return ""
        return f", as long as every tag added or removed is one{self._clauses(constraints)}"

    def _resource_noun(self, criteria: Sequence[PolicyDocument]) -> str:
        type_criterion = next((item for item in criteria if _is_type_criterion(item)), None)
        if type_criterion is None:
            return "everything"
        type_labels = vocabulary.load_datahub().resource_types
        types = type_criterion["values"]
        names = [type_labels.get(item, item).lower() for item in types[:_MAX_NAMED_VALUES]]
        return wording.join_words(names, "and", len(types) - len(names))

    def _clauses(self, criteria: Sequence[PolicyDocument]) -> str:
        type_criterion = next((criterion for criterion in criteria if _is_type_criterion(criterion)), None)
        clauses = [self._clause(criterion) for criterion in criteria if criterion is not type_criterion]
        return "".join(f"{',' if index else ''} {clause}" for index, clause in enumerate(clauses))

    def _clause(self, criterion: PolicyDocument) -> str:
        field, condition = str(criterion.get("field") or ""), criterion.get("condition") or "EQUALS"
        values = criterion.get("values") or ()
        if wording.get_property_label(field):
            texts = [wording.describe_value(value) or "nothing" for value in values[:_MAX_NAMED_VALUES]]
            values_text = wording.join_words(texts, "or", len(values) - len(texts)) or "nothing yet"
            return wording.word_property_clause(field, condition, values_text)
        words = wording.get_field_words(field)
        if not values:
            return f"for whatever {words.noun}" if condition == "NOT_EQUALS" else f"of no {words.noun} yet"
        if condition == "STARTS_WITH":
            return f"whose {words.noun} begins with {self._join_names(values, 'or')}"
        phrase = words.selecting.format(self._join_names(values, "or"))
        return f"not {phrase}" if condition == "NOT_EQUALS" else phrase

    def _owners_phrase(self, types: Sequence[str] | None) -> str:
        if types is None:
            return "its owners"
        return f"its owners of the type {self._join_names(types, 'or')}" if types else "its owners of no type yet"

    def _join_names(self, values: Sequence[str], conjunction: str) -> str:
        visible_names = [self.names.get(value) or value or "nothing" for value in values[:_MAX_NAMED_VALUES]]
        return wording.join_words(visible_names, conjunction, len(values) - len(visible_names))


def _is_type_criterion(criterion: PolicyDocument) -> bool:
    is_equals = (criterion.get("condition") or "EQUALS") == "EQUALS"
    return criterion.get("field") in ("TYPE", "RESOURCE_TYPE") and is_equals and bool(criterion.get("values"))
