"""External roles: those that give access to an entity, and their holders (source 003)."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import ObjectType

from catalog import urns
from catalog.external_roles import queries as external_role_queries
from catalog.external_roles.queries import ExternalRole
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.datasets_and_roles import EntityFields, load_entity
from catalog.protocols.datahub_graphql.nodes import Node

role_type = ObjectType("Role")
actor_type = ObjectType("Actor")


def resolve_access(node: Node, info: Info) -> dict[str, Any] | None:
    """Return the external roles that give access to the entity, in the order of its `access` aspect."""
    entity = load_entity(node, info)
    if entity is None or not entity.roles:
        return None
    return {"roles": [{"role": role, "associatedUrn": node.urn} for role in nodes.build_many(entity.roles, info)]}


role_type.set_field("id", nodes.resolve_key)


@role_type.field("properties")
def resolve_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return name, description, type and request URL of the role."""
    external_role = _load_role(node, info)
    if external_role is None:
        return None
    optional_values = {
        "description": external_role.description,
        "type": external_role.type,
        "requestUrl": external_role.request_url,
    }
    return {"name": external_role.name} | {key: value or None for key, value in optional_values.items()}


@role_type.field("actors")
def resolve_actors(node: Node, info: Info) -> ExternalRole | None:
    """Return the role, from which its holders are resolved."""
    return _load_role(node, info)


@role_type.field("isAssignedToMe")
def is_assigned_to_me(node: Node, info: Info) -> bool:
    """Whether the caller holds the role, directly or through a group."""
    external_role = _load_role(node, info)
    return external_role is not None and external_role.is_mine


@actor_type.field("users")
def resolve_users(external_role: ExternalRole, info: Info) -> list[dict[str, Node]]:
    """Return the users that hold the role."""
    return [{"user": user} for user in nodes.build_many(external_role.users, info)]


@actor_type.field("groups")
def resolve_groups(external_role: ExternalRole, info: Info) -> list[dict[str, Node]]:
    """Return the groups that hold the role."""
    return [{"group": group} for group in nodes.build_many(external_role.groups, info)]


def _load_role(node: Node, info: Info) -> ExternalRole | None:
    context = info.context
    return context.load_batched(node.urn, "external roles", lambda entity_urns: _load_roles(entity_urns, context))


def _load_roles(entity_urns: Collection[str], context: Context) -> Mapping[str, ExternalRole]:
    role_urns = [urn for urn in entity_urns if urns.entity_type(urn) == external_role_queries.ENTITY_TYPE]
    roles_by_urn = (
        {
            external_role.urn: external_role
            for external_role in external_role_queries.load_roles(urns=role_urns, by=context.by)
        }
        if role_urns
        else {}
    )
    context.add_to_batch(
        [urn for external_role in roles_by_urn.values() for urn in (*external_role.users, *external_role.groups)]
    )
    return roles_by_urn


BINDABLES = (role_type, actor_type, EntityFields({"access": resolve_access}))
