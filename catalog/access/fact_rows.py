"""The facts of actors and entities as rows of one statement: whatever a question needs of both in one round trip."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from sys import intern

from policies.engine import selectors
from policies.engine.selectors import Owner
from policies.models.fields import filter_storable
from policies.models.prepared_statements import PreparedStatement
from policies.pdp import actor_resolution
from policies.pdp.actor_resolution import ActorRow

_HIERARCHICAL_SQL = "('" + "', '".join(sorted(selectors.HIERARCHICAL_FIELDS)) + "')"

# Three parameters: the URNs of the actors, those of the entities, and the fields. No tree is walked: Ancestry holds
# every ancestor of every node, stored or not. A node that many of the entities are in is looked up once.
_STATEMENT = PreparedStatement(
    f"""
    WITH {actor_resolution.ACTOR_TABLES},
    entity AS MATERIALIZED (
        SELECT asked.number, stored.id, stored.type, stored.object_id, stored.project
        FROM {{numbered}} JOIN catalog_entity stored ON stored.urn = asked.urn),
    facet AS MATERIALIZED (
        SELECT entity.number, direct.field, direct.value, direct.type
        FROM entity JOIN catalog_facet direct ON direct.entity_id = entity.id WHERE direct.field {{among}}),
    node AS MATERIALIZED (SELECT DISTINCT value AS urn FROM facet WHERE field IN {_HIERARCHICAL_SQL})
    {actor_resolution.ACTOR_ROWS}
    UNION ALL
    SELECT 'entity', number, type, COALESCE(object_id, ''), COALESCE(project, ''), '' FROM entity
    UNION ALL
    SELECT 'facet', number, field, value, type, '' FROM facet
    UNION ALL
    SELECT 'node', NULL, node.urn, ancestry.ancestor, '', ''
    FROM node JOIN catalog_ancestry ancestry ON ancestry.node = node.urn"""  # noqa: S608 - no value is part of the text
)


@dataclass(slots=True)
class EntityRows:
    """The stored facts of one entity: its row, if it has one, and the direct values of its facets by field."""

    type: str | None = None
    object_id: str = ""
    project: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    owners: list[Owner] = field(default_factory=list)


@dataclass(slots=True)
class FactRows:
    """The rows about the actors, what is stored about each entity, and node → its ancestors.

    `actor_urns` are those that the rows count. The nodes are the direct values of the entities' hierarchical fields.
    """

    actor_urns: list[str]
    actor_rows: list[ActorRow]
    entities: dict[str, EntityRows]
    ancestors: dict[str, list[str]]


def fetch_facts(*, actors: Iterable[str], urns: Iterable[str], fields: Collection[str]) -> FactRows:
    """Return everything stored about these actors and entities, of the entities only facets with these fields."""
    actor_urns, entity_urns = filter_storable(actors), filter_storable(urns)
    facts = FactRows(actor_urns, [], {urn: EntityRows() for urn in entity_urns}, {})
    entities = list(facts.entities.values())
    for row in _STATEMENT.fetch_rows([actor_urns, entity_urns, sorted(fields)]):
        kind, number, first, second, third, _ = row
        if kind == "facet":
            entity, value = entities[number - 1], intern(second)
            entity.values.setdefault(first, []).append(value)
            if first == selectors.OWNER:
                entity.owners.append(Owner(value, intern(third)))
        elif kind == "node":
            facts.ancestors.setdefault(first, []).append(intern(second))
        elif kind == "entity":
            entity = entities[number - 1]
            entity.type, entity.object_id, entity.project = intern(first), second, third
        else:
            facts.actor_rows.append(row)
    return facts
