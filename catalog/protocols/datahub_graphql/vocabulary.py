"""Tags, domains, the glossary, ownership types and data products: lists and mutations."""

import json
from collections.abc import Mapping
from typing import Any

from ariadne import MutationType, QueryType

from catalog.access import aspect_documents, browsing, entity_lists
from catalog.entities import annotations, logical_models, vocabulary
from catalog.entities.annotations import OwnerPair
from catalog.ingest import deletes, product_assets
from catalog.protocols.datahub_graphql import nodes, paging
from catalog.protocols.datahub_graphql.attachments import (
    build_edit,
    check_owner_pairs,
    check_pair_count,
    parse_owner_pairs,
)
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import validate_entries, validate_urn
from catalog.protocols.datahub_graphql.nodes import Node
from policies.models import Gate, open_write

query = QueryType()
mutation = MutationType()

#: Relationship of a term to others → the list in its document with their URNs.
_RELATED_TERM_LISTS: Mapping[str, str] = {"isA": "isRelatedTerms", "hasA": "hasRelatedTerms"}

#: Field → the type of the roots, and the member of their list.
_GLOSSARY_ROOTS = {"getRootGlossaryTerms": ("glossaryTerm", "terms"), "getRootGlossaryNodes": ("glossaryNode", "nodes")}

