"""Entities in responses: a URN, whose further data is loaded if a field needs it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ariadne import InterfaceType
from graphql import GraphQLEnumType, GraphQLSchema

from catalog import urns
from catalog.protocols.datahub_graphql.context import Info

#: Entity type → its values of `EntityType`, if not made by `_to_enum_name`; the first is the one returned.
_TYPE_NAMES: Mapping[str, tuple[str, ...]] = {
    "corpuser": ("CORP_USER",),
    "dataHubRole": ("DATAHUB_ROLE",),
    "dataHubPolicy": ("POLICY", "DATAHUB_POLICY"),
    "dataHubView": ("DATAHUB_VIEW", "VIEW"),
    "mlFeature": ("MLFEATURE", "ML_FEATURE"),
    "mlFeatureTable": ("MLFEATURE_TABLE", "ML_FEATURE_TABLE"),
    "mlModel": ("MLMODEL", "ML_MODEL"),
    "mlModelGroup": ("MLMODEL_GROUP", "ML_MODEL_GROUP"),
    "mlPrimaryKey": ("MLPRIMARY_KEY", "ML_PRIMARY_KEY"),
    "ownershipType": ("CUSTOM_OWNERSHIP_TYPE", "OWNERSHIP_TYPE"),
}
#: Entity type → its GraphQL type, if there is a specific one.
_GRAPHQL_TYPES: Mapping[str, str] = {
    "corpuser": "CorpUser",
    "corpGroup": "CorpGroup",
    "dataHubPolicy": "DataHubPolicy",
    "dataHubRole": "DataHubRole",
    "ownershipType": "OwnershipTypeEntity",
    "chart": "Chart",
    "container": "Container",
    "dashboard": "Dashboard",
    "dataFlow": "DataFlow",
    "dataJob": "DataJob",
    "dataPlatform": "DataPlatform",
    "dataPlatformInstance": "DataPlatformInstance",
    "dataProduct": "DataProduct",
    "dataset": "Dataset",
    "document": "Document",
    "domain": "Domain",
    "glossaryNode": "GlossaryNode",
    "glossaryTerm": "GlossaryTerm",
    "mlFeature": "MLFeature",
    "mlFeatureTable": "MLFeatureTable",
    "mlModel": "MLModel",
    "mlModelGroup": "MLModelGroup",
    "mlPrimaryKey": "MLPrimaryKey",
    "query": "QueryEntity",
    "role": "Role",
    "tag": "Tag",
}
_OTHER_TYPE_NAME = "OTHER"
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

entity_interface = InterfaceType("Entity")


@dataclass(frozen=True, slots=True)
class Node:
    """An entity in a response, stored or only referred to."""

    urn: str

    @property
    def kind(self) -> str:
        """Entity type in the URN."""
        return urns.entity_type(self.urn)


def build_many(entity_urns: Iterable[str], info: Info) -> list[Node]:
    """Return nodes for these URNs and add them to the batch, so that their fields are loaded for all at once."""
    nodes = [Node(urn) for urn in entity_urns]
    info.context.add_to_batch([node.urn for node in nodes])
    return nodes


def build_one(urn: str, info: Info) -> Node:
    """Return the node for this URN, added to the batch."""
    return build_many([urn], info)[0]


def type_name(kind: str, schema: GraphQLSchema) -> str:
    """Return the value of `EntityType` for an entity type, OTHER if there is none."""
    name = _TYPE_NAMES.get(kind, (_to_enum_name(kind),))[0]
    enum_type = schema.type_map["EntityType"]
    return name if isinstance(enum_type, GraphQLEnumType) and name in enum_type.values else _OTHER_TYPE_NAME


def enum_value(text: object, enum: str, schema: GraphQLSchema, default: str | None = None) -> str | None:
    """Return the text if it is a value of an enum of the schema, else the default."""
    enum_type = schema.type_map[enum]
    return (
        text
        if isinstance(text, str) and isinstance(enum_type, GraphQLEnumType) and text in enum_type.values
        else default
    )


def parse_type_name(name: str, urn: str = "") -> str:
    """Return the entity type for a value of `EntityType`; for OTHER, the type of the URN."""
    if name == _OTHER_TYPE_NAME:
        return urns.entity_type(urn)
    for kind, names in _TYPE_NAMES.items():
        if name in names:
            return kind
    first_word, *other_words = name.lower().split("_")
    if first_word in ("access", "ingestion", "execution"):
        first_word, other_words = "dataHub", [first_word, *other_words]
    return first_word + "".join(word.capitalize() for word in other_words)


@entity_interface.field("urn")
def resolve_urn(node: Node, _info: Info) -> str:
    """Return the URN of the entity."""
    return node.urn


@entity_interface.field("type")
def resolve_type(node: Node, info: Info) -> str:
    """Return the type of the entity as a value of `EntityType`."""
    return type_name(node.kind, info.schema)


def resolve_key(node: Node, _info: Info) -> str:
    """Return the key in the URN of the entity."""
    return node.urn.split(":", 3)[-1]


@entity_interface.type_resolver
def resolve_graphql_type(node: Node, *_: Any) -> str:
    """Return the most specific GraphQL type of the entity."""
    return _GRAPHQL_TYPES.get(node.kind, "GenericEntity")


def _to_enum_name(kind: str) -> str:
    return "_".join(_WORD_BOUNDARY.split(kind)).upper().removeprefix("DATA_HUB_")


BINDABLES = (entity_interface,)
