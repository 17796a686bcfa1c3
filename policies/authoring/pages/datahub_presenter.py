"""Presentation of DataHub policies: template context of a document."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from policies.authoring.pages.datahub_wording import (
    ACTOR_FLAGS,
    ACTOR_LISTS,
    EXCLUDED_ACTOR_LISTS,
    EXCLUDED_OWNER_TYPES,
    effective_criteria,
    is_deny,
    subresource_constraints,
)
from policies.authoring.pages.validity_fields import build_phase_badge
from policies.engine import families, wording
from policies.engine.families import datahub, vocabulary
from policies.engine.families.validity import UNLIMITED
from policies.engine.model import Effect
from policies.http.pages.times import describe_validity
from policies.models import Policy
from policies.pdp import authorizer
from policies.writes import managed_rows

PolicyDocument = Mapping[str, Any]

_STATE_BADGES = {"ACTIVE": ("Active", "success"), "INACTIVE": ("Inactive", "neutral"), "DRAFT": ("Draft", "warning")}

#: The flags that stand for a whole list.
_ALL_FLAGS = {"users": "allUsers", "groups": "allGroups"}
_OWNER_TYPES_KEY = "resourceOwnersTypes"

#: Category and description of privileges that come from the settings, and the category of unknown ones.
_CUSTOM_CATEGORY, _CUSTOM_DESCRIPTION = "Of this installation", "It is a custom privilege of this installation."
UNKNOWN_CATEGORY = "Not in the registry"

#: Most names of one kind shown at once, and most that can be unfolded; the document has the rest.
_MAX_VISIBLE_VALUES = 12
_MAX_FOLDED_VALUES = 500

#: Up to this number of privileges every category is shown unfolded.
_MAX_UNFOLDED_PRIVILEGES = 12


def state_badge(value: str) -> dict[str, str]:
    """Return a state as label and kind of a badge."""
    label, kind = _STATE_BADGES[value]
    return {"label": label, "kind": kind}


def build_effect_badge(effects: Collection[Effect]) -> dict[str, str] | None:
    """Return the effects of a policy that denies something as label and kind of a badge; None where it only allows."""
    if Effect.DENY not in effects:
        return None
    return (
        {"label": "Allow and deny", "kind": "warning"}
        if Effect.ALLOW in effects
        else {"label": "Deny", "kind": "danger"}
    )


def policy_type_label(policy: Policy) -> str:
    """Return the type of a policy as a label, or that of its family where the policy has no type."""
    return policy.get_type_display() if policy.type else families.get(policy.family).label


def summary_facts(policy: Policy, names: Mapping[str, str], effects: Collection[Effect]) -> list[dict[str, Any]]:
    """Return the facts at the head of a policy's page; `names` has the names of its creator and last editor, by URN."""
    phase_badge = build_phase_badge(policy)
    return [
        {"label": "Effect", "badges": [build_effect_badge(effects) or {"label": "Allow", "kind": "success"}]},
        {"label": "Type", "value": policy_type_label(policy)},
        {"label": "State", "badges": [badge for badge in (state_badge(policy.state), phase_badge) if badge]},
        *([{"label": "Counts", "value": describe_validity(policy.validity)}] if policy.validity != UNLIMITED else []),
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
        managed_rows.build_editing_fact(policy, label="Can be edited", is_editable=policy.is_editable),
    ]


def describe_privilege(name: str) -> dict[str, Any]:
    """Return a privilege with its category, display name and description, also a custom or an unknown one."""
    info = vocabulary.load_datahub().get(name)
    if info is not None:
        words = {"category": info.category, "display": info.display, "description": info.description}
    elif name in settings.CUSTOM_PRIVILEGES:
        words = {"category": _CUSTOM_CATEGORY, "display": name, "description": _CUSTOM_DESCRIPTION}
    else:
        words = {"category": UNKNOWN_CATEGORY, "display": name, "description": "Nothing asks for it."}
    return {"name": name, **words, "is_deprecated": info is not None and info.is_deprecated}


