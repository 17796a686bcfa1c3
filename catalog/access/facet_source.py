"""Facets of entities for the engine: one query for any number of entities, complete or an error."""

import re
from collections.abc import Collection, Iterable, Mapping

from django.db import connection

from catalog import urns
from catalog.access import entity_lists
from catalog.aspects.base import LOGICAL_PARENT, SUBJECT
from catalog.models import Entity, Facet, list_parameter
from policies.engine import selectors
from policies.engine.selectors import Owner, Resource
from policies.identity.queries.object_ids import load_object_ids
from policies.identity.queries.object_ids import load_object_urns as objects_of_people
from policies.models.fields import filter_storable
from policies.pdp import actor_resolution

_USER_TYPE = "corpuser"

# Each statement has three parameters: the URNs, the fields, and the hierarchical ones among the fields. No tree is
# walked: Ancestry holds every ancestor of every node, stored or not.
_LOAD_FACETS_SQL = {
    "postgresql": """
        WITH wanted AS (
            SELECT entity.urn AS urn, facet.field AS field, facet.value AS value, facet.type AS type
            FROM catalog_entity entity JOIN catalog_facet facet ON facet.entity_id = entity.id
            WHERE entity.urn = ANY(%s::text[]) AND facet.field = ANY(%s::text[]))
        SELECT urn, field, value, type FROM wanted
        UNION ALL
        SELECT wanted.urn, wanted.field, ancestry.ancestor, ''
        FROM wanted JOIN catalog_ancestry ancestry ON ancestry.node = wanted.value
        WHERE wanted.field = ANY(%s::text[])""",
    "sqlite": """
        WITH wanted AS (
            SELECT entity.urn AS urn, facet.field AS field, facet.value AS value, facet.type AS type
            FROM catalog_entity entity JOIN catalog_facet facet ON facet.entity_id = entity.id
            WHERE entity.urn IN (SELECT value FROM json_each(%s))
            AND facet.field IN (SELECT value FROM json_each(%s)))
        SELECT urn, field, value, type FROM wanted
        UNION ALL
        SELECT wanted.urn, wanted.field, ancestry.ancestor, ''
        FROM wanted JOIN catalog_ancestry ancestry ON ancestry.node = wanted.value
        WHERE wanted.field IN (SELECT value FROM json_each(%s))""",
}


class OrmFacetSource:
    """`policies.engine.ports.FacetSource` over the tables of the catalog."""

    def load(self, *, urns: Collection[str], fields: Collection[str]) -> Mapping[str, Resource]:
        """Return a resource for each URN, known or not, with a value set for each of the fields.

        One query; two more for GROUP_MEMBERSHIP of users, whose groups are in `policies`, and up to four more for ID
        and PROJECT, which are columns. CREATION and BRANCH have the value that they have for everything that exists.
        """
        facet_fields = set(fields) - {selectors.TYPE, selectors.URN}
        values_by_urn: dict[str, dict[str, set[str]]] = {urn: {field: set() for field in facet_fields} for urn in urns}
        owners: dict[str, set[Owner]] = {urn: set() for urn in urns}
        _add_own_values(values_by_urn)
        for urn, field, value, type_ in _load_rows(urns, facet_fields - _FIELDS_OUTSIDE_FACETS):
            values_by_urn[urn][field].add(value)
            if field == selectors.OWNER:
                owners[urn].add(Owner(value, type_))
        if selectors.GROUP_MEMBERSHIP in facet_fields:
            _add_groups(values_by_urn)
        if not facet_fields.isdisjoint(_OBJECT_FIELDS):
            _add_object_fields(values_by_urn, facet_fields & _OBJECT_FIELDS)
        for field in facet_fields & selectors.CONSTANT_FACETS.keys():
            for values_by_field in values_by_urn.values():
                values_by_field[field].add(selectors.CONSTANT_FACETS[field])
        return {
            urn: _build_resource(urn, values_by_field, owners[urn]) for urn, values_by_field in values_by_urn.items()
        }

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


