"""Edits of an entity's annotations: tags, terms, owners, domains, description, links, deprecation, external roles.

Every edit names the entries to add and remove, so that entries hidden from the editor and unknown fields stay. It is
written by `apply.apply`, like the writes of every other interface. All edits raise NotFound, Stale, Invalid and
Forbidden.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from catalog import urns as catalog_urns
from catalog.access import aspect_documents, entity_lists, view_permissions
from catalog.access.aspect_documents import StoredAspect
from catalog.aspects.annotations import SYSTEM_OWNERSHIP_TYPE_PREFIX, OwnerEntry
from catalog.ingest import apply
from catalog.ingest.apply import ChangeType, Proposal
from catalog.ingest.audit_stamps import stamp
from policies.engine.model import Actor
from policies.errors import NotFound, Stale
from policies.models import Gate, open_write
from policies.pdp import display_names

#: Aspect and field of the description, by type. Types that are missing have no editable description.
DESCRIPTIONS: Mapping[str, tuple[str, str]] = {
    "chart": ("editableChartProperties", "description"),
    "container": ("editableContainerProperties", "description"),
    "dashboard": ("editableDashboardProperties", "description"),
    "dataFlow": ("editableDataFlowProperties", "description"),
    "dataJob": ("editableDataJobProperties", "description"),
    "dataProduct": ("dataProductProperties", "description"),
    "dataset": ("editableDatasetProperties", "description"),
    "domain": ("domainProperties", "description"),
    "glossaryNode": ("glossaryNodeInfo", "definition"),
    "glossaryTerm": ("glossaryTermInfo", "definition"),
    "tag": ("tagProperties", "description"),
}

#: Aspects in which DataHub records the last change, and the key of that stamp.
_STAMP_KEYS = {"glossaryTerms": "auditStamp", "ownership": "lastModified", "ownershipTypeInfo": "lastModified"}

#: Ownership types that the older `type` of an owner entry can express; all others are CUSTOM.
_LEGACY_TYPES = {
    f"{SYSTEM_OWNERSHIP_TYPE_PREFIX}{name.lower()}": name
    for name in ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE")
}

#: Aspects that are lists of URNs: the keys of the list and of the URN in an entry ('' if the entry is the URN). Of
#: several lists the first is always written, the others where they exist.
URN_LISTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "access": (("roles", "urn"),),
    "domains": (("domains", ""), ("domainAssociations", "domain")),
    "globalTags": (("tags", "tag"),),
    "glossaryTerms": (("terms", "urn"),),
}

AspectDocument = dict[str, Any]
OwnerPair = tuple[str, str]
#: Changes a document in place; the second argument is the audit stamp of the edit.
DocumentChange = Callable[[AspectDocument, AspectDocument], None]


@dataclass(frozen=True, slots=True)
class AnnotationEdit:
    """An edit of one aspect of these entities: its author and channel, and the document that it was made from.

    `expected_fingerprint` is the fingerprint (`compute_fingerprint`) of the document shown to the editor: if the
    document has changed since, nothing is written. Programs leave it out: their additions and removals always apply.
    """

    urns: Sequence[str]
    by: Actor
    channel: str
    expected_fingerprint: str | None = None

    def write(self, aspect: str, change: DocumentChange) -> None:
        """Change the documents and write them."""
        # Two editors queue at the gate, and the second reads the document that the first wrote.
        with open_write(Gate.CATALOG):
            apply.apply(proposals=self.build_proposals(aspect, change), by=self.by, channel=self.channel)

    def build_proposals(self, aspect: str, change: DocumentChange) -> list[Proposal]:
        """Return the changed documents as proposals; a document that is emptied is deleted."""
        edited_urns = list(dict.fromkeys(self.urns))
        self.require_stored(edited_urns)
        texts_by_key = self.load_texts({(urn, aspect) for urn in edited_urns})
        audit_stamp = stamp(by=self.by, at=timezone.now())
        new_proposals = []
        for urn in edited_urns:
            text = texts_by_key.get((urn, aspect))
            if self.expected_fingerprint is not None and _hash_text(text) != self.expected_fingerprint:
                raise Stale("Somebody else changed this in the meantime.")
            document: AspectDocument = {} if text is None else json.loads(text)
            change(document, audit_stamp)
            if aspect in _STAMP_KEYS:
                document[_STAMP_KEYS[aspect]] = audit_stamp
            new_proposals.append(
                Proposal(urn, aspect, json.dumps(document, ensure_ascii=False), keeps_unknown=True)
                if document
                else Proposal(urn, aspect, change=ChangeType.DELETE)
            )
        return new_proposals

    def require_stored(self, edited_urns: Sequence[str]) -> None:
        """Raise NotFound for the first URN that is not stored, or that the author may not view."""
        _require_stored(edited_urns, by=self.by)

    def load_texts(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return the newest text of each existing document, as (URN, aspect name) -> text."""
        return aspect_documents.load_texts(keys=keys)


