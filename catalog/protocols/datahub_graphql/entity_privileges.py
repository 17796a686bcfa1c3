"""What the caller may do with an entity, as switches of DataHub's pages; the services ask the same when it is done."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from ariadne import ObjectType

from catalog import urns
from catalog.entities.annotations import DESCRIPTIONS
from catalog.entities.vocabulary import KINDS
from catalog.ingest import required_privileges
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.datasets_and_roles import EntityFields, told
from catalog.protocols.datahub_graphql.nodes import Node
from catalog.urns import Urn
from policies.engine.requirements import alternatives
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked

privileges = ObjectType("EntityPrivileges")

#: Types whose entities are data, with everything that can be attached to data.
_ASSETS = frozenset(
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
_DATASETS = frozenset({"dataset"})

#: Switch → the aspect that it is about, and the types of entities that have it.
_EDITS: Mapping[str, tuple[str, frozenset[str]]] = {
    "canEditDomains": ("domains", _ASSETS | {"dataProduct", "glossaryNode", "glossaryTerm"}),
    "canEditTags": ("globalTags", _ASSETS | {"dataProduct"}),
    "canEditGlossaryTerms": ("glossaryTerms", _ASSETS | {"dataProduct"}),
    "canEditLinks": ("institutionalMemory", _ASSETS | (KINDS.keys() - {"ownershipType"})),
    "canEditOwners": ("ownership", _ASSETS | (KINDS.keys() - {"ownershipType"})),
    "canEditDeprecation": ("deprecation", _ASSETS | {"glossaryTerm"}),
    "canEditProperties": ("structuredProperties", _ASSETS | (KINDS.keys() - {"ownershipType", "tag"})),
    "canEditEmbed": ("embed", _ASSETS),
}

#: Switch → the privileges on the entity of which one suffices, and the types that it is about.
_HOLDS: Mapping[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "canEditLineage": (("EDIT_ENTITY", "EDIT_LINEAGE"), _ASSETS),
    "canEditDataProducts": (("EDIT_ENTITY", "EDIT_ENTITY_DATA_PRODUCTS"), _ASSETS),
    "canEditQueries": (("EDIT_ENTITY", "EDIT_ENTITY_QUERIES"), _DATASETS),
    "canEditSchemaFieldTags": (("EDIT_ENTITY", "EDIT_DATASET_COL_TAGS"), _DATASETS),
    "canEditSchemaFieldGlossaryTerms": (("EDIT_ENTITY", "EDIT_DATASET_COL_GLOSSARY_TERMS"), _DATASETS),
    "canEditSchemaFieldDescription": (("EDIT_ENTITY", "EDIT_DATASET_COL_DESCRIPTION"), _DATASETS),
    "canViewDatasetUsage": (("VIEW_DATASET_USAGE",), _DATASETS),
    "canViewDatasetProfile": (("VIEW_DATASET_PROFILE",), _DATASETS),
    "canViewDatasetOperations": (("VIEW_DATASET_OPERATIONS",), _DATASETS),
}

#: Switches of what this site does not do.
_NEVER = (
    "canEditAssertions",
    "canEditIncidents",
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


def entity_privileges(node: Node, info: Info) -> Node | None:
    """Return the entity, of which each switch is asked for; nothing for one that is not stored or may not be viewed."""
    return None if told(node, info) is None else node


def edit_ask(switch: str, urn: Urn) -> Ask | None:
    """Return what editing the aspect of a switch needs; None for a type that does not have it."""
    aspect, types = _EDITS[switch]
    return required_privileges.editing(urn, aspect) if urn.type in types else None


def privilege_ask(switch: str, urn: Urn) -> Ask | None:
    """Return the question for one of the privileges of a switch; None for a type that it is not about."""
    names, types = _HOLDS[switch]
    return Ask(alternatives([[name] for name in names]), Asked(urn.text, urn.type)) if urn.type in types else None


def description_ask(urn: Urn) -> Ask | None:
    """Return what editing the description needs."""
    return required_privileges.editing(urn, DESCRIPTIONS[urn.type][0]) if urn.type in DESCRIPTIONS else None


def manage_ask(urn: Urn) -> Ask | None:
    """Return what renaming an entity of a vocabulary needs."""
    return required_privileges.editing(urn, KINDS[urn.type].aspect) if urn.type in KINDS else None


def children_ask(urn: Urn) -> Ask | None:
    """Return what managing what is directly in a term group needs."""
    return required_privileges.managing_children(urn) if urn.type == "glossaryNode" else None


_ASKS: Mapping[str, Callable[[Urn], Ask | None]] = {
    **{switch: partial(edit_ask, switch) for switch in _EDITS},
    **{switch: partial(privilege_ask, switch) for switch in _HOLDS},
    "canEditDescription": description_ask,
    "canManageEntity": manage_ask,
    "canManageChildren": children_ask,
}


def may(node: Node, info: Info) -> bool | None:
    """Return whether the caller may do what the field is named for, asked for all entities of a list at once."""
    switch, by = info.field_name, info.context.by

    def load(asked: Collection[str]) -> Mapping[str, bool]:
        asks = {urn: ask for urn in asked if (ask := _ASKS[switch](urns.parse(urn))) is not None}
        decisions = authorizer.answer_many(asks=[(by, ask) for ask in asks.values()]) if asks else []
        return {urn: one.is_allowed for urn, one in zip(asks, decisions, strict=True)}

    return info.context.look_up(node.urn, ("may", switch), load)


def never(_node: Node, _info: Info) -> bool:
    """Return that nobody may, since there is no such thing here."""
    return False


for _switch in _ASKS:
    privileges.set_field(_switch, may)
for _switch in _NEVER:
    privileges.set_field(_switch, never)

BINDABLES = (privileges, EntityFields({"privileges": entity_privileges}))
