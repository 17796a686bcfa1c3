"""Editors of an entity's aspects: each builds its form, reads the submitted data and saves it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.http import QueryDict

from catalog.access import browsing
from catalog.access.entity_context import EntityContext
from catalog.entities import annotations
from catalog.entities.annotations import EntityLink, OwnerPair
from catalog.entities.pages import pickers
from catalog.entities.pages.about import description_text, domain_urns, parse_milliseconds
from catalog.entities.pages.forms import DeprecationForm, DescriptionForm, LinkFormSet
from catalog.entities.pages.pickers import EntityPicker, PickerKind

CHANNEL = "pages"

#: Maximum number of ownership types in a form.
_MAX_OWNERSHIP_TYPES = 200

_NO_TYPE_LABEL = "Without a type"


class AspectEditor(Protocol):
    """An editor of one aspect: built from the stored document, filled with submitted data, validated and saved."""

    @property
    def template(self) -> str:
        """The template of the fields."""

    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""

    @property
    def is_valid(self) -> bool:
        """Whether the submitted data can be saved, as far as the form can check."""

    def save(self, expected_fingerprint: str) -> None:
        """Save the data; `expected_fingerprint` is that of the document shown. Raises the errors of `annotations`."""

    def render_stored_lines(self) -> list[str]:
        """Return the stored values, a line for each entry, for an editor whose edit came too late."""


@dataclass(frozen=True, slots=True)
class _UrnListSpec:
    """A list of URNs in an aspect: its picker, the reader of its URNs, and the function that writes changes."""

    kind: PickerKind
    aspect: str
    urns: Callable[[Mapping[str, Any]], Sequence[str]]
    write: Callable[..., None]
    help: str = ""


class UrnListEditor:
    """Editor of a list of URNs with a picker."""

    template = "catalog/edit_list.html"

    def __init__(self, entity_context: EntityContext, spec: _UrnListSpec) -> None:
        self._entity_context = entity_context
        self._spec = spec
        initial_urns = tuple(dict.fromkeys(spec.urns(entity_context.document(spec.aspect))))
        self._picker = EntityPicker(
            kind=spec.kind, by=entity_context.by, initial_urns=initial_urns, chosen_urns=initial_urns, help=spec.help
        )

    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""
        self._picker.read(data)

    @property
    def is_valid(self) -> bool:
        """Whether every added URN is known."""
        return not self._picker.errors

    @property
    def picker(self) -> dict[str, Any]:
        """The context of components/picker.html."""
        return self._picker.build_context()

    def save(self, expected_fingerprint: str) -> None:
        """Save added and removed URNs; those hidden from the editor stay."""
        picker, entity_context = self._picker, self._entity_context
        self._spec.write(
            urns=[entity_context.entity.urn],
            add=picker.added_urns,
            remove=picker.removed_urns,
            expected_fingerprint=expected_fingerprint,
            by=entity_context.by,
            channel=CHANNEL,
        )

    def render_stored_lines(self) -> list[str]:
        """Return the names of the stored URNs."""
        names_by_urn = pickers.load_names(self._picker.initial_urns)
        return [names_by_urn.get(urn, urn) for urn in self._picker.initial_urns]


class OwnersEditor:
    """Editor of owners with ownership types: existing ones can be unticked, and several added with one type."""

    template = "catalog/edit_owners.html"

    def __init__(self, entity_context: EntityContext) -> None:
        self._entity_context = entity_context
        entries = entity_context.document("ownership").get("owners") or ()
        self._initial_owners: list[OwnerPair] = list(dict.fromkeys(annotations.parse_owner(entry) for entry in entries))
        self._retained_owners = list(self._initial_owners)
        self._picker = EntityPicker(kind=pickers.OWNERS, by=entity_context.by)
        self.error = ""
        self.chosen_type = ""

    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""
        retained_values = set(data.getlist("kept"))
        self._retained_owners = [owner for owner in self._initial_owners if json.dumps(owner) in retained_values]
        self._picker.read(data)
        self.chosen_type = data.get("type", "")
        if self.chosen_type and self.chosen_type not in {urn for urn, _ in self._list_types()}:
            self.error = "There is no such ownership type."

    @property
    def is_valid(self) -> bool:
        """Whether every added owner and the ownership type are known."""
        return not self._picker.errors and not self.error

    @property
    def picker(self) -> dict[str, Any]:
        """The context of components/picker.html."""
        return {**self._picker.build_context(), "label": "Add users and groups"}

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
        types = [("", _NO_TYPE_LABEL), *self._list_types()]
        return [{"urn": urn, "name": name, "is_chosen": urn == self.chosen_type} for urn, name in types]

    def save(self, expected_fingerprint: str) -> None:
        """Save added and unticked owners."""
        add = [(urn, self.chosen_type) for urn in self._picker.added_urns]
        remove = [owner for owner in self._initial_owners if owner not in self._retained_owners]
        entity_context = self._entity_context
        annotations.edit_owners(
            urns=[entity_context.entity.urn],
            add=add,
            remove=remove,
            expected_fingerprint=expected_fingerprint,
            by=entity_context.by,
            channel=CHANNEL,
        )

    def render_stored_lines(self) -> list[str]:
        """Return the stored owners."""
        return [f"{owner['name']} ({owner['as']})" for owner in self.owners]

    def _list_types(self) -> list[tuple[str, str]]:
        return browsing.list_choices(type="ownershipType", by=self._entity_context.by, limit=_MAX_OWNERSHIP_TYPES)


class DescriptionEditor:
    """Editor of the description."""

    template = "catalog/edit_form.html"

    def __init__(self, entity_context: EntityContext) -> None:
        self._entity_context = entity_context
        aspect, field = annotations.DESCRIPTIONS[entity_context.entity.type]
        self._text = str(entity_context.document(aspect).get(field) or "")
        initial_text = self._text or description_text(entity_context.document("datasetProperties"))
        self.form = DescriptionForm(initial={"text": initial_text})

    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""
        self.form = DescriptionForm(data)

    @property
    def is_valid(self) -> bool:
        """Whether the text is not too long."""
        return self.form.is_valid()

    def save(self, expected_fingerprint: str) -> None:
        """Save the text."""
        text, entity_context = self.form.cleaned_data["text"], self._entity_context
        annotations.set_description(
            urn=entity_context.entity.urn,
            text=text,
            expected_fingerprint=expected_fingerprint,
            by=entity_context.by,
            channel=CHANNEL,
        )

    def render_stored_lines(self) -> list[str]:
        """Return the stored text."""
        return [self._text]


class DeprecationEditor:
    """Editor of the deprecation."""

    template = "catalog/edit_form.html"

    def __init__(self, entity_context: EntityContext) -> None:
        self._entity_context = entity_context
        document = entity_context.document("deprecation")
        self._initial_values = {
            "is_deprecated": bool(document.get("deprecated")),
            "note": document.get("note") or "",
            "leaves_on": parse_milliseconds(document.get("decommissionTime")),
        }
        self.form = DeprecationForm(initial=self._initial_values)

    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""
        self.form = DeprecationForm(data)

    @property
    def is_valid(self) -> bool:
        """Whether the date is valid."""
        return self.form.is_valid()

    def save(self, expected_fingerprint: str) -> None:
        """Save the deprecation."""
        data, entity_context = self.form.cleaned_data, self._entity_context
        annotations.set_deprecation(
            urns=[entity_context.entity.urn],
            is_deprecated=data["is_deprecated"],
            note=data["note"],
            decommission_time=self.form.decommission_time,
            expected_fingerprint=expected_fingerprint,
            by=entity_context.by,
            channel=CHANNEL,
        )

    def render_stored_lines(self) -> list[str]:
        """Return the stored values."""
        lines = [
            "Deprecated" if self._initial_values["is_deprecated"] else "Not deprecated",
            str(self._initial_values["note"]),
        ]
        return [line for line in lines if line]


class LinksEditor:
    """Editor of links to pages about the entity."""

    template = "catalog/edit_links.html"

    def __init__(self, entity_context: EntityContext) -> None:
        self._entity_context = entity_context
        elements = entity_context.document("institutionalMemory").get("elements") or ()
        self._initial_links = [{"url": entry["url"], "label": entry.get("description") or ""} for entry in elements]
        self.formset = LinkFormSet(initial=self._initial_links, prefix="links")

    def read(self, data: QueryDict) -> None:
        """Read the submitted data."""
        self.formset = LinkFormSet(data, initial=self._initial_links, prefix="links")

    @property
    def is_valid(self) -> bool:
        """Whether every address may be a link."""
        return self.formset.is_valid()

    def save(self, expected_fingerprint: str) -> None:
        """Save the links that have an address."""
        rows = [form.cleaned_data for form in self.formset if form.cleaned_data.get("url")]
        links = [EntityLink(row["url"], row.get("label") or "") for row in rows]
        entity_context = self._entity_context
        annotations.set_links(
            urn=entity_context.entity.urn,
            links=links,
            expected_fingerprint=expected_fingerprint,
            by=entity_context.by,
            channel=CHANNEL,
        )

    def render_stored_lines(self) -> list[str]:
        """Return the stored links."""
        return [f"{row['label'] or 'Link'}: {row['url']}" for row in self._initial_links]


def _build_entry_reader(outer: str, inner: str) -> Callable[[Mapping[str, Any]], list[str]]:
    return lambda document: [entry[inner] for entry in document.get(outer) or ()]


_LIST_SPECS = {
    "access": _UrnListSpec(pickers.ROLES, "access", _build_entry_reader("roles", "urn"), annotations.edit_roles),
    "domains": _UrnListSpec(pickers.DOMAINS, "domains", domain_urns, annotations.edit_domains),
    "tags": _UrnListSpec(pickers.TAGS, "globalTags", _build_entry_reader("tags", "tag"), annotations.edit_tags),
    "terms": _UrnListSpec(pickers.TERMS, "glossaryTerms", _build_entry_reader("terms", "urn"), annotations.edit_terms),
}

_EDITOR_CLASSES: Mapping[str, Callable[[EntityContext], AspectEditor]] = {
    "deprecation": DeprecationEditor,
    "description": DescriptionEditor,
    "links": LinksEditor,
    "owners": OwnersEditor,
}


def build_editor(key: str, entity_context: EntityContext) -> AspectEditor:
    """Return the editor for one of `edit_controls.CONTROLS`."""
    return (
        UrnListEditor(entity_context, _LIST_SPECS[key]) if key in _LIST_SPECS else _EDITOR_CLASSES[key](entity_context)
    )
