"""Template context of the builder's fields: pickers, conditions with their trees, and the privileges on offer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse

from policies.authoring.pages.datahub_draft import CRITERIA_LISTS, MAX_VISIBLE_CRITERIA, DataHubDraft
from policies.authoring.pages.datahub_presenter import UNKNOWN_CATEGORY, describe_privilege
from policies.authoring.pages.datahub_wording import (
    ACTOR_LISTS,
    EXCLUDED_ACTOR_LISTS,
    EXCLUDED_OWNER_TYPES,
    effective_criteria,
)
from policies.authoring.pages.form_values import FieldNotes, is_line
from policies.engine import wording
from policies.engine.families import datahub, vocabulary
from policies.engine.families.privilege_effects import load_effects
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.engine.selectors import Condition
from policies.pdp import authorizer

#: Most chips of one picker, and of a step in all; further values are in the text box.
_MAX_PICKER_CHIPS, _MAX_STEP_CHIPS = 25, 400

#: Most branches of a node that are shown, and most nodes (and levels) that can be open without scripts.
_MAX_BRANCHES = 200
_MAX_OPEN_NODES = 30

#: Field → entity types of its values; empty: any type.
FIELD_ENTITY_TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "URN": (),
        "DOMAIN": ("domain",),
        "CONTAINER": ("container",),
        "TAG": ("tag",),
        "GLOSSARY": ("glossaryNode", "glossaryTerm"),
        "DATA_PLATFORM_INSTANCE": ("dataPlatformInstance",),
        "resourceOwnersTypes": ("ownershipType",),
        EXCLUDED_OWNER_TYPES[0]: ("ownershipType",),
        "external_roles": ("role",),
    }
)
#: Fields whose values form a hierarchy.
TREE_FIELDS = ("DOMAIN", "CONTAINER", "GLOSSARY")
_PEOPLE_KINDS = {
    "OWNER": "holder",
    "GROUP_MEMBERSHIP": "group",
    "users": "user",
    "groups": "group",
    "roles": "role",
    "excludedUsers": "user",
    "excludedGroups": "group",
    "excludedRoles": "role",
}


@dataclass(frozen=True, slots=True)
class BuilderFields:
    """Builds the template context of the fields of one draft; the names of its fields begin with `prefix`."""

    draft: DataHubDraft
    notes: FieldNotes
    data: QueryDict
    prefix: str = ""

    # -- step 2 -----------------------------------------------------------------------------------------------------

    def build_criterion_cards(self, prefix: str) -> list[dict[str, Any]]:
        """Return the conditions of one of the two lists (`prefix`: see CRITERIA_LISTS), as cards."""
        criteria = self.draft.criteria(prefix)[:MAX_VISIBLE_CRITERIA]
        chips = min(_MAX_PICKER_CHIPS, _MAX_STEP_CHIPS // max(len(criteria), 1))
        names = self._load_names(value for criterion in criteria for value in (criterion.get("values") or ())[:chips])
        return [
            self._build_criterion_card(prefix, index, criterion, chips, names)
            for index, criterion in enumerate(criteria)
        ]

    def count_hidden_criteria(self, prefix: str) -> int:
        """Return the number of conditions that the form does not show and therefore does not change."""
        return max(len(self.draft.criteria(prefix)) - MAX_VISIBLE_CRITERIA, 0)

    def build_deprecated_rows(self) -> list[dict[str, Any]]:
        """Return the deprecated fields as rows of equivalent conditions; empty unless the policy uses them."""
        if not self.draft.is_deprecated:
            return []
        criteria = effective_criteria(self.draft.document)
        names = self._load_names(value for criterion in criteria for value in criterion["values"][:_MAX_PICKER_CHIPS])
        return [
            {
                "label": wording.FIELDS[criterion["field"]].label,
                "shown": [
                    {"urn": value, "name": names.get(value, "")} for value in criterion["values"][:_MAX_PICKER_CHIPS]
                ],
                "more": max(len(criterion["values"]) - _MAX_PICKER_CHIPS, 0),
            }
            for criterion in criteria
        ]

    def group_privileges(self, search_text: str) -> list[dict[str, Any]]:
        """Return offered and ticked privileges by category; `search_text` filters those that are not ticked."""
        registry = vocabulary.load_datahub()
        ticked_names = dict.fromkeys(self.draft.document.get("privileges") or ())
        offered_names = {privilege.name: privilege for privilege in self.list_offered_privileges()}
        custom_names = [name for name in settings.CUSTOM_PRIVILEGES if registry.get(name) is None]
        groups: dict[str, list[dict[str, Any]]] = {}
        for name in dict.fromkeys((*custom_names, *offered_names, *ticked_names)):
            row, is_ticked = describe_privilege(name), name in ticked_names
            if is_ticked or _matches_words(row, search_text):
                notes = [UNKNOWN_CATEGORY] if row["category"] == UNKNOWN_CATEGORY else []
                if info := registry.get(name):
                    notes = _privilege_notes(info, is_offered=name in offered_names)
                groups.setdefault(row["category"], []).append({**row, "notes": notes, "is_ticked": is_ticked})
        return [
            {
                "category": category,
                "members": members,
                "ticked": sum(member["is_ticked"] for member in members),
                "is_open": bool(search_text) or any(member["is_ticked"] for member in members),
            }
            for category, members in groups.items()
        ]

    def list_offered_privileges(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges that there are for what the draft is about."""
        registry = vocabulary.load_datahub()
        if self.draft.document.get("type") == datahub.PLATFORM:
            return registry.platform_privileges()
        return registry.list_offered_privileges(self._resource_types())

    def _resource_types(self) -> frozenset[str]:
        """Return the resource types that the policy is limited to; empty when it covers all types."""
        resource_types: frozenset[str] | None = None
        for criterion in effective_criteria(self.draft.document):
            is_equals = (criterion.get("condition") or Condition.EQUALS) == Condition.EQUALS
            if criterion.get("field") in ("TYPE", "RESOURCE_TYPE") and is_equals and criterion.get("values"):
                values = frozenset(criterion["values"])
                resource_types = values if resource_types is None else resource_types & values
        return resource_types or frozenset()

    def _build_criterion_card(
        self, prefix: str, index: int, criterion: Mapping[str, Any], chips: int, names: Mapping[str, str]
    ) -> dict[str, Any]:
        key = f"{prefix}{index}"
        field, condition = criterion["field"], criterion.get("condition") or Condition.EQUALS.value
        pointer = f"/resources/{CRITERIA_LISTS[prefix]}/criteria/{index}"
        values, current_name = list(criterion.get("values") or ()), field.removeprefix("RESOURCE_")
        label = wording.get_field_words(field).label
        notes = self.notes.find(pointer)
        card = {
            "key": f"{self.prefix}{key}",
            "label": label,
            "privileges_id": f"{self.prefix}privileges",
            "is_older": current_name != field,
            "conditions": [
                (name, condition_label, name == condition) for name, condition_label in wording.CONDITION_LABELS.items()
            ],
            "notes": {"lints": notes["lints"], "errors": notes["errors"]},
            "remove": f"remove:{self.prefix}{prefix}:{index}",
        }
        start, name = wording.split_property(field)
        if start:
            return card | {"lines": self._build_text_box(f"{key}_values", values, "values"), "property": {"name": name}}
        if condition == Condition.STARTS_WITH:
            return card | {"lines": self._build_text_box(f"{key}_values", values, "beginnings")}
        if current_name == "TYPE":
            return card | {"types": _type_choices(values)}
        picker = self._build_picker(f"{key}_values", label, current_name, values, names, chips=chips)
        return card | {
            "picker": picker,
            "tree": self._build_tree(f"{self.prefix}{key}_values", current_name)
            if current_name in TREE_FIELDS
            else None,
        }

    def _build_text_box(self, name: str, values: Sequence[str], noun: str) -> dict[str, Any]:
        text = self.draft.rejected_texts.get(name, "\n".join(value for value in values if is_line(value)))
        return {"name": f"{self.prefix}{name}", "text": text, "kept": _non_line_values(values), "what": noun}

    # -- step 3 -----------------------------------------------------------------------------------------------------

    def build_actor_pickers(self) -> dict[str, dict[str, Any]]:
        """Return the pickers of the actors, by key of the document."""
        actors = self.draft.document.get("actors") or {}
        labels = {key: label for key, _, label in (*ACTOR_LISTS, *EXCLUDED_ACTOR_LISTS)}
        labels |= {"resourceOwnersTypes": "Types of owners", **dict([EXCLUDED_OWNER_TYPES])}
        names = self._load_names(value for key in labels for value in (actors.get(key) or ())[:_MAX_PICKER_CHIPS])
        return {
            key: self._build_picker(key, label, key, list(actors.get(key) or ()), names, pointer=f"/actors/{key}")
            for key, label in labels.items()
        }

    # -- both steps ---------------------------------------------------------------------------------------------------

    def _build_picker(
        self,
        name: str,
        label: str,
        kind: str,
        values: list[str],
        names: Mapping[str, str],
        *,
        chips: int = _MAX_PICKER_CHIPS,
        pointer: str = "",
    ) -> dict[str, Any]:
        """Return the context of _picker.html: first values as chips, the rest as lines, non-line values by index."""
        line_values = [value for value in values if is_line(value)]
        field_name = f"{self.prefix}{name}"
        return {
            "name": field_name,
            "label": label,
            "chosen": [
                {"urn": value, "label": names.get(value, value), "type": _entity_type(value)}
                for value in line_values[:chips]
            ],
            "pasted": self.draft.rejected_texts.get(name, "\n".join(line_values[chips:])),
            "kept": _non_line_values(values),
            "search_url": _search_url(kind, field_name),
            "notes": self.notes.find(pointer) if pointer else None,
        }

    def _build_tree(self, name: str, field: str) -> dict[str, Any]:
        """Return the tree of a field with the nodes that were opened without scripts; one query for each of them."""
        open_urns = set(self.data.getlist(f"{name}_open")[-_MAX_OPEN_NODES:])
        button = self.data.get("go", "")
        if button.startswith(f"open:{name}:"):
            open_urns.add(button.removeprefix(f"open:{name}:"))
        return {
            "name": name,
            "field": field,
            "url": _branch_url(field, name),
            "opened": sorted(open_urns),
            **(self._load_branches(name, field, "", open_urns, depth=0) if "" in open_urns else {}),
        }

    def _load_branches(self, name: str, field: str, parent: str, open_urns: set[str], *, depth: int) -> dict[str, Any]:
        """Return the context of _branches.html for a node, with its open children."""
        node = load_branches(field, parent, name)
        for branch in node["branches"]:
            if branch["urn"] in open_urns and depth < _MAX_OPEN_NODES:
                branch |= self._load_branches(name, field, branch["urn"], open_urns, depth=depth + 1)
        return node

    def _load_names(self, values: Iterable[str]) -> Mapping[str, str]:
        urns = {value for value in values if value.startswith("urn:")}
        return authorizer.load_names(urns=urns) if urns else {}


