"""What is attached to an entity: tags, terms, owners, domains, links, deprecation, and what it lies in.

What one of them names is named here whoever asks; more is told of it as of every entity.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ariadne import ObjectType, UnionType

from catalog import urns
from catalog.access import people_records
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.datasets_and_roles import EntityFields, Told, modified, named_by, stamp_of, told
from catalog.protocols.datahub_graphql.nodes import Node
from policies.engine.model import SYSTEM_ACTOR

owner_type = UnionType("OwnerType")
actor_type = UnionType("ResolvedActor")
deprecated = ObjectType("Deprecation")

_OWNERS = ("corpuser", "corpGroup")

#: Most levels that a list of parents goes up; hierarchies are shorter, and a loop among them ends here.
_MAX_PARENTS = 50

#: How the URNs of the ownership types begin that stand for the older `type`.
_SYSTEM_TYPES = "urn:li:ownershipType:__system__"


@owner_type.type_resolver
@actor_type.type_resolver
def owner_kind(node: Node, *_: Any) -> str:
    """Return the type that an owner is answered as."""
    return str(nodes.told_as(node))


def tags(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the tags of the entity itself."""
    found = _said(node, info)
    return None if found is None else build_tags(found.document("globalTags"), node, info)


def build_tags(document: Mapping[str, Any] | None, node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the tags that a document names, of the entity or one of its columns; nothing without a document."""
    if document is None:
        return None
    entries = document.get("tags") or ()
    found_tags = nodes.many([entry["tag"] for entry in entries], info)
    return {
        "tags": [
            {"tag": tag, "context": _text(entry.get("context")), "associatedUrn": node.urn}
            for entry, tag in zip(entries, found_tags, strict=True)
        ]
    }


def terms(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the glossary terms of the entity itself."""
    found = _said(node, info)
    return None if found is None else build_terms(found.document("glossaryTerms"), node, info)


def build_terms(document: Mapping[str, Any] | None, node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the glossary terms that a document names, as `build_tags` does."""
    if document is None:
        return None
    entries = document.get("terms") or ()
    found_terms = nodes.many([entry["urn"] for entry in entries], info)
    return {
        "terms": [
            {
                "term": term,
                "actor": _user(entry.get("actor"), info),
                "context": _text(entry.get("context")),
                "associatedUrn": node.urn,
            }
            for entry, term in zip(entries, found_terms, strict=True)
        ]
    }


def ownership(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return who owns the entity, and as what."""
    found = _said(node, info)
    document = None if found is None else found.document("ownership")
    if found is None or document is None:
        return None
    entries = [entry for entry in document.get("owners") or () if urns.type_of(entry["owner"]) in _OWNERS]
    owners = nodes.many([entry["owner"] for entry in entries], info)
    return {
        "owners": [_owner(entry, who, node, info) for entry, who in zip(entries, owners, strict=True)],
        "lastModified": modified(found, "ownership"),
    }


def domain(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the first domain of the entity, as DataHub's pages show it."""
    found = _said(node, info)
    document = None if found is None else found.document("domains")
    if document is None:
        return None
    associated = [entry["domain"] for entry in document.get("domainAssociations") or ()]
    listed = document.get("domains") or []
    named = (associated or listed) if node.kind == "dataProduct" else (listed or associated)
    return {"domain": nodes.one(named[0], info), "associatedUrn": node.urn} if named else None


def deprecation(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return whether the entity should still be used, and why not."""
    found = _said(node, info)
    return None if found is None else found.document("deprecation")


@deprecated.field("actorEntity")
@deprecated.field("replacement")
def named_by_deprecation(document: Mapping[str, Any], info: Info) -> Node | None:
    """Return who deprecated the entity, or what is to be used instead."""
    return _entity(document.get("actor" if info.field_name == "actorEntity" else "replacement"), info)


def browse_path(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the path on which pages let people browse to the entity, from the outermost."""
    found = _said(node, info)
    document = None if found is None else found.document("browsePathsV2")
    if document is None:
        return None
    entries = [entry for entry in document.get("path") or () if isinstance(entry, dict) and _text(entry.get("id"))]
    return {"path": [{"name": entry["id"], "entity": _entity(entry.get("urn"), info)} for entry in entries]}


def status(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return whether the entity was deleted softly; nothing where nobody ever said."""
    found = _said(node, info)
    document = None if found is None else found.document("status")
    return None if document is None else {"removed": bool(document.get("removed"))}


def sub_types(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what kind of its type the entity is, such as a view."""
    found = _said(node, info)
    return None if found is None else found.document("subTypes")


def sub_type(node: Node, info: Info) -> str | None:
    """Return the first of its kinds."""
    names = (sub_types(node, info) or {}).get("typeNames") or [None]
    found: str | None = names[0]
    return found


def links(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the links to pages about the entity."""
    found = _said(node, info)
    document = None if found is None else found.document("institutionalMemory")
    if found is None or document is None:
        return None
    stored = stamp_of(found.said["institutionalMemory"])
    return {"elements": [_link(entry, stored, node, info) for entry in document.get("elements") or ()]}


def container(node: Node, info: Info) -> Node | None:
    """Return the container that the entity lies in."""
    named = _parent_of(told(node, info), "container")
    return None if named is None else nodes.one(named, info)


def parent_containers(node: Node, info: Info) -> Mapping[str, Any]:
    """Return the containers above the entity, from the nearest outwards."""
    found = _above(node, info, "container")
    return {"count": len(found), "containers": found}


def parent_domains(node: Node, info: Info) -> Mapping[str, Any]:
    """Return the domains above a domain, from the nearest outwards."""
    found = _above(node, info, "domain")
    return {"count": len(found), "domains": found}


def parent_nodes(node: Node, info: Info) -> Mapping[str, Any]:
    """Return the term groups above a term or a group, from the nearest outwards."""
    found = _above(node, info, "glossaryNode")
    return {"count": len(found), "nodes": found}


def _above(node: Node, info: Info, kind: str) -> list[Node]:
    """Return the parents of a type, nearest first, as far up as they are stored and viewed; one look-up a level."""
    found: list[str] = []
    here: Node = node
    while len(found) < _MAX_PARENTS:
        named = _parent_of(told(here, info), kind)
        if named is None or named in found or named == node.urn:
            break
        here = nodes.one(named, info)
        if told(here, info) is None:
            break
        found.append(named)
    return nodes.many(found, info)


def _parent_of(found: Told | None, kind: str) -> str | None:
    if found is None:
        return None
    for aspect, key in _PARENTHOOD[kind]:
        named = (found.document(aspect) or {}).get(key)
        if isinstance(named, str):
            return named
    return None


#: Type of a parent → the aspects and keys that name one.
_PARENTHOOD: Mapping[str, tuple[tuple[str, str], ...]] = {
    "container": (("container", "container"),),
    "domain": (("domainProperties", "parentDomain"),),
    "glossaryNode": (("glossaryTermInfo", "parentNode"), ("glossaryNodeInfo", "parentNode")),
}


def _owner(entry: Mapping[str, Any], who: Node, node: Node, info: Info) -> dict[str, Any]:
    legacy = nodes.enum_value(entry.get("type"), "OwnershipType", info.schema)
    named = entry.get("typeUrn") or (f"{_SYSTEM_TYPES}{legacy.lower()}" if legacy else None)
    return {
        "owner": who,
        "type": legacy,
        "ownershipType": None if named is None else nodes.one(named, info),
        "associatedUrn": node.urn,
    }


def _link(entry: Mapping[str, Any], stored: Mapping[str, Any], node: Node, info: Info) -> dict[str, Any]:
    stamp = entry.get("createStamp")
    created = stamp if isinstance(stamp, dict) and isinstance(stamp.get("time"), int) else stored
    label = entry.get("description") or ""
    author = _user(created.get("actor"), info) or nodes.one(SYSTEM_ACTOR, info)
    return {
        "url": entry["url"],
        "label": label,
        "description": label,
        "author": author,
        "actor": author,
        "created": created,
        "associatedUrn": node.urn,
    }


def _entity(urn: object, info: Info) -> Node | None:
    return nodes.one(urn, info) if isinstance(urn, str) and urns.problem(urn, "") is None else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _user(urn: object, info: Info) -> Node | None:
    return nodes.one(urn, info) if isinstance(urn, str) and urns.type_of(urn) == "corpuser" else None


def _said(node: Node, info: Info) -> Told | None:
    """Return what is stored of an entity, also beside what `policies` keeps of people."""
    if node.kind not in urns.PEOPLE_TYPES:
        return told(node, info)
    here = info.context
    return here.look_up(node.urn, "annotations of people", lambda asked: _of_people(asked, here))


def _of_people(asked: Collection[str], here: Context) -> Mapping[str, Told]:
    mine = [urn for urn in asked if urns.type_of(urn) in urns.PEOPLE_TYPES]
    documents = people_records.documents_for(urns=mine, by=here.by) if mine else {}
    found = {urn: Told(urn, urn, said, ()) for urn, said in documents.items()}
    here.note([one for told in found.values() for one in named_by(told)])
    return found


_RESOLVERS: Mapping[str, Callable[[Node, Info], Any]] = {
    "browsePathV2": browse_path,
    "container": container,
    "deprecation": deprecation,
    "domain": domain,
    "globalTags": tags,
    "glossaryTerms": terms,
    "institutionalMemory": links,
    "ownership": ownership,
    "parentContainers": parent_containers,
    "parentDomains": parent_domains,
    "parentNodes": parent_nodes,
    "status": status,
    "subType": sub_type,
    "subTypes": sub_types,
    "tags": tags,
}

BINDABLES = (owner_type, actor_type, deprecated, EntityFields(_RESOLVERS))
