"""Edits of an entity's annotations: tags, terms, owners, domains, description, links, deprecation, external roles.

Every edit names the entries to add and remove, so that entries hidden from the editor and unknown fields stay.
`expected_fingerprint` is the fingerprint (`compute_fingerprint`) of the document shown to the editor: if the document
has changed since, nothing is written. Programs pass None: their additions and removals always apply. Every edit is
written by `apply.apply`, like the writes of every other interface.
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
from catalog.ingest.apply import Proposal
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
_STAMP_KEYS = {"glossaryTerms": "auditStamp", "ownership": "lastModified"}

#: Ownership types that the older `type` of an owner entry can express; all others are CUSTOM.
_LEGACY_TYPES = {
    f"{SYSTEM_OWNERSHIP_TYPE_PREFIX}{name.lower()}": name
    for name in ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE")
}

AspectDocument = dict[str, Any]
OwnerPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class EntityLink:
    """A link to store."""

    url: str
    label: str = ""


def compute_fingerprint(aspect: StoredAspect | None) -> str:
    """Return a fingerprint that changes whenever the document does, '' for a missing document."""
    return _hash_text(None if aspect is None else aspect.document)


def edit_tags(
    *,
    urns: Sequence[str],
    add: Sequence[str],
    remove: Collection[str],
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Add and remove tags. Raises NotFound, Stale, Invalid and Forbidden, as do all edits here."""
    _edit_list(
        urns,
        "globalTags",
        ("tags", "tag"),
        add,
        remove,
        expected_fingerprint=expected_fingerprint,
        by=by,
        channel=channel,
    )


