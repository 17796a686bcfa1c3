"""Catalog entities: their names, properties and platforms.

Of an entity that the caller may not view, fields return only data from its URN.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ariadne import ObjectType, QueryType, SchemaBindable
from graphql import GraphQLInterfaceType, GraphQLObjectType, GraphQLSchema

from catalog import urns
from catalog.access import aspect_documents, view_permissions
from catalog.external_roles import queries as external_role_queries
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.entities import get_entity
from catalog.protocols.datahub_graphql.nodes import Node
from policies.pdp import authorizer

query = QueryType()

#: Query field → type of the entity that it returns by URN.
_TYPE_BY_QUERY_FIELD: Mapping[str, str] = {
    "corpGroup": "corpGroup",
    "corpUser": "corpuser",
    "dataPlatform": "dataPlatform",
    "dataProduct": "dataProduct",
    "dataset": "dataset",
    "domain": "domain",
    "glossaryNode": "glossaryNode",
    "glossaryTerm": "glossaryTerm",
    "role": external_role_queries.ENTITY_TYPE,
    "tag": "tag",
}

#: Suffixes of the names of the aspects that can contain a description.
_DESCRIPTIVE_SUFFIXES = ("Properties", "Info")

#: Types whose `properties` are in the aspect `<type>Info`; those of other types are in `<type>Properties`.
_TYPES_WITH_INFO = frozenset({"chart", "dashboard", "dataFlow", "dataJob", "glossaryNode", "glossaryTerm"})

#: Platform of entities without one, in DataHub's spelling.
_UNKNOWN_PLATFORM = "urn:li:dataPlatform:unknown"

#: Default of `termSource` in DataHub's GraphQL.
_TERM_SOURCE = "INTERNAL"


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """A stored entity: name, documents by aspect, and the URNs of the external roles in its `access` aspect."""

    urn: str
    name: str
    aspects: Mapping[str, aspect_documents.StoredAspect]
    roles: tuple[str, ...]

    def document(self, aspect: str) -> dict[str, Any] | None:
        """Return the parsed document of an aspect; None if there is none or it is no object."""
        aspect_row = self.aspects.get(aspect)
        return None if aspect_row is None or not isinstance(aspect_row.value, dict) else aspect_row.value

    @property
    def description(self) -> str | None:
        """The description; an edited one takes precedence over that of the source."""
        return _find_description(self.aspects)


class EntityFields(SchemaBindable):
    """Resolvers by field name, for every entity type that has the field but no resolver of its own for it."""

    def __init__(self, resolvers: Mapping[str, Any]) -> None:
        self._resolvers = resolvers

    def bind_to_schema(self, schema: GraphQLSchema) -> None:
        """Bind the resolvers; ariadne calls this method."""
        entity = schema.type_map["Entity"]
        for graphql_type in schema.type_map.values():
            if isinstance(graphql_type, GraphQLObjectType) and isinstance(entity, GraphQLInterfaceType):
                field_names = (
                    self._resolvers.keys() & graphql_type.fields.keys() if entity in graphql_type.interfaces else ()
                )
                for name in field_names:
                    graphql_type.fields[name].resolve = graphql_type.fields[name].resolve or self._resolvers[name]


def resolve_entity(_root: None, info: Info, *, urn: str) -> Node:
    """Return an entity of the type that the field is named for. Raises Invalid, NotFound (also if not viewable)."""
    return get_entity(urn, info, _TYPE_BY_QUERY_FIELD[info.field_name])


for _query_field in _TYPE_BY_QUERY_FIELD:
    query.set_field(_query_field, resolve_entity)


def load_entity(node: Node, info: Info) -> StoredEntity | None:
    """Return a stored entity, loaded for the whole batch; None for one that is not stored or may not be viewed."""
    context = info.context
    return context.load_batched(node.urn, "catalogue", lambda entity_urns: _load_entities(entity_urns, context))


def load_document(node: Node, info: Info, aspect: str) -> dict[str, Any] | None:
    """Return the parsed document of an aspect of a stored and viewable entity; None without one."""
    entity = load_entity(node, info)
    return None if entity is None else entity.document(aspect)


def resolve_name(node: Node, info: Info) -> str:
    """Return the display name of an entity; its identifier in the URN if it is not stored or may not be viewed."""
    entity = load_entity(node, info)
    return urns.parse(node.urn).identifier if entity is None else entity.name


def resolve_name_if_stored(node: Node, info: Info) -> str | None:
    """Return the display name of an entity; None if it is not stored or may not be viewed."""
    entity = load_entity(node, info)
    return None if entity is None else entity.name


def resolve_key_part(node: Node, info: Info) -> str | None:
    """Return the part of the key aspect for which the field is named, or the whole key if there is no such part."""
    parsed_urn = urns.parse(node.urn)
    return parsed_urn.key_document.get(_KEY_NAMES.get(info.field_name, info.field_name), parsed_urn.key)


#: Field → its name in the key aspect, where they differ.
_KEY_NAMES = {
    "instanceId": "instance",
    "hierarchicalName": "name",
    "tool": "dashboardTool",
}


def resolve_origin(node: Node, info: Info) -> str | None:
    """Return the environment in the URN, PROD if there is none that DataHub knows."""
    environment = urns.parse(node.urn).key_document.get("origin", "").upper()
    return nodes.enum_value(environment, "FabricType", info.schema, "PROD")


def resolve_exists(node: Node, info: Info) -> bool:
    """Whether the entity is stored and the caller may view it."""
    return load_entity(node, info) is not None


def resolve_description(node: Node, info: Info) -> str | None:
    """Return the description of the entity."""
    entity = load_entity(node, info)
    return None if entity is None else entity.description


def resolve_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the properties of the entity from its source, with the name and description that the pages show."""
    entity = load_entity(node, info)
    if entity is None:
        return None
    aspect = f"{node.kind}{'Info' if node.kind in _TYPES_WITH_INFO else 'Properties'}"
    document = entity.document(aspect) or {}
    return {
        **document,
        "name": entity.name,
        "description": entity.description,
        "customProperties": custom_properties(node.urn, document),
        # Fields that only some types have.
        "origin": resolve_origin(node, info),
        "definition": document.get("definition") or "",
        "termSource": document.get("termSource") or _TERM_SOURCE,
        "numAssets": len(document.get("assets") or ()),
        "lastModified": audit_stamp(entity, aspect),
        "created": audit_stamp(entity, aspect, "created"),
        "access": nodes.enum_value(document.get("access"), "AccessLevel", info.schema),
        "type": nodes.enum_value(document.get("type"), "ChartType", info.schema),
    }


