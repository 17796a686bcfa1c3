"""Roles of this site: all callers may list them; writing and assigning need MANAGE_POLICIES (rules/datahub.md a.11)."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import MutationType, ObjectType, QueryType

from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import paging
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info, load_rows
from catalog.protocols.datahub_graphql.entities import validate_entries, validate_urn
from catalog.protocols.datahub_graphql.nodes import Node
from policies.authoring.services import role_with_policies
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.models import Role
from policies.models.roles import ROLE_PREFIX

query = QueryType()
mutation = MutationType()
role_type = ObjectType("DataHubRole")

#: Most policies of one role.
MAX_POLICIES = 1_000


@query.field("listRoles")
def list_roles(_root: None, info: Info, *, input: dict[str, Any]) -> dict[str, Any]:
    """Return a page of roles, by URN; every signed-in caller may list them."""
    rows = users_groups_roles.list_roles(q=paging.query_words(input))
    return paging.load_nodes_page(rows, input, "roles", info)


@mutation.field("createRole")
def create_role(_root: None, info: Info, *, input: dict[str, Any]) -> str:
    """Create a role under a generated id, add it to the policies in `policyUrns`, and return its URN."""
    policy_urns = validate_entries(input.get("policyUrns") or [], "/policyUrns", MAX_POLICIES)
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
    actors = validate_entries(input["actors"], "/actors", roles.MAX_ACTORS)
    role_urn = input.get("roleUrn")
    role_urn = None if role_urn is None else validate_urn(role_urn, roles.ENTITY_TYPE)
    roles.assign(role=role_urn, actors=actors, by=info.context.by, channel=CHANNEL)
    return True


@role_type.field("name")
@role_type.field("description")
@role_type.field("editable")
def resolve_column(node: Node, info: Info) -> str | bool | None:
    """Return the column of the role for which the field is named; Admin, Editor and Reader are not editable."""
    row = info.context.load_batched(node.urn, "roles", _load_roles)
    return None if row is None else getattr(row, _COLUMNS.get(info.field_name, info.field_name))


#: Field → its column, where they differ.
_COLUMNS = {"editable": "is_editable"}


def _load_roles(urns: Collection[str]) -> Mapping[str, Role]:
    return load_rows(urns, ROLE_PREFIX, users_groups_roles.list_roles)


BINDABLES = (query, mutation, role_type)