def edit_terms(
    *,
    urns: Sequence[str],
    add: Sequence[str],
    remove: Collection[str],
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Add and remove glossary terms."""
    _edit_list(
        urns,
        "glossaryTerms",
        ("terms", "urn"),
        add,
        remove,
        expected_fingerprint=expected_fingerprint,
        by=by,
        channel=channel,
    )


def edit_roles(
    *,
    urns: Sequence[str],
    add: Sequence[str],
    remove: Collection[str],
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Add and remove external roles that open the entities."""
    _edit_list(
        urns, "access", ("roles", "urn"), add, remove, expected_fingerprint=expected_fingerprint, by=by, channel=channel
    )


def edit_domains(
    *,
    urns: Sequence[str],
    add: Sequence[str],
    remove: Collection[str],
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Add the entities to domains and remove them from domains."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        associations = document.get("domainAssociations")
        domain_urns = document.get("domains") or [entry["domain"] for entry in associations or ()]
        document["domains"] = _edit_entries(domain_urns, lambda urn: urn, lambda urn: urn, add, remove)
        if associations is not None:
            document["domainAssociations"] = _edit_entries(
                associations, lambda entry: entry["domain"], lambda urn: {"domain": urn}, add, remove
            )

    _edit(urns, "domains", change, expected_fingerprint=expected_fingerprint, by=by, channel=channel)


def set_domain(*, urns: Sequence[str], domain: str | None, by: Actor, channel: str) -> None:
    """Set the only domain of the entities; None removes them from all."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document["domains"] = [] if domain is None else [domain]
        if "domainAssociations" in document:
            retained = [entry for entry in document["domainAssociations"] or () if entry["domain"] == domain]
            document["domainAssociations"] = retained or [{"domain": urn} for urn in document["domains"]]

    _edit(urns, "domains", change, expected_fingerprint=None, by=by, channel=channel)


def edit_owners(
    *,
    urns: Sequence[str],
    add: Sequence[OwnerPair],
    remove: Collection[OwnerPair],
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Add and remove owners, each with the URN of its ownership type ('' for none)."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document["owners"] = _edit_entries(document.get("owners") or [], parse_owner, _owner_entry, add, remove)

    _edit(urns, "ownership", change, expected_fingerprint=expected_fingerprint, by=by, channel=channel)


def set_owners(*, urn: str, owners: Sequence[OwnerPair], by: Actor, channel: str) -> None:
    """Set the owners of an entity; entries of owners that stay keep their other fields."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        entries = document.get("owners") or []
        removed_owners = [parse_owner(entry) for entry in entries if parse_owner(entry) not in owners]
        document["owners"] = _edit_entries(entries, parse_owner, _owner_entry, owners, removed_owners)

    _edit([urn], "ownership", change, expected_fingerprint=None, by=by, channel=channel)


def remove_owners(*, urns: Sequence[str], owners: Collection[str], by: Actor, channel: str) -> None:
    """Remove owners, whatever their ownership type."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document["owners"] = [entry for entry in document.get("owners") or () if entry["owner"] not in owners]

    _edit(urns, "ownership", change, expected_fingerprint=None, by=by, channel=channel)


def parse_owner(entry: Mapping[str, Any]) -> OwnerPair:
    """Return an entry of an ownership document as (owner, ownership type), as rules about owners read it."""
    owner_entry = OwnerEntry.model_validate(entry)
    return str(owner_entry.owner), owner_entry.ownership_type


def set_description(*, urn: str, text: str, expected_fingerprint: str | None, by: Actor, channel: str) -> None:
    """Set the description of an entity whose type has one (`DESCRIPTIONS`)."""
    type_ = catalog_urns.entity_type(urn)
    if type_ not in DESCRIPTIONS:
        raise NotFound(f"A {type_} keeps no description of its own.")
    aspect, field = DESCRIPTIONS[type_]

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        document[field] = text
        if aspect.startswith("editable"):
            document.setdefault("created", audit_stamp)
            document["lastModified"] = audit_stamp

    _edit([urn], aspect, change, expected_fingerprint=expected_fingerprint, by=by, channel=channel)


def set_links(*, urn: str, links: Sequence[EntityLink], expected_fingerprint: str, by: Actor, channel: str) -> None:
    """Set the links to pages about the entity; an entry with a known address keeps its other fields."""

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        entries_by_url = {entry["url"]: entry for entry in document.get("elements") or ()}
        document["elements"] = [
            {"createStamp": audit_stamp, **entries_by_url.get(link.url, {}), "url": link.url, "description": link.label}
            for link in links
        ]

    _edit([urn], "institutionalMemory", change, expected_fingerprint=expected_fingerprint, by=by, channel=channel)


def edit_link(
    *, urn: str, current_url: str | None, link: EntityLink | None, label: str | None = None, by: Actor, channel: str
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
            raise NotFound(f"{urn} has no such link.")
        new_entries = [] if link is None else [{"url": link.url, "description": link.label}]
        changed_entries = [
            {"createStamp": audit_stamp, **(matches[0] if matches else {}), **entry} for entry in new_entries
        ]
        document["elements"] = [entry for entry in entries if entry not in matches] + changed_entries

    _edit([urn], "institutionalMemory", change, expected_fingerprint=None, by=by, channel=channel)


def set_deprecation(
    *,
    urns: Sequence[str],
    is_deprecated: bool,
    note: str,
    decommission_time: datetime | None,
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Set deprecation, note and removal date of the entities."""

    def change(document: AspectDocument, audit_stamp: AspectDocument) -> None:
        document.update(deprecated=is_deprecated, note=note, actor=audit_stamp["actor"])
        document.pop("decommissionTime", None)
        if decommission_time is not None:
            document["decommissionTime"] = int(decommission_time.timestamp() * 1000)

    _edit(urns, "deprecation", change, expected_fingerprint=expected_fingerprint, by=by, channel=channel)


def set_removed(*, urns: Sequence[str], is_removed: bool, by: Actor, channel: str) -> None:
    """Delete the entities softly, or restore them."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document["removed"] = is_removed

    _edit(urns, "status", change, expected_fingerprint=None, by=by, channel=channel)


def relate_terms(*, urn: str, kind: str, add: Sequence[str], remove: Collection[str], by: Actor, channel: str) -> None:
    """Add and remove relations of a glossary term; `kind` is the list of `glossaryRelatedTerms` that holds them."""

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        document[kind] = _edit_entries(document.get(kind) or [], lambda urn: urn, lambda urn: urn, add, remove)

    _edit([urn], "glossaryRelatedTerms", change, expected_fingerprint=None, by=by, channel=channel)


def _edit_list(
    urns: Sequence[str],
    aspect: str,
    keys: tuple[str, str],
    add: Sequence[str],
    remove: Collection[str],
    *,
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    """Edit a list of entries that each name one URN; `keys` are the key of the list and of the URN in an entry."""
    outer, inner = keys

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        entries = document.get(outer) or []
        document[outer] = _edit_entries(entries, lambda entry: entry[inner], lambda urn: {inner: urn}, add, remove)

    _edit(urns, aspect, change, expected_fingerprint=expected_fingerprint, by=by, channel=channel)


def _edit_entries(
    entries: Sequence[Any],
    name_of: Callable[[Any], Any],
    make: Callable[[Any], Any],
    add: Sequence[Any],
    remove: Collection[Any],
) -> list[Any]:
    retained = [entry for entry in entries if name_of(entry) not in remove]
    retained_names = {name_of(entry) for entry in retained}
    return retained + [make(item) for item in dict.fromkeys(add) if item not in retained_names]


def _owner_entry(owner: OwnerPair) -> AspectDocument:
    owner_urn, type_ = owner
    return {"owner": owner_urn, "type": _LEGACY_TYPES.get(type_, "CUSTOM"), **({"typeUrn": type_} if type_ else {})}


def _edit(
    urns: Sequence[str],
    aspect: str,
    change: Callable[[AspectDocument, AspectDocument], None],
    *,
    expected_fingerprint: str | None,
    by: Actor,
    channel: str,
) -> None:
    edited_urns = list(dict.fromkeys(urns))
    # Two editors queue at the gate, and the second reads the document that the first wrote.
    with open_write(Gate.CATALOG):
        _require_stored(edited_urns, by=by)
        texts_by_key = aspect_documents.load_texts(keys={(urn, aspect) for urn in edited_urns})
        audit_stamp = stamp(by=by, at=timezone.now())
        new_proposals = []
        for urn in edited_urns:
            text = texts_by_key.get((urn, aspect))
            if expected_fingerprint is not None and _hash_text(text) != expected_fingerprint:
                raise Stale("Somebody else changed this in the meantime.")
            document: AspectDocument = {} if text is None else json.loads(text)
            change(document, audit_stamp)
            if aspect in _STAMP_KEYS:
                document[_STAMP_KEYS[aspect]] = audit_stamp
            text = json.dumps(document, ensure_ascii=False)
            new_proposals.append(Proposal(urn, aspect, text, keeps_unknown=True))
        apply.apply(proposals=new_proposals, by=by, channel=channel)


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
