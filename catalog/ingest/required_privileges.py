"""What each change to the catalog needs, judged by what is stored before it.

An existing entity: EDIT_ENTITY or the aspect's own privilege. A new one: CREATE_ENTITY or EDIT_ENTITY. The assets of
data products, queries and logical parents follow the derived rules of the policies guide (source 000; rules/datahub.md
c), and changes of tags the constraints of a.5. A data product is otherwise written like any entity, or with Manage Data
Products on its domains; one that the API of entities makes needs that privilege. Terms and term groups inside a term
group are also managed with Manage Direct Glossary Children on that group, or Manage All Glossary Children on it or on
one above it (ADR 22).
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from catalog import urns
from catalog.access.aspect_documents import Documents
from catalog.aspects.annotations import tags_of
from catalog.aspects.base import SUBJECT
from catalog.ingest.batch_relatives import GLOSSARY_INFO, PARENT_NODE, Proposed, groups_above, values_of
from catalog.ingest.validate import Item
from catalog.urns import Urn
from policies.engine import families
from policies.engine.families import cdap, cdap_entity_ids, datahub
from policies.engine.requirements import Need, Requirement, alternatives
from policies.pdp.authorizer import Ask, Asked

_PRODUCT, _PRODUCT_PROPERTIES = "dataProduct", "dataProductProperties"


_EDIT = (("EDIT_ENTITY",),)
_WRITE_ON_PARENT = ((Need((cdap.WRITE,), cdap.PARENT),),)
_DOCS = (("EDIT_ENTITY_DOCS",),)
_LINEAGE = (("EDIT_LINEAGE",),)

#: What else suffices to write an aspect of an entity that exists: lists of privileges, all of one list.
_OWN_PRIVILEGES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "applications": (("EDIT_ENTITY_APPLICATIONS_PRIVILEGE",),),
    "dataJobInputOutput": _LINEAGE,
    "deprecation": (("EDIT_DEPRECATION_PRIVILEGE",),),
    "domains": (("EDIT_DOMAINS_PRIVILEGE",),),
    "editableChartProperties": _DOCS,
    "editableContainerProperties": _DOCS,
    "editableDashboardProperties": _DOCS,
    "editableDataFlowProperties": _DOCS,
    "editableDataJobProperties": _DOCS,
    "editableDatasetProperties": _DOCS,
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
    "upstreamLineage": _LINEAGE,
}

#: Type → the platform privileges that also suffice to make one, and those that suffice to change what it is called and
#: means, and to delete it (the policies guide: who manages tags, domains, glossaries and ownership types).
_MAKERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "domain": (("CREATE_DOMAINS",), ("MANAGE_DOMAINS",)),
    "glossaryNode": (("MANAGE_GLOSSARIES",),),
    "glossaryTerm": (("MANAGE_GLOSSARIES",),),
    "ownershipType": (("MANAGE_GLOBAL_OWNERSHIP_TYPES",),),
    "tag": (("CREATE_TAGS",), ("MANAGE_TAGS",)),
}
_MANAGERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    type_: tuple(one for one in lists if one[0].startswith("MANAGE_")) for type_, lists in _MAKERS.items()
}
#: The aspects that say what such an entity is called and means.
_MANAGED = frozenset(
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
#: What also suffices for what is in a term group: a privilege on the group, or on that or one above it.
_IN_GROUP = (
    Need(("MANAGE_GLOSSARY_CHILDREN",), "term_group"),
    Need(("MANAGE_ALL_GLOSSARY_CHILDREN",), "term_groups"),
)
#: The same of the term group that something is moved to.
_INTO_GROUP = (
    Need(("MANAGE_GLOSSARY_CHILDREN",), "new_term_group"),
    Need(("MANAGE_ALL_GLOSSARY_CHILDREN",), "new_term_groups"),
)

#: Aspects whose tags are checked against constraints, and what changing their tags needs (a.5).
_TAGGING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "globalTags": (("EDIT_ENTITY",), ("EDIT_ENTITY_TAGS",)),
    "schemaMetadata": (("EDIT_ENTITY",), ("EDIT_DATASET_COL_TAGS",)),
    "editableSchemaMetadata": (("EDIT_ENTITY",), ("EDIT_DATASET_COL_TAGS",)),
}

#: Types of `policies` → the group of privileges that rules them. Roles are ruled like the policies that name them.
_GROUPS = {"corpuser": "user", "corpGroup": "group", "dataHubRole": "policy", "dataHubPolicy": "policy"}

#: Documents that a judgement compares with what arrives.
COMPARED = frozenset(_TAGGING) | GLOSSARY_INFO | {_PRODUCT_PROPERTIES, "querySubjects", "logicalParent"}


def asks(
    items: Collection[Item],
    ledger: Documents,
    *,
    known: Collection[str],
    with_constraints: bool,
    registered: Collection[str] = (),
) -> list[Ask]:
    """Return what must be allowed, all of it, for these changes.

    `known` are the URNs that exist before them, `registered` those that the API of entities registers by them.
    """
    proposed = Proposed(items)
    found = [_registration(urns.parse(urn), proposed, is_known=urn in known) for urn in registered]
    for item in items:
        is_known = item.urn.text in known
        if is_known or item.urn.text not in registered or item.urn.type != _PRODUCT:
            found += _aspect(item, ledger, proposed, is_known=is_known)
        else:
            found += _assets_asks(item, ledger, proposed)
        if with_constraints and item.aspect in _TAGGING:
            found += _constrained(item, ledger)
    return found


def editing(urn: Urn, aspect: str) -> Ask:
    """Return what editing an aspect of an entity that exists needs, before anything about the edit is known.

    Constraints on tags look at the tags that change; who may change none of them is told so then.
    """
    itself = _itself(urn)
    if urn.type == "query":
        return Ask(families.requirement("query.update"), itself)
    if urn.type != _PRODUCT:
        return Ask(_edit(urn, aspect), itself)
    update = families.requirement("data_product.update")
    return Ask(update if aspect == _PRODUCT_PROPERTIES else _either(_edit(urn, aspect), update.any_of), itself)


def managing_children(group: Urn) -> Ask:
    """Return what managing what is directly in a term group needs."""
    managers = alternatives(_MANAGERS[group.type]).any_of
    requirement = Requirement((*managers, *((need,) for need in _IN_GROUP)))
    groups = (group.text, *groups_above({group.text}).get(group.text, ()))
    return Ask(requirement, _itself(group), relatives={"term_group": groups[:1], "term_groups": groups})


def _registration(urn: Urn, proposed: "Proposed", *, is_known: bool) -> Ask:
    """Return what writing an entity itself by the API needs, whatever its aspects."""
    if urn.type == _PRODUCT:
        domains = proposed.domains.get(urn.text, ())
        if not is_known:
            return Ask(families.requirement("data_product.create"), _itself(urn), relatives={"domains": domains})
        return Ask(_either(_edit(urn, ""), families.requirement("data_product.update").any_of), _itself(urn))
    if not is_known:
        return _creation(urn, proposed)
    return _in_parent(Ask(_edit(urn, ""), _itself(urn)))


def removal(urn: Urn) -> list[Ask]:
    """Return what deleting an entity of the catalog needs."""
    derived = _DELETES.get(urn.type)
    requirement = families.requirement(derived) if derived else _either(_group(urn, "delete"), _managers(urn))
    return [Ask(requirement, _itself(urn))]


_DELETES = {_PRODUCT: "data_product.delete", "query": "query.delete"}


def _aspect(item: Item, ledger: Documents, proposed: Proposed, *, is_known: bool) -> list[Ask]:
    if item.aspect == "logicalParent":
        return [_logical_parent(item)]
    if item.urn.type == "query":
        return [_query(item, ledger, proposed, is_known=is_known)]
    if item.urn.type == _PRODUCT:
        return _product(item, ledger, proposed, is_known=is_known)
    if item.is_removal_of_entity:
        return removal(item.urn)
    if not is_known:
        return [_creation(item.urn, proposed)]
    if item.urn.type in _GLOSSARY_TYPES and item.aspect in GLOSSARY_INFO:
        return [_glossary_info(item, ledger, proposed)]
    return [Ask(_edit(item.urn, item.aspect), _itself(item.urn))]


def _glossary_info(item: Item, ledger: Documents, proposed: Proposed) -> Ask:
    """Moving a term or term group needs a privilege on the group it leaves and one on the group it comes to."""
    before, after = _parsed(ledger, item).get(PARENT_NODE), proposed.group_of(item.urn.text)
    if before == after:
        return Ask(_edit(item.urn, item.aspect), _itself(item.urn))
    both = tuple((leaving, coming) for leaving in _IN_GROUP for coming in _INTO_GROUP)
    requirement = _either(_group(item.urn, "update"), (*alternatives(_EDIT + _MANAGERS[item.urn.type]).any_of, *both))
    groups = proposed.groups_from(after)
    return Ask(requirement, _itself(item.urn), relatives={"new_term_group": groups[:1], "new_term_groups": groups})


def _logical_parent(item: Item) -> Ask:
    """Setting needs both sides, clearing the child's."""
    parent = ((item.parsed or {}).get("parent") or {}).get("destinationUrn")
    if parent is None:
        return Ask(families.requirement("logical_parent.clear"), _itself(item.urn))
    return Ask(families.requirement("logical_parent.set"), _itself(item.urn), relatives={"parent": (parent,)})


