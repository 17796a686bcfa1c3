"""Privileges required by each change to the catalog, judged by what is stored before it.

An existing entity: EDIT_ENTITY or the aspect's own privilege. A new one: CREATE_ENTITY or EDIT_ENTITY. The assets of
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
from catalog.ingest.batch_relatives import GLOSSARY_INFO, PARENT_NODE, BatchRelatives, load_groups_above, read_values
from catalog.ingest.validate import ValidatedProposal
from catalog.urns import Urn
from policies.engine import families
from policies.engine.families import cdap, cdap_entity_ids, datahub
from policies.engine.requirements import Need, Requirement, any_of_requirement
from policies.pdp.access_requests import AccessRequest, ResourceRef

_DATA_PRODUCT, _PRODUCT_PROPERTIES = "dataProduct", "dataProductProperties"


_EDIT_PRIVILEGES = (("EDIT_ENTITY",),)
_PARENT_WRITE_NEEDS = ((Need((cdap.WRITE,), cdap.PARENT),),)
_DOCS_PRIVILEGES = (("EDIT_ENTITY_DOCS",),)
_LINEAGE_PRIVILEGES = (("EDIT_LINEAGE",),)

#: Alternatives to EDIT_ENTITY for writing an aspect of an existing entity: lists of privileges, each list all required.
_ASPECT_PRIVILEGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "applications": (("EDIT_ENTITY_APPLICATIONS_PRIVILEGE",),),
    "dataJobInputOutput": _LINEAGE_PRIVILEGES,
    "deprecation": (("EDIT_DEPRECATION_PRIVILEGE",),),
    "domains": (("EDIT_DOMAINS_PRIVILEGE",),),
    "editableChartProperties": _DOCS_PRIVILEGES,
    "editableContainerProperties": _DOCS_PRIVILEGES,
    "editableDashboardProperties": _DOCS_PRIVILEGES,
    "editableDataFlowProperties": _DOCS_PRIVILEGES,
    "editableDataJobProperties": _DOCS_PRIVILEGES,
    "editableDatasetProperties": _DOCS_PRIVILEGES,
    "editableSchemaMetadata": (
        ("EDIT_DATASET_COL_DESCRIPTION", "EDIT_DATASET_COL_TAGS", "EDIT_DATASET_COL_GLOSSARY_TERMS"),
    ),
    "embed": (("EDIT_ENTITY_EMBED",),),
    "globalTags": (("EDIT_ENTITY_TAGS",),),
    "glossaryTerms": (("EDIT_ENTITY_GLOSSARY_TERMS",),),
    "institutionalMemory": (("EDIT_ENTITY_DOC_LINKS",),),
    "ownership": (("EDIT_ENTITY_OWNERS",),),
    "status": (("EDIT_ENTITY_STATUS",), ("DELETE_ENTITY",)),
    "structuredProperties": (("EDIT_ENTITY_PROPERTIES",),),
    "upstreamLineage": _LINEAGE_PRIVILEGES,
}

#: Type -> platform privileges that also allow creating an entity, and those that also allow changing its name and
#: definition and deleting it (the policies guide: managers of tags, domains, glossaries and ownership types).
_CREATE_PRIVILEGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "domain": (("CREATE_DOMAINS",), ("MANAGE_DOMAINS",)),
    "glossaryNode": (("MANAGE_GLOSSARIES",),),
    "glossaryTerm": (("MANAGE_GLOSSARIES",),),
    "ownershipType": (("MANAGE_GLOBAL_OWNERSHIP_TYPES",),),
    "tag": (("CREATE_TAGS",), ("MANAGE_TAGS",)),
}
_MANAGE_PRIVILEGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    type_: tuple(privileges for privileges in lists if privileges[0].startswith("MANAGE_"))
    for type_, lists in _CREATE_PRIVILEGES.items()
}
#: Aspects with the name and definition of such an entity.
_MANAGED_ASPECTS = frozenset(
    {
        "domainProperties",
        "glossaryNodeInfo",
        "glossaryRelatedTerms",
        "glossaryTermInfo",
        "ownershipTypeInfo",
        "tagProperties",
    }
)

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

#: Aspects whose tags are checked against constraints, and the privileges for changing their tags (a.5).
_TAG_PRIVILEGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "globalTags": (("EDIT_ENTITY",), ("EDIT_ENTITY_TAGS",)),
    "schemaMetadata": (("EDIT_ENTITY",), ("EDIT_DATASET_COL_TAGS",)),
    "editableSchemaMetadata": (("EDIT_ENTITY",), ("EDIT_DATASET_COL_TAGS",)),
}

#: Types of `policies` -> their privilege group. Roles need the privileges of the policies that name them.
_PRIVILEGE_GROUPS = {"corpuser": "user", "corpGroup": "group", "dataHubRole": "policy", "dataHubPolicy": "policy"}

#: Stored documents that are compared with the arriving ones.
COMPARED_ASPECTS = frozenset(_TAG_PRIVILEGES) | GLOSSARY_INFO | {_PRODUCT_PROPERTIES, "querySubjects", "logicalParent"}


def build_change_requests(
    items: Collection[ValidatedProposal],
    documents: DocumentSource,
    *,
    existing_urns: Collection[str],
    with_constraints: bool,
    registered_urns: Collection[str] = (),
) -> list[AccessRequest]:
    """Return the access requests that must all be allowed for these changes.

    `existing_urns` exist before the changes, `registered_urns` are registered by them (the API of entities).
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
        if with_constraints and item.aspect in _TAG_PRIVILEGES:
            requests += _build_tag_requests(item, documents)
    return requests


