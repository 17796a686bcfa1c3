"""Additional tabs on the page of a CDAP entity, and what their pages have in common."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from catalog.access.entity_context import EntityContext
from catalog.cdap import visible_grants
from catalog.entities.pages import entity
from policies.engine.families import cdap_entity_ids
from policies.engine.families.cdap_entity_ids import CdapName
from policies.engine.model import Actor
from policies.errors import Forbidden, NotFound

TREE, OPERATIONS, GRANTS = "tree", "operations", "grants"

_LABELS = {TREE: "Contents", OPERATIONS: "Operations", GRANTS: "Grants"}


@dataclass(frozen=True, slots=True)
class CdapPage:
    """A page of one tab: the request, the entity as its viewer may see it, and its CDAP name."""

    request: HttpRequest
    entity_context: EntityContext
    name: CdapName

    @classmethod
    def load(cls, request: HttpRequest, urn: str) -> "CdapPage":
        """Load the entity. Raises NotFound, also for an entity of another platform."""
        entity_context = EntityContext.load(request, urn)
        name = cdap_entity_ids.parse(entity_context.entity.urn)
        if name is None:
            raise NotFound("Grants and operations are for CDAP's entities; this is not one.")
        return cls(request, entity_context, name)

    @property
    def by(self) -> Actor:
        """The viewer."""
        return self.entity_context.by

    def find_url(self, part: str) -> str:
        """Return the URL of a tab or another part of the page: `patterns`, `revoke`."""
        return reverse(f"entity-{part}", args=[self.entity_context.entity.urn])

    def render(self, tab: str, template: str, **context: Any) -> HttpResponse:
        """Render the page with this tab open (`entity.render_page`)."""
        template = f"catalog/grants/{template}.html"
        return entity.render_page(self.request, self.entity_context, tab=tab, template=template, **context)


def build_tabs(entity_context: EntityContext) -> dict[str, tuple[str, str]]:
    """Return key -> (label, URL) of the tabs that the viewer may open; empty for entities of other platforms."""
    urn = entity_context.entity.urn
    name = cdap_entity_ids.parse(urn)
    if name is None:
        return {}
    keys = [TREE] if name.kind in cdap_entity_ids.CONTAINER_KINDS else []
    keys += [OPERATIONS, GRANTS] if _may_grant(name, entity_context.by) else [OPERATIONS]
    return {key: (_LABELS[key], reverse(f"entity-{key}", args=[urn])) for key in keys}


def _may_grant(name: CdapName, by: Actor) -> bool:
    try:
        visible_grants.list_grants(entity=name.urn, principal="", by=by)
    except Forbidden:
        return False
    return True
