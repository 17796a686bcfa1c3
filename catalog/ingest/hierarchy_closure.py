"""Keeps `Ancestry` the closure of the parents of nodes, rewriting only what lies below a change.

A parent counts whether or not it is stored. In a cycle everybody is below all the others and nobody below itself.
"""

from collections.abc import Collection

from django.db import connection

from catalog.models import NODE_TYPES, Ancestry, list_parameter

# UNION drops what was found before, which is what ends the walk around a cycle.
_CLIMB = """
    WITH RECURSIVE above(node, ancestor) AS (
        SELECT urn, parent FROM catalog_entity WHERE parent IS NOT NULL AND type IN {types} {which}
        UNION
        SELECT above.node, entity.parent FROM above JOIN catalog_entity entity ON entity.urn = above.ancestor
        WHERE entity.parent IS NOT NULL AND entity.type IN {types})
    INSERT INTO catalog_ancestry (node, ancestor) SELECT node, ancestor FROM above WHERE node <> ancestor
"""
_TYPES = "('" + "', '".join(NODE_TYPES) + "')"
_TOUCHED = {
    "postgresql": "AND urn = ANY(%s::text[])",
    "sqlite": "AND urn IN (SELECT value FROM json_each(%s))",
}


def rewrite(*, nodes: Collection[str]) -> None:
    """Close anew above these nodes, whose parents changed, and above everything that lies below them.

    What is below a node now but was not before lies below another changed node, so the closure as it was names all.
    """
    if not nodes:
        return
    below = Ancestry.objects.filter(ancestor__among=list(nodes)).order_by()
    touched = sorted({*nodes, *below.values_list("node", flat=True)})
    Ancestry.objects.filter(node__among=touched).delete()
    _climb(touched)


def rebuild() -> None:
    """Close anew above every node."""
    Ancestry.objects.all().delete()
    _climb(None)


def _climb(nodes: list[str] | None) -> None:
    which = "" if nodes is None else _TOUCHED[connection.vendor]
    parameters = [] if nodes is None else [list_parameter(nodes, connection)]
    with connection.cursor() as cursor:
        cursor.execute(_CLIMB.format(types=_TYPES, which=which), parameters)