def build_edit_request(urn: Urn, aspect: str) -> AccessRequest:
    """Return the request for editing an aspect of an existing entity, before the edit itself is known.

    Constraints on tags depend on the changed tags, so they are checked only when the edit is written.
    """
    resource = _resource_ref(urn)
    if urn.type == "query":
        return AccessRequest(families.get_requirement("query.update"), resource)
    if urn.type != _DATA_PRODUCT:
        return AccessRequest(_edit_requirement(urn, aspect), resource)
    update_requirement = families.get_requirement("data_product.update")
    return AccessRequest(
        update_requirement
        if aspect == _PRODUCT_PROPERTIES
        else _add_alternatives(_edit_requirement(urn, aspect), update_requirement.any_of),
        resource,
    )


def build_manage_children_request(group: Urn) -> AccessRequest:
    """Return the request for managing the direct children of a term group."""
    manager_needs = any_of_requirement(_MANAGE_PRIVILEGES[group.type]).any_of
    requirement = Requirement((*manager_needs, *((need,) for need in _GROUP_NEEDS)))
    groups = (group.text, *load_groups_above({group.text}).get(group.text, ()))
    return AccessRequest(requirement, _resource_ref(group), relatives={"term_group": groups[:1], "term_groups": groups})


def _build_registration_request(urn: Urn, batch: "BatchRelatives", *, is_known: bool) -> AccessRequest:
    """Return the request for registering an entity by the API, whatever its aspects."""
    if urn.type == _DATA_PRODUCT:
        domains = batch.domains.get(urn.text, ())
        if not is_known:
            return AccessRequest(
                families.get_requirement("data_product.create"), _resource_ref(urn), relatives={"domains": domains}
            )
        return AccessRequest(
            _add_alternatives(_edit_requirement(urn, ""), families.get_requirement("data_product.update").any_of),
            _resource_ref(urn),
        )
    if not is_known:
        return _build_batch_create_request(urn, batch)
    return _allow_write_on_parent(AccessRequest(_edit_requirement(urn, ""), _resource_ref(urn)))


def build_delete_requests(urn: Urn) -> list[AccessRequest]:
    """Return the requests for deleting an entity of the catalog."""
    operation = _DELETE_OPERATIONS.get(urn.type)
    requirement = (
        families.get_requirement(operation)
        if operation
        else _add_alternatives(_privilege_group(urn, "delete"), _manager_needs(urn))
    )
    return [AccessRequest(requirement, _resource_ref(urn))]


_DELETE_OPERATIONS = {_DATA_PRODUCT: "data_product.delete", "query": "query.delete"}


