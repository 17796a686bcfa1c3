"""Proofs in words: what a change gives and takes, whatever the catalog holds, and examples of it.

`names` are the display names of URNs; one without is said by its id, and one that the proof invented by its kind.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from policies.engine import wording
from policies.engine.families import display_privilege, vocabulary
from policies.engine.proofs.verdicts import Proof, Verdict
from policies.engine.selectors import ANY_SUBRESOURCE

_Example = Mapping[str, Any]

#: The lists of an example's resource and the field whose words they have.
_FIELDS = {"tags": "TAG", "domains": "DOMAIN", "terms": "GLOSSARY", "containers": "CONTAINER"}

#: Texts that proofs invent (`texts.TextTerms.invent`).
_INVENTED = re.compile(r"another\d{4}")
#: Where a word ends in the name of a type.
_WORD_END = re.compile(r"(?<=[a-z])(?=[A-Z])")

NOTHING_NEW = "This change gives nobody anything new, whatever is in the catalog."
NOTHING_TAKEN = "It takes nothing from anybody, whatever is in the catalog."
NOTHING_CHANGED = "This change gives nobody anything new and takes nothing from anybody, whatever is in the catalog."
GAIN_UNKNOWN = "We could not check the effect of added access on entities that the catalog may hold later."
LOSS_UNKNOWN = "We could not check the effect of removed access on entities that the catalog may hold later."


def describe_proofs(allows_more: Proof, allows_less: Proof, names: Mapping[str, str]) -> list[str]:
    """Return the sentences of both proofs about a change."""
    if allows_more.verdict is Verdict.NO and allows_less.verdict is Verdict.NO:
        return [NOTHING_CHANGED]
    gain = {Verdict.NO: NOTHING_NEW, Verdict.UNKNOWN: GAIN_UNKNOWN}.get(allows_more.verdict) or "It gives more."
    loss = {Verdict.NO: NOTHING_TAKEN, Verdict.UNKNOWN: LOSS_UNKNOWN}.get(allows_less.verdict) or "It takes something."
    if allows_more.example is not None:
        gain = f"It gives more: for example {describe_access(allows_more.example, names)}."
    if allows_less.example is not None:
        loss = f"It takes something: for example, no longer {describe_access(allows_less.example, names)}."
    return [gain, loss]


def describe_access(example: _Example, names: Mapping[str, str]) -> str:
    """Return an example in words: "a member of Sales: Edit Tags on a dataset tagged PII"."""
    words = _ExampleWords(example["actor"], names)
    privilege, resource = display_privilege(example["privilege"]), example["resource"]
    info = vocabulary.load_datahub().get(example["privilege"])
    is_platform = resource is None or (info is not None and info.scope == vocabulary.PLATFORM)
    scope = "across the platform" if is_platform else f"on {words.describe_resource(resource)}"
    subresources = [words.describe_urn(urn) for urn in example["sub_resources"]]
    suffix = f", with {wording.join_words(subresources, 'and')}" if subresources else ""
    return f"{words.describe_actor()}: {privilege} {scope}{suffix}"


#: Lists of an actor, how a phrase with names from it begins, and the phrase without.
_ACTOR_PHRASES = (
    ("groups", "a member of", "a member of a group"),
    ("roles", "a holder of the role", "a holder of a role"),
)
#: Facets that the name or the type of an entity says.
_NAMING_FIELDS = frozenset(("TYPE", "URN"))


class _ExampleWords:
    """The parts of the sentence of one example."""

    def __init__(self, actor: _Example, names: Mapping[str, str]) -> None:
        self._actor = actor
        self._names = names

    def describe_actor(self) -> str:
        """Return the person by name, else by the groups and roles that it has."""
        if name := self._find_name(self._actor["urn"]):
            person = name
        else:
            phrases = [
                f"{beginning} {wording.join_words(names, 'and')}"
                if (names := self._list_names(self._actor[key]))
                else phrase
                for key, beginning, phrase in _ACTOR_PHRASES
                if self._actor[key]
            ]
            person = wording.join_words(phrases, "and") or "somebody"
        attributes = self._describe_facets(self._actor.get("attributes", {}))
        return f"{person} with {attributes}" if attributes else person

    def describe_urn(self, urn: str) -> str:
        """Return an entity by name or type; any that there could be, for the URN that stands for all."""
        if urn == ANY_SUBRESOURCE:
            return "any other entity"
        return self._find_name(urn) or _name_type(urn.split(":")[2])

    def describe_resource(self, resource: _Example) -> str:
        """Return an entity by name or type, with what it carries."""
        phrases = [self._describe_values(field, resource[key]) for key, field in _FIELDS.items() if resource[key]]
        owners = list(dict.fromkeys(owner["owner"] for owner in resource["owners"]))
        phrases += [f"owned by {self._describe_owners(owners)}"] if owners else []
        facets = self._describe_facets(resource.get("facets", {}))
        phrases += [f"with {facets}"] if facets else []
        return " ".join((self._find_name(resource["urn"]) or _name_type(resource["type"]), *phrases))

    def _describe_values(self, field: str, values: Sequence[str]) -> str:
        words, names = wording.get_field_words(field), self._list_names(values)
        return words.selecting.format(wording.join_words(names, "and")) if names else f"with another {words.noun}"

    def _describe_owners(self, owners: Sequence[str]) -> str:
        if self._actor["urn"] in owners:
            return "that person"
        return wording.join_words(self._list_names(owners), "and") or "a group of that person"

    def _describe_facets(self, facets: Mapping[str, Sequence[str]]) -> str:
        texts = [
            f"{words.noun} {wording.join_words(self._list_names(values), 'and') or 'of another kind'}"
            for field, values in facets.items()
            if field not in _NAMING_FIELDS
            for words in (wording.get_field_words(field),)
        ]
        return wording.join_words(texts, "and")

    def _list_names(self, values: Sequence[str]) -> list[str]:
        """Return the names of the values that are not invented."""
        return [name for value in values if (name := self._find_name(value))]

    def _find_name(self, value: str) -> str:
        """Return the name of a value, '' for one that is invented or is no value at all."""
        if name := self._names.get(value):
            return name
        if _INVENTED.search(value):
            return ""
        parts = value.split(":", 3)
        return parts[3] if len(parts) == 4 and parts[:2] == ["urn", "li"] else value


def _name_type(type_name: str) -> str:
    """Return an entity of a type in words: "a dataset"."""
    noun = _WORD_END.sub(" ", type_name).lower() or "entity"
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"
