"""Privileges required by each change to the catalog, judged by what is stored before it.

An existing entity: for each part of a document that changes, EDIT_ENTITY or what the table of effects names for that
part (`edit_requirements`). A new one: CREATE_ENTITY or EDIT_ENTITY, as if it were in the domain and the container that
the batch gives it, if these are stored. A move to another domain needs both. The assets of
data products, queries and logical parents follow the derived rules of the policies guide (source 000; rules/datahub.md
c), and changes of tags the constraints of a.5. A data product is otherwise written like any entity, or with Manage Data
Products on its domains; creating one by the API of entities needs that privilege. Terms and term groups inside a term
group are also managed with Manage Direct Glossary Children on that group, or Manage All Glossary Children on it or one
of its ancestors (ADR 22).
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from catalog import urns
from catalog.access.aspect_documents import DocumentSource
from catalog.aspects.annotations import column_tags
from catalog.aspects.facet_fields import SUBJECT
from catalog.aspects.register import REGISTRATION
from catalog.ingest.batch_relatives import GLOSSARY_INFO, PARENT_NODE, BatchRelatives, load_groups_above, read_values
from catalog.ingest.edit_requirements import (
    add_alternatives,
    build_create_requirement,
    build_delete_requirement,
    build_edit_requirement,
    build_request,
    build_tag_requirement,
    load_subjects,
)
from catalog.ingest.validate import ValidatedProposal
from catalog.urns import Urn
from policies.engine import families
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.privilege_effects import WHOLE, load_effects
from policies.engine.requirements import Need, Requirement
from policies.engine.selectors import DOMAIN
from policies.pdp.access_requests import AccessRequest, ResourceRef

_DATA_PRODUCT, _PRODUCT_PROPERTIES, _DOMAINS = "dataProduct", "dataProductProperties", "domains"
_PARENT_WRITE_NEEDS = ((Need((cdap.WRITE,), cdap.PARENT),),)

_GLOSSARY_TYPES = frozenset({"glossaryNode", "glossaryTerm"})
#: Alternatives for entities in a term group: a privilege on the group, or on it or one of its ancestors.
_GROUP_NEEDS = (
    Need(("MANAGE_GLOSSARY_CHILDREN",), "term_group"),
    Need(("MANAGE_ALL_GLOSSARY_CHILDREN",), "term_groups"),
)
#: The same for the term group to which an entity is moved.
_NEW_GROUP_NEEDS = (
    Need(("MANAGE_GLOSSARY_CHILDREN",), "new_term_group"),
    Need(("MANAGE_ALL_GLOSSARY_CHILDREN",), "new_term_groups"),
)

#: Aspects whose tags are checked against constraints (a.5), and the part of each that has the tags.
_TAG_PARTS: Mapping[str, str] = {
    "globalTags": WHOLE,
    "schemaMetadata": "fields[fieldPath].globalTags",
    "editableSchemaMetadata": "editableSchemaFieldInfo[fieldPath].globalTags",
}

#: Stored documents that are compared with the arriving ones, or say what an entity is about.
COMPARED_ASPECTS = (
    frozenset(_TAG_PARTS)
    | GLOSSARY_INFO
    | {_PRODUCT_PROPERTIES, _DOMAINS, "logicalParent", "querySubjects"}
    | {aspect for aspect, _ in load_effects().subjects.values()}
)


def build_change_requests(
    items: Collection[ValidatedProposal],
    documents: DocumentSource,
    *,
    existing_urns: Collection[str],
    with_constraints: bool,
    registered_urns: Collection[str] = (),
) -> list[AccessRequest]:
    """Return the access requests that must all be allowed for these changes.

    `existing_urns` exist before the changes, `registered_urns` are registered by them (the API of entities), or get
    other ids.
    """
    batch = BatchRelatives(items)
    requests = [
        _build_registration_request(urns.parse(urn), batch, is_known=urn in existing_urns) for urn in registered_urns
    ]
    for item in items:
        is_known = item.urn.text in existing_urns
        if is_known or item.urn.text not in registered_urns or item.urn.type != _DATA_PRODUCT:
            requests += _build_aspect_requests(item, documents, batch, is_known=is_known)
        else:
            requests += _build_asset_requests(item, documents, batch)
        if is_known and item.aspect == _DOMAINS:
            requests += _build_move_requests(item, documents, batch)
        if with_constraints and item.aspect in _TAG_PARTS:
            requests += _build_tag_requests(item, documents, batch, is_known=is_known)
    return requests


def build_edit_request(urn: Urn, aspect: str, part: str = WHOLE) -> AccessRequest:
    """Return the request for editing a document of an existing entity, or a part of it, before the edit is known.

    Constraints on tags depend on the changed tags, so they are checked only when the edit is written.
    """
    if urn.type == "query":
        return build_request(families.get_requirement("query.update"), urn)
    if urn.type != _DATA_PRODUCT:
        return build_request(build_edit_requirement(urn, aspect, part), urn, subject_urns=load_subjects(urn))
    return build_request(
        add_alternatives(
            build_edit_requirement(urn, aspect, part), families.get_requirement("data_product.update").any_of
        ),
        urn,
    )


def build_manage_children_request(group: Urn) -> AccessRequest:
    """Return the request for managing the direct children of a term group."""
    requirement = Requirement(((_GLOSSARY_MANAGER_NEED,), *((need,) for need in _GROUP_NEEDS)))
    groups = (group.text, *load_groups_above({group.text}).get(group.text, ()))
    return build_request(requirement, group)._replace(relatives={"term_group": groups[:1], "term_groups": groups})


def build_create_request(urn: Urn, *, group: str | None = None) -> AccessRequest:
    """Return the request for creating an entity of the catalog; a term or term group in this group."""
    groups = () if group is None else (group, *load_groups_above({group}).get(group, ()))
    return _build_create_request_in(urn, ResourceRef(urn.text, urn.type), groups, subject_urns=(), aspects=())


def build_delete_requests(urn: Urn) -> list[AccessRequest]:
    """Return the requests for deleting an entity of the catalog."""
    operation = _DELETE_OPERATIONS.get(urn.type)
    if operation:
        return [build_request(families.get_requirement(operation), urn)]
    return [build_request(build_delete_requirement(urn), urn, subject_urns=load_subjects(urn))]


_DELETE_OPERATIONS = {_DATA_PRODUCT: "data_product.delete", "query": "query.delete"}


def _build_registration_request(urn: Urn, batch: BatchRelatives, *, is_known: bool) -> AccessRequest:
    """Return the request for registering an entity by the API, whatever its aspects."""
    if urn.type == _DATA_PRODUCT:
        if not is_known:
            return build_request(families.get_requirement("data_product.create"), urn)._replace(
                relatives={"domains": batch.domains.get(urn.text, ())}
            )
        update_requirement = families.get_requirement("data_product.update")
        return build_request(add_alternatives(build_edit_requirement(urn, ""), update_requirement.any_of), urn)
    if not is_known:
        return _build_batch_create_request(urn, batch)
    return _allow_write_on_parent(build_request(build_edit_requirement(urn, ""), urn, subject_urns=load_subjects(urn)))


def _build_aspect_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> list[AccessRequest]:
    if item.aspect == "logicalParent":
        return [build_logical_parent_request(item.urn.text, _read_logical_parent(item))]
    if item.urn.type == "query":
        return [_build_query_request(item, documents, batch, is_known=is_known)]
    if item.urn.type == _DATA_PRODUCT:
        return _build_product_requests(item, documents, batch, is_known=is_known)
    if item.is_removal_of_entity:
        return build_delete_requests(item.urn)
    if not is_known:
        return [_build_batch_create_request(item.urn, batch)]
    if item.urn.type in _GLOSSARY_TYPES and item.aspect in GLOSSARY_INFO:
        return _build_glossary_info_requests(item, documents, batch)
    subject_urns = _list_subjects(item.urn, documents, batch)
    requests = [
        build_request(build_edit_requirement(item.urn, item.aspect, part), item.urn, subject_urns=subject_urns)
        for part in _list_changed_parts(item, documents)
    ]
    is_repeated = item.aspect == REGISTRATION and _list_changed_parts(item, documents) == (None,)
    return [_allow_write_on_parent(request) for request in requests] if is_repeated else requests


def _list_changed_parts(item: ValidatedProposal, documents: DocumentSource) -> tuple[str | None, ...]:
    """Return the parts of its document that a change makes different; (None,) if it makes none different.

    A first document that repeats the identifier of its entity as the name gives it no other name.
    """
    old_document, new_document = _parse_stored(documents, item), dict(item.parsed_document or {})
    if not old_document and new_document.get("name") == item.urn.identifier:
        old_document = {"name": item.urn.identifier}
    return load_effects().diff_parts(item.aspect, old_document, new_document) or (None,)


def _build_glossary_info_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives
) -> list[AccessRequest]:
    """Return the requests for a glossary info; a move needs a privilege on the old and one on the new term group."""
    old_group, new_group = _parse_stored(documents, item).get(PARENT_NODE), batch.term_group(item.urn.text)
    parts = [part for part in _list_changed_parts(item, documents) if part != PARENT_NODE]
    requests = [build_request(build_edit_requirement(item.urn, item.aspect, part), item.urn) for part in parts]
    if old_group == new_group:
        return requests
    move_needs = tuple((leave_need, enter_need) for leave_need in _GROUP_NEEDS for enter_need in _NEW_GROUP_NEEDS)
    requirement = build_edit_requirement(item.urn, "")
    move_requirement = add_alternatives(requirement, ((_GLOSSARY_MANAGER_NEED,), *move_needs))
    groups = batch.term_group_chain(new_group)
    move_request = build_request(move_requirement, item.urn)._replace(
        relatives={"new_term_group": groups[:1], "new_term_groups": groups}
    )
    return [*requests, move_request]


_GLOSSARY_MANAGER_NEED = Need(("MANAGE_GLOSSARIES",))


def build_logical_parent_request(child: str, parent: str | None) -> AccessRequest:
    """Return the request for a logical parent: setting needs both sides, clearing (None) only the child."""
    resource = ResourceRef(child, urns.entity_type(child))
    if parent is None:
        return AccessRequest(families.get_requirement("logical_parent.clear"), resource)
    return AccessRequest(families.get_requirement("logical_parent.set"), resource, relatives={"parent": (parent,)})


def _read_logical_parent(item: ValidatedProposal) -> str | None:
    parent: str | None = ((item.parsed_document or {}).get("parent") or {}).get("destinationUrn")
    return parent


def _build_query_request(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> AccessRequest:
    """Return the request for a query, on its old and new subjects: replacing a subject must not avoid its check."""
    stored_subjects = read_values(item, documents.document(item.urn.text, "querySubjects"), SUBJECT)
    subjects = tuple(dict.fromkeys((*stored_subjects, *batch.subjects.get(item.urn.text, ()))))
    verb = "delete" if _is_removal(item) else "update" if is_known else "create"
    return build_request(families.get_requirement(f"query.{verb}"), item.urn)._replace(relatives={"subjects": subjects})


def _build_product_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> list[AccessRequest]:
    """Return the requests for a product: as for any entity, or by its domains; for its assets see source 000."""
    domains = batch.domains.get(item.urn.text)
    asset_requests = _build_asset_requests(item, documents, batch)
    if not is_known:
        create_requirement = add_alternatives(
            build_create_requirement(item.urn), families.get_requirement("data_product.create").any_of
        )
        resource = batch.build_new_resource(item.urn)
        return [*asset_requests, AccessRequest(create_requirement, resource, relatives={"domains": domains or ()})]
    if _is_removal(item):
        return build_delete_requests(item.urn)
    parts = _list_changed_parts(item, documents)
    if item.aspect == _PRODUCT_PROPERTIES and asset_requests:
        parts = tuple(part for part in parts if part != "assets")
    # The stored domains decide about a change of domains: a move must not take a product over.
    relatives = {} if domains is None or item.aspect != _PRODUCT_PROPERTIES else {"domains": domains}
    update_needs = families.get_requirement("data_product.update").any_of
    return [
        *asset_requests,
        *(
            build_request(
                add_alternatives(build_edit_requirement(item.urn, item.aspect, part), update_needs), item.urn
            )._replace(relatives=relatives)
            for part in parts
        ),
    ]


def _build_asset_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives
) -> list[AccessRequest]:
    """Return the requests for changing the assets of a product, empty when none changes."""
    if item.aspect != _PRODUCT_PROPERTIES:
        return []
    changed_assets = _asset_urns(_parse_stored(documents, item)) ^ _asset_urns(dict(item.parsed_document or {}))
    if not changed_assets:
        return []
    domains = batch.domains.get(item.urn.text)
    relatives = {"assets": tuple(sorted(changed_assets)), **({} if domains is None else {"domains": domains})}
    return [
        build_request(families.get_requirement("data_product.ingest_assets"), item.urn)._replace(relatives=relatives)
    ]


def _build_move_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives
) -> list[AccessRequest]:
    """Return the requests for moving an entity to another domain: as if it were in the new one already.

    The requests about the entity as it is stored are those of its domain before. The first domain of an entity needs
    no more than these.
    """
    old_domains = read_values(item, documents.document(*item.key), DOMAIN)
    added_domains = [domain for domain in batch.domains.get(item.urn.text, ()) if domain not in old_domains]
    requirement = build_edit_requirement(item.urn, item.aspect)
    if item.urn.type == _DATA_PRODUCT:
        requirement = add_alternatives(requirement, families.get_requirement("data_product.update").any_of)
    return [
        build_request(requirement, item.urn)._replace(
            resource=batch.build_resource_in(item.urn, domain),
            relatives={"domains": (domain,)} if item.urn.type == _DATA_PRODUCT else {},
        )
        for domain in (added_domains if old_domains else ())
    ]


def _build_tag_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> list[AccessRequest]:
    """Return the request that one policy must allow together with every added or removed tag."""
    changed_tags = column_tags(_parse_stored(documents, item)) ^ column_tags(item.parsed_document)
    if not changed_tags:
        return []
    tags = tuple(sorted({tag for _, tag in changed_tags}))
    requirement = build_tag_requirement(item.urn, item.aspect, _TAG_PARTS[item.aspect])
    resource = ResourceRef(item.urn.text, item.urn.type) if is_known else batch.build_new_resource(item.urn)
    return [AccessRequest(requirement, resource, tags)]


def _build_batch_create_request(urn: Urn, batch: BatchRelatives) -> AccessRequest:
    return _build_create_request_in(
        urn,
        batch.build_new_resource(urn),
        batch.term_group_chain(batch.term_group(urn.text)),
        subject_urns=batch.list_assets(urn),
        aspects=batch.aspects_by_urn[urn.text],
    )


def _build_create_request_in(
    urn: Urn, resource: ResourceRef, groups: tuple[str, ...], *, subject_urns: tuple[str, ...], aspects: Collection[str]
) -> AccessRequest:
    requirement = build_create_requirement(urn, aspects)
    request = build_request(requirement, urn, subject_urns=subject_urns)._replace(resource=resource)
    if urn.type not in _GLOSSARY_TYPES:
        return _allow_write_on_parent(request)
    return request._replace(relatives={"term_group": groups[:1], "term_groups": groups})


def _allow_write_on_parent(request: AccessRequest) -> AccessRequest:
    """Return the request with the alternative for a CDAP entity: WRITE on its parent (rules/cdap.md CD-8)."""
    name = cdap_entity_ids.parse(request.resource.urn) if request.resource is not None else None
    if name is None or name.parent is None:
        return request
    return AccessRequest(
        add_alternatives(request.requirement, _PARENT_WRITE_NEEDS),
        request.resource,
        relatives={cdap.PARENT: (name.parent,)},
    )


def _list_subjects(urn: Urn, documents: DocumentSource, batch: BatchRelatives) -> tuple[str, ...]:
    """Return the assets that an entity is about, before and after the batch."""
    subject = load_effects().subjects.get(urn.type)
    text = None if subject is None else documents.document(urn.text, subject[0])
    stored_assets = () if text is None else load_effects().read_subjects(urn.type, json.loads(text))
    return tuple(dict.fromkeys((*stored_assets, *batch.list_assets(urn))))


def _is_removal(item: ValidatedProposal) -> bool:
    is_soft = item.aspect == "status" and bool((item.parsed_document or {}).get("removed"))
    return is_soft or item.is_removal_of_entity


def _parse_stored(documents: DocumentSource, item: ValidatedProposal) -> dict[str, Any]:
    text = documents.document(*item.key)
    return {} if text is None else dict(json.loads(text))


def _asset_urns(document: Mapping[str, Any]) -> set[str]:
    return {edge["destinationUrn"] for edge in document.get("assets") or ()}
