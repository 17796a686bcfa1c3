"""The entity that a page is about, limited to what its viewer may view."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from catalog import urns
from catalog.access import entity_lists, people_records, view_permissions
from catalog.access.aspect_documents import StoredAspect
from catalog.models import Entity
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.pdp import authorizer


@dataclass(frozen=True, slots=True)
class EntityContext:
    """An entity with its documents; `visible_documents` lack everything that the viewer may not view."""

    entity: Entity
    by: Actor
    documents: Mapping[str, StoredAspect]
    visible_documents: Mapping[str, Any]

    @classmethod
    def load(cls, request: HttpRequest, urn: str) -> "EntityContext":
        """Return the entity with this URN. Raises NotFound, also when the viewer may not view it."""
        by = get_actor(request)
        entity = entity_lists.get(urn=urn)
        if not view_permissions.may_view(entity, by=by):
            raise NotFound(f"There is no entity {urn}.")
        documents = people_records.load_visible_aspects(urn=urn, by=by) or {}
        visible_documents = view_permissions.redact_documents(
            {name: aspect.value for name, aspect in documents.items()}, by=by
        )
        return cls(entity, by, documents, visible_documents)

    def document(self, aspect: str) -> Mapping[str, Any]:
        """Return the visible content of a document, empty when it does not exist."""
        return self.visible_documents.get(aspect) or {}

    @property
    def url(self) -> str:
        """Return the URL of the entity's page."""
        return reverse("entity", args=[self.entity.urn])


@dataclass(frozen=True, slots=True)
class Reference:
    """A named link to an entity or person; `url` is empty when the catalog has no page for it."""

    urn: str
    name: str
    type: str
    url: str


def load_references(
    entity_urns: Collection[str], *, known_names: Mapping[str, str] | None = None
) -> dict[str, Reference]:
    """Return name and link of each URN, people included; `known_names` need no query."""
    names = {**authorizer.load_names(urns=set(entity_urns) - (known_names or {}).keys()), **(known_names or {})}
    return {urn: build_reference(urn, names.get(urn, "")) for urn in entity_urns}


def build_reference(urn: str, name: str) -> Reference:
    """Return name and link of one URN; without a name, the identifier in the URN is its name."""
    type_ = urns.entity_type(urn)
    has_page = bool(type_) and type_ not in urns.PEOPLE_TYPES
    return Reference(urn, name or _identifier(urn), type_, reverse("entity", args=[urn]) if has_page else "")


def _identifier(urn: str) -> str:
    try:
        return urns.parse(urn).identifier
    except urns.InvalidUrn:
        return urn