def resolve_editable_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the edited properties of the entity, None if there are none."""
    return load_document(node, info, f"editable{node.kind[0].upper()}{node.kind[1:]}Properties")


def custom_properties(urn: str, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the custom properties of a document, in stored order."""
    values = document.get("customProperties")
    pairs = values.items() if isinstance(values, dict) else ()
    return [{"key": key, "value": None if value is None else str(value), "associatedUrn": urn} for key, value in pairs]


def audit_stamp(entity: StoredEntity, aspect: str, stamp_name: str = "lastModified") -> dict[str, Any]:
    """Return time (milliseconds) and actor of a document's change or creation: its own stamp, else the write's."""
    document = entity.document(aspect) or {}
    record = document.get("lastModified")
    stamps = record if isinstance(record, dict) and isinstance(record.get("lastModified"), dict) else document
    stamp = stamps.get(stamp_name)
    if isinstance(stamp, dict) and isinstance(stamp.get("time"), int):
        return {"time": stamp["time"], "actor": stamp.get("actor")}
    stored_aspect = entity.aspects.get(aspect)
    return {"time": 0, "actor": None} if stored_aspect is None else storage_stamp(stored_aspect)


def storage_stamp(aspect: aspect_documents.StoredAspect) -> dict[str, Any]:
    """Return time (milliseconds since 1970) and actor of the write of a document."""
    return {"time": int(aspect.created_at.timestamp() * 1000), "actor": aspect.created_by}


def resolve_platform(node: Node, info: Info) -> Node | None:
    """Return the platform in the URN, else that in `dataPlatformInstance`, else the unknown platform."""
    platform_urn = urns.parse(node.urn).platform
    if platform_urn is None:
        document = _load_instance_document(node, info)
        platform_urn = str(document.get("platform") or _UNKNOWN_PLATFORM)
    return nodes.build_one(platform_urn, info)


def resolve_platform_instance(node: Node, info: Info) -> Node | None:
    """Return the platform instance of the entity."""
    instance_urn = _load_instance_document(node, info).get("instance")
    return None if not isinstance(instance_urn, str) else nodes.build_one(instance_urn, info)


def _load_instance_document(node: Node, info: Info) -> Mapping[str, Any]:
    return load_document(node, info, "dataPlatformInstance") or {}


