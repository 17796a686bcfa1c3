"""Wording of a DataHub policy as one English sentence, also while it is incomplete."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.engine import wording
from policies.engine.families import datahub, datahub_fields, vocabulary
from policies.engine.families.validity import UNLIMITED, Validity, find_stored_instant
from policies.http.pages.times import describe_validity
from policies.pdp import authorizer

PolicyDocument = Mapping[str, Any]

#: Most items of one kind that the sentence names before it counts the rest.
_MAX_NAMED_VALUES = 3

#: The lists of an actors block (key, kind of actor, label), and its flags.
ACTOR_LISTS = (("users", "person", "Users"), ("groups", "group", "Groups"), ("roles", "role", "Roles"))
#: The lists of those whom a policy never reaches (key, kind of actor, label), and that of types of owners.
EXCLUDED_ACTOR_LISTS = (
    ("excludedUsers", "person", "Except users"),
    ("excludedGroups", "group", "Except groups"),
    ("excludedRoles", "role", "Except roles"),
)
EXCLUDED_OWNER_TYPES = (datahub_fields.EXCLUDED_OWNER_TYPES, "Except owners of these types")
ACTOR_FLAGS = (("allUsers", "All users"), ("allGroups", "All groups"), ("resourceOwners", "Owners"))

_BEGINS, _ENDS = datahub_fields.VALID_FROM, datahub_fields.VALID_UNTIL

#: The phrase for all users.
_EVERYBODY = "everybody"

#: The fields of a resources block that are deprecated.
DEPRECATED_KEYS = ("type", "resources", "allResources")

_STATE_SENTENCES = {
    datahub.INACTIVE: " It is not active, so it {} nothing.",
    datahub.DRAFT: " It is a draft, so it {} nothing.",
}


def describe_policy(document: PolicyDocument) -> str:
    """Return the sentence for a document; for one with missing parts, the choices that are left."""
    sentence = _PolicySentence(authorizer.load_names(urns=_sentence_urns(document)))
    if missing_parts := sentence.list_missing_parts(document):
        text = f"Not finished: choose {wording.join_words(missing_parts, 'and')}.{sentence.describe_chosen(document)}"
    else:
        text = sentence.describe_deny(document) if is_deny(document) else sentence.describe_allow(document)
    state_sentence = _STATE_SENTENCES.get(document.get("state") or "", "")
    validity = Validity(*(find_stored_instant(document.get(key)) for key in (_BEGINS, _ENDS)))
    time_sentence = f" In effect {describe_validity(validity)}." if validity != UNLIMITED else ""
    return wording.capitalize(text) + time_sentence + state_sentence.format("denies" if is_deny(document) else "grants")


def is_deny(document: PolicyDocument) -> bool:
    """Whether a document says what nobody of its actors may do."""
    return document.get(datahub_fields.EFFECT) == datahub.DENY


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
    excluded_keys = (*(key for key, _, _ in EXCLUDED_ACTOR_LISTS), EXCLUDED_OWNER_TYPES[0])
    lists = [actors.get(key) or () for key in ("users", "groups", "roles", "resourceOwnersTypes", *excluded_keys)]
    lists += [
        criterion.get("values") or ()
        for criterion in (*effective_criteria(document), *(subresource_constraints(document) or ()))
    ]
    return {value for values in lists for value in values[:_MAX_NAMED_VALUES] if value.startswith("urn:")}


@dataclass(frozen=True, slots=True)
class _PolicySentence:
    """The parts of the sentence; `names` has the names of the URNs in it."""

    names: Mapping[str, str]

    def list_missing_parts(self, document: PolicyDocument) -> list[str]:
        """Return the parts without which a policy gives and denies nothing."""
        parts = [] if self._list_actor_phrases(document) else ["people"]
        parts += [] if document.get("privileges") else ["privileges"]
        criteria = [] if document.get("type") == datahub.PLATFORM else effective_criteria(document)
        nouns = dict.fromkeys(_find_noun(item) for item in criteria if _lacks_values(item))
        return [*parts, *(f"at least one {noun}" for noun in nouns)]

    def describe_chosen(self, document: PolicyDocument) -> str:
        """Return the sentence about the choices of an unfinished policy; '' while a criterion lacks its values."""
        is_on_platform, criteria = document.get("type") == datahub.PLATFORM, effective_criteria(document)
        if not is_on_platform and any(map(_lacks_values, criteria)):
            return ""
        if not (is_on_platform or criteria or document.get("privileges")):
            return ""
        scope = f"{self._describe_resources(document)}{self._describe_constraints(document, 'every')}"
        chosen = f"{self._join_privileges(document, 'and')} {scope}".strip()
        return f" So far: {chosen}."

    def describe_allow(self, document: PolicyDocument) -> str:
        """Return the sentence of a policy that allows: who may do what on what."""
        main_clause = f"{self._describe_subject(document)} may {self._join_privileges(document, 'and')}"
        return f"{main_clause} {self._describe_resources(document)}{self._describe_constraints(document, 'every')}."

    def describe_deny(self, document: PolicyDocument) -> str:
        """Return the sentences of a policy that denies: who may not do what on what, and whom that leaves alone."""
        phrases, privileges = self._list_actor_phrases(document), self._join_privileges(document, "or")
        scope = f"{self._describe_resources(document, 'anything')}{self._describe_constraints(document, 'any')}"
        exceptions = self._describe_exceptions(document)
        exception_sentence = f" It leaves out {exceptions}." if exceptions else ""
        main_clause = f"{self._describe_denied_subject(document, phrases)} {privileges}"
        return f"{main_clause} {scope}, even where other policies allow it.{exception_sentence}"

    def _describe_subject(self, document: PolicyDocument) -> str:
        """Return the subject, with the actors whom it excepts."""
        phrases, exceptions = self._list_actor_phrases(document), self._describe_exceptions(document)
        subject = wording.join_words(phrases, "and")
        if not exceptions:
            return subject
        return f"{subject} except {exceptions}" if phrases == [_EVERYBODY] else f"{subject}, except {exceptions},"

    def _describe_denied_subject(self, document: PolicyDocument, phrases: Sequence[str]) -> str:
        """Return the subject of a deny with its verb, as "nobody in Interns may"."""
        actors = document.get("actors") or {}
        groups, roles = actors.get("groups") or (), actors.get("roles") or ()
        if phrases == [_EVERYBODY]:
            return "nobody may"
        if len(phrases) == 1 and actors.get("allGroups"):
            return "nobody in a group may"
        if len(phrases) == 1 and groups:
            return f"nobody in {self._join_names(groups, 'or')} may"
        if len(phrases) == 1 and roles:
            return f"no holder of the role {self._join_names(roles, 'or')} may"
        return f"{wording.join_words(phrases, 'and')} may not"

    def _list_actor_phrases(self, document: PolicyDocument) -> list[str]:
        """Return a phrase for each kind of actor that the policy names; everybody makes the others superfluous."""
        actors = document.get("actors") or {}
        if actors.get("allUsers"):
            return [_EVERYBODY]
        phrases = [self._join_names(actors["users"], "and")] if actors.get("users") else []
        if actors.get("allGroups"):
            phrases.append("everybody in a group")
        elif actors.get("groups"):
            phrases.append(self._members_phrase(actors["groups"]))
        if actors.get("roles"):
            phrases.append(self._holders_phrase(actors["roles"]))
        if actors.get("resourceOwners") and document.get("type") != datahub.PLATFORM:
            phrases.append(self._owners_phrase(actors.get("resourceOwnersTypes")))
        return phrases

    def _describe_exceptions(self, document: PolicyDocument) -> str:
        """Return those whom the policy never reaches, '' without any."""
        actors = document.get("actors") or {}
        users, groups, roles = (actors.get(key) or () for key, _, _ in EXCLUDED_ACTOR_LISTS)
        phrases = [self._join_names(users, "and")] if users else []
        phrases += [self._members_phrase(groups)] if groups else []
        phrases += [self._holders_phrase(roles)] if roles else []
        if (types := actors.get(EXCLUDED_OWNER_TYPES[0])) and document.get("type") != datahub.PLATFORM:
            phrases.append(self._owners_phrase(types))
        return wording.join_words(phrases, "and")

    def _join_privileges(self, document: PolicyDocument, conjunction: str) -> str:
        """Return the verbs, '' without privileges."""
        registry = vocabulary.load_datahub()
        privileges = list(dict.fromkeys(document.get("privileges") or ()))
        visible_names = [
            info.display if (info := registry.get(name)) else name for name in privileges[:_MAX_NAMED_VALUES]
        ]
        return wording.join_words(visible_names, conjunction, len(privileges) - len(visible_names))

    def _describe_resources(self, document: PolicyDocument, everything: str = "everything") -> str:
        """Return the object of the sentence; `everything` stands for resources without a condition."""
        if document.get("type") == datahub.PLATFORM:
            return "across the platform"
        if document.get("resources") is None:
            return f"on {everything}"
        criteria = effective_criteria(document)
        return f"on {self._resource_noun(criteria) or everything}{self._clauses(criteria)}"

    def _describe_constraints(self, document: PolicyDocument, quantifier: str) -> str:
        """Return the condition on tags, '' without one: every tag must meet it for an allow, any one for a deny."""
        constraints = subresource_constraints(document)
        if not constraints or document.get("type") == datahub.PLATFORM:
            return ""
        start = "as long as every" if quantifier == "every" else "if any"
        return f", {start} tag added or removed is one{self._clauses(constraints)}"

    def _resource_noun(self, criteria: Sequence[PolicyDocument]) -> str:
        type_criterion = next((item for item in criteria if _is_type_criterion(item)), None)
        if type_criterion is None:
            return ""
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
            values_text = wording.join_words(texts, "or", len(values) - len(texts)) or "nothing"
            return wording.word_property_clause(field, condition, values_text)
        words = wording.get_field_words(field)
        if not values:
            return f"of any {words.noun}" if condition == "NOT_EQUALS" else f"of no {words.noun}"
        if condition == "STARTS_WITH":
            return f"whose {words.noun} begins with {self._join_names(values, 'or')}"
        phrase = words.selecting.format(self._join_names(values, "or"))
        return f"not {phrase}" if condition == "NOT_EQUALS" else phrase

    def _members_phrase(self, groups: Sequence[str]) -> str:
        return f"the members of {self._join_names(groups, 'and')}"

    def _holders_phrase(self, roles: Sequence[str]) -> str:
        return f"holders of the role {self._join_names(roles, 'or')}"

    def _owners_phrase(self, types: Sequence[str] | None) -> str:
        if types is None:
            return "its owners"
        return f"its owners of the type {self._join_names(types, 'or')}" if types else "its owners of no type"

    def _join_names(self, values: Sequence[str], conjunction: str) -> str:
        visible_names = [self.names.get(value) or value or "nothing" for value in values[:_MAX_NAMED_VALUES]]
        return wording.join_words(visible_names, conjunction, len(values) - len(visible_names))


def _lacks_values(criterion: PolicyDocument) -> bool:
    """Whether a criterion matches nothing until it has a value."""
    return not criterion.get("values") and criterion.get("condition") != "NOT_EQUALS"


def _find_noun(criterion: PolicyDocument) -> str:
    field = str(criterion.get("field") or "")
    return f"value for {label}" if (label := wording.get_property_label(field)) else wording.get_field_words(field).noun


def _is_type_criterion(criterion: PolicyDocument) -> bool:
    is_equals = (criterion.get("condition") or "EQUALS") == "EQUALS"
    return criterion.get("field") in ("TYPE", "RESOURCE_TYPE") and is_equals and bool(criterion.get("values"))
