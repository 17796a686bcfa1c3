"""Tags, domains, the glossary, ownership types and data products: lists, and what makes, changes and deletes them."""

from collections.abc import Mapping
from typing import Any

from ariadne import MutationType, QueryType

from catalog.access import browsing, entity_lists
from catalog.entities import annotations, vocabulary
from catalog.ingest import deletes, product_assets
from catalog.protocols.datahub_graphql import nodes, paging
from catalog.protocols.datahub_graphql.attachments import bounded, owner_pairs
from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import checked
from catalog.protocols.datahub_graphql.nodes import Node
from policies.models import Gate, open_write

query = QueryType()
mutation = MutationType()

#: Relationship of a term to others → the list of its document that names them.
_RELATED: Mapping[str, str] = {"isA": "isRelatedTerms", "hasA": "hasRelatedTerms"}

#: Field → the type of what it makes or deletes.
_KINDS: Mapping[str, tuple[str, ...]] = {
    "createDomain": ("domain",),
    "createGlossaryNode": ("glossaryNode",),
    "createGlossaryTerm": ("glossaryTerm",),
    "createTag": ("tag",),
    "deleteDataProduct": ("dataProduct",),
    "deleteDomain": ("domain",),
    "deleteGlossaryEntity": ("glossaryNode", "glossaryTerm"),
    "deleteTag": ("tag",),
}


