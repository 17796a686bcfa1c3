"""Privileges of the caller on an entity, as switches of DataHub's pages; the services check the same on each write."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from ariadne import ObjectType

from catalog import urns
from catalog.entities.annotations import DESCRIPTIONS
from catalog.entities.vocabulary import VOCABULARY_TYPES
from catalog.ingest import required_privileges
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import EntityFields, load_entity
from catalog.protocols.datahub_graphql.nodes import Node
from catalog.urns import Urn
from policies.engine.requirements import any_of_requirement
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

privileges_type = ObjectType("EntityPrivileges")

#: Types of data assets, which can have every annotation.
_ASSET_TYPES = frozenset(
    {
        "chart",
        "container",
        "dashboard",
        "dataFlow",
        "dataJob",
        "dataset",
        "mlFeature",
        "mlFeatureTable",
        "mlModel",
        "mlModelGroup",
        "mlPrimaryKey",
    }
)
_DATASET_TYPES = frozenset({"dataset"})

#: Switch → the aspect that it is about, and the entity types with that aspect.
_EDIT_SWITCHES: Mapping[str, tuple[str, frozenset[str]]] = {
    "canEditDomains": ("domains", _ASSET_TYPES | {"dataProduct", "glossaryNode", "glossaryTerm"}),
    "canEditTags": ("globalTags", _ASSET_TYPES | {"dataProduct"}),
    "canEditGlossaryTerms": ("glossaryTerms", _ASSET_TYPES | {"dataProduct"}),
    "canEditLinks": ("institutionalMemory", _ASSET_TYPES | (VOCABULARY_TYPES.keys() - {"ownershipType"})),
    "canEditOwners": ("ownership", _ASSET_TYPES | (VOCABULARY_TYPES.keys() - {"ownershipType"})),
    "canEditDeprecation": ("deprecation", _ASSET_TYPES | {"glossaryTerm"}),
    "canEditProperties": ("structuredProperties", _ASSET_TYPES | (VOCABULARY_TYPES.keys() - {"ownershipType", "tag"})),
    "canEditEmbed": ("embed", _ASSET_TYPES),
}

#: Switch → privileges on the entity, one of which suffices, and the entity types to which it applies.
_PRIVILEGE_SWITCHES: Mapping[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "canEditLineage": (("EDIT_ENTITY", "EDIT_LINEAGE"), _ASSET_TYPES),
    "canEditDataProducts": (("EDIT_ENTITY", "EDIT_ENTITY_DATA_PRODUCTS"), _ASSET_TYPES),
    "canEditQueries": (("EDIT_ENTITY", "EDIT_ENTITY_QUERIES"), _DATASET_TYPES),
    # Assertions and incidents are entities of their own, written by who holds this on each asset that they are about.
    "canEditAssertions": (("EDIT_ENTITY", "EDIT_ENTITY_ASSERTIONS"), _ASSET_TYPES),
    "canEditIncidents": (("EDIT_ENTITY", "EDIT_ENTITY_INCIDENTS"), _ASSET_TYPES),
    "canViewDatasetUsage": (("VIEW_DATASET_USAGE",), _DATASET_TYPES),
    "canViewDatasetProfile": (("VIEW_DATASET_PROFILE",), _DATASET_TYPES),
    "canViewDatasetOperations": (("VIEW_DATASET_OPERATIONS",), _DATASET_TYPES),
}

#: Switch → the part of the columns of a dataset that it is about.
_COLUMN_SWITCHES: Mapping[str, str] = {
    "canEditSchemaFieldTags": "globalTags",
    "canEditSchemaFieldGlossaryTerms": "glossaryTerms",
    "canEditSchemaFieldDescription": "description",
}

#: Switches of features that this site does not have.
_UNSUPPORTED_SWITCHES = (
    "canEditMonitors",
    "canEditSqlAssertionMonitors",
    "canProposeDescription",
    "canProposeTags",
    "canProposeGlossaryTerms",
    "canProposeSchemaFieldDescription",
    "canProposeSchemaFieldGlossaryTerms",
    "canProposeSchemaFieldTags",
    "canShareEntity",
)


def resolve_entity_privileges(node: Node, info: Info) -> Node | None:
    """Return the entity, from which each switch is resolved; None if it is not stored or may not be viewed."""
    return None if load_entity(node, info) is None else node


def build_edit_request(switch: str, urn: Urn) -> AccessRequest | None:
    """Return the access request for editing the aspect of a switch; None for a type without that aspect."""
    aspect, types = _EDIT_SWITCHES[switch]
    return required_privileges.build_edit_request(urn, aspect) if urn.type in types else None


def build_privilege_request(switch: str, urn: Urn) -> AccessRequest | None:
    """Return the access request for the privileges of a switch; None for a type to which it does not apply."""
    names, types = _PRIVILEGE_SWITCHES[switch]
    return (
        AccessRequest(any_of_requirement([[name] for name in names]), ResourceRef(urn.text, urn.type))
        if urn.type in types
        else None
    )


def build_column_request(switch: str, urn: Urn) -> AccessRequest | None:
    """Return the access request for editing a part of the columns of a dataset; None for other types."""
    part = f"editableSchemaFieldInfo[fieldPath].{_COLUMN_SWITCHES[switch]}"
    return (
        required_privileges.build_edit_request(urn, "editableSchemaMetadata", part)
        if urn.type in _DATASET_TYPES
        else None
    )


def build_description_request(urn: Urn) -> AccessRequest | None:
    """Return the access request for editing the description; None for a type without one."""
    return required_privileges.build_edit_request(urn, *DESCRIPTIONS[urn.type]) if urn.type in DESCRIPTIONS else None


def build_manage_request(urn: Urn) -> AccessRequest | None:
    """Return the access request for renaming a vocabulary entity; None for other types."""
    return (
        required_privileges.build_edit_request(urn, VOCABULARY_TYPES[urn.type].aspect, "name")
        if urn.type in VOCABULARY_TYPES
        else None
    )


def build_children_request(urn: Urn) -> AccessRequest | None:
    """Return the access request for managing the direct children of a term group; None for other types."""
    return required_privileges.build_manage_children_request(urn) if urn.type == "glossaryNode" else None


_REQUEST_BUILDERS: Mapping[str, Callable[[Urn], AccessRequest | None]] = {
    **{switch: partial(build_edit_request, switch) for switch in _EDIT_SWITCHES},
    **{switch: partial(build_privilege_request, switch) for switch in _PRIVILEGE_SWITCHES},
    **{switch: partial(build_column_request, switch) for switch in _COLUMN_SWITCHES},
    "canEditDescription": build_description_request,
    "canManageEntity": build_manage_request,
    "canManageChildren": build_children_request,
}


def resolve_switch(node: Node, info: Info) -> bool | None:
    """Return whether the caller may, decided for the whole batch; None if the switch does not apply to the type."""
    switch, by = info.field_name, info.context.by

    def load(entity_urns: Collection[str]) -> Mapping[str, bool]:
        access_requests = {
            urn: access_request
            for urn in entity_urns
            if (access_request := _REQUEST_BUILDERS[switch](urns.parse(urn))) is not None
        }
        decisions = (
            authorizer.answer_many(requests=[(by, access_request) for access_request in access_requests.values()])
            if access_requests
            else []
        )
        return {urn: decision.is_allowed for urn, decision in zip(access_requests, decisions, strict=True)}

    return info.context.load_batched(node.urn, ("may", switch), load)


def resolve_unsupported_switch(_node: Node, _info: Info) -> bool:
    """Return false, since this site does not have the feature."""
    return False


for _switch in _REQUEST_BUILDERS:
    privileges_type.set_field(_switch, resolve_switch)
for _switch in _UNSUPPORTED_SWITCHES:
    privileges_type.set_field(_switch, resolve_unsupported_switch)

BINDABLES = (privileges_type, EntityFields({"privileges": resolve_entity_privileges}))
