"""The About tab of an entity: what it is, who owns it, and what it is marked with."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from catalog.access.entity_context import Reference, Subject, references
from catalog.aspects.web_links import is_web_address
from catalog.entities import annotations
from catalog.entities.pages import edit_controls

#: Aspects whose fields are shown as properties, the first that says a thing wins.
_PROPERTIES = (
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

#: The first millisecond that Python's calendar no longer holds.
_END_OF_DAYS = 253_402_300_800_000


def about(subject: Subject, _request: HttpRequest) -> dict[str, Any]:
    """Return what the tab shows."""
    owners = [annotations.owner_of(entry) for entry in subject.document("ownership").get("owners") or ()]
    tags = [entry["tag"] for entry in subject.document("globalTags").get("tags") or ()]
    terms = [entry["urn"] for entry in subject.document("glossaryTerms").get("terms") or ()]
    domains = domains_of(subject.document("domains"))
    deprecation = subject.document("deprecation")
    asked = {*tags, *terms, *domains, *(one for owner in owners for one in owner if one)}
    asked |= {deprecation["actor"]} if deprecation.get("actor") else set()
    named = references(asked)
    type_ = subject.entity.type
    return {
        "description": _description(subject),
        "owners": [{"owner": named[who], "as": named[kind].name if kind else ""} for who, kind in owners],
        "tags": [named[urn] for urn in tags],
        "terms": [named[urn] for urn in terms],
        "domains": [named[urn] for urn in domains],
        "links": [_link(entry) for entry in subject.document("institutionalMemory").get("elements") or ()],
        "deprecation": _deprecation(deprecation, named),
        "properties": _properties(subject),
        "has": {what for what in edit_controls.CONTROLS if edit_controls.is_possible(what, type_)},
    }


def domains_of(document: Mapping[str, Any]) -> list[str]:
    """Return every domain that a document names, in either of its lists, each once."""
    associated = [entry["domain"] for entry in document.get("domainAssociations") or ()]
    return list(dict.fromkeys([*(document.get("domains") or ()), *associated]))


def description_of(document: Mapping[str, Any]) -> str:
    """Return the description or definition in a document."""
    return str(document.get("description") or document.get("definition") or "")


def _description(subject: Subject) -> str:
    return next((text for name in _PROPERTIES if (text := description_of(subject.document(name)))), "")


def _link(entry: Mapping[str, Any]) -> dict[str, Any]:
    url = str(entry.get("url") or "")
    return {"url": url, "label": entry.get("description") or url, "is_link": is_web_address(url)}


def _deprecation(document: Mapping[str, Any], named: Mapping[str, Reference]) -> dict[str, Any] | None:
    if not document.get("deprecated"):
        return None
    by = named.get(document.get("actor") or "")
    return {
        "note": document.get("note") or "",
        "leaves": day_of(document.get("decommissionTime")),
        "by": by.name if by else "",
    }


def day_of(milliseconds: object) -> datetime | None:
    """Return the moment that DataHub's milliseconds mean, None for none and for what no calendar holds."""
    if (
        not isinstance(milliseconds, int)
        or isinstance(milliseconds, bool)
        or not 0 < milliseconds < 253_402_300_800_000
    ):
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _properties(subject: Subject) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in _PROPERTIES:
        document = subject.document(name)
        for label, key in (("Qualified name", "qualifiedName"), ("Source", "termSource"), ("Colour", "colorHex")):
            if document.get(key):
                found.append({"label": label, "value": str(document[key])})
        custom = document.get("customProperties")
        if isinstance(custom, Mapping):
            found += [{"label": str(key), "value": str(value)} for key, value in sorted(custom.items())]
    row = subject.entity
    found += [{"label": "Object id", "value": row.object_id}] if row.object_id else []
    found += [{"label": "Project", "value": row.project}] if row.project else []
    return found