@query.field("listOwnershipTypes")
def list_ownership_types(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of ownership types, by URN; whoever is signed in may list them."""
    rows = entity_lists.search(text=paging.words(input), types=["ownershipType"]).order_by("urn")
    return paging.part(rows, input, "ownershipTypes", lambda found: nodes.many([row.urn for row in found], info))


@query.field("listDomains")
def list_domains(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of domains that the caller may view, by name."""
    by, words = info.context.by, paging.words(input)
    rows = browsing.find(text=words, type="domain", by=by)
    if not words:
        rows = browsing.below(type="domain", under=input.get("parentDomain") or "", by=by)
    return paging.part(rows, input, "domains", lambda found: nodes.many([row.urn for row in found], info))


@query.field("getRootGlossaryTerms")
def root_terms(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the terms that are in no group."""
    rows = browsing.without_parent(type="glossaryTerm", by=info.context.by)
    return paging.part(rows, input, "terms", lambda found: nodes.many([row.urn for row in found], info))


@query.field("getRootGlossaryNodes")
def root_nodes(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the term groups that are in no other."""
    rows = browsing.without_parent(type="glossaryNode", by=info.context.by)
    return paging.part(rows, input, "nodes", lambda found: nodes.many([row.urn for row in found], info))


@mutation.field("createTag")
@mutation.field("createDomain")
@mutation.field("createGlossaryTerm")
@mutation.field("createGlossaryNode")
def create(_root: None, info: Info, *, input: Mapping[str, Any]) -> str:
    """Make a tag, domain, term or term group and return its URN."""
    return vocabulary.create(
        kind=_KINDS[info.field_name][0],
        identifier=input.get("id"),
        name=input["name"],
        description=input.get("description") or "",
        parent=input.get("parentDomain") or input.get("parentNode"),
        by=info.context.by,
        door=DOOR,
    )


@mutation.field("deleteTag")
@mutation.field("deleteDomain")
@mutation.field("deleteGlossaryEntity")
@mutation.field("deleteDataProduct")
def delete(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a tag, domain, term, term group or data product."""
    vocabulary.delete(urn=checked(urn, *_KINDS[info.field_name]), by=info.context.by, door=DOOR)
    return True


@mutation.field("updateTag")
def update_tag(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set name, description and owners of a tag, and return it."""
    by = info.context.by
    with open_write(Gate.CATALOG):
        vocabulary.update(
            urn=checked(urn, "tag"), name=input["name"], description=input.get("description"), by=by, door=DOOR
        )
        if input.get("ownership") is not None:
            wanted = owner_pairs(bounded(input["ownership"]["owners"], "/ownership/owners"), key="owner")
            annotations.set_owners(urn=urn, owners=wanted, by=by, door=DOOR)
    return nodes.one(urn, info)


@mutation.field("setTagColor")
def set_tag_color(_root: None, info: Info, *, urn: str, colorHex: str) -> bool:  # noqa: N803  # the schema's
    """Set the colour of a tag."""
    vocabulary.recolor(urn=checked(urn, "tag"), color=colorHex, by=info.context.by, door=DOOR)
    return True


@mutation.field("moveDomain")
def move_domain(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Put a domain into another, or into none."""
    urn = checked(input["resourceUrn"], "domain")
    vocabulary.move(urn=urn, parent=input.get("parentDomain"), by=info.context.by, door=DOOR)
    return True


@mutation.field("updateParentNode")
def move_glossary_entity(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Put a term or term group into another group, or into none."""
    urn = checked(input["resourceUrn"], "glossaryTerm", "glossaryNode")
    vocabulary.move(urn=urn, parent=input.get("parentNode"), by=info.context.by, door=DOOR)
    return True


@mutation.field("addRelatedTerms")
@mutation.field("removeRelatedTerms")
def relate(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Relate a term to others as what it is or has, or end that."""
    others = [checked(one, "glossaryTerm") for one in bounded(input["termUrns"], "/termUrns")]
    is_added = info.field_name == "addRelatedTerms"
    annotations.relate_terms(
        urn=checked(input["urn"], "glossaryTerm"),
        kind=_RELATED[input["relationshipType"]],
        add=others if is_added else (),
        remove=() if is_added else others,
        by=info.context.by,
        door=DOOR,
    )
    return True


@mutation.field("createOwnershipType")
def create_ownership_type(_root: None, info: Info, *, input: Mapping[str, Any]) -> Node:
    """Make an ownership type under an id made here, and return it."""
    made = vocabulary.create(
        kind="ownershipType",
        identifier=None,
        name=input["name"],
        description=input["description"],
        by=info.context.by,
        door=DOOR,
    )
    return nodes.one(made, info)


@mutation.field("updateOwnershipType")
@mutation.field("updateDataProduct")
def update(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set name and description of an ownership type or data product, those that are given, and return it."""
    kind = "ownershipType" if info.field_name == "updateOwnershipType" else "dataProduct"
    vocabulary.update(
        urn=checked(urn, kind),
        name=input.get("name"),
        description=input.get("description"),
        by=info.context.by,
        door=DOOR,
    )
    return nodes.one(urn, info)


@mutation.field("deleteOwnershipType")
def delete_ownership_type(
    _root: None,
    info: Info,
    *,
    urn: str,
    deleteReferences: bool | None = None,  # noqa: N803  # the schema's
) -> bool:
    """Delete an ownership type, and where asked the mention of it by owners."""
    by = info.context.by
    checked(urn, "ownershipType")
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        if deleteReferences:
            deletes.references(urn=urn, by=by, door=DOOR, dry_run=False)
        vocabulary.delete(urn=urn, by=by, door=DOOR)
    return True


@mutation.field("createDataProduct")
def create_product(_root: None, info: Info, *, input: Mapping[str, Any]) -> Node:
    """Make a data product in a domain, and return it."""
    made = vocabulary.create_product(
        identifier=input.get("id"),
        name=input["properties"]["name"],
        description=input["properties"].get("description") or "",
        domain=input["domainUrn"],
        by=info.context.by,
        door=DOOR,
    )
    return nodes.one(made, info)


@mutation.field("batchSetDataProduct")
def set_product(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Put assets into a data product, or take them out of every one."""
    assets = [checked(urn) for urn in bounded(input["resourceUrns"], "/resourceUrns")]
    by, product = info.context.by, input.get("dataProductUrn")
    if product is None:
        product_assets.take_assets(assets=assets, by=by, door=DOOR)
    else:
        product_assets.put_assets(product=checked(product, "dataProduct"), assets=assets, by=by, door=DOOR)
    return True


BINDABLES = (query, mutation)
