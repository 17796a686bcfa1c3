"""Mapping between the rows of users, groups and roles and their aspects.

A row is authoritative for its columns; the aspects that programs write are composed from it. `extra` of a row keeps the
rest: for each aspect the order of its keys, and the values that no column holds or that differ from the column. Two
aspects may have a field for the same column (a display name from the source and one that people edited); then the first
field in the tables below that has a value sets the column, and the other value is kept in `extra`.

Suspension follows from two aspects: `corpUserStatus.status` SUSPENDED (written by pages) or `corpUserInfo.active` false
(delivered by a source). Either suffices, so a source that repeats `active: true` every night does not lift a suspension
made here.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from policies.engine import actor_conditions, property_conditions
from policies.models.people import GroupProfile, User
from policies.models.roles import Role

AspectJson = dict[str, Any]
AspectDocuments = dict[str, AspectJson]
IdentityRow = User | GroupProfile | Role

USER_INFO = "corpUserInfo"
USER_EDITABLE = "corpUserEditableInfo"
USER_STATUS = "corpUserStatus"
GROUP_INFO = "corpGroupInfo"
GROUP_EDITABLE = "corpGroupEditableInfo"
ROLE_INFO = "dataHubRoleInfo"
STATUS = "status"
ORIGIN = "origin"
SUB_TYPES = "subTypes"
EXTERNAL_GROUPS = "groupMembership"
NATIVE_GROUPS = "nativeGroupMembership"
ROLES = "roleMembership"

#: The entry of `subTypes` on users of kind SERVICE, and on no others (clients.md 2.3).
SERVICE_ACCOUNT = "SERVICE_ACCOUNT"

AspectField = tuple[str, str]

#: Occurs in the text of `extra` if the user has custom properties.
_PROPERTIES_MARKER = '"customProperties":{"'

#: Column → the aspect fields that hold it, the deciding one first. The e-mail address comes from the source first:
#: an actor who may edit the editable part of a profile must not be able to take over another person's address.
_COLUMN_FIELDS: Mapping[type[IdentityRow], Mapping[str, tuple[AspectField, ...]]] = {
    User: {
        "display_name": ((USER_EDITABLE, "displayName"), (USER_INFO, "displayName")),
        "title": ((USER_EDITABLE, "title"), (USER_INFO, "title")),
        "email": ((USER_INFO, "email"), (USER_EDITABLE, "email")),
        "description": ((USER_EDITABLE, "aboutMe"),),
    },
    GroupProfile: {
        "name": ((GROUP_INFO, "displayName"),),
        "description": ((GROUP_EDITABLE, "description"), (GROUP_INFO, "description")),
        "email": ((GROUP_EDITABLE, "email"), (GROUP_INFO, "email")),
    },
    Role: {"name": ((ROLE_INFO, "name"),), "description": ((ROLE_INFO, "description"),)},
}
#: Aspects that receive a value which no aspect holds yet only if no other aspect has a field for it.
_EDITABLE_ASPECTS = frozenset({USER_EDITABLE, GROUP_EDITABLE})
#: Further members of an aspect created here: the fields that DataHub's clients require.
_REQUIRED_MEMBERS: Mapping[str, AspectJson] = {
    USER_INFO: {"active": True},
    GROUP_INFO: {"admins": [], "members": [], "groups": []},
}
#: Field of each membership aspect with its list of URNs; the list is in relations, `extra` keeps its order.
_RELATION_FIELDS = {EXTERNAL_GROUPS: "groups", NATIVE_GROUPS: "nativeGroups", ROLES: "roles"}


def to_aspects(row: IdentityRow) -> AspectDocuments:
    """Return aspect name → document of this row, without membership aspects."""
    columns = {field: column for column, fields in _COLUMN_FIELDS[type(row)].items() for field in fields}
    is_service = isinstance(row, User) and row.kind == User.Kind.SERVICE
    # The kind of account is a column, so a service has this aspect even if no program wrote it.
    aspects: AspectDocuments = {SUB_TYPES: {"typeNames": [SERVICE_ACCOUNT]}} if is_service else {}
    return aspects | {
        aspect: {
            key: aspect_extra["kept"][key] if key in aspect_extra["kept"] else getattr(row, columns[aspect, key])
            for key in aspect_extra["keys"]
        }
        for aspect, aspect_extra in row.extra.items()
        if aspect not in _RELATION_FIELDS
    }


def set_aspects(row: IdentityRow, documents: AspectDocuments) -> None:
    """Set the columns and `extra` of the row (unsaved) so that `to_aspects` returns these documents."""
    columns: dict[AspectField, str] = {}
    for column, fields in _COLUMN_FIELDS[type(row)].items():
        setattr(row, column, _find_value(documents, fields) or _fallback_value(row, column, documents))
        columns |= dict.fromkeys(fields, column)
    relation_extras = {aspect: aspect_extra for aspect, aspect_extra in row.extra.items() if aspect in _RELATION_FIELDS}
    row.extra = relation_extras | {
        aspect: {
            "keys": list(document),
            "kept": {
                key: value
                for key, value in document.items()
                if (aspect, key) not in columns or value != getattr(row, columns[aspect, key])
            },
        }
        for aspect, document in documents.items()
    }
    _set_state(row, documents)


def set_columns(row: IdentityRow, changes: Mapping[str, str]) -> None:
    """Set columns (unsaved) and every aspect field that holds them to the new values; '' removes a value."""
    documents = to_aspects(row)
    for column, value in changes.items():
        fields = _COLUMN_FIELDS[type(row)][column]
        filled_fields = [(aspect, key) for aspect, key in fields if key in documents.get(aspect, {})]
        if not filled_fields and value:
            default_fields = [field for field in fields if field[0] not in _EDITABLE_ASPECTS]
            filled_fields = default_fields[:1] or list(fields[:1])
        for aspect, key in filled_fields:
            document = documents.setdefault(aspect, dict(_REQUIRED_MEMBERS.get(aspect, {})))
            if value:
                document[key] = value
            else:
                document.pop(key, None)
    set_aspects(row, documents)


def actor_attributes(email: str, extra: str) -> frozenset[tuple[str, str]]:
    """Return the attributes of a user as an actor, (name, value) pairs: its e-mail address and custom properties.

    `extra` is the column as text. Only the user's source, or an actor who manages users, can write these; the fields
    that users edit themselves are not included. The address takes precedence over a property `email`.
    """
    custom_properties: Any = {}
    if _PROPERTIES_MARKER in extra:
        custom_properties = json.loads(extra).get(USER_INFO, {}).get("kept", {}).get("customProperties")
    attributes = (custom_properties if isinstance(custom_properties, dict) else {}) | (
        {"email": email} if email else {}
    )
    return actor_conditions.actor_attributes(property_conditions.to_facets(attributes, property_conditions.ACTOR))


def is_service(document: AspectJson | None) -> bool:
    """Whether a `subTypes` aspect declares a service account."""
    return SERVICE_ACCOUNT in ((document or {}).get("typeNames") or ())


def suspend(user: User, *, by: str) -> None:
    """Set the user's status (unsaved) to SUSPENDED; `by` is the URN of the actor who does it, now."""
    set_aspects(user, to_aspects(user) | {USER_STATUS: _build_status(User.State.SUSPENDED, by)})


