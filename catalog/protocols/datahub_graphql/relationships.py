"""Relationships of an entity: what it says of others, and what others say of it (clients.md 1.6, 2.3)."""

from collections.abc import Collection, Mapping
from typing import Any

from catalog import urns
from catalog.access import related_many
from catalog.access.relationships import Page
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node, interface
from policies.errors import Invalid

#: Longest page of one entity; a longer one is cut, and the answer says how long it is.
LONGEST = 1_000
#: Most relationships that are looked up at once, for all entities of a list together.
MOST = 200_000


@interface.field("relationships")
def relationships(node: Node, info: Info, *, input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of relationships, by name and URN: those of what the caller may view."""
    here, direction = info.context, input["direction"]
    start, count = _number(input, "start", 0), min(_number(input, "count", LONGEST), LONGEST)
    names = frozenset(input["types"])
    what = ("relationships", node.kind, direction, names, start, count)

    def load(asked: Collection[str]) -> Mapping[str, Page]:
        alike = [urn for urn in asked if urns.type_of(urn) == node.kind]
        if len(alike) * (start + count) > MOST:
            detail = (
                f"At most {MOST} relationships are looked up at once: ask for a shorter page, or of fewer entities."
            )
            raise Invalid.one(code="range", pointer="/input/count", detail=detail)
        is_incoming = direction == "INCOMING"
        found = related_many.related_many(
            urns=alike, is_incoming=is_incoming, names=names, start=start, count=count, by=here.by
        )
        # Noted here, so that what is asked of the other sides is looked up for all entities of the list.
        here.note([one.urn for page in found.values() for one in page.shown])
        return found

    page = here.look_up(node.urn, what, load) or Page(0, ())
    others = nodes.many([one.urn for one in page.shown], info)
    return {
        "start": start,
        "count": len(page.shown),
        "total": page.total,
        "relationships": [
            {"type": one.name, "direction": direction, "entity": other}
            for one, other in zip(page.shown, others, strict=True)
        ],
    }


def _number(input: Mapping[str, Any], name: str, default: int) -> int:
    found = input.get(name)
    if found is not None and found < 0:
        raise Invalid.one(code="range", pointer=f"/input/{name}", detail="This is a whole number from 0 on.")
    return default if found is None else int(found)


#: Its field is bound with the interface.
BINDABLES: tuple[()] = ()
