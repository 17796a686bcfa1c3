"""The catalog's entities: their names, properties and platforms.

Nothing is told of an entity that the caller may not view; whoever speaks of it names its URN.
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
from catalog.protocols.datahub_graphql.entities import stored
from catalog.protocols.datahub_graphql.nodes import Node
from policies.pdp import authorizer

query = QueryType()

#: Field of the query → the type of the entity that it returns by URN.
_BY_URN: Mapping[str, str] = {
    "dataPlatform": "dataPlatform",
    "dataProduct": "dataProduct",
    "dataset": "dataset",
    "domain": "domain",
    "glossaryNode": "glossaryNode",
    "glossaryTerm": "glossaryTerm",
    "role": external_role_queries.TYPE,
    "tag": "tag",
}

#: Ends of the names of the aspects that describe an entity.
_DESCRIBING = ("Properties", "Info")

#: Type → the aspect that holds its `properties`, and the one that holds its `editableProperties`.
_PROPERTIES: Mapping[str, str] = {
    "chart": "chartInfo",
    "container": "containerProperties",
    "dashboard": "dashboardInfo",
    "dataFlow": "dataFlowInfo",
    "dataJob": "dataJobInfo",
    "dataPlatformInstance": "dataPlatformInstanceProperties",
    "dataProduct": "dataProductProperties",
    "dataset": "datasetProperties",
    "domain": "domainProperties",
    "glossaryNode": "glossaryNodeInfo",
    "glossaryTerm": "glossaryTermInfo",
    "mlFeature": "mlFeatureProperties",
    "mlFeatureTable": "mlFeatureTableProperties",
    "mlModel": "mlModelProperties",
    "mlModelGroup": "mlModelGroupProperties",
    "mlPrimaryKey": "mlPrimaryKeyProperties",
    "tag": "tagProperties",
}

#: The platform of what names none, as DataHub spells it.
_UNKNOWN_PLATFORM = "urn:li:dataPlatform:unknown"

#: Where DataHub's GraphQL says a term comes from when nobody said.
_TERM_SOURCE = "INTERNAL"


@dataclass(frozen=True, slots=True)
class Told:
    """What is stored of an entity: its name, its documents, and the external roles it names."""

    urn: str
    name: str
    said: Mapping[str, aspect_documents.StoredAspect]
    roles: tuple[str, ...]

    def document(self, aspect: str) -> dict[str, Any] | None:
        """Return a document, parsed; None where there is none."""
        found = self.said.get(aspect)
        return None if found is None or not isinstance(found.value, dict) else found.value

    @property
    def description(self) -> str | None:
        """What it is said to be, by people before its source."""
        return _description(self.said)


class EntityFields(SchemaBindable):
    """Resolvers by field name, for every type of entities that has the field and no resolver of its own for it."""

    def __init__(self, resolvers: Mapping[str, Any]) -> None:
        self._resolvers = resolvers

    def bind_to_schema(self, schema: GraphQLSchema) -> None:
        """Bind the resolvers; ariadne looks for this name."""
        entity = schema.type_map["Entity"]
        for one in schema.type_map.values():
            if isinstance(one, GraphQLObjectType) and isinstance(entity, GraphQLInterfaceType):
                mine = self._resolvers.keys() & one.fields.keys() if entity in one.interfaces else ()
                for name in mine:
                    one.fields[name].resolve = one.fields[name].resolve or self._resolvers[name]


def by_urn(_root: None, info: Info, *, urn: str) -> Node:
    """Return an entity of the type that the field is named for. Raises NotFound, and Forbidden for one not viewed."""
    return stored(urn, info, _BY_URN[info.field_name])


for _field in _BY_URN:
    query.set_field(_field, by_urn)


def told(node: Node, info: Info) -> Told | None:
    """Return what is stored of an entity, looked up for all of a list at once; None for one that is not viewed."""
    here = info.context
    return here.look_up(node.urn, "catalogue", lambda asked: _catalogue(asked, here))


def name(node: Node, info: Info) -> str:
    """Return what people call the entity; the part of the URN that names it where nothing is stored or viewed."""
    found = told(node, info)
    return urns.parse(node.urn).identifier if found is None else found.name


def name_if_stored(node: Node, info: Info) -> str | None:
    """Return what people call the entity; nothing for one that is not stored, or not viewed."""
    found = told(node, info)
    return None if found is None else found.name


def key_part(node: Node, info: Info) -> str | None:
    """Return the part of the URN that the field is named for, as the key aspect says it."""
    parsed = urns.parse(node.urn)
    return parsed.key_document.get(_KEY_NAMES.get(info.field_name, info.field_name), parsed.key)


#: Field → its name in the key aspect, where they differ.
_KEY_NAMES = {
    "instanceId": "instance",
    "hierarchicalName": "name",
    "tool": "dashboardTool",
}


def origin(node: Node, info: Info) -> str | None:
    """Return the environment that the URN names, PROD where it names none that DataHub knows."""
    found = urns.parse(node.urn).key_document.get("origin", "").upper()
    return nodes.enum_value(found, "FabricType", info.schema, "PROD")


def exists(node: Node, info: Info) -> bool:
    """Whether it is stored, as far as the caller may know."""
    return told(node, info) is not None


def description(node: Node, info: Info) -> str | None:
    """Return what the entity is said to be."""
    found = told(node, info)
    return None if found is None else found.description


def properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the source of the entity says of it; name and description are those that people see."""
    found = told(node, info)
    if found is None:
        return None
    aspect = _PROPERTIES.get(node.kind, "")
    document = found.document(aspect) or {}
    return {
        **document,
        "name": found.name,
        "description": found.description,
        "customProperties": custom_properties(node.urn, document),
        # Fields that only some types have.
        "origin": origin(node, info),
        "definition": document.get("definition") or "",
        "termSource": document.get("termSource") or _TERM_SOURCE,
        "numAssets": len(document.get("assets") or ()),
        "lastModified": modified(found, aspect),
        "created": modified(found, aspect, "created"),
        "access": nodes.enum_value(document.get("access"), "AccessLevel", info.schema),
        "type": nodes.enum_value(document.get("type"), "ChartType", info.schema),
    }


