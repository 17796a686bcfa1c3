"""What each thing that can be edited asks for, reads from the form and saves."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.http import QueryDict

from catalog.access import browsing
from catalog.access.entity_context import Subject
from catalog.entities import annotations
from catalog.entities.annotations import Link, Owner
from catalog.entities.pages import pickers
from catalog.entities.pages.about import day_of, description_of, domains_of
from catalog.entities.pages.forms import DeprecationForm, DescriptionForm, LinkFormSet
from catalog.entities.pages.pickers import Kind, Picker

DOOR = "pages"

#: How many ownership types a form offers.
_OFFERED = 200

_NO_TYPE = "Without a type"


class Editor(Protocol):
    """One form: made from what is stored, given what was sent, asked whether that will do, and told to save it."""

    @property
    def template(self) -> str:
        """The template that draws the fields."""

    def read(self, data: QueryDict) -> None:
        """Take in what was sent."""

    @property
    def is_valid(self) -> bool:
        """Whether what was sent can be saved as far as the form knows."""

    def save(self, seen: str) -> None:
        """Write it; `seen` is the mark of what was shown. Raises what `annotations` raises."""

    def lines(self) -> list[str]:
        """Return what is stored, a line for each entry, for somebody whose edit came too late."""


@dataclass(frozen=True, slots=True)
class _List:
    """A list of URNs in an aspect: what its picker chooses, where the URNs are, and who writes changes."""

    kind: Kind
    aspect: str
    urns: Callable[[Mapping[str, Any]], Sequence[str]]
    write: Callable[..., None]
    help: str = ""


class ListEditor:
    """A list of URNs behind a picker."""

    template = "catalog/edit_list.html"

    def __init__(self, subject: Subject, listed: _List) -> None:
        self._subject = subject
        self._listed = listed
        before = tuple(dict.fromkeys(listed.urns(subject.document(listed.aspect))))
        self._picker = Picker(kind=listed.kind, by=subject.by, before=before, chosen=before, help=listed.help)

    def read(self, data: QueryDict) -> None:
        """Take in what was sent."""
        self._picker.read(data)

    @property
    def is_valid(self) -> bool:
        """Whether everything that was added is known."""
        return not self._picker.errors

    @property
    def picker(self) -> dict[str, Any]:
        """What components/picker.html draws."""
        return self._picker.context()

    def save(self, seen: str) -> None:
        """Write what was added and removed; what the editor may not view stays."""
        picker, subject = self._picker, self._subject
        self._listed.write(
            urns=[subject.entity.urn], add=picker.added, remove=picker.removed, seen=seen, by=subject.by, door=DOOR
        )

    def lines(self) -> list[str]:
        """Return the names of what is stored."""
        named = pickers.names(self._picker.before)
        return [named.get(urn, urn) for urn in self._picker.before]


class OwnersEditor:
    """Owners with the type of each: those there are can be unticked, and several added as one type."""

    template = "catalog/edit_owners.html"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        entries = subject.document("ownership").get("owners") or ()
        self._before: list[Owner] = list(dict.fromkeys(annotations.owner_of(entry) for entry in entries))
        self._kept = list(self._before)
        self._picker = Picker(kind=pickers.OWNERS, by=subject.by)
        self.error = ""
        self.chosen_type = ""

    def read(self, data: QueryDict) -> None:
        """Take in what was sent."""
        ticked = set(data.getlist("kept"))
        self._kept = [owner for owner in self._before if json.dumps(owner) in ticked]
        self._picker.read(data)
        self.chosen_type = data.get("type", "")
        if self.chosen_type and self.chosen_type not in {urn for urn, _ in self._types()}:
            self.error = "There is no such ownership type."

    @property
    def is_valid(self) -> bool:
        """Whether everybody who was added is known, and the type."""
        return not self._picker.errors and not self.error

    @property
    def picker(self) -> dict[str, Any]:
        """What components/picker.html draws."""
        return {**self._picker.context(), "label": "Add users and groups"}

    @property
    def owners(self) -> list[dict[str, Any]]:
        """The owners there are, each with the value of its box."""
        named = pickers.names({one for owner in self._before for one in owner if one})
        return [
            {
                "value": json.dumps(owner),
                "name": named.get(owner[0], owner[0]),
                "as": named.get(owner[1], owner[1]) or _NO_TYPE,
                "is_kept": owner in self._kept,
            }
            for owner in self._before
        ]

    @property
    def types(self) -> list[dict[str, Any]]:
        """The ownership types to add somebody as."""
        found = [("", _NO_TYPE), *self._types()]
        return [{"urn": urn, "name": name, "is_chosen": urn == self.chosen_type} for urn, name in found]

    def save(self, seen: str) -> None:
        """Write who was added and who was unticked."""
        add = [(urn, self.chosen_type) for urn in self._picker.added]
        remove = [owner for owner in self._before if owner not in self._kept]
        subject = self._subject
        annotations.edit_owners(urns=[subject.entity.urn], add=add, remove=remove, seen=seen, by=subject.by, door=DOOR)

    def lines(self) -> list[str]:
        """Return the owners that are stored."""
        return [f"{owner['name']} ({owner['as']})" for owner in self.owners]

    def _types(self) -> list[tuple[str, str]]:
        return browsing.choices(type="ownershipType", by=self._subject.by, limit=_OFFERED)


class DescriptionEditor:
    """The description."""

    template = "catalog/edit_form.html"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        aspect, field = annotations.DESCRIPTIONS[subject.entity.type]
        self._text = str(subject.document(aspect).get(field) or "")
        shown = self._text or description_of(subject.document("datasetProperties"))
        self.form = DescriptionForm(initial={"text": shown})

    def read(self, data: QueryDict) -> None:
        """Take in what was sent."""
        self.form = DescriptionForm(data)

    @property
    def is_valid(self) -> bool:
        """Whether the text is not too long."""
        return self.form.is_valid()

    def save(self, seen: str) -> None:
        """Write the text."""
        text, subject = self.form.cleaned_data["text"], self._subject
        annotations.describe(urn=subject.entity.urn, text=text, seen=seen, by=subject.by, door=DOOR)

    def lines(self) -> list[str]:
        """Return the text that is stored."""
        return [self._text]


class DeprecationEditor:
    """Whether the entity should still be used."""

    template = "catalog/edit_form.html"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        said = subject.document("deprecation")
        self._said = {
            "is_deprecated": bool(said.get("deprecated")),
            "note": said.get("note") or "",
            "leaves_on": day_of(said.get("decommissionTime")),
        }
        self.form = DeprecationForm(initial=self._said)

    def read(self, data: QueryDict) -> None:
        """Take in what was sent."""
        self.form = DeprecationForm(data)

    @property
    def is_valid(self) -> bool:
        """Whether the day is one."""
        return self.form.is_valid()

    def save(self, seen: str) -> None:
        """Write it."""
        data, subject = self.form.cleaned_data, self._subject
        annotations.deprecate(
            urns=[subject.entity.urn],
            is_deprecated=data["is_deprecated"],
            note=data["note"],
            leaves_at=self.form.leaves_at,
            seen=seen,
            by=subject.by,
            door=DOOR,
        )

    def lines(self) -> list[str]:
        """Return what is stored."""
        found = ["Deprecated" if self._said["is_deprecated"] else "Not deprecated", str(self._said["note"])]
        return [line for line in found if line]


class LinksEditor:
    """Links to pages about the entity."""

    template = "catalog/edit_links.html"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        elements = subject.document("institutionalMemory").get("elements") or ()
        self._said = [{"url": entry["url"], "label": entry.get("description") or ""} for entry in elements]
        self.formset = LinkFormSet(initial=self._said, prefix="links")

    def read(self, data: QueryDict) -> None:
        """Take in what was sent."""
        self.formset = LinkFormSet(data, initial=self._said, prefix="links")

    @property
    def is_valid(self) -> bool:
        """Whether every address may be a link."""
        return self.formset.is_valid()

    def save(self, seen: str) -> None:
        """Write the links that have an address."""
        rows = [form.cleaned_data for form in self.formset if form.cleaned_data.get("url")]
        links = [Link(row["url"], row.get("label") or "") for row in rows]
        subject = self._subject
        annotations.link(urn=subject.entity.urn, links=links, seen=seen, by=subject.by, door=DOOR)

    def lines(self) -> list[str]:
        """Return the links that are stored."""
        return [f"{row['label'] or 'Link'}: {row['url']}" for row in self._said]


def _entries(outer: str, inner: str) -> Callable[[Mapping[str, Any]], list[str]]:
    return lambda document: [entry[inner] for entry in document.get(outer) or ()]


_LISTS = {
    "access": _List(pickers.ROLES, "access", _entries("roles", "urn"), annotations.edit_roles),
    "domains": _List(pickers.DOMAINS, "domains", domains_of, annotations.edit_domains),
    "tags": _List(pickers.TAGS, "globalTags", _entries("tags", "tag"), annotations.edit_tags),
    "terms": _List(pickers.TERMS, "glossaryTerms", _entries("terms", "urn"), annotations.edit_terms),
}

_OTHERS: Mapping[str, Callable[[Subject], Editor]] = {
    "deprecation": DeprecationEditor,
    "description": DescriptionEditor,
    "links": LinksEditor,
    "owners": OwnersEditor,
}


def editor_of(what: str, subject: Subject) -> Editor:
    """Return the form for one of `controls.CONTROLS`."""
    return ListEditor(subject, _LISTS[what]) if what in _LISTS else _OTHERS[what](subject)