@dataclass(frozen=True, slots=True)
class EntityLink:
    """A link to store."""

    url: str
    label: str = ""


def compute_fingerprint(aspect: StoredAspect | None) -> str:
    """Return a fingerprint that changes whenever the document does, '' for a missing document."""
    return _hash_text(None if aspect is None else aspect.document)


def list_urns(aspect: str, document: Mapping[str, Any]) -> list[str]:
    """Return the distinct URNs in a document of one of `URN_LISTS`."""
    entries = ((entry, inner) for key, inner in URN_LISTS[aspect] for entry in document.get(key) or ())
    return list(dict.fromkeys(entry[inner] if inner else entry for entry, inner in entries))


def edit_urns(edit: AnnotationEdit, aspect: str, *, add: Sequence[str] = (), remove: Collection[str] = ()) -> None:
    """Add and remove URNs in an aspect of `URN_LISTS`: tags, terms, domains, external roles."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        main_list, *other_lists = URN_LISTS[aspect]
        stored_urns = list_urns(aspect, document)
        for key, inner in (main_list, *(item for item in other_lists if document.get(item[0]) is not None)):
            # An empty list stands for the others, and readers that prefer it would take a single entry for all of them.
            entries = document.get(key) or [_urn_entry(urn, inner) for urn in stored_urns]
            document[key] = _edit_urn_entries(entries, inner, add, remove)

    edit.write(aspect, change)


def relate_terms(edit: AnnotationEdit, kind: str, *, add: Sequence[str] = (), remove: Collection[str] = ()) -> None:
    """Add and remove relations of a glossary term; `kind` is the list of `glossaryRelatedTerms` that holds them."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document[kind] = _edit_urn_entries(document.get(kind) or [], "", add, remove)

    edit.write("glossaryRelatedTerms", change)


