"""Additional tabs on the page of a CDAP entity."""

from django.urls import reverse

from catalog.access.entity_context import EntityContext
from catalog.cdap import grant_services
from policies.engine.families import cdap_entity_ids
from policies.engine.families.cdap_entity_ids import CdapName
from policies.errors import Forbidden, NotFound

TREE, OPERATIONS, GRANTS = "tree", "operations", "grants"

_LABELS = {TREE: "Contents", OPERATIONS: "Operations", GRANTS: "Grants"}


def build_tabs(entity_context: EntityContext) -> dict[str, tuple[str, str]]:
    """Return key -> (label, URL) of the tabs that the viewer may open; empty for entities of other platforms."""
    name = cdap_entity_ids.parse(entity_context.entity.urn)
    if name is None:
        return {}
    keys = [TREE] if name.kind in cdap_entity_ids.CONTAINER_KINDS else []
    keys += [OPERATIONS, GRANTS] if _may_grant(name, entity_context) else [OPERATIONS]
    return {key: (_LABELS[key], tab_url(key, entity_context)) for key in keys}


def tab_url(key: str, entity_context: EntityContext) -> str:
    """Return the URL of one of these tabs."""
    return reverse(f"entity-{key}", args=[entity_context.entity.urn])


def pattern_url(entity_context: EntityContext) -> str:
    """Return the URL for granting on a pattern, a part of the Grants tab."""
    return reverse("entity-patterns", args=[entity_context.entity.urn])


def require_cdap_name(entity_context: EntityContext) -> CdapName:
    """Return the CDAP name of the entity. Raises NotFound for an entity of another platform."""
    name = cdap_entity_ids.parse(entity_context.entity.urn)
    if name is None:
        raise NotFound("Grants and operations are for CDAP's entities; this is not one.")
    return name


def _may_grant(name: CdapName, entity_context: EntityContext) -> bool:
    try:
        grant_services.list_grants(entity=name.urn, principal="", by=entity_context.by)
    except Forbidden:
        return False
    return True
