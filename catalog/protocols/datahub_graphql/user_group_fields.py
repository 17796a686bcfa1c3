"""GraphQL fields of users and groups, composed from their rows as aspects."""

from collections.abc import Collection, Mapping
from typing import Any

from ariadne import ObjectType

from catalog.access.people_records import PEOPLE_LIST_FIELDS, PUBLIC_FIELDS, list_groups_with_visible_members
from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Context, Info, load_rows
from catalog.protocols.datahub_graphql.datasets_and_roles import custom_properties
from catalog.protocols.datahub_graphql.nodes import Node
from policies.identity.queries import users_groups_roles
from policies.models import GroupProfile, User, documents
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.writes import people_records

user_type = ObjectType("CorpUser")
group_type = ObjectType("CorpGroup")


def load_user(node: Node, info: Info) -> User | None:
    """Return the row of a user, None if it is only referred to or was removed."""
    context = info.context
    return context.load_batched(node.urn, "users", lambda urns: _load_users(urns, context))


def load_group(node: Node, info: Info) -> GroupProfile | None:
    """Return the row of a group, None if it is only referred to or was removed."""
    return info.context.load_batched(node.urn, "groups", _load_groups)


user_type.set_field("username", nodes.resolve_key)
group_type.set_field("name", nodes.resolve_key)


@user_type.field("exists")
@group_type.field("exists")
def resolve_exists(node: Node, info: Info) -> bool:
    """Whether the user or group exists."""
    return (load_user if node.urn.startswith(USER_PREFIX) else load_group)(node, info) is not None


@user_type.field("isNativeUser")
def is_native(node: Node, info: Info) -> bool:
    """Whether the user has a password of this site; false if the caller may not see the user's record."""
    row = load_user(node, info)
    return row is not None and _is_visible(row.urn, info) and row.has_usable_password()


@user_type.field("status")
def resolve_user_status(node: Node, info: Info) -> str | None:
    """Return the state of the user; None if the caller may not see the user's record."""
    row = load_user(node, info)
    return None if row is None or not _is_visible(row.urn, info) else row.state


@user_type.field("properties")
@user_type.field("info")
def resolve_user_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the properties of the user from its source; `active` also for a user without a source.

    A caller who may not see the user's record gets only the public fields: names, and whether the user may act.
    """
    row = load_user(node, info)
    if row is None:
        return None
    properties = _select_visible_fields(documents.USER_INFO, row, info)
    manager = properties.get("managerUrn")
    return {
        "displayName": row.get_full_name(),
        **properties,
        "active": row.is_active,
        "manager": nodes.build_one(manager, info) if isinstance(manager, str) else None,
        "customProperties": custom_properties(node.urn, properties),
    }


@user_type.field("editableProperties")
@user_type.field("editableInfo")
def resolve_user_editable_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the edited properties of the user."""
    row = load_user(node, info)
    return None if row is None else _select_visible_fields(documents.USER_EDITABLE, row, info) or None


@group_type.field("info")
def resolve_group_info(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the properties of the group from its source, with the users that the source lists beside the memberships.

    Users whose records the caller may not see are listed only if the caller may change the members of the group.
    """
    properties = resolve_group_properties(node, info)
    if properties is None:
        return None
    urns_by_field = {field: _user_urns(properties.get(field)) for field in PEOPLE_LIST_FIELDS}
    if not _has_visible_members(node.urn, info):
        urns_by_field = {
            field: [urn for urn in urns if _is_visible(urn, info)] for field, urns in urns_by_field.items()
        }
    return {**properties, **{field: nodes.build_many(urns, info) for field, urns in urns_by_field.items()}}


@group_type.field("properties")
def resolve_group_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the properties of the group from its source."""
    row = load_group(node, info)
    if row is None:
        return None
    return {"displayName": row.name, "description": row.description or None} | _aspect_document(
        row, documents.GROUP_INFO
    )


@group_type.field("editableProperties")
def resolve_group_editable_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the edited properties of the group."""
    row = load_group(node, info)
    return None if row is None else _aspect_document(row, documents.GROUP_EDITABLE) or None


@group_type.field("origin")
def resolve_group_origin(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return the origin of the group, and its type in an external source."""
    row = load_group(node, info)
    return (
        None
        if row is None
        else {"externalType": _aspect_document(row, documents.ORIGIN).get("externalType"), "type": row.origin}
    )


def _user_urns(values: Any) -> list[str]:
    return [urn for urn in values or () if isinstance(urn, str) and urn.startswith(USER_PREFIX)]


def _has_visible_members(urn: str, info: Info) -> bool:
    by = info.context.by

    def load(urns: Collection[str]) -> Mapping[str, bool]:
        group_urns = [group_urn for group_urn in urns if group_urn.startswith(GROUP_PREFIX)]
        return dict.fromkeys(list_groups_with_visible_members(urns=group_urns, by=by), True)

    return bool(info.context.load_batched(urn, "groups with visible members", load))


def _select_visible_fields(aspect: str, row: User, info: Info) -> dict[str, Any]:
    """Return the fields of a user's aspect that the caller may see."""
    fields, public_fields = _aspect_document(row, aspect), PUBLIC_FIELDS[aspect]
    is_visible = _is_visible(row.urn, info)
    return {name: value for name, value in fields.items() if is_visible or name in public_fields}


def _is_visible(urn: str, info: Info) -> bool:
    """Whether the caller may see the whole record of a user, by the rule of our own API."""
    by = info.context.by

    def load(urns: Collection[str]) -> Mapping[str, bool]:
        user_urns = [user_urn for user_urn in urns if user_urn.startswith(USER_PREFIX)]
        return dict.fromkeys(people_records.list_visible(urns=user_urns, by=by), True)

    return bool(info.context.load_batched(urn, "visible records", load))


def _aspect_document(row: User | GroupProfile, aspect: str) -> dict[str, Any]:
    return documents.to_aspects(row).get(aspect, {})


def _load_users(urns: Collection[str], context: Context) -> Mapping[str, User]:
    users_by_urn = load_rows(urns, USER_PREFIX, lambda: users_groups_roles.list_users().prefetch_related(None))
    # Added to the batch, so that the managers of all of them are loaded at once.
    context.add_to_batch(
        _user_urns(_aspect_document(row, documents.USER_INFO).get("managerUrn") for row in users_by_urn.values())
    )
    return users_by_urn


def _load_groups(urns: Collection[str]) -> Mapping[str, GroupProfile]:
    return load_rows(urns, GROUP_PREFIX, lambda: users_groups_roles.list_groups().prefetch_related(None))


BINDABLES = (user_type, group_type)