def set_domain(edit: AnnotationEdit, domain: str | None) -> None:
    """Set the only domain of the entities; None removes them from all."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document["domains"] = [] if domain is None else [domain]
        if "domainAssociations" in document:
            retained = [entry for entry in document["domainAssociations"] or () if entry["domain"] == domain]
            document["domainAssociations"] = retained or [{"domain": urn} for urn in document["domains"]]

    edit.write("domains", change)


def edit_owners(edit: AnnotationEdit, *, add: Sequence[OwnerPair] = (), remove: Collection[OwnerPair] = ()) -> None:
    """Add and remove owners, each with the URN of its ownership type ('' for none)."""
    _edit_owners(edit, add, lambda owner: owner in remove)


def set_owners(edit: AnnotationEdit, owners: Sequence[OwnerPair]) -> None:
    """Set the owners of the entities; entries of owners that stay keep their other fields."""
    _edit_owners(edit, owners, lambda owner: owner not in owners)


def remove_owners(edit: AnnotationEdit, owners: Collection[str]) -> None:
    """Remove owners, whatever their ownership type."""
    _edit_owners(edit, (), lambda owner: owner[0] in owners)


def parse_owner(entry: Mapping[str, Any]) -> OwnerPair:
    """Return an entry of an ownership document as (owner, ownership type), as rules about owners read it."""
    owner_entry = OwnerEntry.model_validate(entry)
    return str(owner_entry.owner), owner_entry.ownership_type


def set_description(edit: AnnotationEdit, text: str) -> None:
    """Set the description of entities of one type that has one (`DESCRIPTIONS`)."""
    type_ = catalog_urns.entity_type(edit.urns[0])
    if type_ not in DESCRIPTIONS:
        raise NotFound(f"A {type_} keeps no description of its own.")
    aspect, field = DESCRIPTIONS[type_]

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        document[field] = text
        if aspect.startswith("editable"):
            document.setdefault("created", audit_stamp)
            document["lastModified"] = audit_stamp

    edit.write(aspect, change)


def set_links(edit: AnnotationEdit, links: Sequence[EntityLink]) -> None:
    """Set the links to pages about the entities; an entry with a known address keeps its other fields."""

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        entries_by_url = {entry["url"]: entry for entry in document.get("elements") or ()}
        document["elements"] = [
            {"createStamp": audit_stamp, **entries_by_url.get(link.url, {}), "url": link.url, "description": link.label}
            for link in links
        ]

    edit.write("institutionalMemory", change)


def edit_link(
    edit: AnnotationEdit, *, current_url: str | None, link: EntityLink | None, label: str | None = None
) -> None:
    """Add a link (`current_url` None), or change or remove (`link` None) the one with this address and label, if given.

    Raises NotFound when there is no such link.
    """

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        entries = document.get("elements") or []
        matches = [
            entry
            for entry in entries
            if entry["url"] == current_url and label in (None, entry.get("description") or "")
        ]
        if current_url is not None and not matches:
            raise NotFound(f"{edit.urns[0]} has no such link.")
        new_entries = [] if link is None else [{"url": link.url, "description": link.label}]
        changed_entries = [
            {"createStamp": audit_stamp, **(matches[0] if matches else {}), **entry} for entry in new_entries
        ]
        document["elements"] = [entry for entry in entries if entry not in matches] + changed_entries

    edit.write("institutionalMemory", change)


def set_deprecation(
    edit: AnnotationEdit, *, is_deprecated: bool, note: str, decommission_time: datetime | None
) -> None:
    """Set deprecation, note and removal date of the entities."""

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        document.update(deprecated=is_deprecated, note=note, actor=audit_stamp["actor"])
        document.pop("decommissionTime", None)
        if decommission_time is not None:
            document["decommissionTime"] = int(decommission_time.timestamp() * 1000)

    edit.write("deprecation", change)


def set_removed(edit: AnnotationEdit, *, is_removed: bool) -> None:
    """Delete the entities softly, or restore them."""
    edit.write("status", lambda document, _audit_stamp: document.update(removed=is_removed))


def _edit_urn_entries(entries: Sequence[Any], inner: str, add: Sequence[str], remove: Collection[str]) -> list[Any]:
    return _edit_entries(
        entries,
        add,
        lambda urn: urn in remove,
        name_of=lambda entry: entry[inner] if inner else entry,
        make=lambda urn: _urn_entry(urn, inner),
    )


def _urn_entry(urn: str, inner: str) -> Any:
    return {inner: urn} if inner else urn


def _edit_owners(edit: AnnotationEdit, add: Sequence[OwnerPair], is_removed: Callable[[OwnerPair], bool]) -> None:
    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        entries = document.get("owners") or []
        document["owners"] = _edit_entries(entries, add, is_removed, name_of=parse_owner, make=_owner_entry)

    edit.write("ownership", change)


def _edit_entries(
    entries: Sequence[Any],
    add: Sequence[Any],
    is_removed: Callable[[Any], bool],
    *,
    name_of: Callable[[Any], Any],
    make: Callable[[Any], Any],
) -> list[Any]:
    retained = [entry for entry in entries if not is_removed(name_of(entry))]
    retained_names = {name_of(entry) for entry in retained}
    return retained + [make(item) for item in dict.fromkeys(add) if item not in retained_names]


def _owner_entry(owner: OwnerPair) -> AspectDocument:
    owner_urn, type_ = owner
    return {"owner": owner_urn, "type": _LEGACY_TYPES.get(type_, "CUSTOM"), **({"typeUrn": type_} if type_ else {})}


def _require_stored(edited_urns: Sequence[str], *, by: Actor) -> None:
    """Raise NotFound for the first URN that is neither an entity nor a user or group, or that may not be viewed."""
    stored_urns = entity_lists.list_stored_urns(urns=edited_urns)
    people_names = display_names.load_names(
        urns=[urn for urn in edited_urns if catalog_urns.entity_type(urn) in catalog_urns.PEOPLE_TYPES]
    )
    hidden_urns = view_permissions.find_hidden(urns=edited_urns, by=by)
    for urn in edited_urns:
        if urn in hidden_urns or (urn not in stored_urns and urn not in people_names):
            raise NotFound(f"There is no entity {urn}.")


def _hash_text(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]
