"""What people say about an entity on its page: tags, terms, owners, domains, description, links, deprecation, roles.

Every edit names what goes and what comes, so that entries the editor may not see, and fields nobody here knows, stay
as they are. `seen` is the mark (`mark_of`) of the document that the editor had before their eyes: when it has moved on,
nothing is written. Programs have seen nothing (None): what they name goes and comes whatever else is there. Everything
goes through `proposals`, like the writes of every other door.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from catalog import urns as urns_room
from catalog.access import aspect_documents, entity_lists, view_permissions
from catalog.access.aspect_documents import StoredAspect
from catalog.aspects.annotations import SYSTEM_OWNERSHIP, OwnerEntry
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from policies.engine.model import Actor
from policies.errors import NotFound, Stale
from policies.models import Gate, open_write
from policies.pdp import display_names

#: Where the description of each type is kept: aspect and field. What is not listed has none that can be edited.
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

#: Aspects that DataHub stamps with who changed them last, and the key of the stamp.
_STAMPED = {"glossaryTerms": "auditStamp", "ownership": "lastModified"}

#: Ownership types that the older `type` of an owner entry can say; every other is CUSTOM.
_LEGACY_TYPES = {
    f"{SYSTEM_OWNERSHIP}{name.lower()}": name for name in ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE")
}

Document = dict[str, Any]
Owner = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it is to be."""

    url: str
    label: str = ""


def mark_of(aspect: StoredAspect | None) -> str:
    """Return a mark that changes whenever the document does, '' for one that is not there."""
    return _mark(None if aspect is None else aspect.document)


def edit_tags(
    *, urns: Sequence[str], add: Sequence[str], remove: Collection[str], seen: str | None, by: Actor, door: str
) -> None:
    """Add and remove tags. Raises NotFound, Stale, Invalid and Forbidden, as do all edits here."""
    _edit_list(urns, "globalTags", ("tags", "tag"), add, remove, seen=seen, by=by, door=door)


def edit_terms(
    *, urns: Sequence[str], add: Sequence[str], remove: Collection[str], seen: str | None, by: Actor, door: str
) -> None:
    """Apply and take back glossary terms."""
    _edit_list(urns, "glossaryTerms", ("terms", "urn"), add, remove, seen=seen, by=by, door=door)


def edit_roles(
    *, urns: Sequence[str], add: Sequence[str], remove: Collection[str], seen: str | None, by: Actor, door: str
) -> None:
    """Name external roles through which the entity can be reached, and take them off."""
    _edit_list(urns, "access", ("roles", "urn"), add, remove, seen=seen, by=by, door=door)


def edit_domains(
    *, urns: Sequence[str], add: Sequence[str], remove: Collection[str], seen: str | None, by: Actor, door: str
) -> None:
    """Put the entities into domains and take them out of them."""

    def change(document: Document, _now: Document) -> None:
        associations = document.get("domainAssociations")
        listed = document.get("domains") or [entry["domain"] for entry in associations or ()]
        document["domains"] = _changed(listed, lambda one: one, lambda one: one, add, remove)
        if associations is not None:
            document["domainAssociations"] = _changed(
                associations, lambda entry: entry["domain"], lambda one: {"domain": one}, add, remove
            )

    _edit(urns, "domains", change, seen=seen, by=by, door=door)


def set_domain(*, urns: Sequence[str], domain: str | None, by: Actor, door: str) -> None:
    """Put the entities into one domain and out of every other; None takes them out of all."""

    def change(document: Document, _now: Document) -> None:
        document["domains"] = [] if domain is None else [domain]
        if "domainAssociations" in document:
            kept = [entry for entry in document["domainAssociations"] or () if entry["domain"] == domain]
            document["domainAssociations"] = kept or [{"domain": one} for one in document["domains"]]

    _edit(urns, "domains", change, seen=None, by=by, door=door)


