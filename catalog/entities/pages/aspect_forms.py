"""Editors of an entity's aspects: each builds its form, reads the submitted data and saves it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.http import QueryDict

from catalog.access import browsing
from catalog.access.entity_context import EntityContext
from catalog.entities import annotations
from catalog.entities.annotations import AnnotationEdit, EntityLink, OwnerPair
from catalog.entities.pages import pickers
from catalog.entities.pages.about import description_text, parse_milliseconds
from catalog.entities.pages.forms import DeprecationForm, DescriptionForm, LinkFormSet
from catalog.entities.pages.pickers import EntityPicker, PickerKind
from policies.http.pages.change_effect import ProposedChange, describe_effect
from policies.http.pages.list_and_form_pages import CHANNEL

#: Maximum number of ownership types in a form.
_MAX_OWNERSHIP_TYPES = 200

_NO_TYPE_LABEL = "Without a type"

#: Aspect → the name of its entries in the changes of a preview.
_FACT_NOUNS = {"globalTags": "tags", "glossaryTerms": "terms"}

SEVERAL_DOMAINS = "Who gains and who loses by several domains is not worked out here."


class AspectEditor(ABC):
    """An editor of one aspect: built from the stored document, filled with submitted data, validated and saved."""

    template: ClassVar[str]

    def __init__(self, entity_context: EntityContext) -> None:
        self.entity_context = entity_context

    @abstractmethod
    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""

    @property
    @abstractmethod
    def is_valid(self) -> bool:
        """Whether the submitted data can be saved, as far as the form can check."""

    @abstractmethod
    def write(self, edit: AnnotationEdit) -> None:
        """Save the submitted data. Raises the errors of `annotations`."""

    @abstractmethod
    def render_stored_lines(self) -> list[str]:
        """Return the stored values, a line for each entry, for an editor whose edit came too late."""

    def describe_effect(self) -> list[str] | None:
        """Return sentences on who would gain and lose what, none for data that cannot be saved.

        None for an aspect on which no access rests.
        """
        return None

    def save(self, expected_fingerprint: str) -> None:
        """Save the submitted data if the document is still the one with this fingerprint."""
        context = self.entity_context
        self.write(AnnotationEdit([context.entity.urn], context.by, CHANNEL, expected_fingerprint))


class UrnListEditor(AspectEditor):
    """Editor of a list of URNs with a picker; URNs hidden from the editor stay."""

    template = "catalog/edit_list.html"

    def __init__(self, entity_context: EntityContext, kind: PickerKind, aspect: str) -> None:
        super().__init__(entity_context)
        self._aspect = aspect
        urns = tuple(annotations.list_urns(aspect, entity_context.document(aspect)))
        self._picker = EntityPicker(kind, entity_context.by, initial_urns=urns, chosen_urns=urns)

    def read(self, data: QueryDict) -> None:
        self._picker.read(data)

    @property
    def is_valid(self) -> bool:
        return not self._picker.errors

    @property
    def picker(self) -> dict[str, Any]:
        """The context of components/picker.html."""
        return self._picker.build_context()

    def describe_effect(self) -> list[str] | None:
        if self._aspect not in (*_FACT_NOUNS, "domains"):
            return None
        if not self.is_valid:
            return []
        entity, added, removed = self.entity_context.entity.urn, self._picker.added_urns, self._picker.removed_urns
        changes: list[ProposedChange] = []
        if self._aspect == "domains":
            domains = [urn for urn in self._picker.initial_urns if urn not in removed] + added
            if len(domains) > 1:
                return [SEVERAL_DOMAINS]
            if added or removed:
                changes = [{"set_domain": {"entity": entity, "domain": domains[0] if domains else None}}]
        else:
            noun = _FACT_NOUNS[self._aspect]
            pairs = ((f"add_{noun}", added), (f"remove_{noun}", removed))
            changes = [{kind: {"entity": entity, noun: urns}} for kind, urns in pairs if urns]
        return describe_effect(*changes, by=self.entity_context.by)

    def write(self, edit: AnnotationEdit) -> None:
        annotations.edit_urns(edit, self._aspect, add=self._picker.added_urns, remove=self._picker.removed_urns)

    def render_stored_lines(self) -> list[str]:
        names_by_urn = pickers.load_names(self._picker.initial_urns)
        return [names_by_urn.get(urn, urn) for urn in self._picker.initial_urns]


class OwnersEditor(AspectEditor):
    """Editor of owners with ownership types: existing ones can be unticked, and several added with one type."""

    template = "catalog/edit_owners.html"

    def __init__(self, entity_context: EntityContext) -> None:
        super().__init__(entity_context)
        entries = entity_context.document("ownership").get("owners") or ()
        self._initial_owners: list[OwnerPair] = list(dict.fromkeys(annotations.parse_owner(entry) for entry in entries))
        self._retained_owners = list(self._initial_owners)
        self._picker = EntityPicker(pickers.OWNERS, entity_context.by, label="Add users and groups")
        self.error = ""
        self.chosen_type = ""

    def read(self, data: QueryDict) -> None:
        retained_values = set(data.getlist("kept"))
        self._retained_owners = [owner for owner in self._initial_owners if json.dumps(owner) in retained_values]
        self._picker.read(data)
        self.chosen_type = data.get("type", "")
        if self.chosen_type not in {urn for urn, _ in self._list_types()}:
            self.error = "There is no such ownership type."

    @property
    def is_valid(self) -> bool:
        return not self._picker.errors and not self.error

    @property
    def picker(self) -> dict[str, Any]:
        """The context of components/picker.html."""
        return self._picker.build_context()

    @property
    def owners(self) -> list[dict[str, Any]]:
        """The existing owners, each with the value of its checkbox."""
        names_by_urn = pickers.load_names({urn for owner in self._initial_owners for urn in owner if urn})
        return [
            {
                "value": json.dumps(owner),
                "name": names_by_urn.get(owner[0], owner[0]),
                "as": names_by_urn.get(owner[1], owner[1]) or _NO_TYPE_LABEL,
                "is_kept": owner in self._retained_owners,
            }
            for owner in self._initial_owners
        ]

    @property
    def types(self) -> list[dict[str, Any]]:
        """The ownership types for new owners."""
        return [{"urn": urn, "name": name, "is_chosen": urn == self.chosen_type} for urn, name in self._list_types()]

    def describe_effect(self) -> list[str] | None:
        if not self.is_valid:
            return []
        owners_by_kind = {"remove_owners": self._list_removed(), "add_owners": self._list_added()}
        changes = [
            {
                kind: {
                    "entity": self.entity_context.entity.urn,
                    "owners": [{"owner": owner, "type": type_} for owner, type_ in owners],
                }
            }
            for kind, owners in owners_by_kind.items()
            if owners
        ]
        return describe_effect(*changes, by=self.entity_context.by)

    def write(self, edit: AnnotationEdit) -> None:
        annotations.edit_owners(edit, add=self._list_added(), remove=self._list_removed())

    def _list_added(self) -> list[OwnerPair]:
        return [(urn, self.chosen_type) for urn in self._picker.added_urns]

    def _list_removed(self) -> list[OwnerPair]:
        return [owner for owner in self._initial_owners if owner not in self._retained_owners]

    def render_stored_lines(self) -> list[str]:
        return [f"{owner['name']} ({owner['as']})" for owner in self.owners]

    def _list_types(self) -> list[tuple[str, str]]:
        types = browsing.list_choices(type="ownershipType", by=self.entity_context.by, limit=_MAX_OWNERSHIP_TYPES)
        return [("", _NO_TYPE_LABEL), *types]


class FormEditor(AspectEditor):
    """An editor with a Django form or formset, whose initial values are the stored ones."""

    template = "catalog/edit_form.html"
    form_class: ClassVar[Callable[..., Any]]
    prefix: ClassVar[str | None] = None

    def __init__(self, entity_context: EntityContext) -> None:
        super().__init__(entity_context)
        self.initial = self.build_initial(entity_context)
        self.form = self._build_form(None)

    @abstractmethod
    def build_initial(self, entity_context: EntityContext) -> Any:
        """Return the initial values of the form."""

    def read(self, data: QueryDict) -> None:
        self.form = self._build_form(data)

    def _build_form(self, data: QueryDict | None) -> Any:
        return type(self).form_class(data, initial=self.initial, prefix=self.prefix)

    @property
    def is_valid(self) -> bool:
        return bool(self.form.is_valid())


class DescriptionEditor(FormEditor):
    """Editor of the description; while there is none, the source's is offered."""

    form_class = DescriptionForm

    def build_initial(self, entity_context: EntityContext) -> dict[str, Any]:
        aspect, field = annotations.DESCRIPTIONS[entity_context.entity.type]
        self._text = str(entity_context.document(aspect).get(field) or "")
        return {"text": self._text or description_text(entity_context.document("datasetProperties"))}

    def write(self, edit: AnnotationEdit) -> None:
        annotations.set_description(edit, self.form.cleaned_data["text"])

    def render_stored_lines(self) -> list[str]:
        return [self._text]


