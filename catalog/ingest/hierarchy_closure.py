"""Maintenance of `Ancestry`, the transitive closure of node parents; only nodes below a change are rewritten.

A parent counts whether or not it is stored. In a cycle each node is below all others and never below itself.
"""

from collections.abc import Collection, Mapping

from django.db import connection

from catalog.models import NODE_TYPES, Ancestry, Entity
from policies.models.prepared_statements import list_parameter

# UNION drops rows already found, which ends the recursion in a cycle.
_INSERT_ANCESTORS_SQL = """
    WITH RECURSIVE above(node, ancestor) AS (
        SELECT urn, parent FROM catalog_entity WHERE parent IS NOT NULL AND type IN {types} {which}
        UNION
        SELECT above.node, entity.parent FROM above JOIN catalog_entity entity ON entity.urn = above.ancestor
        WHERE entity.parent IS NOT NULL AND entity.type IN {types})
    INSERT INTO catalog_ancestry (node, ancestor) SELECT node, ancestor FROM above WHERE node <> ancestor
"""
_NODE_TYPES_SQL = "('" + "', '".join(NODE_TYPES) + "')"
_NODE_FILTER_SQL = {
    "postgresql": "AND urn = ANY(%s::text[])",
    "sqlite": "AND urn IN (SELECT value FROM json_each(%s))",
}


def rewrite(*, nodes: Collection[str]) -> None:
    """Rewrite the ancestors of these nodes, whose parents changed, and of all their descendants.

    A new descendant of a node is below another changed node, so the previous closure contains all descendants.
    """
    if not nodes:
        return
    descendants = Ancestry.objects.filter(ancestor__among=list(nodes)).order_by()
    affected_nodes = sorted({*nodes, *descendants.values_list("node", flat=True)})
    Ancestry.objects.filter(node__among=affected_nodes).delete()
    _insert_ancestors(affected_nodes)


def rebuild() -> None:
    """Rewrite the ancestors of every node."""
    Ancestry.objects.all().delete()
    _insert_ancestors(None)


def compute_ancestors(*, nodes: Collection[str], parents: Mapping[str, str | None]) -> dict[str, frozenset[str]]:
    """Return the ancestors that these nodes would have if nodes had these parents; two queries."""
    known_nodes = {*nodes, *(parent for parent in parents.values() if parent is not None)}
    stored_ancestors = Ancestry.objects.filter(node__among=list(known_nodes)).order_by()
    known_nodes.update(stored_ancestors.values_list("ancestor", flat=True))
    rows = Entity.objects.filter(urn__among=list(known_nodes), type__in=NODE_TYPES).order_by()
    parent_by_node = {**dict(rows.values_list("urn", "parent")), **parents}
    return {node: _list_above(node, parent_by_node) for node in nodes}


def _list_above(node: str, parent_by_node: Mapping[str, str | None]) -> frozenset[str]:
    ancestors: set[str] = set()
    parent = parent_by_node.get(node)
    while parent is not None and parent not in ancestors:
        ancestors.add(parent)
        parent = parent_by_node.get(parent)
    return frozenset(ancestors - {node})


def _insert_ancestors(nodes: list[str] | None) -> None:
    node_filter = "" if nodes is None else _NODE_FILTER_SQL[connection.vendor]
    parameters = [] if nodes is None else [list_parameter(nodes, connection)]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_ANCESTORS_SQL.format(types=_NODE_TYPES_SQL, which=node_filter), parameters)
