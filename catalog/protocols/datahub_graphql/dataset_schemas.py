"""Columns of a dataset as in its source: the newest version of `schemaMetadata`."""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from ariadne import ObjectType, UnionType

from catalog import urns
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.annotations import build_tags, build_terms
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import as_text, load_entity, storage_stamp
from catalog.protocols.datahub_graphql.nodes import Node
from policies.errors import Invalid

dataset_type = ObjectType("Dataset")
column_type = ObjectType("SchemaFieldEntity")
platform_schema_union = UnionType("PlatformSchema")

_ASPECT = "schemaMetadata"
#: Suffix of the class names of column types, such as `com.linkedin.schema.StringType`.
_TYPE_SUFFIX = "Type"
#: Most URNs, referred to by the columns of a list of datasets, that are added to the batch.
_MAX_REFERENCED_URNS = 10_000
#: Keys for the whole schema as one text, depending on the kind of source.
_SCHEMA_TEXT_KEYS = ("tableSchema", "documentSchema", "rawSchema", "schema")


@dataset_type.field("schemaMetadata")
def resolve_schema_metadata(node: Node, info: Info, *, version: int | None = None) -> Mapping[str, Any] | None:
    """Return the columns of a dataset, None if none are stored. Raises Invalid for a version other than 0."""
    if version:
        detail = "Only the newest version, 0, is answered; older ones are found over REST."
        raise Invalid.from_problem(code="range", pointer="/version", detail=detail)
    _add_columns_to_batch(node, info)
    entity = load_entity(node, info)
    document = None if entity is None else entity.document(_ASPECT)
    if entity is None or document is None:
        return None
    return {
        "aspectVersion": 0,
        "createdAt": storage_stamp(entity.aspects[_ASPECT])["time"],
        "datasetUrn": node.urn,
        "name": as_text(document.get("schemaName")) or "",
        "platformUrn": as_text(document.get("platform")) or urns.parse(node.urn).platform or "",
        "version": _as_number(document.get("version")),
        "cluster": as_text(document.get("cluster")),
        "hash": as_text(document.get("hash")) or "",
        "platformSchema": _render_platform_schema(document.get("platformSchema")),
        "fields": [_render_column(entry, node, info) for entry in document.get("fields") or ()],
        "primaryKeys": _as_texts(document.get("primaryKeys")),
        "foreignKeys": [
            _render_foreign_key(foreign_key, info)
            for foreign_key in document.get("foreignKeys") or ()
            if isinstance(foreign_key, dict)
        ],
    }


@column_type.field("fieldPath")
def resolve_field_path(node: Node, _info: Info) -> str:
    """Return the path of a column in its dataset, as in its URN."""
    return urns.parse(node.urn).key_document.get("fieldPath", "")


@column_type.field("parent")
def resolve_parent(node: Node, info: Info) -> Node:
    """Return the dataset of a column."""
    return nodes.build_one(next(iter(urns.field_dataset_urns(node.urn)), node.urn), info)


@platform_schema_union.type_resolver
def resolve_platform_schema_type(schema: Mapping[str, Any], *_: Any) -> str:
    """Return the GraphQL type of the schema of a source."""
    return "KeyValueSchema" if "keySchema" in schema else "TableSchema"


def _add_columns_to_batch(node: Node, info: Info) -> None:
    """Add the URNs to which columns of the batched datasets refer, so that they are loaded together."""
    context = info.context

    def load(entity_urns: Collection[str]) -> Mapping[str, None]:
        referenced_urns = (
            referenced_urn
            for urn in entity_urns
            if urns.entity_type(urn) == "dataset"
            for referenced_urn in _list_referenced_urns(urn, info)
        )
        context.add_to_batch(list(islice(referenced_urns, _MAX_REFERENCED_URNS)))
        return {}

    context.load_batched(node.urn, "columns", load)


def _list_referenced_urns(urn: str, info: Info) -> Iterator[str]:
    entity = load_entity(Node(urn), info)
    document = None if entity is None else entity.document(_ASPECT)
    for entry in (document or {}).get("fields") or ():
        yield from (association["tag"] for association in (entry.get("globalTags") or {}).get("tags") or ())
        yield from (association["urn"] for association in (entry.get("glossaryTerms") or {}).get("terms") or ())
        yield _column_urn(urn, entry["fieldPath"])


def _column_urn(dataset_urn: str, path: str) -> str:
    return f"urn:li:schemaField:({dataset_urn},{path})"


def _render_column(entry: Mapping[str, Any], node: Node, info: Info) -> dict[str, Any]:
    path = entry["fieldPath"]
    urn = _column_urn(node.urn, path)
    return {
        "fieldPath": path,
        "label": as_text(entry.get("label")),
        "jsonPath": as_text(entry.get("jsonPath")),
        "nullable": entry.get("nullable") is True,
        "description": as_text(entry.get("description")),
        "type": _column_type_name(entry.get("type"), info),
        "nativeDataType": as_text(entry.get("nativeDataType")),
        "recursive": entry.get("recursive") is True,
        "isPartOfKey": entry.get("isPartOfKey") is True,
        "isPartitioningKey": entry.get("isPartitioningKey") is True,
        "globalTags": build_tags(entry.get("globalTags"), node, info),
        "glossaryTerms": build_terms(entry.get("glossaryTerms"), node, info),
        "schemaFieldEntity": nodes.build_one(urn, info) if urns.find_problem(urn, "") is None else None,
    }


def _column_type_name(document: Any, info: Info) -> str:
    """Return the type of a column; a class that is not DataHub's is a STRUCT, as in DataHub."""
    inner = document.get("type") if isinstance(document, dict) else None
    name = next(iter(inner), "") if isinstance(inner, dict) else ""
    type_name = name.rpartition(".")[2].removesuffix(_TYPE_SUFFIX).upper()
    # DataHub's record class is a STRUCT in its GraphQL.
    return nodes.enum_value(type_name, "SchemaFieldDataType", info.schema, "STRUCT") or "STRUCT"


def _render_platform_schema(document: Any) -> Mapping[str, Any] | None:
    inner = next(iter(document.values()), None) if isinstance(document, dict) else None
    if not isinstance(inner, dict):
        return None
    if "keySchema" in inner:
        return {name: as_text(inner.get(name)) or "" for name in ("keySchema", "valueSchema")}
    schema_text = next((inner[key] for key in _SCHEMA_TEXT_KEYS if isinstance(inner.get(key), str)), None)
    return None if schema_text is None else {"schema": schema_text}


def _render_foreign_key(document: Mapping[str, Any], info: Info) -> dict[str, Any]:
    foreign_dataset = document.get("foreignDataset")
    return {
        "name": as_text(document.get("name")),
        "sourceFields": _build_nodes(document.get("sourceFields"), "schemaField", info),
        "foreignFields": _build_nodes(document.get("foreignFields"), "schemaField", info),
        "foreignDataset": next(iter(_build_nodes([foreign_dataset], "dataset", info)), None),
    }


def _build_nodes(values: Any, kind: str, info: Info) -> list[Node]:
    return nodes.build_many(
        [urn for urn in _as_texts(values) or () if urns.find_problem(urn, "", (kind,)) is None], info
    )


def _as_texts(values: Any) -> list[str] | None:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else None


def _as_number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


BINDABLES = (dataset_type, column_type, platform_schema_union)
