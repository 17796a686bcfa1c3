"""Data platforms, such as warehouses and dashboard tools."""

from collections.abc import Mapping
from typing import Any

from ariadne import ObjectType

from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import load_document
from catalog.protocols.datahub_graphql.nodes import Node

platform_type = ObjectType("DataPlatform")

_INFO_ASPECT = "dataPlatformInfo"


platform_type.set_field("name", nodes.resolve_key)


@platform_type.field("properties")
@platform_type.field("info")
def resolve_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the `dataPlatformInfo` of a platform, None if there is none."""
    document = load_document(node, info, _INFO_ASPECT)
    if document is None:
        return None
    return {
        **document,
        "type": nodes.enum_value(document.get("type"), "PlatformType", info.schema, "OTHERS"),
        "datasetNameDelimiter": document.get("datasetNameDelimiter") or ".",
    }


@platform_type.field("displayName")
def resolve_display_name(node: Node, info: Info) -> str | None:
    """Return the display name of a platform."""
    properties = resolve_properties(node, info)
    return None if properties is None else properties.get("displayName")


BINDABLES = (platform_type,)