def resolve_document_info(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the `documentInfo` of a document."""
    return load_document(node, info, "documentInfo")


def resolve_data_flow(node: Node, info: Info) -> Node | None:
    """Return the pipeline of a task, as in its URN."""
    flow_urn = urns.parse(node.urn).key_document.get("flow", "")
    return None if urns.find_problem(flow_urn, "") is not None else nodes.build_one(flow_urn, info)


#: Types whose `name` is never null; for other types it is null if the entity is not stored or viewable.
_ALWAYS_NAMED_TYPES = (
    "Dataset",
    "Tag",
    "GlossaryTerm",
    "MLFeature",
    "MLFeatureTable",
    "MLModel",
    "MLModelGroup",
    "MLPrimaryKey",
)
always_named_types = tuple(ObjectType(type_name) for type_name in _ALWAYS_NAMED_TYPES)
for _object_type in always_named_types:
    _object_type.set_field("name", resolve_name)

document_type = ObjectType("Document")
document_type.set_field("info", resolve_document_info)

entity_fields = EntityFields(
    {
        "name": resolve_name_if_stored,
        "exists": resolve_exists,
        "properties": resolve_properties,
        "editableProperties": resolve_editable_properties,
        "description": resolve_description,
        "origin": resolve_origin,
        "platform": resolve_platform,
        "dataPlatformInstance": resolve_platform_instance,
        "dataFlow": resolve_data_flow,
        **dict.fromkeys(
            (
                "chartId",
                "cluster",
                "dashboardId",
                "featureNamespace",
                "flowId",
                "hierarchicalName",
                "id",
                "instanceId",
                "jobId",
                "orchestrator",
                "tool",
            ),
            resolve_key_part,
        ),
    }
)


def _load_entities(entity_urns: Collection[str], context: Context) -> Mapping[str, StoredEntity]:
    visible_urns = {urn for urn in entity_urns if urns.entity_type(urn) not in urns.PEOPLE_TYPES}
    visible_urns -= view_permissions.find_hidden(urns=visible_urns, by=context.by)
    documents = aspect_documents.load_documents(urns=sorted(visible_urns))
    names = authorizer.directory().load_names(urns=sorted(documents))
    entities = {
        urn: StoredEntity(urn, names.get(urn) or urn, aspects, _role_urns(aspects))
        for urn, aspects in documents.items()
    }
    # Added to the batch, so that the entities to which all of them refer are loaded at once.
    context.add_to_batch([referenced_urn for entity in entities.values() for referenced_urn in referenced_urns(entity)])
    return entities


def referenced_urns(entity: StoredEntity) -> Iterable[str]:
    """Yield the URNs that fields of the entity may return."""
    yield from entity.roles
    yield from filter(None, [urns.parse(entity.urn).platform])
    for aspect, key in _REFERENCE_KEYS:
        for entry in _as_list((entity.document(aspect) or {}).get(key)):
            yield from (text for text in _entry_texts(entry) if text.startswith("urn:li:"))


#: Aspect and key of the documents from which fields return other entities.
_REFERENCE_KEYS = (
    ("container", "container"),
    ("dataPlatformInstance", "instance"),
    ("dataPlatformInstance", "platform"),
    ("domainProperties", "parentDomain"),
    ("domains", "domainAssociations"),
    ("domains", "domains"),
    ("globalTags", "tags"),
    ("glossaryNodeInfo", "parentNode"),
    ("glossaryTermInfo", "parentNode"),
    ("glossaryTerms", "terms"),
    ("ownership", "owners"),
)


def as_text(value: object) -> str | None:
    """Return a text, None for a value that is none."""
    return value if isinstance(value, str) else None


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _entry_texts(entry: object) -> Iterable[str]:
    texts = entry.values() if isinstance(entry, dict) else (entry,)
    return (text for text in texts if isinstance(text, str))


def _find_description(aspects: Mapping[str, aspect_documents.StoredAspect]) -> str | None:
    for document in _descriptive_documents(aspects):
        text = document.get("description") or document.get("definition")
        if isinstance(text, str):
            return text
    return None


def _descriptive_documents(aspects: Mapping[str, aspect_documents.StoredAspect]) -> Iterable[Mapping[str, Any]]:
    # Edited documents come before those of the source.
    ordered_aspects = sorted(aspects.items(), key=lambda item: (not item[0].startswith("editable"), item[0]))
    documents = (aspect.value for name, aspect in ordered_aspects if name.endswith(_DESCRIPTIVE_SUFFIXES))
    return (document for document in documents if isinstance(document, dict))


def _role_urns(aspects: Mapping[str, aspect_documents.StoredAspect]) -> tuple[str, ...]:
    if "access" not in aspects:
        return ()
    role_urns = (entry["urn"] for entry in aspects["access"].value.get("roles") or ())
    return tuple(dict.fromkeys(role_urns))


BINDABLES = (query, document_type, *always_named_types, entity_fields)
