"""Entities in answers: a URN, of which more is looked up where a field asks for it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ariadne import InterfaceType
from graphql import GraphQLEnumType, GraphQLSchema

from catalog import urns
from catalog.protocols.datahub_graphql.context import Info

#: Type of an entity → its names here, where they do not follow by `_spelt`; the first is answered.
_NAMES: Mapping[str, tuple[str, ...]] = {
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
#: Type of an entity → the type that tells more of it.
_TOLD: Mapping[str, str] = {
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
    "role": "Role",
    "tag": "Tag",
}
_OTHER = "OTHER"
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

interface = InterfaceType("Entity")


@dataclass(frozen=True, slots=True)
class Node:
    """An entity to answer with, stored or only spoken of."""

    urn: str

    @property
    def kind(self) -> str:
        """The type that its URN names."""
        return urns.type_of(self.urn)


def many(found: Iterable[str], info: Info) -> list[Node]:
    """Return the entities with these URNs, so that whatever is asked of them is looked up for all at once."""
    listed = [Node(urn) for urn in found]
    info.context.note([one.urn for one in listed])
    return listed


def one(urn: str, info: Info) -> Node:
    """Return the entity with this URN."""
    return many([urn], info)[0]


def name_of(kind: str, schema: GraphQLSchema) -> str:
    """Return what a type of entities is called here."""
    name = _NAMES.get(kind, (_spelt(kind),))[0]
    known = schema.type_map["EntityType"]
    return name if isinstance(known, GraphQLEnumType) and name in known.values else _OTHER


def enum_value(text: object, enum: str, schema: GraphQLSchema, default: str | None = None) -> str | None:
    """Return a text where it is one of the values of an enum of the schema, else the default."""
    known = schema.type_map[enum]
    return text if isinstance(text, str) and isinstance(known, GraphQLEnumType) and text in known.values else default


def kind_of(name: str, urn: str = "") -> str:
    """Return the type of entities that is called this here; OTHER is the type of the URN."""
    if name == _OTHER:
        return urns.type_of(urn)
    for kind, names in _NAMES.items():
        if name in names:
            return kind
    first, *others = name.lower().split("_")
    if first in ("access", "ingestion", "execution"):
        first, others = "dataHub", [first, *others]
    return first + "".join(other.capitalize() for other in others)


@interface.field("urn")
def urn(node: Node, _info: Info) -> str:
    """Return its URN."""
    return node.urn


@interface.field("type")
def kind_name(node: Node, info: Info) -> str:
    """Return what its type is called here."""
    return name_of(node.kind, info.schema)


@interface.type_resolver
def told_as(node: Node, *_: Any) -> str:
    """Return the type that tells most of it."""
    return _TOLD.get(node.kind, "GenericEntity")


def _spelt(kind: str) -> str:
    return "_".join(_HUMP.split(kind)).upper().removeprefix("DATA_HUB_")


BINDABLES = (interface,)
