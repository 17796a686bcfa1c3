"""Users and groups: lists, and what changes them (clients.md 2.3)."""

from collections.abc import Mapping, Sequence
from typing import Any

from ariadne import MutationType, QueryType
from django.db.models import Q

from catalog.entities import vocabulary
from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import nodes, paging
from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
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

#: Most members that one call puts in or takes out.
MOST_MEMBERS = 10_000

query = QueryType()
mutation = MutationType()


@query.field("listUsers")
def list_users(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of people, by URN, to who may look at people, as over the API."""
    authorizer.require(by=info.context.by, any_of=required_privileges.SEEING_USERS)
    rows = (
        users_groups_roles.users(q=paging.words(input), kind=User.Kind.PERSON, seen=Q())
        .prefetch_related(None)
        .only("urn")
    )
    return paging.part(rows, input, "users", lambda found: nodes.many([row.urn for row in found], info))


@query.field("listGroups")
def list_groups(_root: None, info: Info, *, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page of groups, by URN (rules/datahub.md d)."""
    authorizer.require(by=info.context.by, any_of=[["MANAGE_USERS_AND_GROUPS"]])
    rows = users_groups_roles.groups(q=paging.words(input)).select_related(None).prefetch_related(None).only("urn")
    return paging.part(rows, input, "groups", lambda found: nodes.many([row.urn for row in found], info))


@mutation.field("removeUser")
@mutation.field("removeGroup")
def remove(_root: None, info: Info, *, urn: str) -> bool:
    """Delete a user or group with all that belongs to it, as its page does; one that is gone is no error."""
    _check(urn, "/urn", USER_PREFIX if info.field_name == "removeUser" else GROUP_PREFIX)
    deletes.delete(urn=urn, by=info.context.by, door=DOOR)
    return True


@mutation.field("updateCorpUserProperties")
def update_user(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set fields of what people write about a user, and return the user."""
    _amend(urn, USER, documents.USER_EDITABLE, input, info)
    return nodes.one(urn, info)


@mutation.field("updateCorpGroupProperties")
def update_group(_root: None, info: Info, *, urn: str, input: Mapping[str, Any]) -> Node:
    """Set fields of what people write about a group, and return the group."""
    _amend(urn, GROUP, documents.GROUP_EDITABLE, input, info)
    return nodes.one(urn, info)


@mutation.field("createGroup")
def create_group(_root: None, info: Info, *, input: Mapping[str, Any]) -> str:
    """Make a group and return its URN."""
    made = groups.create(
        identifier=input.get("id"),
        name=input["name"],
        description=input.get("description") or "",
        by=info.context.by,
        door=DOOR,
    )
    return str(made.urn)


@mutation.field("updateName")
def update_name(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Give a group, domain, term, term group, data product, tag or ownership type another name."""
    urn, name, by = input["urn"], input["name"], info.context.by
    if urn.startswith(GROUP_PREFIX):
        groups.update(urn=urn, name=name, by=by, door=DOOR)
    else:
        vocabulary.rename(urn=urn, name=name, by=by, door=DOOR)
    return True


@mutation.field("updateUserStatus")
def update_user_status(_root: None, info: Info, *, urn: str, status: str) -> str:
    """Let a user act, or not, and return the state."""
    _check(urn, "/urn", USER_PREFIX)
    found = users.update(urn=urn, state=status, by=info.context.by, door=DOOR)
    return str(found.state)


@mutation.field("addGroupMembers")
def add_members(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Put users into a group."""
    group, members = _membership(input)
    groups.add_members(urn=group, members=members, by=info.context.by, door=DOOR)
    return True


@mutation.field("removeGroupMembers")
def remove_members(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Take users out of a group."""
    group, members = _membership(input)
    groups.remove_members(urn=group, members=members, by=info.context.by, door=DOOR)
    return True


def _amend(urn: str, kind: str, aspect: str, fields: Mapping[str, Any], info: Info) -> None:
    _check(urn, "/urn", USER_PREFIX if kind == USER else GROUP_PREFIX)
    # Clients send null for what they do not mean to change; an empty text is what takes a field out.
    meant = {name: value for name, value in fields.items() if value is not None}
    aspect_services.amend(urn=urn, entity_type=kind, name=aspect, fields=meant, by=info.context.by, door=DOOR)


def _membership(input: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    _check(input["groupUrn"], "/groupUrn", GROUP_PREFIX)
    if len(input["userUrns"]) > MOST_MEMBERS:
        detail = f"One call names at most {MOST_MEMBERS} members."
        raise Invalid.one(code="list.long", pointer="/userUrns", detail=detail)
    for place, urn in enumerate(input["userUrns"]):
        _check(urn, f"/userUrns/{place}", USER_PREFIX)
    return input["groupUrn"], input["userUrns"]


def _check(urn: str, pointer: str, prefix: str) -> None:
    if not urn.startswith(prefix):
        raise Invalid.one(code="urn.type", pointer=pointer, detail=f"This URN starts {prefix}.")


BINDABLES = (query, mutation)
