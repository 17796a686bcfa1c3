"""Roles of this site: listed by everybody, written and assigned by who manages policies (rules/datahub.md a.11)."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import MutationType, ObjectType, QueryType

from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import nodes, paging
from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import checked
from catalog.protocols.datahub_graphql.nodes import Node
from policies.authoring.services import role_with_policies
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.models import Role
from policies.models.fields import storable
from policies.models.roles import ROLE_PREFIX

query = QueryType()
mutation = MutationType()
role = ObjectType("DataHubRole")

#: Most actors of one assignment, and most policies of one role.
MOST = 1_000


@query.field("listRoles")
def list_roles(_root: None, info: Info, *, input: dict[str, Any]) -> dict[str, Any]:
    """Return roles by URN; every signed-in caller may list them."""
    rows = users_groups_roles.roles(q=paging.words(input))
    return paging.part(rows, input, "roles", lambda found: nodes.many([row.urn for row in found], info))


@mutation.field("createRole")
def create_role(_root: None, info: Info, *, input: dict[str, Any]) -> str:
    """Make a role, named in these policies, under an id made here."""
    bound = _bounded(input.get("policyUrns") or [], "/policyUrns")
    description = input.get("description") or ""
    made = role_with_policies.create(
        name=input["name"], description=description, policies_of=bound, by=info.context.by, door=DOOR
    )
    info.context.is_policy_written = bool(bound)
    return str(made.urn)


@mutation.field("updateRole")
def update_role(_root: None, info: Info, *, input: dict[str, Any]) -> bool:
    """Rename a role; a description that is absent stays."""
    urn = checked(input["urn"], roles.TYPE)
    roles.update(urn=urn, name=input["name"], description=input.get("description"), by=info.context.by, door=DOOR)
    return True


@mutation.field("deleteRole")
def delete_role(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a role that no policy names; one that nobody knows is deleted already."""
    deletes.delete(urn=checked(urn, roles.TYPE), by=info.context.by, door=DOOR)
    return True


@mutation.field("batchAssignRole")
def batch_assign_role(_root: None, info: Info, *, input: dict[str, Any]) -> bool:
    """Assign one role to actors, replacing theirs, or take all they have; an unknown actor is skipped."""
    actors = _bounded(input["actors"], "/actors")
    wanted = input.get("roleUrn")
    wanted = None if wanted is None else checked(wanted, roles.TYPE)
    roles.assign(role=wanted, actors=actors, by=info.context.by, door=DOOR)
    return True


@role.field("name")
def name(node: Node, info: Info) -> str | None:
    """Return what people call the role."""
    row = _row(node, info)
    return None if row is None else row.name


@role.field("description")
def description(node: Node, info: Info) -> str | None:
    """Return what the role is for."""
    row = _row(node, info)
    return None if row is None else row.description


@role.field("editable")
def editable(node: Node, info: Info) -> bool | None:
    """Whether the role may be changed; Admin, Editor and Reader may not."""
    row = _row(node, info)
    return None if row is None else row.is_editable


def _row(node: Node, info: Info) -> Role | None:
    return info.context.look_up(node.urn, "roles", _roles)


def _roles(urns: Collection[str]) -> Mapping[str, Role]:
    mine = [urn for urn in storable(urns) if urn.startswith(ROLE_PREFIX)]
    return {row.urn: row for row in users_groups_roles.roles().filter(urn__among=mine)} if mine else {}


def _bounded(urns: list[str], pointer: str) -> list[str]:
    if len(urns) > MOST:
        raise Invalid.one(code="list.long", pointer=pointer, detail=f"This list has at most {MOST} entries.")
    return urns


BINDABLES = (query, mutation, role)