def load_branches(field: str, parent: str, name: str) -> dict[str, Any]:
    """Return the direct children of a node in a field's tree, as the context of _branches.html."""
    nodes = authorizer.directory().list_children(
        parent=parent, types=FIELD_ENTITY_TYPES[field], limit=_MAX_BRANCHES + 1
    )
    branches = [
        {
            "urn": node.urn,
            "label": node.name or node.urn,
            "type": node.type,
            "is_parent": node.is_parent,
            "url": _branch_url(field, name, node.urn),
        }
        for node in nodes[:_MAX_BRANCHES]
    ]
    return {"branches": branches, "is_more": len(nodes) > _MAX_BRANCHES}


def _branch_url(field: str, name: str, parent: str = "") -> str:
    return f"{reverse('policy-branches', args=[field])}?{urlencode({'name': name, 'parent': parent})}"


def _search_url(kind: str, name: str) -> str:
    if kind in _PEOPLE_KINDS:
        return f"{reverse('people-options')}?{urlencode({'kind': _PEOPLE_KINDS[kind], 'name': name})}"
    return f"{reverse('policy-options', args=[kind])}?{urlencode({'name': name})}"


def _type_choices(values: Sequence[str]) -> list[dict[str, Any]]:
    registry_labels = vocabulary.load_datahub().resource_types
    labels = {**registry_labels, **{value: registry_labels.get(value, value) for value in values}}
    return [{"name": name, "label": label, "is_ticked": name in values} for name, label in labels.items()]


def _non_line_values(values: Sequence[str]) -> list[dict[str, Any]]:
    return [{"place": index, "text": repr(value)} for index, value in enumerate(values) if not is_line(value)]


def _entity_type(urn: str) -> str:
    parts = urn.split(":", 3)
    return parts[2] if len(parts) == 4 and urn.startswith("urn:li:") else ""


def _matches_words(row: Mapping[str, Any], search_text: str) -> bool:
    text = " ".join(row[key] for key in ("name", "display", "description", "category")).casefold()
    return all(word in text for word in search_text.casefold().split())


def _privilege_notes(info: PrivilegeInfo, *, is_offered: bool) -> list[str]:
    footnotes = (
        (info.is_cloud_only, "DataHub Cloud"),
        (info.is_deprecated, "Deprecated"),
        (info.is_rest_only, "REST API only"),
        (info.name in load_effects().other_products, "Answered, not enforced here"),
        (not is_offered, "Not offered for these types"),
    )
    return [footnote for holds, footnote in footnotes if holds]