def editable_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what people wrote about the entity; nothing where nobody did."""
    found = told(node, info)
    return None if found is None else found.document(f"editable{node.kind[0].upper()}{node.kind[1:]}Properties")


def custom_properties(urn: str, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the custom properties of a document in the order in which they are stored."""
    found = document.get("customProperties")
    pairs = found.items() if isinstance(found, dict) else ()
    return [{"key": key, "value": None if value is None else str(value), "associatedUrn": urn} for key, value in pairs]


def modified(found: Told, aspect: str, which: str = "lastModified") -> dict[str, Any]:
    """Return when a document was changed last, or created: as it says itself, else when it was stored here.

    Charts and dashboards keep both times in one record, `lastModified`.
    """
    document = found.document(aspect) or {}
    record = document.get("lastModified")
    stamps = record if isinstance(record, dict) and isinstance(record.get("lastModified"), dict) else document
    stamp = stamps.get(which)
    if isinstance(stamp, dict) and isinstance(stamp.get("time"), int):
        return {"time": stamp["time"], "actor": stamp.get("actor")}
    one = found.said.get(aspect)
    return {"time": 0, "actor": None} if one is None else stamp_of(one)


def stamp_of(aspect: aspect_documents.StoredAspect) -> dict[str, Any]:
    """Return when a document was stored, and by whom."""
    return {"time": int(aspect.created_at.timestamp() * 1000), "actor": aspect.created_by}


def platform(node: Node, info: Info) -> Node | None:
    """Return the platform that the URN names, else the one that `dataPlatformInstance` says, else the unknown one."""
    found = urns.parse(node.urn).platform
    if found is None:
        document = _instance_document(node, info)
        found = str(document.get("platform") or _UNKNOWN_PLATFORM)
    return nodes.one(found, info)


