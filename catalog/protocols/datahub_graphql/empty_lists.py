"""Lists that are empty for every dataset, since this site stores no such data; clients iterate over them."""

from typing import Any

from ariadne import ObjectType

from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node

dataset_type = ObjectType("Dataset")


@dataset_type.field("operations")
def list_operations(_node: Node, _info: Info, **_arguments: Any) -> list[Any]:
    """Return no operations: usage statistics are not stored."""
    return []


@dataset_type.field("assertions")
def list_assertions(_node: Node, _info: Info, *, start: int | None = None, **_arguments: Any) -> dict[str, Any]:
    """Return no assertions: data quality is not monitored."""
    return {"start": start or 0, "count": 0, "total": 0, "assertions": []}


BINDABLES = (dataset_type,)