def _build_aspect_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> list[AccessRequest]:
    if item.aspect == "logicalParent":
        return [_build_logical_parent_request(item)]
    if item.urn.type == "query":
        return [_build_query_request(item, documents, batch, is_known=is_known)]
    if item.urn.type == _DATA_PRODUCT:
        return _build_product_requests(item, documents, batch, is_known=is_known)
    if item.is_removal_of_entity:
        return build_delete_requests(item.urn)
    if not is_known:
        return [_build_batch_create_request(item.urn, batch)]
    if item.urn.type in _GLOSSARY_TYPES and item.aspect in GLOSSARY_INFO:
        return [_build_glossary_info_request(item, documents, batch)]
    return [AccessRequest(_edit_requirement(item.urn, item.aspect), _resource_ref(item.urn))]


def _build_glossary_info_request(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives
) -> AccessRequest:
    """Return the request for a glossary info; a move needs a privilege on the old and one on the new term group."""
    old_group, new_group = _parse_stored(documents, item).get(PARENT_NODE), batch.term_group(item.urn.text)
    if old_group == new_group:
        return AccessRequest(_edit_requirement(item.urn, item.aspect), _resource_ref(item.urn))
    move_needs = tuple((leave_need, enter_need) for leave_need in _GROUP_NEEDS for enter_need in _NEW_GROUP_NEEDS)
    requirement = _add_alternatives(
        _privilege_group(item.urn, "update"),
        (*any_of_requirement(_EDIT_PRIVILEGES + _MANAGE_PRIVILEGES[item.urn.type]).any_of, *move_needs),
    )
    groups = batch.term_group_chain(new_group)
    return AccessRequest(
        requirement, _resource_ref(item.urn), relatives={"new_term_group": groups[:1], "new_term_groups": groups}
    )


def _build_logical_parent_request(item: ValidatedProposal) -> AccessRequest:
    """Return the request for a logical parent: setting needs both sides, clearing only the child."""
    parent = ((item.parsed_document or {}).get("parent") or {}).get("destinationUrn")
    if parent is None:
        return AccessRequest(families.get_requirement("logical_parent.clear"), _resource_ref(item.urn))
    return AccessRequest(
        families.get_requirement("logical_parent.set"), _resource_ref(item.urn), relatives={"parent": (parent,)}
    )


def _build_query_request(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> AccessRequest:
    """Return the request for a query, on its old and new subjects: replacing a subject must not avoid its check."""
    stored_subjects = read_values(item, documents.document(item.urn.text, "querySubjects"), SUBJECT)
    subjects = tuple(dict.fromkeys((*stored_subjects, *batch.subjects.get(item.urn.text, ()))))
    verb = "delete" if _is_removal(item) else "update" if is_known else "create"
    return AccessRequest(
        families.get_requirement(f"query.{verb}"), _resource_ref(item.urn), relatives={"subjects": subjects}
    )


def _build_product_requests(
    item: ValidatedProposal, documents: DocumentSource, batch: BatchRelatives, *, is_known: bool
) -> list[AccessRequest]:
    """Return the requests for a product: as for any entity, or by its domains; for its assets see source 000."""
    resource, domains = _resource_ref(item.urn), batch.domains.get(item.urn.text)
    asset_requests = _build_asset_requests(item, documents, batch)
    if not is_known:
        create_requirement = _add_alternatives(
            _privilege_group(item.urn, "create"), families.get_requirement("data_product.create").any_of
        )
        return [*asset_requests, AccessRequest(create_requirement, resource, relatives={"domains": domains or ()})]
    if _is_removal(item):
        return build_delete_requests(item.urn)
    if asset_requests and not _is_more_than_assets(item, documents):
        return asset_requests
    # The stored domains decide about a change of domains: a move must not take a product over.
    relatives = {} if domains is None or item.aspect != _PRODUCT_PROPERTIES else {"domains": domains}
    update_requirement = _add_alternatives(
        _edit_requirement(item.urn, item.aspect), families.get_requirement("data_product.update").any_of
    )
    return [*asset_requests, AccessRequest(update_requirement, resource, relatives=relatives)]


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
        AccessRequest(
            families.get_requirement("data_product.ingest_assets"), _resource_ref(item.urn), relatives=relatives
        )
    ]


def _is_more_than_assets(item: ValidatedProposal, documents: DocumentSource) -> bool:
    old_document, new_document = _parse_stored(documents, item), dict(item.parsed_document or {})
    return any(
        old_document.get(key) != new_document.get(key)
        for key in (old_document.keys() | new_document.keys()) - {"assets"}
    )


