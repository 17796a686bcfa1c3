"""Policies in words: what a page shows of a document. Templates get finished facts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from policies.authoring.pages import property_wording
from policies.authoring.pages.datahub_wording import constraints_of, criteria_of
from policies.engine import families
from policies.engine.families import datahub, vocabulary
from policies.models import Policy
from policies.pdp import authorizer

Document = Mapping[str, Any]

_STATES = {"ACTIVE": ("Active", "success"), "INACTIVE": ("Inactive", "neutral"), "DRAFT": ("Draft", "warning")}

CONDITIONS = {"EQUALS": "is one of", "STARTS_WITH": "begins with", "NOT_EQUALS": "is none of"}

#: The lists of an actors block: key, kind of actor, and what a page calls them.
_LISTS = (("users", "person", "Users"), ("groups", "group", "Groups"), ("roles", "role", "Roles"))
_OWNER_TYPES = "resourceOwnersTypes"

#: The flags that stand for a whole list, and how a page says so.
_EVERY_FLAG = {"users": "allUsers", "groups": "allGroups"}
_EVERY = {"users": "All users", "groups": "All groups"}

FIELDS = {
    "TYPE": "Type",
    "RESOURCE_TYPE": "Type",
    "URN": "URN",
    "RESOURCE_URN": "URN",
    "OWNER": "Owner",
    "DOMAIN": "Domain",
    "CONTAINER": "Container",
    "TAG": "Tag",
    "GLOSSARY": "Glossary term",
    "DATA_PLATFORM_INSTANCE": "Platform instance",
    "GROUP_MEMBERSHIP": "Group of the user",
}

#: The category of privileges that the settings name, and what they are for.
OWN, OWN_USE = "Of this installation", "It is a custom privilege of this installation."

#: How many names of one kind a page shows at once, and how many more it can unfold; the document has the rest.
_AT_ONCE = 12
_UNFOLDED = 500

#: Up to how many privileges a page shows every category unfolded.
_FEW_PRIVILEGES = 12


def label_of(field: str) -> str:
    """Return what the field of a condition is called."""
    return FIELDS.get(field) or property_wording.label(field) or field


def state(value: str) -> dict[str, str]:
    """Return a state as the word and kind of a badge."""
    label, kind = _STATES[value]
    return {"label": label, "kind": kind}


def type_of(policy: Policy) -> str:
    """Return what kind of policy this is: its type, or the family whose policies have none."""
    return policy.get_type_display() if policy.type else families.get(policy.family).label


def facts(policy: Policy, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the head of a policy's page; `names` names who made and changed it."""
    return [
        {"label": "Type", "value": type_of(policy)},
        {"label": "State", "badges": [state(policy.state)]},
        {"label": "URN", "template": "policies/_urn.html", "urn": policy.urn},
        {"label": "Version", "value": policy.version},
        {
            "label": "Changed",
            "template": "policies/_when.html",
            "at": policy.updated_at,
            "by": names[policy.updated_by],
        },
        {
            "label": "Created",
            "template": "policies/_when.html",
            "at": policy.created_at,
            "by": names[policy.created_by],
        },
        {"label": "Can be edited", "value": "Yes" if policy.is_editable else "No"},
    ]