def group_privileges(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return privileges by category; a long list is folded, so that its categories can be read before their members."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in map(describe_privilege, names):
        groups.setdefault(row["category"], []).append(row)
    is_open = len(names) <= _MAX_UNFOLDED_PRIVILEGES
    return [{"category": category, "members": members, "is_open": is_open} for category, members in groups.items()]


def build_criteria(document: PolicyDocument) -> dict[str, Any]:
    """Return the resources of a policy: a sentence, and the rows of the criteria that must all hold."""
    block = document.get("resources")
    if document.get("type") == datahub.PLATFORM:
        return {"sentence": "A platform policy applies to no resource.", "rows": []}
    if block is None:
        return {"sentence": "Every resource, and questions without a resource.", "rows": []}
    rows = _build_criterion_rows(effective_criteria(document))
    return {"sentence": "Resources that meet all of these." if rows else "Every resource.", "rows": rows}


def build_audience_facts(document: PolicyDocument) -> list[dict[str, Any]]:
    """Return the actors of a policy as facts for the summary component."""
    actors = document.get("actors") or {}
    # Only policies that except somebody have rows about it.
    exceptions = [row for row in EXCLUDED_ACTOR_LISTS if actors.get(row[0])]
    excluded_types_key, excluded_types_label = EXCLUDED_OWNER_TYPES
    keys = (*(key for key, _, _ in (*ACTOR_LISTS, *exceptions)), _OWNER_TYPES_KEY, excluded_types_key)
    previews = {key: _preview_values(actors.get(key) or ()) for key in keys}
    names = authorizer.load_names(urns={urn for preview in previews.values() for urn in preview.urns})
    owners = [{"label": "Owners", **_owners_fact(document, previews[_OWNER_TYPES_KEY], names)}]
    people = [
        {"label": label, "value": f"All {label.lower()}"}
        if actors.get(_ALL_FLAGS.get(key, ""))
        else {"label": label, **_people_fact(previews[key], kind, names)}
        for key, kind, label in (*ACTOR_LISTS, *exceptions)
    ]
    excluded_types = previews[excluded_types_key].urns
    excluded_owners = {"label": excluded_types_label, "lines": [names.get(urn, urn) for urn in excluded_types]}
    return [*owners, *people, *([excluded_owners] if excluded_types else [])]


def audience_badges(document: PolicyDocument) -> list[str]:
    """Return labels of the general actors (all users, all groups, owners) of a policy."""
    actors = document.get("actors") or {}
    return [label for flag, label in ACTOR_FLAGS if actors.get(flag)]


def list_actors(document: PolicyDocument) -> list[tuple[str, str]]:
    """Return the kind and URN of every actor that a policy names."""
    actors = document.get("actors") or {}
    return [(kind, urn) for key, kind, _ in ACTOR_LISTS for urn in actors.get(key) or ()]


def list_exceptions(document: PolicyDocument) -> list[tuple[str, str]]:
    """Return the kind and URN of everybody whom a policy never reaches, types of owners last."""
    actors = document.get("actors") or {}
    kinds = ((key, kind) for key, kind, _ in EXCLUDED_ACTOR_LISTS)
    return [
        (kind, urn)
        for key, kind in (*kinds, (EXCLUDED_OWNER_TYPES[0], "ownershipType"))
        for urn in actors.get(key) or ()
    ]


def list_effects(document: PolicyDocument) -> frozenset[Effect]:
    """Return the effect of a policy, as the only one."""
    return frozenset({Effect.DENY if is_deny(document) else Effect.ALLOW})


def build_page_context(document: PolicyDocument) -> dict[str, Any]:
    """Return the context of the middle part of a DataHub policy's page."""
    return {
        "is_deny": is_deny(document),
        "actors": build_audience_facts(document),
        "criteria": build_criteria(document),
        "constraints": _build_criterion_rows(subresource_constraints(document) or ()),
        "privileges": group_privileges(document.get("privileges") or ()),
    }


def format_json(document: PolicyDocument) -> str:
    """Return a document as indented JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def _build_criterion_rows(criteria_list: Iterable[PolicyDocument]) -> list[dict[str, Any]]:
    rows = [(row, _preview_values(row.get("values") or ())) for row in criteria_list]
    urns = {value for _, preview in rows for value in preview.urns if value.startswith("urn:")}
    names = authorizer.load_names(urns=urns) if urns else {}
    return [
        {
            "field": wording.get_field_words(row["field"]).label,
            "condition": wording.get_condition_label(row.get("condition")),
            "values": [_value_item(value, names, is_property=is_property) for value in preview.visible],
            "unfolded": [_value_item(value, names, is_property=is_property) for value in preview.folded],
            "more": preview.more_count,
        }
        for row, preview in rows
        for is_property in [wording.get_property_label(row["field"]) != ""]
    ]


def _value_item(value: str, names: Mapping[str, str], *, is_property: bool) -> dict[str, str]:
    if value.startswith("urn:"):
        return {"name": names.get(value, ""), "urn": value}
    return {"name": wording.describe_value(value) if is_property else value, "urn": ""}


@dataclass(frozen=True, slots=True)
class ValuePreview:
    """The shown part of a list: visible values, folded ones, and the number of further ones."""

    visible: Sequence[str]
    folded: Sequence[str]
    more_count: int

    @property
    def urns(self) -> list[str]:
        """All values of the preview, visible or folded."""
        return [*self.visible, *self.folded]


def _preview_values(values: Sequence[str]) -> ValuePreview:
    # A single name is not worth unfolding.
    visible = values if len(values) == _MAX_VISIBLE_VALUES + 1 else values[:_MAX_VISIBLE_VALUES]
    folded = values[len(visible) : len(visible) + _MAX_FOLDED_VALUES]
    return ValuePreview(visible, folded, len(values) - len(visible) - len(folded))


def _owners_fact(document: PolicyDocument, types: ValuePreview, names: Mapping[str, str]) -> dict[str, Any]:
    actors = document.get("actors") or {}
    if not actors.get("resourceOwners"):
        return {"value": "No"}
    if document.get("type") == datahub.PLATFORM:
        return {"value": "No: a platform policy is not about resources that somebody could own"}
    if actors.get(_OWNER_TYPES_KEY) is None:
        return {"value": "Yes, of any type"}
    return {"lines": [names.get(urn, urn) for urn in types.urns]} if types.urns else {"value": "Of no type: nobody"}


def _people_fact(preview: ValuePreview, kind: str, names: Mapping[str, str]) -> dict[str, Any]:
    if not preview.urns:
        return {"value": ""}
    visible, folded = (
        [{"name": names.get(urn, urn), "urn": urn, "kind": kind} for urn in urns]
        for urns in (preview.visible, preview.folded)
    )
    return {"template": "policies/_actors.html", "first": visible, "unfolded": folded, "more": preview.more_count}