def _query(item: Item, ledger: Documents, proposed: Proposed, *, is_known: bool) -> Ask:
    """Every subject must allow it: those there were and those there will be, so that none can be swapped away."""
    stored = values_of(item, ledger.document(item.urn.text, "querySubjects"), SUBJECT)
    subjects = tuple(dict.fromkeys((*stored, *proposed.subjects.get(item.urn.text, ()))))
    verb = "delete" if _is_removal(item) else "update" if is_known else "create"
    return Ask(families.requirement(f"query.{verb}"), _itself(item.urn), relatives={"subjects": subjects})


def _product(item: Item, ledger: Documents, proposed: Proposed, *, is_known: bool) -> list[Ask]:
    """An ordinary entity, or its domains' manager; only of changed assets a rule of their own decides (source 000)."""
    itself, domains = _itself(item.urn), proposed.domains.get(item.urn.text)
    assets = _assets_asks(item, ledger, proposed)
    if not is_known:
        create = _either(_group(item.urn, "create"), families.requirement("data_product.create").any_of)
        return [*assets, Ask(create, itself, relatives={"domains": domains or ()})]
    if _is_removal(item):
        return removal(item.urn)
    if assets and not _is_more_than_assets(item, ledger):
        return assets
    # The domains stored now decide about a change of domains: nobody takes a product over by moving it.
    given = {} if domains is None or item.aspect != _PRODUCT_PROPERTIES else {"domains": domains}
    update = _either(_edit(item.urn, item.aspect), families.requirement("data_product.update").any_of)
    return [*assets, Ask(update, itself, relatives=given)]


