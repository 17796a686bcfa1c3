"""The columns of a dataset, as its source has them: what `schemaMetadata` says, newest version."""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from ariadne import ObjectType, UnionType

from catalog import urns
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.annotations import build_tags, build_terms
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import stamp_of, told
from catalog.protocols.datahub_graphql.nodes import Node
from policies.errors import Invalid

dataset = ObjectType("Dataset")
column_entity = ObjectType("SchemaFieldEntity")
platform_schema = UnionType("PlatformSchema")

_ASPECT = "schemaMetadata"
#: Ends of the names of the classes of types, such as `com.linkedin.schema.StringType`.
_TYPE = "Type"
#: Most URNs that the columns of a list of datasets name and that are looked up together.
_MAX_NAMED = 10_000
#: Keys under which the document of a source holds its whole schema as one text.
_TEXTS = ("tableSchema", "documentSchema", "rawSchema", "schema")


@dataset.field("schemaMetadata")
def schema_metadata(node: Node, info: Info, *, version: int | None = None) -> Mapping[str, Any] | None:
    """Return the columns of a dataset; nothing where none are stored. Raises Invalid for an older version."""
    if version:
        detail = "Only the newest version, 0, is answered; older ones are found over REST."
        raise Invalid.one(code="range", pointer="/version", detail=detail)
    _note_columns(node, info)
    found = told(node, info)
    document = None if found is None else found.document(_ASPECT)
    if found is None or document is None:
        return None
    return {
        "aspectVersion": 0,
        "createdAt": stamp_of(found.said[_ASPECT])["time"],
        "datasetUrn": node.urn,
        "name": _text(document.get("schemaName")) or "",
        "platformUrn": _text(document.get("platform")) or urns.parse(node.urn).platform or "",
        "version": _number(document.get("version")),
        "cluster": _text(document.get("cluster")),
        "hash": _text(document.get("hash")) or "",
        "platformSchema": _platform_schema(document.get("platformSchema")),
        "fields": [_column(entry, node, info) for entry in document.get("fields") or ()],
        "primaryKeys": _texts(document.get("primaryKeys")),
        "foreignKeys": [_foreign_key(one, info) for one in document.get("foreignKeys") or () if isinstance(one, dict)],
    }


@column_entity.field("fieldPath")
def field_path(node: Node, _info: Info) -> str:
    """Return the path of a column in its dataset, as its URN says it."""
    return urns.parse(node.urn).key_document.get("fieldPath", "")


@column_entity.field("parent")
def parent(node: Node, info: Info) -> Node:
    """Return the dataset that a column belongs to."""
    return nodes.one(next(iter(urns.dataset_of(node.urn)), node.urn), info)


@platform_schema.type_resolver
def platform_schema_type(found: Mapping[str, Any], *_: Any) -> str:
    """Return the type that the schema of a source is answered as."""
    return "KeyValueSchema" if "keySchema" in found else "TableSchema"


def _note_columns(node: Node, info: Info) -> None:
    """Note what the columns of all datasets of a list name, so that it is looked up for all of them at once."""
    here = info.context

    def load(asked: Collection[str]) -> Mapping[str, None]:
        named = (one for urn in asked if urns.type_of(urn) == "dataset" for one in _list_named(urn, info))
        here.note(list(islice(named, _MAX_NAMED)))
        return {}

    here.look_up(node.urn, "columns", load)


def _list_named(urn: str, info: Info) -> Iterator[str]:
    found = told(Node(urn), info)
    document = None if found is None else found.document(_ASPECT)
    for entry in (document or {}).get("fields") or ():
        yield from (one["tag"] for one in (entry.get("globalTags") or {}).get("tags") or ())
        yield from (one["urn"] for one in (entry.get("glossaryTerms") or {}).get("terms") or ())
        yield _column_urn(urn, entry["fieldPath"])


def _column_urn(dataset_urn: str, path: str) -> str:
    return f"urn:li:schemaField:({dataset_urn},{path})"


def _column(entry: Mapping[str, Any], node: Node, info: Info) -> dict[str, Any]:
    path = entry["fieldPath"]
    urn = _column_urn(node.urn, path)
    return {
        "fieldPath": path,
        "label": _text(entry.get("label")),
        "jsonPath": _text(entry.get("jsonPath")),
        "nullable": entry.get("nullable") is True,
        "description": _text(entry.get("description")),
        "type": _type(entry.get("type"), info),
        "nativeDataType": _text(entry.get("nativeDataType")),
        "recursive": entry.get("recursive") is True,
        "isPartOfKey": entry.get("isPartOfKey") is True,
        "isPartitioningKey": entry.get("isPartitioningKey") is True,
        "globalTags": build_tags(entry.get("globalTags"), node, info),
        "glossaryTerms": build_terms(entry.get("glossaryTerms"), node, info),
        "schemaFieldEntity": nodes.one(urn, info) if urns.problem(urn, "") is None else None,
    }


def _type(document: Any, info: Info) -> str:
    """Return the type of a column; a class that is none of DataHub's is a STRUCT, as in DataHub."""
    inner = document.get("type") if isinstance(document, dict) else None
    name = next(iter(inner), "") if isinstance(inner, dict) else ""
    spelt = name.rpartition(".")[2].removesuffix(_TYPE).upper()
    # What DataHub calls a record is a STRUCT in its GraphQL.
    return nodes.enum_value(spelt, "SchemaFieldDataType", info.schema, "STRUCT") or "STRUCT"


def _platform_schema(document: Any) -> Mapping[str, Any] | None:
    inner = next(iter(document.values()), None) if isinstance(document, dict) else None
    if not isinstance(inner, dict):
        return None
    if "keySchema" in inner:
        return {name: _text(inner.get(name)) or "" for name in ("keySchema", "valueSchema")}
    found = next((inner[key] for key in _TEXTS if isinstance(inner.get(key), str)), None)
    return None if found is None else {"schema": found}


def _foreign_key(document: Mapping[str, Any], info: Info) -> dict[str, Any]:
    other = document.get("foreignDataset")
    return {
        "name": _text(document.get("name")),
        "sourceFields": _named(document.get("sourceFields"), "schemaField", info),
        "foreignFields": _named(document.get("foreignFields"), "schemaField", info),
        "foreignDataset": next(iter(_named([other], "dataset", info)), None),
    }


def _named(listed: Any, kind: str, info: Info) -> list[Node]:
    return nodes.many([urn for urn in _texts(listed) or () if urns.problem(urn, "", (kind,)) is None], info)


def _texts(listed: Any) -> list[str] | None:
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


BINDABLES = (dataset, column_entity, platform_schema)
