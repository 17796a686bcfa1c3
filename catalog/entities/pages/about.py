"""The About tab of an entity: description, owners, annotations and properties."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from catalog.access.entity_context import EntityContext, Reference, load_references
from catalog.aspects.web_links import is_web_address
from catalog.entities import annotations
from catalog.entities.pages import edit_controls

#: Aspects whose fields are shown as properties; for the description the first that has one wins.
_PROPERTY_ASPECTS = (
    "editableDatasetProperties",
    "editableContainerProperties",
    "editableDashboardProperties",
    "editableChartProperties",
    "editableDataFlowProperties",
    "editableDataJobProperties",
    "datasetProperties",
    "containerProperties",
    "dashboardInfo",
    "chartInfo",
    "dataFlowInfo",
    "dataJobInfo",
    "dataProductProperties",
    "domainProperties",
    "glossaryTermInfo",
    "glossaryNodeInfo",
    "tagProperties",
    "queryProperties",
    "applicationProperties",
    "dataPlatformInstanceProperties",
)

#: First timestamp in milliseconds beyond Python's calendar.
_END_MILLISECONDS = 253_402_300_800_000


def build_about_context(entity_context: EntityContext, _request: HttpRequest) -> dict[str, Any]:
    """Return the template context of the tab."""
    owners = [annotations.parse_owner(entry) for entry in entity_context.document("ownership").get("owners") or ()]
    tags, terms, domains = (
        annotations.list_urns(aspect, entity_context.document(aspect))
        for aspect in ("globalTags", "glossaryTerms", "domains")
    )
    deprecation = entity_context.document("deprecation")
    referenced_urns = {*tags, *terms, *domains, *(urn for owner in owners for urn in owner if urn)}
    referenced_urns |= {deprecation["actor"]} if deprecation.get("actor") else set()
    references = load_references(referenced_urns)
    type_ = entity_context.entity.type
    return {
        "description": _find_description(entity_context),
        "owners": [
            {"owner": references[owner_urn], "as": references[type_urn].name if type_urn else ""}
            for owner_urn, type_urn in owners
        ],
        "tags": [references[urn] for urn in tags],
        "terms": [references[urn] for urn in terms],
        "domains": [references[urn] for urn in domains],
        "links": [_build_link(entry) for entry in entity_context.document("institutionalMemory").get("elements") or ()],
        "deprecation": _build_deprecation(deprecation, references),
        "properties": _build_properties(entity_context),
        "has": {key for key in edit_controls.CONTROLS if edit_controls.is_possible(key, type_)},
    }


def description_text(document: Mapping[str, Any]) -> str:
    """Return the description or definition in a document."""
    return str(document.get("description") or document.get("definition") or "")


def _find_description(entity_context: EntityContext) -> str:
    return next((text for name in _PROPERTY_ASPECTS if (text := description_text(entity_context.document(name)))), "")


def _build_link(entry: Mapping[str, Any]) -> dict[str, Any]:
    url = str(entry.get("url") or "")
    return {"url": url, "label": entry.get("description") or url, "is_link": is_web_address(url)}


def _build_deprecation(document: Mapping[str, Any], references: Mapping[str, Reference]) -> dict[str, Any] | None:
    if not document.get("deprecated"):
        return None
    by = references.get(document.get("actor") or "")
    return {
        "note": document.get("note") or "",
        "leaves": parse_milliseconds(document.get("decommissionTime")),
        "by": by.name if by else "",
    }


def parse_milliseconds(milliseconds: object) -> datetime | None:
    """Return the datetime of DataHub's milliseconds, None for no value and for one outside the calendar."""
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool) or not 0 < milliseconds < _END_MILLISECONDS:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _build_properties(entity_context: EntityContext) -> list[dict[str, Any]]:
    properties: list[dict[str, Any]] = []
    for name in _PROPERTY_ASPECTS:
        document = entity_context.document(name)
        for label, key in (("Qualified name", "qualifiedName"), ("Source", "termSource"), ("Colour", "colorHex")):
            if document.get(key):
                properties.append({"label": label, "value": str(document[key])})
        custom_properties = document.get("customProperties")
        if isinstance(custom_properties, Mapping):
            properties += [{"label": str(key), "value": str(value)} for key, value in sorted(custom_properties.items())]
    row = entity_context.entity
    properties += [{"label": "Object id", "value": row.object_id}] if row.object_id else []
    properties += [{"label": "Project", "value": row.project}] if row.project else []
    return properties
