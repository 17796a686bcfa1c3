"""Relationships of an entity, outgoing and incoming (clients.md 1.6, 2.3)."""

from collections.abc import Collection, Mapping
from typing import Any

from catalog import urns
from catalog.access import related_many
from catalog.access.relationships import RelationshipPage
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node, entity_interface
from policies.errors import Invalid

#: Longest page of one entity; a longer one is cut, and the response has the actual length.
MAX_PAGE_SIZE = 1_000
#: Most relationships that are loaded at once, for all entities of a list together.
MAX_RELATIONSHIPS = 200_000


@entity_interface.field("relationships")
def resolve_relationships(node: Node, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of the relationships to entities that the caller may view, by relationship name and URN."""
    context, direction = info.context, input["direction"]
    start, count = _read_number(input, "start", 0), min(_read_number(input, "count", MAX_PAGE_SIZE), MAX_PAGE_SIZE)
    names = frozenset(input["types"])
    cache_key = ("relationships", node.kind, direction, names, start, count)

    def load(entity_urns: Collection[str]) -> Mapping[str, RelationshipPage]:
        same_type_urns = [urn for urn in entity_urns if urns.entity_type(urn) == node.kind]
        if len(same_type_urns) * (start + count) > MAX_RELATIONSHIPS:
            detail = (
                f"At most {MAX_RELATIONSHIPS} relationships are looked up at once: "
                "ask for a shorter page, or of fewer entities."
            )
            raise Invalid.from_problem(code="range", pointer="/input/count", detail=detail)
        is_incoming = direction == "INCOMING"
        pages = related_many.list_related_many(
            urns=same_type_urns, is_incoming=is_incoming, names=names, start=start, count=count, by=context.by
        )
        # Added to the batch, so that the related entities are loaded for all entities of the list.
        context.add_to_batch([relationship.urn for page in pages.values() for relationship in page.related])
        return pages

    page = context.load_batched(node.urn, cache_key, load) or RelationshipPage(0, ())
    other_nodes = nodes.build_many([relationship.urn for relationship in page.related], info)
    return {
        "start": start,
        "count": len(page.related),
        "total": page.total,
        "relationships": [
            {"type": relationship.name, "direction": direction, "entity": other_node}
            for relationship, other_node in zip(page.related, other_nodes, strict=True)
        ],
    }


def _read_number(input: Mapping[str, Any], name: str, default: int) -> int:
    value = input.get(name)
    if value is not None and value < 0:
        raise Invalid.from_problem(code="range", pointer=f"/input/{name}", detail="This is a whole number from 0 on.")
    return default if value is None else int(value)


#: The field is bound with the interface of `nodes`.
BINDABLES: tuple[()] = ()
