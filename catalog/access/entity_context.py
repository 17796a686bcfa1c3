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
from policies.http.guard import actor_of
from policies.pdp import authorizer


@dataclass(frozen=True, slots=True)
class Subject:
    """An entity with its documents: `stored` as they are, `said` without what its reader may not view."""

    entity: Entity
    by: Actor
    stored: Mapping[str, StoredAspect]
    said: Mapping[str, Any]

    @classmethod
    def of(cls, request: HttpRequest, urn: str) -> "Subject":
        """Return the entity with this URN. Raises NotFound, also for one that may not be viewed."""
        by = actor_of(request)
        entity = entity_lists.get(urn=urn)
        if not view_permissions.may_view(entity, by=by):
            raise NotFound(f"There is no entity {urn}.")
        stored = people_records.aspects_for(urn=urn, by=by) or {}
        said = view_permissions.redacted({name: aspect.value for name, aspect in stored.items()}, by=by)
        return cls(entity, by, stored, said)

    def document(self, aspect: str) -> Mapping[str, Any]:
        """Return what a document says, nothing when there is none."""
        return self.said.get(aspect) or {}

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


def references(named: Collection[str], *, known: Mapping[str, str] | None = None) -> dict[str, Reference]:
    """Return how to name and link each of these, those of people included; `known` are names that were read already."""
    names = {**authorizer.names(urns=set(named) - (known or {}).keys()), **(known or {})}
    return {urn: reference(urn, names.get(urn, "")) for urn in named}


def reference(urn: str, name: str) -> Reference:
    """Return how to name and link one URN; without a name it is called by what its URN says."""
    type_ = urns.type_of(urn)
    is_here = bool(type_) and type_ not in urns.PEOPLE_TYPES
    return Reference(urn, name or _identifier(urn), type_, reverse("entity", args=[urn]) if is_here else "")


def _identifier(urn: str) -> str:
    try:
        return urns.parse(urn).identifier
    except urns.InvalidUrn:
        return urn
