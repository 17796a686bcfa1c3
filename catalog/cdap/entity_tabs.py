"""The parts that the page of a CDAP entity has beside those of every entity."""

from django.urls import reverse

from catalog.access.entity_context import Subject
from catalog.cdap import grant_services
from policies.engine.families import cdap_entity_ids
from policies.engine.families.cdap_entity_ids import CdapName
from policies.errors import Forbidden, NotFound

TREE, OPERATIONS, GRANTS = "tree", "operations", "grants"

_LABELS = {TREE: "Contents", OPERATIONS: "Operations", GRANTS: "Grants"}


def tabs(subject: Subject) -> dict[str, tuple[str, str]]:
    """Return key → (label, address) of what the reader may open; nothing for entities of other platforms."""
    name = cdap_entity_ids.read(subject.entity.urn)
    if name is None:
        return {}
    keys = [TREE] if name.kind in cdap_entity_ids.PLACES else []
    keys += [OPERATIONS, GRANTS] if _may_grant(name, subject) else [OPERATIONS]
    return {key: (_LABELS[key], address(key, subject)) for key in keys}


def address(key: str, subject: Subject) -> str:
    """Return the address of one of these parts."""
    return reverse(f"entity-{key}", args=[subject.entity.urn])


def pattern_address(subject: Subject) -> str:
    """Return where privileges are given on a pattern; it is a part of the grants."""
    return reverse("entity-patterns", args=[subject.entity.urn])


def name_of(subject: Subject) -> CdapName:
    """Return what the entity is to CDAP. Raises NotFound for an entity of another platform."""
    name = cdap_entity_ids.read(subject.entity.urn)
    if name is None:
        raise NotFound("Grants and operations are for CDAP's entities; this is not one.")
    return name


def _may_grant(name: CdapName, subject: Subject) -> bool:
    try:
        grant_services.listed(entity=name.urn, principal="", by=subject.by)
    except Forbidden:
        return False
    return True
