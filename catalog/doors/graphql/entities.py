"""Entities one by one: what is stored under a URN."""

from ariadne import ObjectType, QueryType

from catalog import queries, urns
from catalog.doors.graphql import nodes
from catalog.doors.graphql.context import Info
from catalog.doors.graphql.nodes import Node
from policies.errors import Invalid, NotFound

query = QueryType()
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
def entity_exists(_root: None, _info: Info, *, urn: str) -> bool:
    """Whether something with this URN is stored."""
    return queries.aspects(urn=checked(urn)) is not None


@query.field("entity")
def entity(_root: None, info: Info, *, urn: str) -> Node:
    """Return the entity with this URN. Raises NotFound."""
    return _stored(checked(urn), info)


@query.field("corpUser")
def user(_root: None, info: Info, *, urn: str) -> Node:
    """Return a user. Raises NotFound."""
    return _stored(checked(urn, "corpuser"), info)


@query.field("corpGroup")
def group(_root: None, info: Info, *, urn: str) -> Node:
    """Return a group. Raises NotFound."""
    return _stored(checked(urn, "corpGroup"), info)


def checked(urn: str, *kinds: str) -> str:
    """Return a URN; raises Invalid for what is none, or not one of these types."""
    problem = urns.problem(urn, "/urn", kinds)
    if problem is not None:
        raise Invalid([problem])
    return urn


def _stored(urn: str, info: Info) -> Node:
    if queries.aspects(urn=urn) is None:
        raise NotFound(f"There is no entity {urn}.")
    return nodes.one(urn, info)


BINDABLES = (query, authenticated)
