"""What people say about an entity on its page: tags, terms, owners, domains, description, links, deprecation, roles.

Every edit names what goes and what comes, so that entries the editor may not see, and fields nobody here knows, stay
as they are. `seen` is the mark (`mark_of`) of the document that the editor had before their eyes: when it has moved on,
nothing is written. Everything goes through `proposals`, like the writes of every other door.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from catalog import queries, urns
from catalog.aspects.annotations import SYSTEM_OWNERSHIP, OwnerEntry
from catalog.queries import StoredAspect
from catalog.services import proposals
from catalog.services.proposals import Proposal
from catalog.services.stamps import stamp
from policies.engine.model import Actor
from policies.errors import NotFound, Stale
from policies.models import PolicyVersion

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
    return "" if aspect is None else hashlib.sha256(aspect.document.encode()).hexdigest()[:32]


def edit_tags(*, urn: str, add: Sequence[str], remove: Collection[str], seen: str, by: Actor, door: str) -> None:
    """Add and remove tags. Raises NotFound, Stale, Invalid and Forbidden, as do all edits here."""
    _edit_list(urn, "globalTags", ("tags", "tag"), add, remove, seen=seen, by=by, door=door)


def edit_terms(*, urn: str, add: Sequence[str], remove: Collection[str], seen: str, by: Actor, door: str) -> None:
    """Apply and take back glossary terms."""
    _edit_list(urn, "glossaryTerms", ("terms", "urn"), add, remove, seen=seen, by=by, door=door)


def edit_roles(*, urn: str, add: Sequence[str], remove: Collection[str], seen: str, by: Actor, door: str) -> None:
    """Name external roles through which the entity can be reached, and take them off."""
    _edit_list(urn, "access", ("roles", "urn"), add, remove, seen=seen, by=by, door=door)


def edit_domains(*, urn: str, add: Sequence[str], remove: Collection[str], seen: str, by: Actor, door: str) -> None:
    """Put the entity into domains and take it out of them."""

    def change(document: Document, _now: Document) -> None:
        associations = document.get("domainAssociations")
        listed = document.get("domains") or [entry["domain"] for entry in associations or ()]
        document["domains"] = _changed(listed, lambda one: one, lambda one: one, add, remove)
        if associations is not None:
            document["domainAssociations"] = _changed(
                associations, lambda entry: entry["domain"], lambda one: {"domain": one}, add, remove
            )

    _edit(urn, "domains", change, seen=seen, by=by, door=door)


def edit_owners(*, urn: str, add: Sequence[Owner], remove: Collection[Owner], seen: str, by: Actor, door: str) -> None:
    """Add and remove owners, each with the URN of its ownership type ('' for none)."""

    def change(document: Document, _now: Document) -> None:
        document["owners"] = _changed(document.get("owners") or [], owner_of, _owner_entry, add, remove)

    _edit(urn, "ownership", change, seen=seen, by=by, door=door)


def owner_of(entry: Mapping[str, Any]) -> Owner:
    """Return an entry of an ownership document as (owner, ownership type), as rules about owners read it."""
    parsed = OwnerEntry.model_validate(entry)
    return str(parsed.owner), parsed.ownership_type


def describe(*, urn: str, text: str, seen: str, by: Actor, door: str) -> None:
    """Set the description of an entity whose type keeps one (`DESCRIPTIONS`)."""
    type_ = urns.type_of(urn)
    if type_ not in DESCRIPTIONS:
        raise NotFound(f"A {type_} keeps no description of its own.")
    aspect, field = DESCRIPTIONS[type_]

    def change(document: Document, now: Document) -> None:
        document[field] = text
        if aspect.startswith("editable"):
            document.setdefault("created", now)
            document["lastModified"] = now

    _edit(urn, aspect, change, seen=seen, by=by, door=door)


def link(*, urn: str, links: Sequence[Link], seen: str, by: Actor, door: str) -> None:
    """Set the links to pages about the entity; one whose address is known keeps what else was said about it."""

    def change(document: Document, now: Document) -> None:
        known = {entry["url"]: entry for entry in document.get("elements") or ()}
        document["elements"] = [
            {"createStamp": now, **known.get(one.url, {}), "url": one.url, "description": one.label} for one in links
        ]

    _edit(urn, "institutionalMemory", change, seen=seen, by=by, door=door)


def deprecate(
    *, urn: str, is_deprecated: bool, note: str, leaves_at: datetime | None, seen: str, by: Actor, door: str
) -> None:
    """Say whether the entity should still be used, why not, and when it will be gone."""

    def change(document: Document, now: Document) -> None:
        document.update(deprecated=is_deprecated, note=note, actor=now["actor"])
        document.pop("decommissionTime", None)
        if leaves_at is not None:
            document["decommissionTime"] = int(leaves_at.timestamp() * 1000)

    _edit(urn, "deprecation", change, seen=seen, by=by, door=door)


def _edit_list(
    urn: str,
    aspect: str,
    keys: tuple[str, str],
    add: Sequence[str],
    remove: Collection[str],
    *,
    seen: str,
    by: Actor,
    door: str,
) -> None:
    """Change a list of entries that each name one URN; `keys` are the key of the list and of the URN in an entry."""
    outer, inner = keys

    def change(document: Document, _now: Document) -> None:
        entries = document.get(outer) or []
        document[outer] = _changed(entries, lambda entry: entry[inner], lambda one: {inner: one}, add, remove)

    _edit(urn, aspect, change, seen=seen, by=by, door=door)


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
    urn: str, aspect: str, change: Callable[[Document, Document], None], *, seen: str, by: Actor, door: str
) -> None:
    with transaction.atomic():
        # First, so that two editors queue here and the second sees what the first wrote.
        PolicyVersion.advance()
        queries.get(urn=urn)
        stored = queries.aspect(urn=urn, name=aspect)
        if mark_of(stored) != seen:
            raise Stale("Somebody else changed this meanwhile.")
        now = stamp(by=by, at=timezone.now())
        document: Document = {} if stored is None else stored.value
        change(document, now)
        if aspect in _STAMPED:
            document[_STAMPED[aspect]] = now
        proposal = Proposal(urn, aspect, json.dumps(document, ensure_ascii=False), keeps_unknown=True)
        proposals.apply(proposals=[proposal], by=by, door=door)
