"""The entity that a page is about, as its reader may see it."""

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
    """An entity with its documents: `visible_documents` lack what its reader may not view."""

    entity: Entity
    by: Actor
    documents: Mapping[str, StoredAspect]
    visible_documents: Mapping[str, Any]

    @classmethod
    def load(cls, request: HttpRequest, urn: str) -> "EntityContext":
        """Return the entity with this URN. Raises NotFound, also for one that may not be viewed."""
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
        """Return what a document says, nothing when there is none."""
        return self.visible_documents.get(aspect) or {}

    @property
    def url(self) -> str:
        """The page of the entity."""
        return reverse("entity", args=[self.entity.urn])


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that a page names: `url` is empty where it has no page of the catalog."""

    urn: str
    name: str
    type: str
    url: str


def load_references(
    entity_urns: Collection[str], *, known_names: Mapping[str, str] | None = None
) -> dict[str, Reference]:
    """Return how to name and link each of these, people included; `known_names` were read already."""
    names = {**authorizer.load_names(urns=set(entity_urns) - (known_names or {}).keys()), **(known_names or {})}
    return {urn: build_reference(urn, names.get(urn, "")) for urn in entity_urns}


def build_reference(urn: str, name: str) -> Reference:
    """Return how to name and link one URN; without a name it is called by what its URN says."""
    type_ = urns.entity_type(urn)
    has_page = bool(type_) and type_ not in urns.PEOPLE_TYPES
    return Reference(urn, name or _identifier(urn), type_, reverse("entity", args=[urn]) if has_page else "")


def _identifier(urn: str) -> str:
    try:
        return urns.parse(urn).identifier
    except urns.InvalidUrn:
        return urn
