"""Users and groups: lists and mutations (clients.md 2.3)."""

from collections.abc import Mapping
from typing import Any

from ariadne import MutationType, QueryType
from django.db.models import Q

from catalog.entities import vocabulary
from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import nodes, paging
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import validate_entries
from catalog.protocols.datahub_graphql.nodes import Node
from policies.aspects import services as aspect_services
from policies.aspects.schemas import GROUP, USER
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, users
from policies.models import User, documents
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import authorizer
from policies.writes import required_privileges

query = QueryType()
mutation = MutationType()


@query.field("listUsers")
def list_users(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of people, by URN. Needs one of `required_privileges.VIEW_USERS`, as in our own API."""
    authorizer.require(by=info.context.by, any_of=required_privileges.VIEW_USERS)
    rows = (
        users_groups_roles.list_users(q=paging.query_words(input), kind=User.Kind.PERSON, address_condition=Q())
        .prefetch_related(None)
        .only("urn")
    )
    return paging.load_nodes_page(rows, input, "users", info)


@query.field("listGroups")
def list_groups(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of groups, by URN. Needs MANAGE_USERS_AND_GROUPS (rules/datahub.md d)."""
    authorizer.require(by=info.context.by, any_of=[["MANAGE_USERS_AND_GROUPS"]])
    rows = (
        users_groups_roles.list_groups(q=paging.query_words(input))
        .select_related(None)
        .prefetch_related(None)
        .only("urn")
    )
    return paging.load_nodes_page(rows, input, "groups", info)


@mutation.field("removeUser")
@mutation.field("removeGroup")
def remove_user_or_group(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a user or group with everything that belongs to it, as its page does; deleting an absent one succeeds."""
    _check_prefix(urn, "/urn", USER_PREFIX if info.field_name == "removeUser" else GROUP_PREFIX)
    deletes.delete(urn=urn, by=info.context.by, channel=CHANNEL)
    return True


@mutation.field("updateCorpUserProperties")
@mutation.field("updateCorpGroupProperties")
def update_properties(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set edited properties of a user or group, and return it."""
    is_user = info.field_name == "updateCorpUserProperties"
    _check_prefix(urn, "/urn", USER_PREFIX if is_user else GROUP_PREFIX)
    aspect_services.amend(
        urn=urn,
        entity_type=USER if is_user else GROUP,
        name=documents.USER_EDITABLE if is_user else documents.GROUP_EDITABLE,
        # Clients send null for fields that they do not change; an empty text removes a field.
        fields={name: value for name, value in input.items() if value is not None},
        by=info.context.by,
        channel=CHANNEL,
    )
    return nodes.build_one(urn, info)


@mutation.field("createGroup")
def create_group(_root: None, info: Info, *, input: Mapping[str, Any]) -> str:
    """Create a group and return its URN."""
    group = groups.create(
        identifier=input.get("id"),
        name=input["name"],
        description=input.get("description") or "",
        by=info.context.by,
        channel=CHANNEL,
    )
    return str(group.urn)


@mutation.field("updateName")
def update_name(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Rename a group, domain, term, term group, data product, tag or ownership type."""
    urn, name, by = input["urn"], input["name"], info.context.by
    if urn.startswith(GROUP_PREFIX):
        groups.update(urn=urn, name=name, by=by, channel=CHANNEL)
    else:
        vocabulary.update(urn=urn, name=name, by=by, channel=CHANNEL)
    return True


@mutation.field("updateUserStatus")
def update_user_status(_root: None, info: Info, *, urn: str, status: str) -> str:
    """Set the state of a user and return it."""
    _check_prefix(urn, "/urn", USER_PREFIX)
    user = users.update(urn=urn, state=status, by=info.context.by, channel=CHANNEL)
    return str(user.state)


@mutation.field("addGroupMembers")
@mutation.field("removeGroupMembers")
def edit_members(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add users to a group, or remove them."""
    _check_prefix(input["groupUrn"], "/groupUrn", GROUP_PREFIX)
    members = validate_entries(input["userUrns"], "/userUrns", groups.MAX_MEMBERS)
    for index, urn in enumerate(members):
        _check_prefix(urn, f"/userUrns/{index}", USER_PREFIX)
    edit = groups.add_members if info.field_name == "addGroupMembers" else groups.remove_members
    edit(urn=input["groupUrn"], members=members, by=info.context.by, channel=CHANNEL)
    return True


def _check_prefix(urn: str, pointer: str, prefix: str) -> None:
    if not urn.startswith(prefix):
        raise Invalid.from_problem(code="urn.type", pointer=pointer, detail=f"This URN starts {prefix}.")


BINDABLES = (query, mutation)