def activate(user: User, *, by: str) -> None:
    """Set the user's status (unsaved) to ACTIVE, and `corpUserInfo.active` to true if the user has that aspect."""
    documents = to_aspects(user) | {USER_STATUS: _build_status(User.State.ACTIVE, by)}
    if USER_INFO in documents:
        documents[USER_INFO]["active"] = True
    set_aspects(user, documents)


def build_relation(row: User | GroupProfile, aspect: str, members: list[str]) -> AspectJson | None:
    """Return a membership aspect for these member URNs; None if there are none and no client wrote the aspect.

    Members keep the order in which a client wrote them; later ones follow.
    """
    aspect_extra = row.extra.get(aspect)
    if aspect_extra is None:
        return {_RELATION_FIELDS[aspect]: members} if members else None
    positions = {urn: position for position, urn in enumerate(aspect_extra["order"])}
    ordered_members = sorted(members, key=lambda urn: positions.get(urn, len(positions)))
    # A client may have left the list out while it was empty; now it has members.
    keys = dict.fromkeys([*aspect_extra["keys"], *([_RELATION_FIELDS[aspect]] if ordered_members else [])])
    return {key: ordered_members if key == _RELATION_FIELDS[aspect] else aspect_extra["kept"][key] for key in keys}


def set_relation(row: User | GroupProfile, aspect: str, document: AspectJson | None) -> list[str]:
    """Store in `extra` (unsaved) the rest of a membership aspect, and return its list; None deletes the aspect."""
    other_extras = {name: aspect_extra for name, aspect_extra in row.extra.items() if name != aspect}
    if document is None:
        row.extra = other_extras
        return []
    field = _RELATION_FIELDS[aspect]
    order = list(dict.fromkeys(document.get(field) or []))
    other_members = {key: value for key, value in document.items() if key != field}
    row.extra = other_extras | {aspect: {"keys": list(document), "kept": other_members, "order": order}}
    return order


def members_field(aspect: str) -> str:
    """Return the name of the field with the list of a membership aspect."""
    return _RELATION_FIELDS[aspect]


def _build_status(state: str, by: str) -> AspectJson:
    return {"status": str(state), "lastModified": {"time": int(timezone.now().timestamp() * 1000), "actor": by}}


def _find_value(documents: AspectDocuments, fields: tuple[AspectField, ...]) -> str:
    return next((value for aspect, key in fields if (value := documents.get(aspect, {}).get(key))), "")


def _fallback_value(row: IdentityRow, column: str, documents: AspectDocuments) -> str:
    if isinstance(row, User):
        return documents.get(USER_INFO, {}).get("fullName") or "" if column == "display_name" else ""
    return row.identifier if column == "name" else ""


def _set_state(row: IdentityRow, documents: AspectDocuments) -> None:
    if isinstance(row, User):
        status = str(documents.get(USER_STATUS, {}).get("status", "")).strip().upper()
        is_suspended = status == "SUSPENDED" or documents.get(USER_INFO, {}).get("active") is False
        row.state = User.State.SUSPENDED if is_suspended else User.State.ACTIVE
    if isinstance(row, GroupProfile) and ORIGIN in documents:
        row.origin = documents[ORIGIN]["type"]
    if not isinstance(row, Role):
        row.is_removed = documents.get(STATUS, {}).get("removed") is True