def _load_rows(urns: Iterable[str], fields: Collection[str]) -> Iterable[tuple[str, str, str, str]]:
    if not fields:
        return []
    lists = [filter_storable(urns), sorted(fields), sorted(selectors.HIERARCHICAL_FIELDS & set(fields))]
    parameters = [list_parameter(values, connection) for values in lists]
    with connection.cursor() as cursor:
        cursor.execute(_LOAD_FACETS_SQL[connection.vendor], parameters)
        rows: list[tuple[str, str, str, str]] = cursor.fetchall()
    return rows


def _add_own_values(values_by_urn: Mapping[str, dict[str, set[str]]]) -> None:
    """Add nodes and instances as values of themselves; unstored ones have no row for it (a.4)."""
    for urn, values_by_field in values_by_urn.items():
        own_field = selectors.OWN_FIELDS.get(urns.entity_type(urn))
        if own_field in values_by_field:
            values_by_field[own_field].add(urn)


def _add_groups(values_by_urn: Mapping[str, dict[str, set[str]]]) -> None:
    users = [urn for urn in values_by_urn if urns.entity_type(urn) == _USER_TYPE]
    for urn, actor in actor_resolution.load_actors(urns=users).items() if users else ():
        values_by_urn[urn][selectors.GROUP_MEMBERSHIP].update(actor.groups)


def _add_object_fields(values_by_urn: Mapping[str, dict[str, set[str]]], fields: Collection[str]) -> None:
    """Add object ids and projects from the rows; an unstored object has the id in its URN.

    Except when an object with that id is stored under another URN: then this URN names nothing, and an answer about it
    must not bypass the project of the stored one.
    """
    rows = Entity.objects.filter(urn__among=values_by_urn).order_by()
    stored_objects = {
        urn: (object_id, project) for urn, object_id, project in rows.values_list("urn", "object_id", "project")
    }
    ids = {urn: stored_id for urn, (stored_id, _) in stored_objects.items()}
    if selectors.ID in fields:
        ids |= _find_ids_in_urns([urn for urn in values_by_urn if urn not in stored_objects]) | load_object_ids(
            urns=list(values_by_urn)
        )
    for urn, values_by_field in values_by_urn.items():
        if selectors.ID in fields and (object_id := ids.get(urn)):
            values_by_field[selectors.ID].add(object_id)
        if selectors.PROJECT in fields and (project := stored_objects.get(urn, (None, None))[1]):
            values_by_field[selectors.PROJECT].add(project)


def _find_ids_in_urns(unknown_urns: Iterable[str]) -> dict[str, str | None]:
    objects_by_urn = {urn: match.groups() for urn in unknown_urns if (match := _OBJECT_ID_URN.fullmatch(urn))}
    if not objects_by_urn:
        return {}
    rows = Entity.objects.filter(object_id__among=[object_id for _, object_id in objects_by_urn.values()]).order_by()
    taken_objects = set(rows.values_list("type", "object_id"))
    return {urn: pair[1] for urn, pair in objects_by_urn.items() if pair not in taken_objects}


def _build_resource(urn: str, values_by_field: Mapping[str, set[str]], owners: Iterable[Owner]) -> Resource:
    facets = {field: frozenset(values) for field, values in values_by_field.items()}
    return Resource(urn, urns.entity_type(urn), facets, frozenset(owners))


def _glossary_urns(entity_urns: Iterable[str]) -> list[str]:
    return [urn for urn in entity_urns if urns.entity_type(urn) in ("glossaryNode", "glossaryTerm")]


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
        return urns.field_dataset_urns(urn)
    values = direct_values.get((urn, _RELATIVE_FIELDS[name]), [])
    if name == "subjects":
        values = [dataset for value in values for dataset in urns.field_dataset_urns(value) or (value,)]
    return tuple(dict.fromkeys(values))
