"""What a new policy can begin with: nothing, another policy, or one of the patterns the policies guide recommends."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from policies.engine.families import datahub
from policies.models.people import NAME_LENGTH

#: What somebody who works with data opens and edits; the types that ownership is set on when metadata comes in.
_ASSETS = ("dataset", "dashboard", "chart", "dataFlow", "dataJob", "container")

_NOBODY = {
    "users": [],
    "groups": [],
    "roles": [],
    "resourceOwners": False,
    "resourceOwnersTypes": None,
    "allUsers": False,
    "allGroups": False,
}


@dataclass(frozen=True, slots=True)
class Starter:
    """A pattern: what it is called, when to use it, and the document it begins with."""

    name: str
    label: str
    purpose: str
    document: Mapping[str, Any]


def _document(**fields: Any) -> dict[str, Any]:
    return {
        "displayName": "",
        "description": "",
        "type": datahub.METADATA,
        "state": datahub.ACTIVE,
        "privileges": [],
        "actors": dict(_NOBODY),
        "editable": True,
    } | fields


def _about(*types: str) -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": list(types)}]}}


BLANK = _document()

STARTERS: Mapping[str, Starter] = MappingProxyType(
    {
        starter.name: starter
        for starter in (
            Starter(
                "ownership",
                "Isolation by ownership",
                "Each team views and edits what it owns, and nothing else. The simplest way to keep teams apart.",
                _document(
                    displayName="Owners work on what they own",
                    description="Teams view and edit their own assets, by ownership.",
                    privileges=[
                        "VIEW_ENTITY_PAGE",
                        "EDIT_ENTITY_DOCS",
                        "EDIT_ENTITY_TAGS",
                        "EDIT_ENTITY_GLOSSARY_TERMS",
                        "EDIT_LINEAGE",
                    ],
                    actors={**_NOBODY, "resourceOwners": True},
                    resources=_about(*_ASSETS),
                ),
            ),
            Starter(
                "domains",
                "Domain visibility only",
                "A team navigates the tree of domains without access to what is in them. Choose its group.",
                _document(
                    displayName="See the domains",
                    description="Navigate domains; gives no access to what they contain.",
                    privileges=["VIEW_ENTITY_PAGE"],
                    resources=_about("domain"),
                ),
            ),
            Starter(
                "platform-team",
                "Central platform team",
                "One group looks after metadata everywhere, by type of asset and not by team. Choose its group.",
                _document(
                    displayName="Platform team looks after everything",
                    description="The central team views and edits metadata of every team.",
                    privileges=["VIEW_ENTITY_PAGE", "EDIT_ENTITY"],
                    resources=_about(*_ASSETS, "domain", "glossaryTerm", "glossaryNode", "dataProduct", "tag"),
                ),
            ),
        )
    }
)


def copied(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy to be changed: under another name, editable, and not active before somebody looked at it."""
    changes: dict[str, Any] = {"displayName": copy_name(document["displayName"]), "state": datahub.INACTIVE}
    return {**document, **changes} | ({"editable": True} if "editable" in document else {})


def copy_name(name: str) -> str:
    """Return the name of a copy, short enough to be stored."""
    return f"Copy of {name}"[:NAME_LENGTH]
