"""Users and groups as answers show them: the fields of their aspects, composed from their rows."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import ObjectType

from catalog.access.people_records import LISTING_PEOPLE, PUBLIC_FIELDS, list_groups_with_visible_members
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.datasets_and_roles import custom_properties
from catalog.protocols.datahub_graphql.nodes import Node
from policies.identity.queries import users_groups_roles
from policies.identity.services import people_records
from policies.models import GroupProfile, User, documents
from policies.models.fields import storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX

user = ObjectType("CorpUser")
group = ObjectType("CorpGroup")


def row_of(node: Node, info: Info) -> User | None:
    """Return the row of a user, None where it is only spoken of or was removed."""
    here = info.context
    return here.look_up(node.urn, "users", lambda asked: _users(asked, here))


def group_of(node: Node, info: Info) -> GroupProfile | None:
    """Return the row of a group, None where it is only spoken of or was removed."""
    return info.context.look_up(node.urn, "groups", _groups)


@user.field("username")
def username(node: Node, _info: Info) -> str:
    """Return the part of the URN that people sign in with."""
    return node.urn.removeprefix(USER_PREFIX)


@user.field("exists")
def user_exists(node: Node, info: Info) -> bool:
    """Whether there is such a user."""
    return row_of(node, info) is not None


@user.field("isNativeUser")
def is_native(node: Node, info: Info) -> bool:
    """Whether the user signs in with a password of this site; false to who may not see the user's record."""
    row = row_of(node, info)
    return row is not None and _is_visible(row.urn, info) and row.has_usable_password()


@user.field("status")
def status(node: Node, info: Info) -> str | None:
    """Return the state of the user, to who may see the user's record."""
    row = row_of(node, info)
    return None if row is None or not _is_visible(row.urn, info) else row.state


@user.field("properties")
@user.field("info")
def user_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the source of the user says of it; `active` also of a user that no source described.

    Who may not see the user's record gets the public fields alone: names, and whether the user may act.
    """
    row = row_of(node, info)
    if row is None:
        return None
    said = _visible_fields(documents.USER_INFO, row, info)
    manager = said.get("managerUrn")
    return {
        "displayName": row.get_full_name(),
        **said,
        "active": row.is_active,
        "manager": nodes.one(manager, info) if isinstance(manager, str) else None,
        "customProperties": custom_properties(node.urn, said),
    }


@user.field("editableProperties")
@user.field("editableInfo")
def user_editable(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what people wrote about the user."""
    row = row_of(node, info)
    return None if row is None else _visible_fields(documents.USER_EDITABLE, row, info) or None


@group.field("name")
def group_name(node: Node, _info: Info) -> str:
    """Return the id of the group."""
    return node.urn.removeprefix(GROUP_PREFIX)


@group.field("exists")
def group_exists(node: Node, info: Info) -> bool:
    """Whether there is such a group."""
    return group_of(node, info) is not None


@group.field("info")
def group_info(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the source of the group says of it, with the people whom it lists beside the memberships.

    People whose records the caller may not see are listed for those only who may change the members of the group.
    """
    found = group_properties(node, info)
    if found is None:
        return None
    named = {field: _users_in(found.get(field)) for field in LISTING_PEOPLE}
    if not _has_visible_members(node.urn, info):
        named = {field: [urn for urn in urns if _is_visible(urn, info)] for field, urns in named.items()}
    return {**found, **{field: nodes.many(urns, info) for field, urns in named.items()}}


@group.field("properties")
def group_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the source of the group says of it."""
    row = group_of(node, info)
    if row is None:
        return None
    return {"displayName": row.name, "description": row.description or None} | _said(row, documents.GROUP_INFO)


@group.field("editableProperties")
def group_editable(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what people wrote about the group."""
    row = group_of(node, info)
    return None if row is None else _said(row, documents.GROUP_EDITABLE) or None


@group.field("origin")
def origin(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return where the group is kept."""
    row = group_of(node, info)
    return (
        None if row is None else {"externalType": _said(row, documents.ORIGIN).get("externalType"), "type": row.origin}
    )


def _users_in(listed: Any) -> list[str]:
    return [urn for urn in listed or () if isinstance(urn, str) and urn.startswith(USER_PREFIX)]


def _has_visible_members(urn: str, info: Info) -> bool:
    by = info.context.by

    def load(urns: Collection[str]) -> Mapping[str, bool]:
        groups = [one for one in urns if one.startswith(GROUP_PREFIX)]
        return dict.fromkeys(list_groups_with_visible_members(urns=groups, by=by), True)

    return bool(info.context.look_up(urn, "groups with visible members", load))


def _visible_fields(aspect: str, row: User, info: Info) -> dict[str, Any]:
    """Return those fields of an aspect of a user that the caller may see."""
    said, public = _said(row, aspect), PUBLIC_FIELDS[aspect]
    is_visible = _is_visible(row.urn, info)
    return {name: value for name, value in said.items() if is_visible or name in public}


def _is_visible(urn: str, info: Info) -> bool:
    """Whether the caller may see the whole record of a user, as over the API."""
    by = info.context.by

    def load(urns: Collection[str]) -> Mapping[str, bool]:
        users = [one for one in urns if one.startswith(USER_PREFIX)]
        return dict.fromkeys(people_records.list_visible(urns=users, by=by), True)

    return bool(info.context.look_up(urn, "visible records", load))


def _said(row: User | GroupProfile, aspect: str) -> dict[str, Any]:
    return documents.compose(row).get(aspect, {})


def _users(urns: Collection[str], here: Context) -> Mapping[str, User]:
    mine = [urn for urn in storable(urns) if urn.startswith(USER_PREFIX)]
    if not mine:
        return {}
    found = {row.urn: row for row in users_groups_roles.users().filter(urn__among=mine).prefetch_related(None)}
    # Noted here, so that the managers of all of them are looked up at once.
    here.note(_users_in(_said(row, documents.USER_INFO).get("managerUrn") for row in found.values()))
    return found


def _groups(urns: Collection[str]) -> Mapping[str, GroupProfile]:
    mine = [urn for urn in storable(urns) if urn.startswith(GROUP_PREFIX)]
    return (
        {row.urn: row for row in users_groups_roles.groups().filter(urn__among=mine).prefetch_related(None)}
        if mine
        else {}
    )


BINDABLES = (user, group)