def privileges(listed: Sequence[str], known: vocabulary.Vocabulary) -> list[dict[str, Any]]:
    """Return privileges by category, each with display name and description; unknown ones stand under their own.

    A long list comes folded, so that its categories can be read before their members.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for name in listed:
        info = known.get(name)
        is_own = name in settings.CUSTOM_PRIVILEGES
        category = info.category if info else OWN if is_own else "Not in the registry"
        groups.setdefault(category, []).append(
            {
                "name": name,
                "display": info.display if info else name,
                "description": info.description if info else OWN_USE if is_own else "Nothing asks for it.",
                "is_deprecated": info is not None and info.is_deprecated,
            }
        )
    is_open = len(listed) <= _FEW_PRIVILEGES
    return [{"category": category, "members": members, "is_open": is_open} for category, members in groups.items()]


def criteria(document: Document) -> dict[str, Any]:
    """Return what a policy covers: a sentence, and the criteria that must all hold."""
    block = document.get("resources")
    if document.get("type") == datahub.PLATFORM:
        return {"sentence": "A platform policy applies to no resource.", "rows": []}
    if block is None:
        return {"sentence": "Every resource, and questions without a resource.", "rows": []}
    rows = _rows_of(criteria_of(document))
    return {"sentence": "Resources that meet all of these." if rows else "Every resource.", "rows": rows}


def constraints(document: Document) -> list[dict[str, Any]]:
    """Return the constraints on sub-resources, as rows like those of `criteria`."""
    return _rows_of(constraints_of(document) or ())


def audience(document: Document) -> list[dict[str, Any]]:
    """Return whom a policy is for, as facts for the summary component."""
    actors = document.get("actors") or {}
    shown = {key: _portion(actors.get(key) or ()) for key in (*(key for key, _, _ in _LISTS), _OWNER_TYPES)}
    names = authorizer.names(urns={urn for portion in shown.values() for urn in portion.urns})
    owners = [{"label": "Owners", **_owners(document, shown[_OWNER_TYPES], names)}]
    return owners + [
        {"label": label, "value": _EVERY[key]}
        if actors.get(_EVERY_FLAG.get(key, ""))
        else {"label": label, **_people(shown[key], kind, names)}
        for key, kind, label in _LISTS
    ]


def pills(document: Document) -> list[str]:
    """Return whom a policy is for without naming anybody."""
    actors = document.get("actors") or {}
    flags = (("allUsers", "All users"), ("allGroups", "All groups"), ("resourceOwners", "Owners"))
    return [label for flag, label in flags if actors.get(flag)]


def listed_actors(document: Document) -> list[tuple[str, str]]:
    """Return the kind and URN of everybody a policy names."""
    actors = document.get("actors") or {}
    return [(kind, urn) for key, kind, _ in _LISTS for urn in actors.get(key) or ()]


def body(document: Document) -> dict[str, Any]:
    """Return what the page of a DataHub policy draws between its head and its document."""
    return {
        "actors": audience(document),
        "criteria": criteria(document),
        "constraints": constraints(document),
        "privileges": privileges(document.get("privileges") or (), vocabulary.datahub()),
    }


def pretty(document: Document) -> str:
    """Return the document as indented JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def _rows_of(listed: Iterable[Document]) -> list[dict[str, Any]]:
    rows = [(row, _portion(row.get("values") or ())) for row in listed]
    urns = {value for _, portion in rows for value in portion.urns if value.startswith("urn:")}
    names = authorizer.names(urns=urns) if urns else {}
    return [
        {
            "field": label_of(row["field"]),
            "condition": CONDITIONS.get(row.get("condition") or "EQUALS", row.get("condition")),
            "values": [_value(value, names, is_property=is_property) for value in portion.first],
            "unfolded": [_value(value, names, is_property=is_property) for value in portion.then],
            "more": portion.more,
        }
        for row, portion in rows
        for is_property in [property_wording.label(row["field"]) != ""]
    ]


def _value(value: str, names: Mapping[str, str], *, is_property: bool) -> dict[str, str]:
    if value.startswith("urn:"):
        return {"name": names.get(value, ""), "urn": value}
    return {"name": property_wording.value(value) if is_property else value, "urn": ""}


@dataclass(frozen=True, slots=True)
class Portion:
    """What a page shows of a list: some at once, some to unfold, and how many more there are."""

    first: Sequence[str]
    then: Sequence[str]
    more: int

    @property
    def urns(self) -> list[str]:
        """Everything that is shown."""
        return [*self.first, *self.then]


def _portion(values: Sequence[str]) -> Portion:
    # A single name is not worth unfolding.
    first = values[: _AT_ONCE + 1] if len(values) == _AT_ONCE + 1 else values[:_AT_ONCE]
    then = values[len(first) : len(first) + _UNFOLDED]
    return Portion(first, then, len(values) - len(first) - len(then))


def _owners(document: Document, types: Portion, names: Mapping[str, str]) -> dict[str, Any]:
    actors = document.get("actors") or {}
    if not actors.get("resourceOwners"):
        return {"value": "No"}
    if document.get("type") == datahub.PLATFORM:
        return {"value": "No: a platform policy is not about resources that somebody could own"}
    if actors.get(_OWNER_TYPES) is None:
        return {"value": "Yes, of any type"}
    return {"lines": [names.get(urn, urn) for urn in types.urns]} if types.urns else {"value": "Of no type: nobody"}


def _people(portion: Portion, kind: str, names: Mapping[str, str]) -> dict[str, Any]:
    if not portion.urns:
        return {"value": ""}
    return {
        "template": "policies/_actors.html",
        "first": [{"name": names.get(urn, urn), "urn": urn, "kind": kind} for urn in portion.first],
        "unfolded": [{"name": names.get(urn, urn), "urn": urn, "kind": kind} for urn in portion.then],
        "more": portion.more,
    }
