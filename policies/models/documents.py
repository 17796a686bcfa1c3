"""How the rows of people and their aspects say the same thing.

A row is the truth for what its columns hold; the aspects that programs write are composed from it. `extra` of a row
keeps the rest: for each aspect the order of its keys, and the values that no column holds or that differ from the
column's. Two aspects may name the same thing (a display name that the source delivers and one that people edited);
then the first place in the tables below that has a value decides the column, and the other value is kept.

Whether a user is suspended follows from two aspects and is not a column's to decide: `corpUserStatus.status` SUSPENDED
(what pages write) or `corpUserInfo.active` false (what a source delivers). Either suffices, so a source that repeats
`active: true` every night does not lift a suspension made here.
"""

import json
from collections.abc import Mapping
from typing import Any

from policies.engine import actor_conditions, property_conditions
from policies.models.people import GroupProfile, User
from policies.models.roles import Role

Json = dict[str, Any]
Documents = dict[str, Json]
Row = User | GroupProfile | Role

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

#: What `subTypes` says of a user of kind SERVICE, and of no other (clients.md 2.3).
SERVICE_ACCOUNT = "SERVICE_ACCOUNT"

Place = tuple[str, str]

#: Stands in the text of `extra` of those who have properties.
_CUSTOM = '"customProperties":{"'

