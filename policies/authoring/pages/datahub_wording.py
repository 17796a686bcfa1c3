"""A DataHub policy as one sentence of plain English, which grows while the policy is being written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.authoring.pages import property_wording
from policies.engine.families import datahub, datahub_fields, vocabulary
from policies.pdp import authorizer

Document = Mapping[str, Any]

#: How many things of one kind the sentence names before it says how many more there are.
_NAMED = 3

#: Field → how the sentence says that something has one of these values.
_HAVING = {
    "TYPE": "of the type {}",
    "URN": "that are {}",
    "OWNER": "owned by {}",
    "DOMAIN": "in the domain {}",
    "CONTAINER": "in the container {}",
    "TAG": "tagged {}",
    "GLOSSARY": "with the term {}",
    "DATA_PLATFORM_INSTANCE": "on the platform instance {}",
    "GROUP_MEMBERSHIP": "in the group {}",
}
_NOUNS = {
    "TYPE": "type",
    "URN": "URN",
    "OWNER": "owner",
    "DOMAIN": "domain",
    "CONTAINER": "container",
    "TAG": "tag",
    "GLOSSARY": "glossary term",
    "DATA_PLATFORM_INSTANCE": "platform instance",
    "GROUP_MEMBERSHIP": "group",
}

_STATES = {
    datahub.INACTIVE: " It is not active, so it grants nothing.",
    datahub.DRAFT: " It is a draft, so it grants nothing.",
}


def sentence(document: Document) -> str:
    """Return what a document says; what is still missing is said as missing."""
    words = _Words(authorizer.names(urns=_mentioned(document)))
    who, what = words.who(document), words.what(document)
    does = (
        f"{who or 'nobody yet'} may {what}"
        if what
        else f"{who or 'nobody'} may do {'nothing' if who else 'anything'} yet"
    )
    text = f"{does} {words.which(document)}{words.touching(document)}."
    opening = text[0] if text.startswith("urn:") else text[0].upper()
    return opening + text[1:] + _STATES.get(document.get("state") or "", "")


def criteria_of(document: Document) -> list[Document]:
    """Return the criteria of a document that count: those of the filter, or else the deprecated fields as criteria."""
    block = document.get("resources") or {}
    if block.get("filter") is not None:
        return list(block["filter"].get("criteria") or ())
    found: list[Document] = []
    if block.get("type") is not None:
        found.append({"field": "TYPE", "values": [block["type"]]})
    if block.get("resources") is not None and not block.get("allResources"):
        found.append({"field": "URN", "values": block["resources"]})
    return found


def constraints_of(document: Document) -> list[Document] | None:
    """Return the criteria that every sub-resource must meet, or None when sub-resources are not looked at."""
    block = (document.get("resources") or {}).get(datahub_fields.CONSTRAINTS)
    return None if block is None else list(block.get("criteria") or ())


def _mentioned(document: Document) -> set[str]:
    actors = document.get("actors") or {}
    lists = [actors.get(key) or () for key in ("users", "groups", "roles", "resourceOwnersTypes")]
    lists += [one.get("values") or () for one in (*criteria_of(document), *(constraints_of(document) or ()))]
    return {value for listed in lists for value in listed[:_NAMED] if value.startswith("urn:")}


@dataclass(frozen=True, slots=True)
class _Words:
    """The pieces of the sentence, with the names of what it mentions."""

    names: Mapping[str, str]

    def who(self, document: Document) -> str:
        """Return the subject, or nothing."""
        actors = document.get("actors") or {}
        if actors.get("allUsers"):
            return "everybody"
        groups, roles = actors.get("groups") or (), actors.get("roles") or ()
        found = [self._all(actors["users"], "and")] if actors.get("users") else []
        if actors.get("allGroups"):
            found.append("everybody in a group")
        elif groups:
            found.append(f"the members of {self._all(groups, 'and')}")
        if roles:
            found.append(f"holders of the role {self._all(roles, 'or')}")
        if actors.get("resourceOwners") and document.get("type") != datahub.PLATFORM:
            found.append(self._owners(actors.get("resourceOwnersTypes")))
        return _joined(found, "and")

    def what(self, document: Document) -> str:
        """Return the verbs, or nothing."""
        known = vocabulary.datahub()
        listed = list(dict.fromkeys(document.get("privileges") or ()))
        shown = [info.display if (info := known.get(name)) else name for name in listed[:_NAMED]]
        return _more(shown, len(listed) - len(shown), "and")

    def which(self, document: Document) -> str:
        """Return the object."""
        if document.get("type") == datahub.PLATFORM:
            return "across the platform"
        if document.get("resources") is None:
            return "on everything"
        criteria = criteria_of(document)
        return f"on {self._noun(criteria)}{self._clauses(criteria)}"

    def touching(self, document: Document) -> str:
        """Return the condition on tags, if there is one."""
        constraints = constraints_of(document)
        if not constraints or document.get("type") == datahub.PLATFORM:
            return ""
        return f", as long as every tag added or removed is one{self._clauses(constraints)}"

    def _noun(self, criteria: Sequence[Document]) -> str:
        types = next((one for one in criteria if _is_types(one)), None)
        if types is None:
            return "everything"
        known = vocabulary.datahub().resource_types
        return _more([known.get(one, one).lower() for one in types["values"][:_NAMED]], len(types["values"]) - _NAMED)

    def _clauses(self, criteria: Sequence[Document]) -> str:
        spent = next((one for one in criteria if _is_types(one)), None)
        clauses = [self._clause(one) for one in criteria if one is not spent]
        return "".join(f"{',' if place else ''} {clause}" for place, clause in enumerate(clauses))

    def _clause(self, criterion: Document) -> str:
        field = str(criterion.get("field") or "").removeprefix("RESOURCE_")
        condition = criterion.get("condition") or "EQUALS"
        values = criterion.get("values") or ()
        if property_wording.label(field):
            listed = [property_wording.value(value) or "nothing" for value in values[:_NAMED]]
            shown = _more(listed, len(values) - len(listed), "or") or "nothing yet"
            return property_wording.clause(field, condition, shown)
        noun = _NOUNS.get(field, field)
        if not values:
            return f"for whatever {noun}" if condition == "NOT_EQUALS" else f"of no {noun} yet"
        if condition == "STARTS_WITH":
            return f"whose {noun} begins with {self._all(values, 'or')}"
        having = _HAVING.get(field, f"whose {noun} is {{}}").format(self._all(values, "or"))
        return f"not {having}" if condition == "NOT_EQUALS" else having

    def _owners(self, types: Sequence[str] | None) -> str:
        if types is None:
            return "its owners"
        return f"its owners of the type {self._all(types, 'or')}" if types else "its owners of no type yet"

    def _all(self, values: Sequence[str], conjunction: str) -> str:
        shown = [self.names.get(value) or value or "nothing" for value in values[:_NAMED]]
        return _more(shown, len(values) - len(shown), conjunction)


def _is_types(criterion: Document) -> bool:
    is_equals = (criterion.get("condition") or "EQUALS") == "EQUALS"
    return criterion.get("field") in ("TYPE", "RESOURCE_TYPE") and is_equals and bool(criterion.get("values"))


def _more(shown: Sequence[str], more: int, conjunction: str = "and") -> str:
    return _joined([*shown, f"{more:,} more"], conjunction) if more > 0 else _joined(shown, conjunction)


def _joined(words: Iterable[str], conjunction: str) -> str:
    *first, last = list(words) or [""]
    return f"{', '.join(first)} {conjunction} {last}" if first else last
