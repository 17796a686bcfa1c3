"""The fields of a DataHub document under the names that pages give them, for comparing two versions."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from policies.authoring.pages import property_wording
from policies.authoring.pages.datahub_presenter import CONDITIONS, label_of
from policies.authoring.pages.datahub_wording import constraints_of, criteria_of
from policies.authoring.pages.version_diff import Part, Parts
from policies.engine.families import vocabulary

#: Keys at the top that have a label of their own, or stand beside the document.
_KNOWN = ("displayName", "description", "type", "state", "editable", "privileges", "actors", "resources")
_ACTOR_LISTS = (("users", "Users"), ("groups", "Groups"), ("roles", "Roles"))
_ACTOR_FLAGS = (("allUsers", "All users"), ("allGroups", "All groups"), ("resourceOwners", "Owners"))
_OLDER = ("type", "resources", "allResources")


def parts(document: Mapping[str, Any]) -> Parts:
    """Return the fields of a document in the order of the builder; what has no label keeps its key."""
    actors = document.get("actors") or {}
    found = {
        "Name": Part.one(document.get("displayName") or ""),
        "Type": Part.one(str(document.get("type") or "").capitalize()),
        "Can be edited": Part.one(_yes(document.get("editable") is not False)),
        **_resources(document),
        "Privileges": Part(tuple(document.get("privileges") or ())),
    }
    found |= {label: Part.one(_yes(bool(actors.get(key)))) for key, label in _ACTOR_FLAGS}
    types = actors.get("resourceOwnersTypes")
    found["Types of owners"] = Part(("any",) if types is None else tuple(types))
    found |= {label: Part(tuple(actors.get(key) or ())) for key, label in _ACTOR_LISTS}
    rest = ((key, json.dumps(value, ensure_ascii=False)) for key, value in document.items() if key not in _KNOWN)
    return found | {f"Field {key}": Part.one(text) for key, text in rest}


def _resources(document: Mapping[str, Any]) -> dict[str, Part]:
    block = document.get("resources")
    if block is None:
        return {"Resources": Part.one("everything, and questions without a resource")}
    found = {"Resources": Part.one("those that meet all conditions")}
    if any(block.get(key) is not None for key in _OLDER):
        found["Form"] = Part.one(
            "deprecated fields" if block.get("filter") is None else "a filter beside deprecated fields"
        )
    found |= _criteria("Resources", criteria_of(document))
    constraints = constraints_of(document)
    if constraints is not None:
        found["Tags added or removed"] = Part.one("only those that meet all conditions")
        found |= _criteria("Tags added or removed", constraints)
    return found


def _criteria(about: str, listed: Iterable[Mapping[str, Any]]) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for criterion in listed:
        field = label_of(criterion["field"])
        base = label = f"{about}: {field} {CONDITIONS[criterion.get('condition') or 'EQUALS']}"
        number = 1
        while label in found:
            number += 1
            label = f"{base} ({number})"
        found[label] = Part(tuple(_value(value, criterion["field"]) for value in criterion.get("values") or ()))
    return found


def _value(value: str, field: str) -> str:
    is_type = field in ("TYPE", "RESOURCE_TYPE")
    if property_wording.label(field):
        return property_wording.value(value) or "(empty)"
    return vocabulary.datahub().resource_types.get(value, value) if is_type else value or "(empty)"


def _yes(claim: bool) -> str:  # noqa: FBT001
    return "yes" if claim else "no"
