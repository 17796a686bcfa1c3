"""Facts about entities for the engine: one query for any number of them, complete or an error."""

import re
from collections.abc import Collection, Iterable, Mapping

from django.db import connection

from catalog import urns
from catalog.access import entity_lists
from catalog.aspects.base import LOGICAL_PARENT, SUBJECT
from catalog.models import Entity, Facet, list_parameter
from policies.engine import selectors
from policies.engine.selectors import Owner, Resource
from policies.identity.queries.object_ids import object_ids
from policies.identity.queries.object_ids import object_urns as objects_of_people
from policies.models.fields import storable
from policies.pdp import actor_resolution

_USER = "corpuser"

# The three parameters of each are the URNs, the fields, and the hierarchical ones among the fields. The second half
# walks no tree: Ancestry holds every ancestor of every node, stored or not.
_LOAD = {
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

        One query; two more when GROUP_MEMBERSHIP is asked of users, whose groups live with the policies, and up to four
        more for ID and PROJECT, which are columns. CREATION and BRANCH have the value they have for all that exists.
        """
        wanted = set(fields) - {selectors.TYPE, selectors.URN}
        found: dict[str, dict[str, set[str]]] = {urn: {field: set() for field in wanted} for urn in urns}
        owners: dict[str, set[Owner]] = {urn: set() for urn in urns}
        _add_themselves(found)
        for urn, field, value, type_ in _rows(urns, wanted - _ELSEWHERE):
            found[urn][field].add(value)
            if field == selectors.OWNER:
                owners[urn].add(Owner(value, type_))
        if selectors.GROUP_MEMBERSHIP in wanted:
            _add_groups(found)
        if not wanted.isdisjoint(_OBJECTS):
            _add_objects(found, wanted & _OBJECTS)
        for field in wanted & selectors.CONSTANTS.keys():
            for sets in found.values():
                sets[field].add(selectors.CONSTANTS[field])
        return {urn: _resource(urn, sets, owners[urn]) for urn, sets in found.items()}

    def relatives(
        self, *, urns: Collection[str], names: Collection[str]
    ) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Return, for each URN, the URNs of each of the named relatives, in at most three queries.

        Beside those of the port it knows `logical_parent`. Raises KeyError for others.
        """
        fields = {_DIRECT[name] for name in names if name in _DIRECT}
        direct = _direct(urns, fields) if fields else {}
        parents = dict(entity_lists.parents(urns=urns)) if not _PARENTHOOD.isdisjoint(names) else {}
        above = entity_lists.ancestors(nodes=_in_glossary(urns)) if "term_groups" in names else {}
        return {urn: {name: _relative(name, urn, direct, parents, above) for name in names} for urn in urns}

    def known(self, *, urns: Collection[str]) -> Mapping[str, str]:
        """Return URN → entity type of those that are stored."""
        rows = Entity.objects.filter(urn__among=urns).order_by()
        return dict(rows.values_list("urn", "type"))

    def find(self, *, objects: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return (type, object id) → URN of those that are stored, whatever the case of their digits.

        One query; one more for users, and one for roles, that are among them.
        """
        wanted = storable(object_id.lower() for _, object_id in objects)
        rows = Entity.objects.filter(object_id__among=wanted).order_by().values_list("type", "object_id", "urn")
        known = {(type_, object_id): urn for type_, object_id, urn in rows} | objects_of_people(objects=objects)
        asked = ((pair, known.get((pair[0], pair[1].lower()))) for pair in objects)
        return {pair: urn for pair, urn in asked if urn is not None}


_OBJECTS = frozenset({selectors.ID, selectors.PROJECT})
#: Fields whose values are not rows of the facet table.
_ELSEWHERE = _OBJECTS | {selectors.GROUP_MEMBERSHIP} | selectors.CONSTANTS.keys()

#: What an object that has no other URN is called (api.md).
_NAMED_BY_ID = re.compile(r"urn:li:([a-z_]+):([0-9a-f]{24})")

#: Relatives that follow from what an entity is directly in.
_PARENTHOOD = frozenset({"parent", "term_group"})

_DIRECT = {"domains": selectors.DOMAIN, "subjects": SUBJECT, "logical_parent": LOGICAL_PARENT}


def _rows(urns: Iterable[str], fields: Collection[str]) -> Iterable[tuple[str, str, str, str]]:
    if not fields:
        return []
    lists = [storable(urns), sorted(fields), sorted(selectors.HIERARCHIES & set(fields))]
    parameters = [list_parameter(one, connection) for one in lists]
    with connection.cursor() as cursor:
        cursor.execute(_LOAD[connection.vendor], parameters)
        rows: list[tuple[str, str, str, str]] = cursor.fetchall()
    return rows


def _add_themselves(found: Mapping[str, dict[str, set[str]]]) -> None:
    """Add nodes and instances as values of themselves: for those that are not stored no row says so (a.4)."""
    for urn, sets in found.items():
        own = selectors.OWN_FIELDS.get(urns.type_of(urn))
        if own in sets:
            sets[own].add(urn)


def _add_groups(found: Mapping[str, dict[str, set[str]]]) -> None:
    users = [urn for urn in found if urns.type_of(urn) == _USER]
    for urn, actor in actor_resolution.actors(urns=users).items() if users else ():
        found[urn][selectors.GROUP_MEMBERSHIP].update(actor.groups)


def _add_objects(found: Mapping[str, dict[str, set[str]]], fields: Collection[str]) -> None:
    """Add object ids and projects: those of the rows; one that is not stored has the id that its URN is made of.

    Not so when an object with this id is stored under another URN: then this URN names nothing, and an answer about it
    must not get round the project of the other.
    """
    rows = Entity.objects.filter(urn__among=found).order_by()
    stored = {urn: (object_id, project) for urn, object_id, project in rows.values_list("urn", "object_id", "project")}
    ids = {urn: found_id for urn, (found_id, _) in stored.items()}
    if selectors.ID in fields:
        ids |= _by_name([urn for urn in found if urn not in stored]) | object_ids(urns=list(found))
    for urn, sets in found.items():
        if selectors.ID in fields and (object_id := ids.get(urn)):
            sets[selectors.ID].add(object_id)
        if selectors.PROJECT in fields and (project := stored.get(urn, (None, None))[1]):
            sets[selectors.PROJECT].add(project)


def _by_name(unknown: Iterable[str]) -> dict[str, str | None]:
    named = {urn: match.groups() for urn in unknown if (match := _NAMED_BY_ID.fullmatch(urn))}
    if not named:
        return {}
    rows = Entity.objects.filter(object_id__among=[object_id for _, object_id in named.values()]).order_by()
    taken = set(rows.values_list("type", "object_id"))
    return {urn: pair[1] for urn, pair in named.items() if pair not in taken}


def _resource(urn: str, sets: Mapping[str, set[str]], owners: Iterable[Owner]) -> Resource:
    facets = {field: frozenset(values) for field, values in sets.items()}
    return Resource(urn, urns.type_of(urn), facets, frozenset(owners))


def _in_glossary(found: Iterable[str]) -> list[str]:
    return [urn for urn in found if urns.type_of(urn) in ("glossaryNode", "glossaryTerm")]


def _direct(found: Iterable[str], fields: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    rows = Facet.objects.filter(entity__urn__among=found, field__among=list(fields)).order_by("value")
    direct: dict[tuple[str, str], list[str]] = {}
    for urn, field, value in rows.values_list("entity__urn", "field", "value"):
        direct.setdefault((urn, field), []).append(value)
    return direct


def _relative(
    name: str,
    urn: str,
    direct: Mapping[tuple[str, str], list[str]],
    parents: Mapping[str, str],
    above: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    if name in _PARENTHOOD:
        is_meant = urn in parents and (name == "parent" or bool(_in_glossary([urn])))
        return (parents[urn],) if is_meant else ()
    if name == "term_groups":
        return above.get(urn, ())
    if name == "dataset":
        return urns.dataset_of(urn)
    values = direct.get((urn, _DIRECT[name]), [])
    if name == "subjects":
        values = [dataset for value in values for dataset in urns.dataset_of(value) or (value,)]
    return tuple(dict.fromkeys(values))
