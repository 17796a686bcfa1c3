"""Documents that a new policy can start from: blank, a copy, or a pattern that the policies guide recommends."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from policies.engine.families import datahub
from policies.models.people import MAX_NAME_LENGTH

#: Types of assets that people work with; ingestion sets owners on these types.
_ASSET_TYPES = ("dataset", "dashboard", "chart", "dataFlow", "dataJob", "container")

_NO_ACTORS = {
    "users": [],
    "groups": [],
    "roles": [],
    "resourceOwners": False,
    "resourceOwnersTypes": None,
    "allUsers": False,
    "allGroups": False,
}


@dataclass(frozen=True, slots=True)
class PolicyTemplate:
    """A pattern: name, label, purpose, and the document it starts with."""

    name: str
    label: str
    purpose: str
    document: Mapping[str, Any]


def _build_document(**fields: Any) -> dict[str, Any]:
    return {
        "displayName": "",
        "description": "",
        "type": datahub.METADATA,
        "state": datahub.ACTIVE,
        "privileges": [],
        "actors": dict(_NO_ACTORS),
        "editable": True,
    } | fields


def _type_filter(*types: str) -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": list(types)}]}}


#: '' is the blank policy.
TEMPLATES: Mapping[str, PolicyTemplate] = MappingProxyType(
    {
        template.name: template
        for template in (
            PolicyTemplate("", "", "", _build_document()),
            PolicyTemplate(
                "ownership",
                "Isolation by ownership",
                "Each team views and edits what it owns, and nothing else. The simplest way to keep teams apart.",
                _build_document(
                    displayName="Owners work on what they own",
                    description="Teams view and edit their own assets, by ownership.",
                    privileges=[
                        "VIEW_ENTITY_PAGE",
                        "EDIT_ENTITY_DOCS",
                        "EDIT_ENTITY_TAGS",
                        "EDIT_ENTITY_GLOSSARY_TERMS",
                        "EDIT_LINEAGE",
                    ],
                    actors={**_NO_ACTORS, "resourceOwners": True},
                    resources=_type_filter(*_ASSET_TYPES),
                ),
            ),
            PolicyTemplate(
                "domains",
                "Domain visibility only",
                "A team navigates the tree of domains without access to what is in them. Choose its group.",
                _build_document(
                    displayName="See the domains",
                    description="Navigate domains; gives no access to what they contain.",
                    privileges=["VIEW_ENTITY_PAGE"],
                    resources=_type_filter("domain"),
                ),
            ),
            PolicyTemplate(
                "platform-team",
                "Central platform team",
                "One group looks after metadata everywhere, by type of asset and not by team. Choose its group.",
                _build_document(
                    displayName="Platform team looks after everything",
                    description="The central team views and edits metadata of every team.",
                    privileges=["VIEW_ENTITY_PAGE", "EDIT_ENTITY"],
                    resources=_type_filter(
                        *_ASSET_TYPES, "domain", "glossaryTerm", "glossaryNode", "dataProduct", "tag"
                    ),
                ),
            ),
        )
    }
)


def copy_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a document to be edited: renamed, editable, and inactive until somebody reviews it."""
    changes: dict[str, Any] = {"displayName": copy_name(document["displayName"]), "state": datahub.INACTIVE}
    return {**document, **changes} | ({"editable": True} if "editable" in document else {})


def copy_name(name: str) -> str:
    """Return the name of a copy, cut to MAX_NAME_LENGTH."""
    return f"Copy of {name}"[:MAX_NAME_LENGTH]
