"""Entities one by one: what is stored under a URN."""

from ariadne import ObjectType, QueryType

from catalog import urns
from catalog.access import aspect_documents, entity_lists, view_permissions
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.nodes import Node
from policies.errors import Invalid, NotFound
from policies.pdp import display_names

query = QueryType()

#: Most entities that one field returns by their URNs.
MAX_ENTITIES = 1_000
authenticated = ObjectType("AuthenticatedUser")


@query.field("me")
def me(_root: None, info: Info) -> Node:
    """Return the caller."""
    return nodes.one(info.context.by.urn, info)


@authenticated.field("corpUser")
def corp_user(caller: Node, _info: Info) -> Node:
    """Return the caller as a user."""
    return caller


@query.field("entityExists")
def entity_exists(_root: None, info: Info, *, urn: str) -> bool:
    """Whether something with this URN is stored, as far as the caller may know."""
    hidden = view_permissions.hidden(urns=[checked(urn)], by=info.context.by)
    return not hidden and aspect_documents.aspects(urn=urn) is not None


@query.field("entity")
def entity(_root: None, info: Info, *, urn: str) -> Node:
    """Return the entity with this URN."""
    return stored(urn, info)


@query.field("entities")
def list_entities(
    _root: None,
    info: Info,
    *,
    urns: list[str],
    checkForExistence: bool | None = None,  # noqa: ARG001, N803  # the schema's
) -> list[Node | None]:
    """Return the entities with these URNs in their order; None for one that is not stored or may not be viewed.

    Raises Invalid for too many, and for what is no URN.
    """
    if len(urns) > MAX_ENTITIES:
        raise Invalid.one(code="list.long", pointer="/urns", detail=f"This list has at most {MAX_ENTITIES} entries.")
    named = [checked(urn) for urn in urns]
    known = (entity_lists.stored(urns=named) | display_names.names(urns=named).keys()) - view_permissions.hidden(
        urns=named, by=info.context.by
    )
    found = {node.urn: node for node in nodes.many(sorted(known), info)}
    return [found.get(urn) for urn in named]


@query.field("corpUser")
def user(_root: None, info: Info, *, urn: str) -> Node:
    """Return a user."""
    return stored(urn, info, "corpuser")


@query.field("corpGroup")
def group(_root: None, info: Info, *, urn: str) -> Node:
    """Return a group."""
    return stored(urn, info, "corpGroup")


def checked(urn: str, *kinds: str) -> str:
    """Return a URN; raises Invalid for what is none, or not one of these types."""
    problem = urns.problem(urn, "/urn", kinds)
    if problem is not None:
        raise Invalid([problem])
    return urn


def stored(urn: str, info: Info, *kinds: str) -> Node:
    """Return the entity with this URN, of one of these types.

    Raises Invalid, and NotFound, also for one that the caller may not view.
    """
    if (
        view_permissions.hidden(urns=[checked(urn, *kinds)], by=info.context.by)
        or aspect_documents.aspects(urn=urn) is None
    ):
        raise NotFound(f"There is no entity {urn}.")
    return nodes.one(urn, info)


BINDABLES = (query, authenticated)
