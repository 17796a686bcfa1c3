"""Roles of this site: all callers may list them; writing and assigning need MANAGE_POLICIES (rules/datahub.md a.11)."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import MutationType, ObjectType, QueryType

from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import nodes, paging
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import validate_urn
from catalog.protocols.datahub_graphql.nodes import Node
from policies.authoring.services import role_with_policies
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.models import Role
from policies.models.fields import filter_storable
from policies.models.roles import ROLE_PREFIX

query = QueryType()
mutation = MutationType()
role_type = ObjectType("DataHubRole")

#: Most actors of one assignment, and most policies of one role.
MAX_ENTRIES = 1_000


@query.field("listRoles")
def list_roles(_root: None, info: Info, *, input: dict[str, Any]) -> dict[str, Any]:
    """Return a page of roles, by URN; every signed-in caller may list them."""
    rows = users_groups_roles.list_roles(q=paging.query_words(input))
    return paging.load_page(
        rows, input, "roles", lambda page_rows: nodes.build_many([row.urn for row in page_rows], info)
    )


@mutation.field("createRole")
def create_role(_root: None, info: Info, *, input: dict[str, Any]) -> str:
    """Create a role under a generated id, add it to the policies in `policyUrns`, and return its URN."""
    policy_urns = _validate_urns(input.get("policyUrns") or [], "/policyUrns")
    description = input.get("description") or ""
    role = role_with_policies.create(
        name=input["name"], description=description, policy_urns=policy_urns, by=info.context.by, channel=CHANNEL
    )
    info.context.is_policy_written = bool(policy_urns)
    return str(role.urn)


@mutation.field("updateRole")
def update_role(_root: None, info: Info, *, input: dict[str, Any]) -> bool:
    """Set the name of a role, and its description if there is one in the input."""
    urn = validate_urn(input["urn"], roles.ENTITY_TYPE)
    roles.update(urn=urn, name=input["name"], description=input.get("description"), by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("deleteRole")
def delete_role(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a role that no policy names; deleting an unknown one succeeds."""
    deletes.delete(urn=validate_urn(urn, roles.ENTITY_TYPE), by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("batchAssignRole")
def assign_role(_root: None, info: Info, *, input: dict[str, Any]) -> bool:
    """Assign one role to actors in place of their roles, or remove all their roles; unknown actors are skipped."""
    actors = _validate_urns(input["actors"], "/actors")
    role_urn = input.get("roleUrn")
    role_urn = None if role_urn is None else validate_urn(role_urn, roles.ENTITY_TYPE)
    roles.assign(role=role_urn, actors=actors, by=info.context.by, channel=CHANNEL)
    return True


@role_type.field("name")
def resolve_name(node: Node, info: Info) -> str | None:
    """Return the name of the role."""
    row = _load_role(node, info)
    return None if row is None else row.name


@role_type.field("description")
def resolve_description(node: Node, info: Info) -> str | None:
    """Return the description of the role."""
    row = _load_role(node, info)
    return None if row is None else row.description


@role_type.field("editable")
def resolve_editable(node: Node, info: Info) -> bool | None:
    """Whether the role may be changed; Admin, Editor and Reader may not."""
    row = _load_role(node, info)
    return None if row is None else row.is_editable


def _load_role(node: Node, info: Info) -> Role | None:
    return info.context.load_batched(node.urn, "roles", _load_roles)


def _load_roles(urns: Collection[str]) -> Mapping[str, Role]:
    role_urns = [urn for urn in filter_storable(urns) if urn.startswith(ROLE_PREFIX)]
    return {row.urn: row for row in users_groups_roles.list_roles().filter(urn__among=role_urns)} if role_urns else {}


def _validate_urns(urns: list[str], pointer: str) -> list[str]:
    if len(urns) > MAX_ENTRIES:
        raise Invalid.from_problem(
            code="list.long", pointer=pointer, detail=f"This list has at most {MAX_ENTRIES} entries."
        )
    return urns


BINDABLES = (query, mutation, role_type)