def _build_tag_requests(item: ValidatedProposal, documents: DocumentSource) -> list[AccessRequest]:
    """Return the request that one policy must allow together with every added or removed tag."""
    changed_tags = column_tags(_parse_stored(documents, item)) ^ column_tags(item.parsed_document)
    if not changed_tags:
        return []
    tags = tuple(sorted({tag for _, tag in changed_tags}))
    return [AccessRequest(any_of_requirement(_TAG_PRIVILEGES[item.aspect]), _resource_ref(item.urn), tags)]


def build_create_request(urn: Urn, *, group: str | None = None) -> AccessRequest:
    """Return the request for creating an entity of the catalog; a term or term group in this group."""
    return _build_create_request_in(urn, () if group is None else (group, *load_groups_above({group}).get(group, ())))


def _build_batch_create_request(urn: Urn, batch: BatchRelatives) -> AccessRequest:
    return _build_create_request_in(urn, batch.term_group_chain(batch.term_group(urn.text)))


def _build_create_request_in(urn: Urn, groups: tuple[str, ...]) -> AccessRequest:
    create_requirement = _add_alternatives(
        _privilege_group(urn, "create"), any_of_requirement(_CREATE_PRIVILEGES.get(urn.type, ())).any_of
    )
    if urn.type not in _GLOSSARY_TYPES:
        return _allow_write_on_parent(AccessRequest(create_requirement, _resource_ref(urn)))
    requirement = _add_alternatives(create_requirement, tuple((need,) for need in _GROUP_NEEDS))
    return AccessRequest(requirement, _resource_ref(urn), relatives={"term_group": groups[:1], "term_groups": groups})


def _allow_write_on_parent(request: AccessRequest) -> AccessRequest:
    """Return the request with the alternative for a CDAP entity: WRITE on its parent (rules/cdap.md CD-8)."""
    name = cdap_entity_ids.parse(request.resource.urn) if request.resource is not None else None
    if name is None or name.parent is None:
        return request
    return AccessRequest(
        _add_alternatives(request.requirement, _PARENT_WRITE_NEEDS),
        request.resource,
        relatives={cdap.PARENT: (name.parent,)},
    )


def _edit_requirement(urn: Urn, aspect: str) -> Requirement:
    manager_needs = _manager_needs(urn) if aspect in _MANAGED_ASPECTS else ()
    aspect_needs = any_of_requirement(_EDIT_PRIVILEGES + _ASPECT_PRIVILEGES.get(aspect, ())).any_of
    return _add_alternatives(_privilege_group(urn, "update"), (*aspect_needs, *manager_needs))


def _manager_needs(urn: Urn) -> tuple[tuple[Need, ...], ...]:
    """Return the needs of managers of such an entity, in addition to privileges on the entity itself."""
    child_needs = tuple((need,) for need in _GROUP_NEEDS) if urn.type in _GLOSSARY_TYPES else ()
    return any_of_requirement(_MANAGE_PRIVILEGES.get(urn.type, ())).any_of + child_needs


def _privilege_group(urn: Urn, verb: str) -> Requirement:
    return datahub.load_operation_groups()[f"{_PRIVILEGE_GROUPS.get(urn.type, 'entity')}.{verb}"]


def _add_alternatives(requirement: Requirement, added_needs: tuple[Any, ...]) -> Requirement:
    return Requirement(tuple(dict.fromkeys((*requirement.any_of, *added_needs))))


def _resource_ref(urn: Urn) -> ResourceRef:
    return ResourceRef(urn.text, urn.type)


def _is_removal(item: ValidatedProposal) -> bool:
    is_soft = item.aspect == "status" and bool((item.parsed_document or {}).get("removed"))
    return is_soft or item.is_removal_of_entity


def _parse_stored(documents: DocumentSource, item: ValidatedProposal) -> dict[str, Any]:
    text = documents.document(*item.key)
    return {} if text is None else dict(json.loads(text))


def _asset_urns(document: Mapping[str, Any]) -> set[str]:
    return {edge["destinationUrn"] for edge in document.get("assets") or ()}
