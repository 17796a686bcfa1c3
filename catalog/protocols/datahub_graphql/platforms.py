"""Data platforms, such as a warehouse or a tool of dashboards."""

from collections.abc import Mapping
from typing import Any

from ariadne import ObjectType

from catalog import urns
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import told
from catalog.protocols.datahub_graphql.nodes import Node

platform = ObjectType("DataPlatform")

_INFO = "dataPlatformInfo"


@platform.field("name")
def name(node: Node, _info: Info) -> str:
    """Return the part of the URN of a platform behind its type."""
    return urns.parse(node.urn).key


@platform.field("properties")
@platform.field("info")
def properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what is said of a platform, nothing where nobody described it."""
    found = told(node, info)
    document = None if found is None else found.document(_INFO)
    if document is None:
        return None
    return {
        **document,
        "type": nodes.enum_value(document.get("type"), "PlatformType", info.schema, "OTHERS"),
        "datasetNameDelimiter": document.get("datasetNameDelimiter") or ".",
    }


@platform.field("displayName")
def display_name(node: Node, info: Info) -> str | None:
    """Return what people call a platform."""
    found = properties(node, info)
    return None if found is None else found.get("displayName")


BINDABLES = (platform,)