def edit_owners(
    *, urns: Sequence[str], add: Sequence[Owner], remove: Collection[Owner], seen: str | None, by: Actor, door: str
) -> None:
    """Add and remove owners, each with the URN of its ownership type ('' for none)."""

    def change(document: Document, _now: Document) -> None:
        document["owners"] = _changed(document.get("owners") or [], owner_of, _owner_entry, add, remove)

    _edit(urns, "ownership", change, seen=seen, by=by, door=door)


def set_owners(*, urn: str, owners: Sequence[Owner], by: Actor, door: str) -> None:
    """Make these the owners of an entity; of those that stay, nothing that is said of them is lost."""

    def change(document: Document, _now: Document) -> None:
        entries = document.get("owners") or []
        gone = [owner_of(entry) for entry in entries if owner_of(entry) not in owners]
        document["owners"] = _changed(entries, owner_of, _owner_entry, owners, gone)

    _edit([urn], "ownership", change, seen=None, by=by, door=door)


def remove_owners(*, urns: Sequence[str], owners: Collection[str], by: Actor, door: str) -> None:
    """Take owners off, whatever they own the entities as."""

    def change(document: Document, _now: Document) -> None:
        document["owners"] = [entry for entry in document.get("owners") or () if entry["owner"] not in owners]

    _edit(urns, "ownership", change, seen=None, by=by, door=door)


def owner_of(entry: Mapping[str, Any]) -> Owner:
    """Return an entry of an ownership document as (owner, ownership type), as rules about owners read it."""
    parsed = OwnerEntry.model_validate(entry)
    return str(parsed.owner), parsed.ownership_type


def describe(*, urn: str, text: str, seen: str | None, by: Actor, door: str) -> None:
    """Set the description of an entity whose type keeps one (`DESCRIPTIONS`)."""
    type_ = urns_room.type_of(urn)
    if type_ not in DESCRIPTIONS:
        raise NotFound(f"A {type_} keeps no description of its own.")
    aspect, field = DESCRIPTIONS[type_]

    def change(document: Document, now: Document) -> None:
        document[field] = text
        if aspect.startswith("editable"):
            document.setdefault("created", now)
            document["lastModified"] = now

    _edit([urn], aspect, change, seen=seen, by=by, door=door)


def link(*, urn: str, links: Sequence[Link], seen: str, by: Actor, door: str) -> None:
    """Set the links to pages about the entity; one whose address is known keeps what else was said about it."""

    def change(document: Document, now: Document) -> None:
        known = {entry["url"]: entry for entry in document.get("elements") or ()}
        document["elements"] = [
            {"createStamp": now, **known.get(one.url, {}), "url": one.url, "description": one.label} for one in links
        ]

    _edit([urn], "institutionalMemory", change, seen=seen, by=by, door=door)


def edit_link(
    *, urn: str, known: str | None, link: Link | None, label: str | None = None, by: Actor, door: str
) -> None:
    """Add a link (`known` None), or change or remove (`link` None) the one with a known address and label, if given.

    Raises NotFound where there is no such link.
    """

    def change(document: Document, now: Document) -> None:
        entries = document.get("elements") or []
        meant = [one for one in entries if one["url"] == known and label in (None, one.get("description") or "")]
        if known is not None and not meant:
            raise NotFound(f"{urn} has no such link.")
        made = [] if link is None else [{"url": link.url, "description": link.label}]
        changed = [{"createStamp": now, **(meant[0] if meant else {}), **one} for one in made]
        document["elements"] = [one for one in entries if one not in meant] + changed

    _edit([urn], "institutionalMemory", change, seen=None, by=by, door=door)


def deprecate(
    *,
    urns: Sequence[str],
    is_deprecated: bool,
    note: str,
    leaves_at: datetime | None,
    seen: str | None,
    by: Actor,
    door: str,
) -> None:
    """Say whether the entities should still be used, why not, and when they will be gone."""

    def change(document: Document, now: Document) -> None:
        document.update(deprecated=is_deprecated, note=note, actor=now["actor"])
        document.pop("decommissionTime", None)
        if leaves_at is not None:
            document["decommissionTime"] = int(leaves_at.timestamp() * 1000)

    _edit(urns, "deprecation", change, seen=seen, by=by, door=door)


