"""How rows of people read as SCIM resources, and what a resource tells of them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from scim2_models import Meta, Resource, ResourceType

from policies.identity.scim.schemas import ENTERPRISE, PROVIDER
from policies.identity.services.scim_provisioning import Told
from policies.models import GroupProfile, User, documents

#: Where the library puts what, and which field of `corpUserInfo` is its home.
_HOMES: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("displayName",): "displayName",
        ("title",): "title",
        ("name", "formatted"): "fullName",
        ("name", "givenName"): "firstName",
        ("name", "familyName"): "lastName",
        (ENTERPRISE, "department"): "departmentName",
    }
)
#: Stands in what is kept of a user whose source said once whether it is active, and does so no more.
_UNSAID = "activeUnsaid"
#: What columns and relations hold, or nobody has to keep.
_ELSEWHERE = ("schemas", "id", "meta", "userName", "externalId", "active", "groups")


def user_resource(
    user: User, *, resource_type: ResourceType, groups: Iterable[GroupProfile], modified: datetime | None
) -> Resource[Any]:
    """Return a user; `groups` are those it is in, `modified` when it changed last, None when it never did."""
    info = documents.compose(user).get(documents.USER_INFO, {})
    body = _copied({key: value for key, value in user.delivered.items() if key != _UNSAID})
    for place, key in _HOMES.items():
        _put(body, place, _text(info.get(key)))
    body["emails"] = _addresses(body.get("emails", []), _text(info.get("email")))
    body |= {
        "schemas": [str(resource_type.schema_)],
        "id": str(user.scim_id),
        "externalId": user.external_id or None,
        "userName": user.username,
        "active": None if _UNSAID in user.delivered else user.is_active,
        "groups": [
            {"value": str(group.scim_id), "$ref": f"Groups/{group.scim_id}", "display": group.name, "type": "direct"}
            for group in groups
        ],
    }
    return _resource(resource_type, body, created=user.created_at, modified=modified)


def group_resource(
    group: GroupProfile, *, resource_type: ResourceType, members: Iterable[User], modified: datetime | None
) -> Resource[Any]:
    """Return a group; `members` are whom its source put into it."""
    body = {
        "schemas": [str(resource_type.schema_)],
        "id": str(group.scim_id),
        "externalId": group.external_id or None,
        "displayName": group.name,
        "members": [{"value": str(user.scim_id), "$ref": f"Users/{user.scim_id}", "type": "User"} for user in members],
    }
    return _resource(resource_type, body, created=group.created_at, modified=modified)


def told(resource: Resource[Any]) -> Told:
    """Return what a resource says of a user, beside its name."""
    body = resource.model_dump()
    info = {key: _take(body, place) for place, key in _HOMES.items()}
    info["email"] = _take_address(body.get("emails", []))
    rest = {key: value for key, value in body.items() if key not in _ELSEWHERE and value}
    is_active = body.get("active")
    return Told(
        is_active=is_active,
        external_id=body.get("externalId") or "",
        info=info,
        rest=rest if is_active is not None or resource.id is None else rest | {_UNSAID: True},
    )


def _resource(
    resource_type: ResourceType, body: dict[str, Any], *, created: datetime, modified: datetime | None
) -> Resource[Any]:
    model: Any = PROVIDER.model_for(resource_type)
    found: Resource[Any] = model.model_validate(body)
    found.meta = Meta(
        resource_type=resource_type.name, created=created, last_modified=max(created, modified or created)
    )
    return found


def _main(entries: list[dict[str, Any]]) -> int:
    """Return the place of the address that counts: that at work, else the primary one, else the first."""
    ranks = [(entry.get("type") != "work", not entry.get("primary"), place) for place, entry in enumerate(entries)]
    return min(ranks)[2]


def _take_address(entries: list[dict[str, Any]]) -> str:
    """Take the address that counts out of the list, where its entry stays without it."""
    return str(entries[_main(entries)].pop("value", "")) if entries else ""


def _addresses(entries: list[dict[str, Any]], address: str) -> list[dict[str, Any]]:
    """Return all addresses: that of the account stands where it was delivered, else as one at work."""
    hollow = next((entry for entry in entries if "value" not in entry), None)
    if hollow is not None and address:
        hollow["value"] = address
    elif address:
        is_lonely = not any(entry.get("primary") for entry in entries)
        return [{"value": address, "type": "work", "primary": is_lonely}, *entries]
    return [entry for entry in entries if "value" in entry]


def _put(body: dict[str, Any], place: tuple[str, ...], value: str) -> None:
    for name in place[:-1]:
        if not value and name not in body:
            return
        body = body.setdefault(name, {})
    if value:
        body[place[-1]] = value


def _take(body: dict[str, Any], place: tuple[str, ...]) -> str:
    for name in place[:-1]:
        body = body.get(name) or {}
    return str(body.pop(place[-1], None) or "")


def _text(value: Any) -> str:
    """Return a field of an aspect, which other programs may have filled with anything."""
    return value if isinstance(value, str) else ""


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
