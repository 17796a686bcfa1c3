"""The fields of a DataHub document by label, for comparing two versions."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from policies.authoring.pages.datahub_wording import (
    ACTOR_FLAGS,
    ACTOR_LISTS,
    DEPRECATED_KEYS,
    EXCLUDED_ACTOR_LISTS,
    EXCLUDED_OWNER_TYPES,
    effective_criteria,
    is_deny,
    subresource_constraints,
)
from policies.authoring.pages.validity_fields import describe_time
from policies.authoring.pages.version_diff import DiffField, DiffFields
from policies.engine import wording
from policies.engine.families import vocabulary

#: Top-level keys that have a label of their own, or are compared as columns beside the document.
_LABELED_KEYS = (
    "displayName",
    "description",
    "effect",
    "type",
    "state",
    "editable",
    "validFrom",
    "validUntil",
    "privileges",
    "actors",
    "resources",
)


def diff_fields(document: Mapping[str, Any]) -> DiffFields:
    """Return the fields of a document by label, in the order of the builder; an unlabeled field is named by its key."""
    actors = document.get("actors") or {}
    fields = {
        "Name": DiffField.from_value(document.get("displayName") or ""),
        "Effect": DiffField.from_value("Deny" if is_deny(document) else "Allow"),
        "Type": DiffField.from_value(str(document.get("type") or "").capitalize()),
        **{
            label: DiffField.from_value(describe_time(document.get(key)))
            for key, label in (("validFrom", "Begins"), ("validUntil", "Ends"))
        },
        "Can be edited": DiffField.from_value(_format_flag(document.get("editable") is not False)),
        **_resource_fields(document),
        "Privileges": DiffField(tuple(document.get("privileges") or ())),
    }
    fields |= {label: DiffField.from_value(_format_flag(bool(actors.get(key)))) for key, label in ACTOR_FLAGS}
    types = actors.get("resourceOwnersTypes")
    fields["Types of owners"] = DiffField(("any",) if types is None else tuple(types))
    actor_lists = ((key, label) for key, _, label in (*ACTOR_LISTS, *EXCLUDED_ACTOR_LISTS))
    fields |= {label: DiffField(tuple(actors.get(key) or ())) for key, label in (*actor_lists, EXCLUDED_OWNER_TYPES)}
    other_members = (
        (key, json.dumps(value, ensure_ascii=False)) for key, value in document.items() if key not in _LABELED_KEYS
    )
    return fields | {f"Field {key}": DiffField.from_value(text) for key, text in other_members}


def _resource_fields(document: Mapping[str, Any]) -> dict[str, DiffField]:
    block = document.get("resources")
    if block is None:
        return {"Resources": DiffField.from_value("everything, and questions without a resource")}
    fields = {"Resources": DiffField.from_value("those that meet all conditions")}
    if any(block.get(key) is not None for key in DEPRECATED_KEYS):
        fields["Form"] = DiffField.from_value(
            "deprecated fields" if block.get("filter") is None else "a filter beside deprecated fields"
        )
    fields |= _criterion_fields("Resources", effective_criteria(document))
    constraints = subresource_constraints(document)
    if constraints is not None:
        fields["Tags added or removed"] = DiffField.from_value("only those that meet all conditions")
        fields |= _criterion_fields("Tags added or removed", constraints)
    return fields


def _criterion_fields(group_label: str, criteria: Iterable[Mapping[str, Any]]) -> dict[str, DiffField]:
    fields: dict[str, DiffField] = {}
    for criterion in criteria:
        field = wording.get_field_words(criterion["field"]).label
        base = label = f"{group_label}: {field} {wording.get_condition_label(criterion.get('condition'))}"
        number = 1
        while label in fields:
            number += 1
            label = f"{base} ({number})"
        fields[label] = DiffField(
            tuple(_value_text(value, criterion["field"]) for value in criterion.get("values") or ())
        )
    return fields


def _value_text(value: str, field: str) -> str:
    is_type = field in ("TYPE", "RESOURCE_TYPE")
    if wording.get_property_label(field):
        return wording.describe_value(value) or "(empty)"
    return vocabulary.load_datahub().resource_types.get(value, value) if is_type else value or "(empty)"


def _format_flag(flag: bool) -> str:  # noqa: FBT001
    return "yes" if flag else "no"
