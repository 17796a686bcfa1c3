"""Annotations of an entity: tags, terms, owners, domains, links, deprecation, status and parents.

A URN in an annotation is returned even if the caller may not view its entity; its fields are those of a hidden entity.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ariadne import ObjectType, UnionType

from catalog import urns
from catalog.access import people_records
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.datasets_and_roles import (
    EntityFields,
    StoredEntity,
    as_text,
    audit_stamp,
    load_entity,
    referenced_urns,
    storage_stamp,
)
from catalog.protocols.datahub_graphql.nodes import Node
from policies.engine.model import SYSTEM_ACTOR

owner_type = UnionType("OwnerType")
actor_type = UnionType("ResolvedActor")
deprecation_type = ObjectType("Deprecation")

_OWNER_TYPES = ("corpuser", "corpGroup")

#: Most levels of a list of parents; real hierarchies are shorter.
_MAX_PARENTS = 50

#: Prefix of the URNs of the ownership types that replace the older `type`.
_SYSTEM_TYPE_PREFIX = "urn:li:ownershipType:__system__"


@owner_type.type_resolver
@actor_type.type_resolver
def resolve_owner_type(node: Node, *_: Any) -> str:
    """Return the GraphQL type of an owner."""
    return str(nodes.resolve_graphql_type(node))


def resolve_tags(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the tags of the entity itself, not of its columns."""
    return build_tags(_load_document(node, info, "globalTags"), node, info)