def set_removed(*, urns: Sequence[str], is_removed: bool, by: Actor, door: str) -> None:
    """Delete the entities softly, or take that back."""

    def change(document: Document, _now: Document) -> None:
        document["removed"] = is_removed

    _edit(urns, "status", change, seen=None, by=by, door=door)


def relate_terms(*, urn: str, kind: str, add: Sequence[str], remove: Collection[str], by: Actor, door: str) -> None:
    """Relate a glossary term to others, and end that; `kind` is the list of `glossaryRelatedTerms` that names them."""

    def change(document: Document, _now: Document) -> None:
        document[kind] = _changed(document.get(kind) or [], lambda one: one, lambda one: one, add, remove)

    _edit([urn], "glossaryRelatedTerms", change, seen=None, by=by, door=door)


def _edit_list(
    urns: Sequence[str],
    aspect: str,
    keys: tuple[str, str],
    add: Sequence[str],
    remove: Collection[str],
    *,
    seen: str | None,
    by: Actor,
    door: str,
) -> None:
    """Change a list of entries that each name one URN; `keys` are the key of the list and of the URN in an entry."""
    outer, inner = keys

    def change(document: Document, _now: Document) -> None:
        entries = document.get(outer) or []
        document[outer] = _changed(entries, lambda entry: entry[inner], lambda one: {inner: one}, add, remove)

    _edit(urns, aspect, change, seen=seen, by=by, door=door)


def _changed(
    entries: Sequence[Any],
    name_of: Callable[[Any], Any],
    make: Callable[[Any], Any],
    add: Sequence[Any],
    remove: Collection[Any],
) -> list[Any]:
    kept = [entry for entry in entries if name_of(entry) not in remove]
    known = {name_of(entry) for entry in kept}
    return kept + [make(one) for one in dict.fromkeys(add) if one not in known]


def _owner_entry(owner: Owner) -> Document:
    who, type_ = owner
    return {"owner": who, "type": _LEGACY_TYPES.get(type_, "CUSTOM"), **({"typeUrn": type_} if type_ else {})}


def _edit(
    urns: Sequence[str],
    aspect: str,
    change: Callable[[Document, Document], None],
    *,
    seen: str | None,
    by: Actor,
    door: str,
) -> None:
    wanted = list(dict.fromkeys(urns))
    # Two editors queue at the gate, and the second sees what the first wrote.
    with open_write(Gate.CATALOG):
        _require_stored(wanted, by=by)
        stored = aspect_documents.texts(keys={(urn, aspect) for urn in wanted})
        now = stamp(by=by, at=timezone.now())
        proposed = []
        for urn in wanted:
            text = stored.get((urn, aspect))
            if seen is not None and _mark(text) != seen:
                raise Stale("Somebody else changed this in the meantime.")
            document: Document = {} if text is None else json.loads(text)
            change(document, now)
            if aspect in _STAMPED:
                document[_STAMPED[aspect]] = now
            text = json.dumps(document, ensure_ascii=False)
            proposed.append(Proposal(urn, aspect, text, keeps_unknown=True))
        apply.apply(proposals=proposed, by=by, door=door)


def _require_stored(wanted: Sequence[str], *, by: Actor) -> None:
    """Raise NotFound for the first that is neither in the catalog nor a user or group, or may not be viewed."""
    known = entity_lists.stored(urns=wanted)
    people_known = display_names.names(urns=[urn for urn in wanted if urns_room.type_of(urn) in urns_room.PEOPLE_TYPES])
    hidden = view_permissions.hidden(urns=wanted, by=by)
    for urn in wanted:
        if urn in hidden or (urn not in known and urn not in people_known):
            raise NotFound(f"There is no entity {urn}.")


def _mark(text: str | None) -> str:
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]
