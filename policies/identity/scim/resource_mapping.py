"""Conversion of rows of users and groups to SCIM resources, and of user resources to provisioned attributes."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import datetime
from types import MappingProxyType
from typing import Any

from scim2_models import Meta, Resource, ResourceType

from policies.identity.scim.schemas import ENTERPRISE_SCHEMA, PROVIDER
from policies.identity.services.scim_provisioning import ProvisionedUser
from policies.models import GroupProfile, User, documents

#: Path of an attribute in a resource → field of `corpUserInfo` that stores it.
_INFO_KEYS_BY_PATH: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("displayName",): "displayName",
        ("title",): "title",
        ("name", "formatted"): "fullName",
        ("name", "givenName"): "firstName",
        ("name", "familyName"): "lastName",
        (ENTERPRISE_SCHEMA, "department"): "departmentName",
    }
)
#: Key in `User.delivered` of a user whose last update from its source did not include `active`.
_ACTIVE_OMITTED_KEY = "activeUnsaid"
#: Attributes of a resource that are stored in columns and relations, or not at all.
_KEYS_STORED_ELSEWHERE = ("schemas", "id", "meta", "userName", "externalId", "active", "groups")


def build_resource(
    row: User | GroupProfile, *, resource_type: ResourceType, related_rows: Iterable[Any], modified_at: datetime
) -> Resource[Any]:
    """Return a user with its groups, or a group with its external members, as a resource."""
    body = _build_user(row, related_rows) if isinstance(row, User) else _build_group(row, related_rows)
    body |= {
        "schemas": [str(resource_type.schema_)],
        "id": str(row.scim_id),
        "externalId": row.external_id or None,
    }
    model: Any = PROVIDER.model_for(resource_type)
    resource: Resource[Any] = model.model_validate(body)
    resource.meta = Meta(
        resource_type=resource_type.name, created=row.created_at, last_modified=max(row.created_at, modified_at)
    )
    return resource


def _build_user(user: User, groups: Iterable[GroupProfile]) -> dict[str, Any]:
    info = documents.to_aspects(user).get(documents.USER_INFO, {})
    body = deepcopy({key: value for key, value in user.delivered.items() if key != _ACTIVE_OMITTED_KEY})
    for path, key in _INFO_KEYS_BY_PATH.items():
        _set_path(body, path, _as_text(info.get(key)))
    body["emails"] = _merge_address(body.get("emails", []), _as_text(info.get("email")))
    return body | {
        "userName": user.username,
        "active": None if _ACTIVE_OMITTED_KEY in user.delivered else user.is_active,
        "groups": [
            {"value": str(group.scim_id), "$ref": f"Groups/{group.scim_id}", "display": group.name, "type": "direct"}
            for group in groups
        ],
    }


def _build_group(group: GroupProfile, members: Iterable[User]) -> dict[str, Any]:
    references = [{"value": str(user.scim_id), "$ref": f"Users/{user.scim_id}", "type": "User"} for user in members]
    return {"displayName": group.name, "members": references}


def parse_user(resource: Resource[Any]) -> ProvisionedUser:
    """Return the attributes of a user resource, without its user name."""
    body = resource.model_dump()
    info = {key: _pop_path(body, path) for path, key in _INFO_KEYS_BY_PATH.items()}
    info["email"] = _pop_main_address(body.get("emails", []))
    other_attributes = {key: value for key, value in body.items() if key not in _KEYS_STORED_ELSEWHERE and value}
    is_active = body.get("active")
    return ProvisionedUser(
        is_active=is_active,
        external_id=body.get("externalId") or "",
        info=info,
        other_attributes=other_attributes
        if is_active is not None or resource.id is None
        else other_attributes | {_ACTIVE_OMITTED_KEY: True},
    )


def _pop_main_address(entries: list[dict[str, Any]]) -> str:
    """Remove and return the value of the main address: of type work, else primary, else first. Its entry stays."""
    main_entry = min(entries, key=lambda entry: (entry.get("type") != "work", not entry.get("primary")), default={})
    return str(main_entry.pop("value", ""))


def _merge_address(entries: list[dict[str, Any]], address: str) -> list[dict[str, Any]]:
    """Return all addresses; the account's goes into the entry without a value, else it is added as a work address."""
    entry_without_value = next((entry for entry in entries if "value" not in entry), None)
    if entry_without_value is not None and address:
        entry_without_value["value"] = address
    elif address:
        is_primary = not any(entry.get("primary") for entry in entries)
        return [{"value": address, "type": "work", "primary": is_primary}, *entries]
    return [entry for entry in entries if "value" in entry]


def _set_path(body: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    for name in path[:-1]:
        if not value and name not in body:
            return
        body = body.setdefault(name, {})
    if value:
        body[path[-1]] = value


def _pop_path(body: dict[str, Any], path: tuple[str, ...]) -> str:
    for name in path[:-1]:
        body = body.get(name) or {}
    return str(body.pop(path[-1], None) or "")


def _as_text(value: Any) -> str:
    """Return a field of an aspect, '' if it is not a string; other programs may have written any value."""
    return value if isinstance(value, str) else ""