#: Field → the entity types that it creates or deletes.
_TYPES_BY_FIELD: Mapping[str, tuple[str, ...]] = {
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
    """Return a page of ownership types, by URN; every signed-in caller may list them."""
    rows = entity_lists.search(text=paging.query_words(input), types=["ownershipType"]).order_by("urn")
    return paging.load_nodes_page(rows, input, "ownershipTypes", info)


@query.field("listDomains")
def list_domains(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of viewable domains: search matches, best first, else those of a parent, by name."""
    by, words = info.context.by, paging.query_words(input)
    rows = browsing.find(q=words, type="domain", by=by)
    if not words:
        rows = browsing.list_child_nodes(type="domain", parent=input.get("parentDomain") or "", by=by)
    return paging.load_nodes_page(rows, input, "domains", info)


@query.field("getRootGlossaryTerms")
@query.field("getRootGlossaryNodes")
def list_glossary_roots(_root: None, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the viewable terms or term groups that are in no term group, by name."""
    kind, member = _GLOSSARY_ROOTS[info.field_name]
    return paging.load_nodes_page(browsing.list_parentless(type=kind, by=info.context.by), input, member, info)


@mutation.field("createTag")
@mutation.field("createDomain")
@mutation.field("createGlossaryTerm")
@mutation.field("createGlossaryNode")
def create_entity(_root: None, info: Info, *, input: Mapping[str, Any]) -> str:
    """Create a tag, domain, term or term group and return its URN."""
    return vocabulary.create(
        kind=_TYPES_BY_FIELD[info.field_name][0],
        identifier=input.get("id"),
        name=input["name"],
        description=input.get("description") or "",
        parent=input.get("parentDomain") or input.get("parentNode"),
        by=info.context.by,
        channel=CHANNEL,
    )


@mutation.field("deleteTag")
@mutation.field("deleteDomain")
@mutation.field("deleteGlossaryEntity")
@mutation.field("deleteDataProduct")
def delete_entity(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a tag, domain, term, term group or data product."""
    vocabulary.delete(urn=validate_urn(urn, *_TYPES_BY_FIELD[info.field_name]), by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("updateTag")
def update_tag(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set name, description and owners of a tag, and return it. Raises Invalid for owners that do not exist."""
    with open_write(Gate.CATALOG):
        vocabulary.update(
            urn=validate_urn(urn, "tag"),
            name=input["name"],
            description=input.get("description"),
            by=info.context.by,
            channel=CHANNEL,
        )
        if input.get("ownership") is not None:
            owners = parse_owner_pairs(validate_entries(input["ownership"]["owners"], "/ownership/owners"), key="owner")
            # An owner who is there already may have been removed since: clients send the whole list.
            stored_owners = _load_owner_pairs(urn)
            check_owner_pairs([owner for owner in owners if owner not in stored_owners], by=info.context.by)
            annotations.set_owners(build_edit([urn], info), owners)
    return nodes.build_one(urn, info)


def _load_owner_pairs(urn: str) -> list[OwnerPair]:
    stored_aspect = aspect_documents.load_aspect(urn=urn, name="ownership")
    document = {} if stored_aspect is None else json.loads(stored_aspect.document)
    return [annotations.parse_owner(entry) for entry in document.get("owners") or ()]


@mutation.field("setTagColor")
def set_tag_color(_root: None, info: Info, *, urn: str, colorHex: str) -> bool:  # noqa: N803  # the schema's
    """Set the colour of a tag."""
    vocabulary.recolor(urn=validate_urn(urn, "tag"), color=colorHex, by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("moveDomain")
def move_domain(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Move a domain into another one, or to the top level."""
    urn = validate_urn(input["resourceUrn"], "domain")
    vocabulary.move(urn=urn, parent=input.get("parentDomain"), by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("updateParentNode")
def move_glossary_entity(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Move a term or term group into another group, or to the top level."""
    urn = validate_urn(input["resourceUrn"], "glossaryTerm", "glossaryNode")
    vocabulary.move(urn=urn, parent=input.get("parentNode"), by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("addRelatedTerms")
@mutation.field("removeRelatedTerms")
def relate_terms(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add or remove the relationships of a term to others: `isA` or `hasA`."""
    term_urns = [
        validate_urn(term_urn, "glossaryTerm") for term_urn in validate_entries(input["termUrns"], "/termUrns")
    ]
    edit = build_edit([validate_urn(input["urn"], "glossaryTerm")], info)
    verb = info.field_name.removesuffix("RelatedTerms")
    annotations.relate_terms(edit, _RELATED_TERM_LISTS[input["relationshipType"]], **{verb: term_urns})
    return True


@mutation.field("createOwnershipType")
def create_ownership_type(_root: None, info: Info, *, input: Mapping[str, Any]) -> Node:
    """Create an ownership type under a generated id, and return it."""
    urn = vocabulary.create(
        kind="ownershipType",
        identifier=None,
        name=input["name"],
        description=input["description"],
        by=info.context.by,
        channel=CHANNEL,
    )
    return nodes.build_one(urn, info)


@mutation.field("updateOwnershipType")
@mutation.field("updateDataProduct")
def update_entity(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set the name and description of an ownership type or data product, if not null, and return it."""
    kind = "ownershipType" if info.field_name == "updateOwnershipType" else "dataProduct"
    vocabulary.update(
        urn=validate_urn(urn, kind),
        name=input.get("name"),
        description=input.get("description"),
        by=info.context.by,
        channel=CHANNEL,
    )
    return nodes.build_one(urn, info)


@mutation.field("deleteOwnershipType")
def delete_ownership_type(
    _root: None,
    info: Info,
    *,
    urn: str,
    deleteReferences: bool | None = None,  # noqa: N803  # the schema's
) -> bool:
    """Delete an ownership type, and with `deleteReferences` the references of owners to it."""
    by = info.context.by
    validate_urn(urn, "ownershipType")
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        if deleteReferences:
            deletes.remove_references(urn=urn, by=by, channel=CHANNEL, dry_run=False)
        vocabulary.delete(urn=urn, by=by, channel=CHANNEL)
    return True


@mutation.field("createDataProduct")
def create_data_product(_root: None, info: Info, *, input: Mapping[str, Any]) -> Node:
    """Create a data product in a domain, and return it."""
    urn = vocabulary.create_product(
        identifier=input.get("id"),
        name=input["properties"]["name"],
        description=input["properties"].get("description") or "",
        domain=input["domainUrn"],
        by=info.context.by,
        channel=CHANNEL,
    )
    return nodes.build_one(urn, info)


@mutation.field("batchSetDataProduct")
def set_data_product(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add assets to a data product, or remove them from every one."""
    assets = [validate_urn(urn) for urn in validate_entries(input["resourceUrns"], "/resourceUrns")]
    by, product = info.context.by, input.get("dataProductUrn")
    if product is None:
        product_assets.remove_assets(assets=assets, by=by, channel=CHANNEL)
    else:
        product_assets.add_assets(product=validate_urn(product, "dataProduct"), assets=assets, by=by, channel=CHANNEL)
    return True


@mutation.field("batchAddToDataProducts")
@mutation.field("batchRemoveFromDataProducts")
def edit_data_products(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add assets to data products, or remove them, from the pages of the assets."""
    products = [
        validate_urn(urn, "dataProduct") for urn in validate_entries(input["dataProductUrns"], "/dataProductUrns")
    ]
    assets = [validate_urn(urn) for urn in validate_entries(input["resourceUrns"], "/resourceUrns")]
    check_pair_count(products, assets)
    is_addition = info.field_name == "batchAddToDataProducts"
    edit = product_assets.add_to_products if is_addition else product_assets.remove_from_products
    edit(products=products, assets=assets, by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("setLogicalParent")
def set_logical_parent(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Link a dataset or column to the logical one that it implements, or (no parent) take the link away."""
    parent = input.get("parentUrn")
    types = ("dataset", "schemaField")
    logical_models.set_parents(
        parents={validate_urn(input["resourceUrn"], *types): None if parent is None else validate_urn(parent, *types)},
        by=info.context.by,
        channel=CHANNEL,
    )
    return True


BINDABLES = (query, mutation)