def platform_instance(node: Node, info: Info) -> Node | None:
    """Return the installation of its platform that the entity is in."""
    found = _instance_document(node, info).get("instance")
    return None if not isinstance(found, str) else nodes.one(found, info)


def _instance_document(node: Node, info: Info) -> Mapping[str, Any]:
    found = told(node, info)
    return {} if found is None else found.document("dataPlatformInstance") or {}


def document_info(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what a text in the catalog is titled."""
    found = told(node, info)
    return None if found is None else found.document("documentInfo")


def data_flow(node: Node, info: Info) -> Node | None:
    """Return the pipeline that a task belongs to, as its URN says."""
    flow = urns.parse(node.urn).key_document.get("flow", "")
    return None if urns.problem(flow, "") is not None else nodes.one(flow, info)


#: Types of which `name` is text at all times; of the others it is left out where nothing is stored.
_NAMED = ("Dataset", "Tag", "GlossaryTerm", "MLFeature", "MLFeatureTable", "MLModel", "MLModelGroup", "MLPrimaryKey")
named = tuple(ObjectType(one) for one in _NAMED)
for _type in named:
    _type.set_field("name", name)

document = ObjectType("Document")
document.set_field("info", document_info)

fields = EntityFields(
    {
        "name": name_if_stored,
        "exists": exists,
        "properties": properties,
        "editableProperties": editable_properties,
        "description": description,
        "origin": origin,
        "platform": platform,
        "dataPlatformInstance": platform_instance,
        "dataFlow": data_flow,
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
            key_part,
        ),
    }
)


def _catalogue(asked: Collection[str], here: Context) -> Mapping[str, Told]:
    mine = {urn for urn in asked if urns.type_of(urn) not in urns.PEOPLE_TYPES}
    mine -= view_permissions.hidden(urns=mine, by=here.by)
    documents = aspect_documents.documents(urns=sorted(mine))
    names = authorizer.directory().names(urns=sorted(documents))
    found = {urn: Told(urn, names.get(urn) or urn, said, _roles_of(said)) for urn, said in documents.items()}
    # Noted here, so that what all of them name is looked up at once.
    here.note([one for told in found.values() for one in named_by(told)])
    return found


def named_by(found: Told) -> Iterable[str]:
    """Yield the URNs that a field of the entity may answer with."""
    yield from found.roles
    yield from filter(None, [urns.parse(found.urn).platform])
    for aspect, key in _NAMING:
        for entry in _listed((found.document(aspect) or {}).get(key)):
            yield from (one for one in _listed_texts(entry) if one.startswith("urn:li:"))


#: Aspect and key of the documents whose fields answer with other entities.
_NAMING = (
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


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _listed_texts(entry: object) -> Iterable[str]:
    texts = entry.values() if isinstance(entry, dict) else (entry,)
    return (one for one in texts if isinstance(one, str))


def _description(said: Mapping[str, aspect_documents.StoredAspect]) -> str | None:
    for one in _describing(said):
        text = one.get("description") or one.get("definition")
        if isinstance(text, str):
            return text
    return None


def _describing(said: Mapping[str, aspect_documents.StoredAspect]) -> Iterable[Mapping[str, Any]]:
    # What people wrote goes before what the source delivered.
    ordered = sorted(said.items(), key=lambda item: (not item[0].startswith("editable"), item[0]))
    documents = (one.value for name, one in ordered if name.endswith(_DESCRIBING))
    return (document for document in documents if isinstance(document, dict))


def _roles_of(said: Mapping[str, aspect_documents.StoredAspect]) -> tuple[str, ...]:
    if "access" not in said:
        return ()
    named = (entry["urn"] for entry in said["access"].value.get("roles") or ())
    return tuple(dict.fromkeys(named))


BINDABLES = (query, document, *named, fields)