#: Column → the places that hold it, the deciding one first. The address comes from the source first: whoever may edit
#: the editable part of a profile must not be able to take over another person's address.
_PLACES: Mapping[type[Row], Mapping[str, tuple[Place, ...]]] = {
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
#: Where a value that no aspect holds yet is put.
_HOME: Mapping[str, str] = {USER_EDITABLE: USER_INFO, GROUP_EDITABLE: GROUP_INFO}
#: What an aspect that is made here holds beside what is put into it: the fields DataHub's clients require.
_BLANK: Mapping[str, Json] = {
    USER_INFO: {"active": True},
    GROUP_INFO: {"admins": [], "members": [], "groups": []},
}
#: Lists of URNs that relations hold; `extra` keeps their order.
_RELATIONS = {EXTERNAL_GROUPS: "groups", NATIVE_GROUPS: "nativeGroups", ROLES: "roles"}


def compose(row: Row) -> Documents:
    """Return the aspects that were written to this row, as they read now; those of memberships are not among them."""
    columns = {place: column for column, places in _PLACES[type(row)].items() for place in places}
    is_service = isinstance(row, User) and row.kind == User.Kind.SERVICE
    # The column says what a service is, also when no program has written the aspect.
    composed: Documents = {SUB_TYPES: {"typeNames": [SERVICE_ACCOUNT]}} if is_service else {}
    return composed | {
        aspect: {
            key: stored["kept"][key] if key in stored["kept"] else getattr(row, columns[aspect, key])
            for key in stored["keys"]
        }
        for aspect, stored in row.extra.items()
        if aspect not in _RELATIONS
    }


def reduce(row: Row, documents: Documents) -> None:
    """Set the columns and `extra` of the row (unsaved) so that `compose` returns these documents."""
    columns: dict[Place, str] = {}
    for column, places in _PLACES[type(row)].items():
        setattr(row, column, _first(documents, places) or _fallback(row, column, documents))
        columns |= dict.fromkeys(places, column)
    kept_relations = {aspect: stored for aspect, stored in row.extra.items() if aspect in _RELATIONS}
    row.extra = kept_relations | {
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
    _settle(row, documents)


def edit(row: Row, changes: Mapping[str, str]) -> None:
    """Set columns (unsaved) and let every aspect that says them say the new value; '' takes the value out."""
    documents = compose(row)
    for column, value in changes.items():
        places = _PLACES[type(row)][column]
        holders = [(aspect, key) for aspect, key in places if key in documents.get(aspect, {})]
        if not holders and value:
            homes = [place for place in places if place[0] not in _HOME]
            holders = homes[:1] or list(places[:1])
        for aspect, key in holders:
            document = documents.setdefault(aspect, dict(_BLANK.get(aspect, {})))
            if value:
                document[key] = value
            else:
                document.pop(key, None)
    reduce(row, documents)


def circumstances(email: str, extra: str) -> frozenset[tuple[str, str]]:
    """Return what is known of a user when it acts, from its columns (`extra` as text): its address, its properties.

    These are what only its source, or who manages users, can write; what people say of themselves is not among them.
    The address wins over a property of that name.
    """
    custom: Any = {}
    if _CUSTOM in extra:
        custom = json.loads(extra).get(USER_INFO, {}).get("kept", {}).get("customProperties")
    said = (custom if isinstance(custom, dict) else {}) | ({"email": email} if email else {})
    return actor_conditions.circumstances(property_conditions.facts(said, property_conditions.ACTOR))


def is_service(document: Json | None) -> bool:
    """Whether a `subTypes` aspect says that its user is a service account."""
    return SERVICE_ACCOUNT in ((document or {}).get("typeNames") or ())


def suspend(user: User, stamp: Json) -> None:
    """Set the user's status (unsaved) to SUSPENDED, with the audit stamp of who and when."""
    reduce(user, compose(user) | {USER_STATUS: {"status": "SUSPENDED", "lastModified": stamp}})


def activate(user: User, stamp: Json) -> None:
    """Set the user's status (unsaved) to ACTIVE, also where its source delivered it as inactive."""
    documents = compose(user) | {USER_STATUS: {"status": "ACTIVE", "lastModified": stamp}}
    if USER_INFO in documents:
        documents[USER_INFO]["active"] = True
    reduce(user, documents)


def relation(row: User | GroupProfile, aspect: str, members: list[str]) -> Json | None:
    """Return a membership aspect from the URNs that relations hold now, or None when it says nothing.

    Keeps the order in which a client gave them; what was added since stands behind.
    """
    stored = row.extra.get(aspect)
    if stored is None:
        return {_RELATIONS[aspect]: members} if members else None
    given = {urn: position for position, urn in enumerate(stored["order"])}
    ordered = sorted(members, key=lambda urn: given.get(urn, len(given)))
    # A client may have left the list out while there was nothing to list; now it is there.
    keys = dict.fromkeys([*stored["keys"], *([_RELATIONS[aspect]] if ordered else [])])
    return {key: ordered if key == _RELATIONS[aspect] else stored["kept"][key] for key in keys}


def keep_relation(row: User | GroupProfile, aspect: str, document: Json | None) -> list[str]:
    """Remember (unsaved) what a membership aspect says beside its list, and return the list; None forgets it."""
    others = {name: stored for name, stored in row.extra.items() if name != aspect}
    if document is None:
        row.extra = others
        return []
    field = _RELATIONS[aspect]
    order = list(dict.fromkeys(document.get(field) or []))
    kept = {key: value for key, value in document.items() if key != field}
    row.extra = others | {aspect: {"keys": list(document), "kept": kept, "order": order}}
    return order


def members_field(aspect: str) -> str:
    """Return the field that holds the list of a membership aspect."""
    return _RELATIONS[aspect]


def _first(documents: Documents, places: tuple[Place, ...]) -> str:
    return next((value for aspect, key in places if (value := documents.get(aspect, {}).get(key))), "")


def _fallback(row: Row, column: str, documents: Documents) -> str:
    if isinstance(row, User):
        return documents.get(USER_INFO, {}).get("fullName") or "" if column == "display_name" else ""
    return row.identifier if column == "name" else ""


def _settle(row: Row, documents: Documents) -> None:
    if isinstance(row, User):
        status = str(documents.get(USER_STATUS, {}).get("status", "")).strip().upper()
        is_suspended = status == "SUSPENDED" or documents.get(USER_INFO, {}).get("active") is False
        row.state = User.State.SUSPENDED if is_suspended else User.State.ACTIVE
    if isinstance(row, GroupProfile) and ORIGIN in documents:
        row.origin = documents[ORIGIN]["type"]
    if not isinstance(row, Role):
        row.is_removed = documents.get(STATUS, {}).get("removed") is True
