"""Facets of entities for the engine: one query for any number of entities, complete or an error."""

import re
from collections.abc import Collection, Iterable, Mapping

from catalog.access import entity_lists, fact_rows
from catalog.access.fact_rows import FactRows
from catalog.aspects.facet_fields import LOGICAL_PARENT, SUBJECT
from catalog.models import Entity, Facet
from catalog.urns import entity_type, field_dataset_urns
from policies.engine import selectors
from policies.engine.gc_pause import pause_gc
from policies.engine.model import Actor
from policies.engine.ports import LoadedFacts
from policies.engine.selectors import Resource
from policies.identity.queries.object_ids import load_object_ids
from policies.identity.queries.object_ids import load_object_urns as objects_of_people
from policies.models.fields import filter_storable
from policies.pdp import actor_resolution
from policies.pdp.shared_sets import deduplicate, make_set

_USER_TYPE = "corpuser"


class OrmFacetSource:
    """`policies.engine.ports.FacetSource` over the tables of the catalog."""

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return a resource for each URN, as `load_facts`; without fields no query."""
        if not fields:
            return {urn: Resource(urn, entity_type(urn), {}) for urn in urns}
        return self.load_facts(actors=(), urns=urns, fields=fields).resources

    # Nearly all objects made here stay in the cache of facts; collecting garbage would visit them again and again.
    @pause_gc()
    def load_facts(self, *, actors: Collection[str], urns: Collection[str], fields: Collection[str]) -> LoadedFacts:
        """Return the actors, the types of the stored entities, and a resource for each URN, known or not.

        A resource has a value set for each of the fields. One query; for ID one more each for users, for roles, whose
        ids are in `policies`, and for unknown entities with an id in their URN.
        """
        facet_fields = frozenset(fields) - {selectors.TYPE, selectors.URN}
        members = _list_users(urns) if selectors.GROUP_MEMBERSHIP in facet_fields else []
        rows = fact_rows.fetch_facts(
            actors=[*actors, *members], urns=urns, fields=facet_fields - _FIELDS_OUTSIDE_FACETS
        )
        actors_by_urn = actor_resolution.read_actors(rows.actor_urns, rows.actor_rows)
        facets_by_urn = _read_facets(urns, facet_fields, rows)
        for urn in members:
            facets_by_urn[urn][selectors.GROUP_MEMBERSHIP] = _find_actor(actors_by_urn, urn).groups
        if not facet_fields.isdisjoint(_OBJECT_FIELDS):
            _add_object_fields(facets_by_urn, facet_fields & _OBJECT_FIELDS, rows)
        return LoadedFacts(
            actors={urn: _find_actor(actors_by_urn, urn) for urn in actors},
            types={urn: entity.type for urn, entity in rows.entities.items() if entity.type is not None},
            resources={urn: _build_resource(urn, facets, rows) for urn, facets in facets_by_urn.items()},
        )

    def load_relatives(
        self, *, urns: Collection[str], names: Collection[str]
    ) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Return URN -> relative name -> URNs, in at most three queries.

        Knows `logical_parent` besides the relatives of the port. Raises KeyError for any other name.
        """
        fields = {_RELATIVE_FIELDS[name] for name in names if name in _RELATIVE_FIELDS}
        direct_values = _load_direct_values(urns, fields) if fields else {}
        parents = dict(entity_lists.load_parents(urns=urns)) if not _PARENT_RELATIVES.isdisjoint(names) else {}
        ancestors = entity_lists.load_ancestors(nodes=_glossary_urns(urns)) if "term_groups" in names else {}
        return {
            urn: {name: _relative_urns(name, urn, direct_values, parents, ancestors) for name in names} for urn in urns
        }

    def load_types(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return URN -> entity type of the stored entities."""
        rows = Entity.objects.filter(urn__among=urns).order_by()
        return dict(rows.values_list("urn", "type"))

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return (type, object id) -> URN of the stored entities; hexadecimal digits match in either case.

        One query; one more each for users and roles among them.
        """
        object_ids_to_find = filter_storable(object_id.lower() for _, object_id in objects)
        rows = (
            Entity.objects.filter(object_id__among=object_ids_to_find)
            .order_by()
            .values_list("type", "object_id", "urn")
        )
        urns_by_object = {(type_, object_id): urn for type_, object_id, urn in rows} | objects_of_people(
            objects=objects
        )
        lookups = ((pair, urns_by_object.get((pair[0], pair[1].lower()))) for pair in objects)
        return {pair: urn for pair, urn in lookups if urn is not None}


_OBJECT_FIELDS = frozenset({selectors.ID, selectors.PROJECT})
#: Fields whose values are not rows of the facet table.
_FIELDS_OUTSIDE_FACETS = _OBJECT_FIELDS | {selectors.GROUP_MEMBERSHIP} | selectors.CONSTANT_FACETS.keys()

#: URN of an object that has no other URN (api.md).
_OBJECT_ID_URN = re.compile(r"urn:li:([a-z_]+):([0-9a-f]{24})")

#: Relatives derived from the parent of an entity.
_PARENT_RELATIVES = frozenset({"parent", "term_group"})

_RELATIVE_FIELDS = {"domains": selectors.DOMAIN, "subjects": SUBJECT, "logical_parent": LOGICAL_PARENT}


#: Field → values of one entity.
Facets = dict[str, frozenset[str]]


def _list_users(entity_urns: Iterable[str]) -> list[str]:
    return [urn for urn in entity_urns if entity_type(urn) == _USER_TYPE]


def _find_actor(actors_by_urn: Mapping[str, Actor], urn: str) -> Actor:
    """Return an actor; no row can have a URN that is left out, so that user is unknown."""
    return actors_by_urn.get(urn) or Actor(urn)


def _read_facets(entity_urns: Iterable[str], fields: Collection[str], rows: FactRows) -> dict[str, Facets]:
    """Return the facets of each URN: stored values with all ancestors, and what holds for everything that exists.

    Nodes and instances are values of themselves; unstored ones have no row for it (a.4).
    """
    lineages = {node: deduplicate(frozenset((node, *ancestors))) for node, ancestors in rows.ancestors.items()}
    common_facets = {field: _list_common_values(field) for field in fields}
    facets_by_urn: dict[str, Facets] = {}
    for urn in entity_urns:
        facets = facets_by_urn[urn] = common_facets.copy()
        if (entity := rows.entities.get(urn)) is not None:
            for field, values in entity.values.items():
                is_hierarchical = field in selectors.HIERARCHICAL_FIELDS
                facets[field] = _join_lineages(values, lineages) if is_hierarchical else make_set(values)
        own_field = selectors.OWN_FIELDS.get(entity_type(urn))
        if own_field in facets:
            facets[own_field] |= {urn}
    return facets_by_urn


def _list_common_values(field: str) -> frozenset[str]:
    return make_set((selectors.CONSTANT_FACETS[field],) if field in selectors.CONSTANT_FACETS else ())


def _join_lineages(nodes: list[str], lineages: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the nodes with all their ancestors; of a single node the set that all its entities share."""
    if len(nodes) == 1 and nodes[0] in lineages:
        return lineages[nodes[0]]
    return frozenset(nodes).union(*(lineages[node] for node in nodes if node in lineages))


def _add_object_fields(facets_by_urn: Mapping[str, Facets], fields: Collection[str], rows: FactRows) -> None:
    """Set object ids and projects from the rows; an unstored object has the id in its URN.

    Except when an object with that id is stored under another URN: then this URN names nothing, and an answer about it
    must not bypass the project of the stored one.
    """
    stored_entities = {urn: entity for urn, entity in rows.entities.items() if entity.type is not None}
    if selectors.PROJECT in fields:
        for urn, entity in stored_entities.items():
            facets_by_urn[urn][selectors.PROJECT] = frozenset((entity.project,) if entity.project else ())
    if selectors.ID in fields:
        ids = {urn: entity.object_id for urn, entity in stored_entities.items()}
        ids |= _find_ids_in_urns([urn for urn in facets_by_urn if urn not in stored_entities])
        ids |= load_object_ids(urns=list(facets_by_urn))
        for urn, object_id in ids.items():
            facets_by_urn[urn][selectors.ID] = frozenset((object_id,) if object_id else ())


def _find_ids_in_urns(unknown_urns: Iterable[str]) -> dict[str, str]:
    objects_by_urn = {urn: match.groups() for urn in unknown_urns if (match := _OBJECT_ID_URN.fullmatch(urn))}
    if not objects_by_urn:
        return {}
    rows = Entity.objects.filter(object_id__among=[object_id for _, object_id in objects_by_urn.values()]).order_by()
    taken_objects = set(rows.values_list("type", "object_id"))
    return {urn: pair[1] for urn, pair in objects_by_urn.items() if pair not in taken_objects}


def _build_resource(urn: str, facets: Facets, rows: FactRows) -> Resource:
    entity = rows.entities.get(urn)
    return Resource(urn, entity_type(urn), facets, make_set(() if entity is None else entity.owners))


def _glossary_urns(entity_urns: Iterable[str]) -> list[str]:
    return [urn for urn in entity_urns if entity_type(urn) in ("glossaryNode", "glossaryTerm")]


def _load_direct_values(entity_urns: Iterable[str], fields: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    rows = Facet.objects.filter(entity__urn__among=entity_urns, field__among=list(fields)).order_by("value")
    direct_values: dict[tuple[str, str], list[str]] = {}
    for urn, field, value in rows.values_list("entity__urn", "field", "value"):
        direct_values.setdefault((urn, field), []).append(value)
    return direct_values


def _relative_urns(
    name: str,
    urn: str,
    direct_values: Mapping[tuple[str, str], list[str]],
    parents: Mapping[str, str],
    ancestors: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    if name in _PARENT_RELATIVES:
        has_parent = urn in parents and (name == "parent" or bool(_glossary_urns([urn])))
        return (parents[urn],) if has_parent else ()
    if name == "term_groups":
        return ancestors.get(urn, ())
    if name == "dataset":
        return field_dataset_urns(urn)
    values = direct_values.get((urn, _RELATIVE_FIELDS[name]), [])
    if name == "subjects":
        values = [dataset for value in values for dataset in field_dataset_urns(value) or (value,)]
    return tuple(dict.fromkeys(values))