def _assets_asks(item: Item, ledger: Documents, proposed: Proposed) -> list[Ask]:
    """Return what changing the assets of a product needs, nothing when none changes."""
    if item.aspect != _PRODUCT_PROPERTIES:
        return []
    changed = _assets(_parsed(ledger, item)) ^ _assets(dict(item.parsed or {}))
    if not changed:
        return []
    domains = proposed.domains.get(item.urn.text)
    relatives = {"assets": tuple(sorted(changed)), **({} if domains is None else {"domains": domains})}
    return [Ask(families.requirement("data_product.ingest_assets"), _itself(item.urn), relatives=relatives)]


def _is_more_than_assets(item: Item, ledger: Documents) -> bool:
    before, after = _parsed(ledger, item), dict(item.parsed or {})
    return any(before.get(key) != after.get(key) for key in (before.keys() | after.keys()) - {"assets"})


def _constrained(item: Item, ledger: Documents) -> list[Ask]:
    """One policy must cover the change together with every tag that was added or removed."""
    changed = tags_of(_parsed(ledger, item)) ^ tags_of(item.parsed)
    if not changed:
        return []
    tags = tuple(sorted({tag for _, tag in changed}))
    return [Ask(alternatives(_TAGGING[item.aspect]), _itself(item.urn), tags)]


def creation(urn: Urn, *, group: str | None = None) -> Ask:
    """Return what making an entity of the catalog needs; a term or term group in this group."""
    return _made_in(urn, () if group is None else (group, *groups_above({group}).get(group, ())))


def _creation(urn: Urn, proposed: Proposed) -> Ask:
    return _made_in(urn, proposed.groups_from(proposed.group_of(urn.text)))


def _made_in(urn: Urn, groups: tuple[str, ...]) -> Ask:
    create = _either(_group(urn, "create"), alternatives(_MAKERS.get(urn.type, ())).any_of)
    if urn.type not in _GLOSSARY_TYPES:
        return _in_parent(Ask(create, _itself(urn)))
    requirement = _either(create, tuple((need,) for need in _IN_GROUP))
    return Ask(requirement, _itself(urn), relatives={"term_group": groups[:1], "term_groups": groups})


def _in_parent(ask: Ask) -> Ask:
    """Return what also suffices for a CDAP entity: WRITE on what it lies in (rules/cdap.md CD-8)."""
    name = cdap_entity_ids.read(ask.resource.urn) if ask.resource is not None else None
    if name is None or name.parent is None:
        return ask
    return Ask(_either(ask.requirement, _WRITE_ON_PARENT), ask.resource, relatives={cdap.PARENT: (name.parent,)})


def _edit(urn: Urn, aspect: str) -> Requirement:
    managers = _managers(urn) if aspect in _MANAGED else ()
    own = alternatives(_EDIT + _OWN_PRIVILEGES.get(aspect, ())).any_of
    return _either(_group(urn, "update"), (*own, *managers))


def _managers(urn: Urn) -> tuple[tuple[Need, ...], ...]:
    """Return what managing such an entity needs, beside the privileges on the entity itself."""
    children = tuple((need,) for need in _IN_GROUP) if urn.type in _GLOSSARY_TYPES else ()
    return alternatives(_MANAGERS.get(urn.type, ())).any_of + children


def _group(urn: Urn, verb: str) -> Requirement:
    return datahub.groups()[f"{_GROUPS.get(urn.type, 'entity')}.{verb}"]


def _either(requirement: Requirement, more: tuple[Any, ...]) -> Requirement:
    return Requirement(tuple(dict.fromkeys((*requirement.any_of, *more))))


def _itself(urn: Urn) -> Asked:
    return Asked(urn.text, urn.type)


def _is_removal(item: Item) -> bool:
    is_soft = item.aspect == "status" and bool((item.parsed or {}).get("removed"))
    return is_soft or item.is_removal_of_entity


def _parsed(ledger: Documents, item: Item) -> dict[str, Any]:
    text = ledger.document(*item.key)
    return {} if text is None else dict(json.loads(text))


def _assets(document: Mapping[str, Any]) -> set[str]:
    return {edge["destinationUrn"] for edge in document.get("assets") or ()}
