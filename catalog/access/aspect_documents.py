"""Aspect documents of an entity, as interfaces return them: stored ones byte for byte, the rest composed.

A key aspect is derived from the URN; aspects of users, groups, roles and policies are composed from rows of `policies`.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from catalog import urns as catalog_urns
from catalog.models import Aspect, Entity
from policies.aspects import queries as aspect_queries
from policies.engine.model import SYSTEM_ACTOR
from policies.models.fields import filter_storable, is_storable

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class DocumentSource(Protocol):
    """Source of stored documents before a change, as text."""

    def document(self, urn: str, aspect: str) -> str | None:
        """Return the text of a document, None when it does not exist."""


@dataclass(frozen=True, slots=True)
class StoredAspect:
    """One version of a document: its text as it arrived, its author and time. A composed one has no system metadata."""

    name: str
    document: str
    version: int = 0
    system_metadata: str | None = None
    created_at: datetime = _EPOCH
    created_by: str = SYSTEM_ACTOR

    @property
    def value(self) -> Any:
        """Return the parsed document."""
        return json.loads(self.document)


def load_documents(*, urns: Collection[str]) -> dict[str, dict[str, StoredAspect]]:
    """Return URN -> aspect name -> newest document, key aspect included; unknown URNs are left out.

    Two queries for the catalog, plus those of `aspect_queries.load_aspects_many` for URNs of people or policies.
    """
    storable_urns = filter_storable(urns)
    documents_by_urn: dict[str, dict[str, StoredAspect]] = {}
    for urn, created_at in Entity.objects.filter(urn__among=storable_urns).order_by().values_list("urn", "created_at"):
        documents_by_urn[urn] = _key_documents(urn, created_at)
    rows = Aspect.objects.filter(entity__urn__among=storable_urns, version=0).order_by("name")
    for row in rows.select_related("entity"):
        documents_by_urn[row.entity.urn][row.name] = _to_stored_aspect(row)
    for urn, composed_documents in _compose_documents(storable_urns).items():
        documents_by_urn[urn] = {**documents_by_urn.get(urn, _key_documents(urn, _EPOCH)), **composed_documents}
    return documents_by_urn


def load_texts(*, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return (URN, aspect name) -> newest text of each existing document, without key aspects.

    One query for the catalog, plus those of `aspect_queries.load_aspects_many` for URNs of people or policies.
    """
    urns, names = {urn for urn, _ in keys}, {name for _, name in keys}
    rows = Aspect.objects.filter(entity__urn__among=urns, name__among=names, version=0).order_by()
    stored_texts = {(urn, name): text for urn, name, text in rows.values_list("entity__urn", "name", "document")}
    composed_texts = {
        (urn, name): composed_aspect.document
        for urn, documents_by_name in _compose_documents(urns).items()
        for name, composed_aspect in documents_by_name.items()
    }
    return {key: text for key, text in (stored_texts | composed_texts).items() if key in keys}


def load_aspects(*, urn: str) -> dict[str, StoredAspect] | None:
    """Return the newest documents of one entity by aspect name, None when the URN is unknown."""
    return load_documents(urns=[urn]).get(urn)


def load_aspect(*, urn: str, name: str, version: int = 0) -> StoredAspect | None:
    """Return one version of one document, None when it does not exist. Version 0 is the newest."""
    if not (is_storable(urn) and is_storable(name)) or not 0 <= version < 2**31:
        return None
    row = Aspect.objects.filter(entity__urn=urn, name=name, version=version).first()
    if row is not None:
        return _to_stored_aspect(row)
    return (load_aspects(urn=urn) or {}).get(name) if version == 0 else None


def list_deprecated(*, urns: Collection[str]) -> frozenset[str]:
    """Return the URNs whose entities are marked as deprecated."""
    rows = Aspect.objects.filter(entity__urn__among=urns, name="deprecation", version=0).order_by()
    documents_by_urn = rows.values_list("entity__urn", "document")
    return frozenset(urn for urn, document in documents_by_urn if json.loads(document).get("deprecated"))


def _key_documents(urn: str, created_at: datetime) -> dict[str, StoredAspect]:
    parsed_urn = catalog_urns.parse(urn)
    text = json.dumps(parsed_urn.key_document, ensure_ascii=False)
    return {parsed_urn.key_aspect: StoredAspect(parsed_urn.key_aspect, text, created_at=created_at)}


def _to_stored_aspect(row: Aspect) -> StoredAspect:
    return StoredAspect(row.name, row.document, row.version, row.system_metadata, row.created_at, row.created_by)


def _compose_documents(urns: Collection[str]) -> dict[str, dict[str, StoredAspect]]:
    people_urns = [urn for urn in urns if catalog_urns.entity_type(urn) in catalog_urns.PEOPLE_TYPES]
    values_by_urn = aspect_queries.load_aspects_many(urns=people_urns) if people_urns else {}
    return {
        urn: {name: StoredAspect(name, json.dumps(value, ensure_ascii=False)) for name, value in documents.items()}
        for urn, documents in values_by_urn.items()
    }