def build_tags(document: Mapping[str, Any] | None, node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the tags in a `globalTags` document of the entity or one of its columns; None without a document."""
    if document is None:
        return None
    entries = document.get("tags") or ()
    tag_nodes = nodes.build_many([entry["tag"] for entry in entries], info)
    return {
        "tags": [
            {"tag": tag, "context": as_text(entry.get("context")), "associatedUrn": node.urn}
            for entry, tag in zip(entries, tag_nodes, strict=True)
        ]
    }


def resolve_terms(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the glossary terms of the entity itself, not of its columns."""
    return build_terms(_load_document(node, info, "glossaryTerms"), node, info)


def build_terms(document: Mapping[str, Any] | None, node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the glossary terms in a `glossaryTerms` document, as `build_tags` does."""
    if document is None:
        return None
    entries = document.get("terms") or ()
    term_nodes = nodes.build_many([entry["urn"] for entry in entries], info)
    return {
        "terms": [
            {
                "term": term,
                "actor": _as_user(entry.get("actor"), info),
                "context": as_text(entry.get("context")),
                "associatedUrn": node.urn,
            }
            for entry, term in zip(entries, term_nodes, strict=True)
        ]
    }


def resolve_ownership(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the owners of the entity with their ownership types."""
    entity = _load_entity_or_person(node, info)
    document = None if entity is None else entity.document("ownership")
    if entity is None or document is None:
        return None
    entries = [entry for entry in document.get("owners") or () if urns.entity_type(entry["owner"]) in _OWNER_TYPES]
    owners = nodes.build_many([entry["owner"] for entry in entries], info)
    return {
        "owners": [_build_owner(entry, owner, node, info) for entry, owner in zip(entries, owners, strict=True)],
        "lastModified": audit_stamp(entity, "ownership"),
    }


def resolve_domain(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the first domain of the entity, as shown in DataHub's pages."""
    document = _load_document(node, info, "domains")
    if document is None:
        return None
    associated_urns = [entry["domain"] for entry in document.get("domainAssociations") or ()]
    listed_urns = document.get("domains") or []
    domain_urns = (associated_urns or listed_urns) if node.kind == "dataProduct" else (listed_urns or associated_urns)
    return {"domain": nodes.build_one(domain_urns[0], info), "associatedUrn": node.urn} if domain_urns else None


def resolve_deprecation(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the deprecation of the entity, None without one."""
    return _load_document(node, info, "deprecation")


@deprecation_type.field("actorEntity")
@deprecation_type.field("replacement")
def resolve_deprecation_entity(document: Mapping[str, Any], info: Info) -> Node | None:
    """Return the user who deprecated the entity, or its replacement."""
    return _as_entity(document.get("actor" if info.field_name == "actorEntity" else "replacement"), info)


def resolve_browse_path(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the browse path of the entity, outermost entry first."""
    document = _load_document(node, info, "browsePathsV2")
    if document is None:
        return None
    entries = [entry for entry in document.get("path") or () if isinstance(entry, dict) and as_text(entry.get("id"))]
    return {"path": [{"name": entry["id"], "entity": _as_entity(entry.get("urn"), info)} for entry in entries]}


def resolve_status(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return whether the entity is soft-deleted; None without a `status` aspect."""
    document = _load_document(node, info, "status")
    return None if document is None else {"removed": bool(document.get("removed"))}


def resolve_sub_types(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the subtypes of the entity, such as a view among datasets."""
    return _load_document(node, info, "subTypes")


def resolve_sub_type(node: Node, info: Info) -> str | None:
    """Return the first subtype of the entity."""
    names = (resolve_sub_types(node, info) or {}).get("typeNames") or [None]
    name: str | None = names[0]
    return name


def resolve_links(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the links to pages about the entity."""
    entity = _load_entity_or_person(node, info)
    document = None if entity is None else entity.document("institutionalMemory")
    if entity is None or document is None:
        return None
    stored_stamp = storage_stamp(entity.aspects["institutionalMemory"])
    return {"elements": [_build_link(entry, stored_stamp, node, info) for entry in document.get("elements") or ()]}


def resolve_container(node: Node, info: Info) -> Node | None:
    """Return the container of the entity."""
    container_urn = _find_parent_urn(load_entity(node, info), "container")
    return None if container_urn is None else nodes.build_one(container_urn, info)


def resolve_parents(node: Node, info: Info) -> Mapping[str, Any]:
    """Return the containers, domains or term groups above the entity, nearest first."""
    member, kind = _PARENT_LISTS[info.field_name]
    ancestors = _load_ancestors(node, info, kind)
    return {"count": len(ancestors), member: ancestors}


#: Field → the member of its list, and the type of the parents in it.
_PARENT_LISTS: Mapping[str, tuple[str, str]] = {
    "parentContainers": ("containers", "container"),
    "parentDomains": ("domains", "domain"),
    "parentNodes": ("nodes", "glossaryNode"),
}


def _load_ancestors(node: Node, info: Info, kind: str) -> list[Node]:
    """Return the parents of a type, nearest first, up to one that is not stored or viewable; one lookup per level."""
    parent_urns: list[str] = []
    current: Node = node
    while len(parent_urns) < _MAX_PARENTS:
        parent_urn = _find_parent_urn(load_entity(current, info), kind)
        if parent_urn is None or parent_urn in parent_urns or parent_urn == node.urn:
            break
        current = nodes.build_one(parent_urn, info)
        if load_entity(current, info) is None:
            break
        parent_urns.append(parent_urn)
    return nodes.build_many(parent_urns, info)


def _find_parent_urn(entity: StoredEntity | None, kind: str) -> str | None:
    if entity is None:
        return None
    for aspect, key in _PARENT_KEYS[kind]:
        parent_urn = (entity.document(aspect) or {}).get(key)
        if isinstance(parent_urn, str):
            return parent_urn
    return None


#: Type of a parent → the aspects and keys that hold its URN.
_PARENT_KEYS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "container": (("container", "container"),),
    "domain": (("domainProperties", "parentDomain"),),
    "glossaryNode": (("glossaryTermInfo", "parentNode"), ("glossaryNodeInfo", "parentNode")),
}


def _build_owner(entry: Mapping[str, Any], owner: Node, node: Node, info: Info) -> dict[str, Any]:
    legacy_type = nodes.enum_value(entry.get("type"), "OwnershipType", info.schema)
    type_urn = entry.get("typeUrn") or (f"{_SYSTEM_TYPE_PREFIX}{legacy_type.lower()}" if legacy_type else None)
    return {
        "owner": owner,
        "type": legacy_type,
        "ownershipType": None if type_urn is None else nodes.build_one(type_urn, info),
        "associatedUrn": node.urn,
    }


def _build_link(entry: Mapping[str, Any], stored_stamp: Mapping[str, Any], node: Node, info: Info) -> dict[str, Any]:
    stamp = entry.get("createStamp")
    created_stamp = stamp if isinstance(stamp, dict) and isinstance(stamp.get("time"), int) else stored_stamp
    label = entry.get("description") or ""
    author = _as_user(created_stamp.get("actor"), info) or nodes.build_one(SYSTEM_ACTOR, info)
    return {
        "url": entry["url"],
        "label": label,
        "description": label,
        "author": author,
        "actor": author,
        "created": created_stamp,
        "associatedUrn": node.urn,
    }


def _as_entity(urn: object, info: Info) -> Node | None:
    return nodes.build_one(urn, info) if isinstance(urn, str) and urns.find_problem(urn, "") is None else None


def _as_user(urn: object, info: Info) -> Node | None:
    return nodes.build_one(urn, info) if isinstance(urn, str) and urns.entity_type(urn) == "corpuser" else None


def _load_entity_or_person(node: Node, info: Info) -> StoredEntity | None:
    """Return the stored entity; unlike `load_entity`, also for users, groups, roles and policies."""
    if node.kind not in urns.PEOPLE_TYPES:
        return load_entity(node, info)
    context = info.context
    return context.load_batched(
        node.urn, "annotations of people", lambda entity_urns: _load_people(entity_urns, context)
    )


def _load_document(node: Node, info: Info, aspect: str) -> dict[str, Any] | None:
    entity = _load_entity_or_person(node, info)
    return None if entity is None else entity.document(aspect)


def _load_people(entity_urns: Collection[str], context: Context) -> Mapping[str, StoredEntity]:
    people_urns = [urn for urn in entity_urns if urns.entity_type(urn) in urns.PEOPLE_TYPES]
    documents = people_records.load_visible_documents(urns=people_urns, by=context.by) if people_urns else {}
    entities = {urn: StoredEntity(urn, urn, aspects, ()) for urn, aspects in documents.items()}
    context.add_to_batch([referenced_urn for entity in entities.values() for referenced_urn in referenced_urns(entity)])
    return entities


_RESOLVERS: Mapping[str, Callable[[Node, Info], Any]] = {
    "browsePathV2": resolve_browse_path,
    "container": resolve_container,
    "deprecation": resolve_deprecation,
    "domain": resolve_domain,
    "globalTags": resolve_tags,
    "glossaryTerms": resolve_terms,
    "institutionalMemory": resolve_links,
    "ownership": resolve_ownership,
    **dict.fromkeys(_PARENT_LISTS, resolve_parents),
    "status": resolve_status,
    "subType": resolve_sub_type,
    "subTypes": resolve_sub_types,
    "tags": resolve_tags,
}

BINDABLES = (owner_type, actor_type, deprecation_type, EntityFields(_RESOLVERS))
