"""External roles: which of them open what, and who holds them (source 003)."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import ObjectType

from catalog import urns
from catalog.external_roles import queries as external_role_queries
from catalog.external_roles.queries import ExternalRole
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.datasets_and_roles import EntityFields, told
from catalog.protocols.datahub_graphql.nodes import Node

role = ObjectType("Role")
actor = ObjectType("Actor")


def access(node: Node, info: Info) -> dict[str, Any] | None:
    """Return the external roles that open the entity, in the order in which it names them."""
    found = told(node, info)
    if found is None or not found.roles:
        return None
    return {"roles": [{"role": one, "associatedUrn": node.urn} for one in nodes.many(found.roles, info)]}


@role.field("id")
def identifier(node: Node, _info: Info) -> str:
    """Return the part of the URN behind its type."""
    return urns.parse(node.urn).key


@role.field("properties")
def role_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the role is called, what it is for, and where it is asked for."""
    found = _role(node, info)
    if found is None:
        return None
    said = {"description": found.description, "type": found.type, "requestUrl": found.request_url}
    return {"name": found.name} | {key: value or None for key, value in said.items()}


@role.field("actors")
def actors(node: Node, info: Info) -> ExternalRole | None:
    """Return who holds the role."""
    return _role(node, info)


@role.field("isAssignedToMe")
def is_assigned_to_me(node: Node, info: Info) -> bool:
    """Whether the caller holds the role, alone or in a group."""
    found = _role(node, info)
    return found is not None and found.is_mine


@role.field("exists")
def role_exists(node: Node, info: Info) -> bool:
    """Whether somebody described the role."""
    return told(node, info) is not None


@actor.field("users")
def users(found: ExternalRole, info: Info) -> list[dict[str, Node]]:
    """Return the users that hold a role."""
    return [{"user": one} for one in nodes.many(found.users, info)]


@actor.field("groups")
def groups(found: ExternalRole, info: Info) -> list[dict[str, Node]]:
    """Return the groups that hold a role."""
    return [{"group": one} for one in nodes.many(found.groups, info)]


def _role(node: Node, info: Info) -> ExternalRole | None:
    here = info.context
    return here.look_up(node.urn, "external roles", lambda asked: _external_roles(asked, here))


def _external_roles(asked: Collection[str], here: Context) -> Mapping[str, ExternalRole]:
    mine = [urn for urn in asked if urns.type_of(urn) == external_role_queries.TYPE]
    found = {one.urn: one for one in external_role_queries.described(urns=mine, by=here.by)} if mine else {}
    here.note([urn for one in found.values() for urn in (*one.users, *one.groups)])
    return found


BINDABLES = (role, actor, EntityFields({"access": access}))