class DeprecationEditor(FormEditor):
    """Editor of the deprecation."""

    form_class = DeprecationForm

    def build_initial(self, entity_context: EntityContext) -> dict[str, Any]:
        document = entity_context.document("deprecation")
        return {
            "is_deprecated": bool(document.get("deprecated")),
            "note": document.get("note") or "",
            "leaves_on": parse_milliseconds(document.get("decommissionTime")),
        }

    def write(self, edit: AnnotationEdit) -> None:
        data = self.form.cleaned_data
        annotations.set_deprecation(
            edit,
            is_deprecated=data["is_deprecated"],
            note=data["note"],
            decommission_time=self.form.decommission_time,
        )

    def render_stored_lines(self) -> list[str]:
        state = "Deprecated" if self.initial["is_deprecated"] else "Not deprecated"
        return [line for line in (state, str(self.initial["note"])) if line]


class LinksEditor(FormEditor):
    """Editor of links to pages about the entity."""

    template = "catalog/edit_links.html"
    form_class = LinkFormSet
    prefix = "links"

    def build_initial(self, entity_context: EntityContext) -> list[dict[str, Any]]:
        elements = entity_context.document("institutionalMemory").get("elements") or ()
        return [{"url": entry["url"], "label": entry.get("description") or ""} for entry in elements]

    def write(self, edit: AnnotationEdit) -> None:
        rows = [form.cleaned_data for form in self.form if form.cleaned_data.get("url")]
        annotations.set_links(edit, [EntityLink(row["url"], row.get("label") or "") for row in rows])

    def render_stored_lines(self) -> list[str]:
        return [f"{row['label'] or 'Link'}: {row['url']}" for row in self.initial]


_URN_LISTS: Mapping[str, tuple[PickerKind, str]] = {
    "access": (pickers.ROLES, "access"),
    "domains": (pickers.DOMAINS, "domains"),
    "tags": (pickers.TAGS, "globalTags"),
    "terms": (pickers.TERMS, "glossaryTerms"),
}

_EDITOR_CLASSES: Mapping[str, Callable[[EntityContext], AspectEditor]] = {
    "deprecation": DeprecationEditor,
    "description": DescriptionEditor,
    "links": LinksEditor,
    "owners": OwnersEditor,
}


def build_editor(key: str, entity_context: EntityContext) -> AspectEditor:
    """Return the editor for one of `edit_controls.CONTROLS`."""
    if key in _URN_LISTS:
        return UrnListEditor(entity_context, *_URN_LISTS[key])
    return _EDITOR_CLASSES[key](entity_context)
