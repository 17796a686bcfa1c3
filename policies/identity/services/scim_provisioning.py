"""Users and groups provisioned by an identity source over SCIM.

The source's values of a user are stored in `corpUserInfo`, where DataHub's own sources put them, and in
`User.delivered` where no aspect has a field. A user that the source deactivates is suspended at once: sessions end and
tokens are refused. The source lifts only its own suspension: a user suspended here stays suspended when the source
reports it as active. Members that the source adds are external; native memberships are not changed.

Callers pass only users that `scim.queries.list_people` returns: no root user, no service accounts. Every function runs
inside the unit of work of the request, so that the state read before it is still current.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from policies.errors import Conflict
from policies.identity.services import membership_writer, people_writer, users
from policies.identity.services.groups import ENTITY_TYPE
from policies.models import GroupProfile, User, documents
from policies.models.fields import JsonTextField, fold_ascii, is_storable
from policies.models.people import MAX_EXTERNAL_ID_LENGTH, MAX_IDENTIFIER_LENGTH, MAX_NAME_LENGTH
from policies.writes import required_privileges
from policies.writes.unit_of_work import UnitOfWork
from policies.writes.validation import MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH, Checks

#: Fields of `corpUserInfo` that a source provides → maximum length, in characters.
INFO_LENGTHS: Mapping[str, int] = MappingProxyType(
    {
        "displayName": MAX_NAME_LENGTH,
        "fullName": MAX_NAME_LENGTH,
        "firstName": MAX_NAME_LENGTH,
        "lastName": MAX_NAME_LENGTH,
        "title": MAX_NAME_LENGTH,
        "email": MAX_EMAIL_LENGTH,
        "departmentName": MAX_NAME_LENGTH,
    }
)


@dataclass(frozen=True, slots=True)
class ProvisionedUser:
    """A user's attributes from its source; `info` has keys of INFO_LENGTHS, `other_attributes` are stored unchanged.

    `is_active` is None when the source does not send it: a new user is active, an existing one keeps its state.
    """

    is_active: bool | None = None
    external_id: str = ""
    info: Mapping[str, str] = field(default_factory=dict)
    other_attributes: Mapping[str, Any] = field(default_factory=dict)


def create_user(*, username: str, attributes: ProvisionedUser, uow: UnitOfWork) -> User:
    """Create a user from its source's attributes.

    Raises Forbidden, Conflict when the name is taken (compared without ASCII letter case), Invalid with every problem.
    """
    required_privileges.require(by=uow.by, requirement=required_privileges.privilege_group("user.create"))
    _check_user(attributes)
    if User.objects.filter(username__lower=fold_ascii(username)).exists():
        raise Conflict(f"There is a user {username!r} already.")
    user = User(external_id=attributes.external_id, delivered=attributes.other_attributes)
    documents.set_aspects(
        user, {documents.USER_INFO: {"active": attributes.is_active is not False, **_list_known_attributes(attributes)}}
    )
    state = User.State.SUSPENDED if attributes.is_active is False else User.State.ACTIVE
    return users.insert_user(username=username, profile={}, state=state, row=user, uow=uow)


def update_user(*, user: User, attributes: ProvisionedUser, uow: UnitOfWork) -> None:
    """Replace the attributes of a user that come from its source.

    Raises Forbidden, Invalid with every problem, Conflict for the last user who can manage policies.
    """
    required_privileges.require(by=uow.by, requirement=required_privileges.privilege_group("user.update"))
    _check_user(attributes)
    with people_writer.edit(user, uow=uow, describe=people_writer.source_facts):
        aspects, was_active = documents.to_aspects(user), user.is_active
        old_info = aspects.get(documents.USER_INFO, {"active": True})
        info = {key: value for key, value in old_info.items() if key not in INFO_LENGTHS}
        info |= _list_known_attributes(attributes)
        is_suspended = was_active and attributes.is_active is False
        if is_suspended:
            # `corpUserInfo.active` marks a suspension by the source.
            info["active"] = False
        documents.set_aspects(user, aspects | {documents.USER_INFO: info})
        user.external_id, user.delivered = attributes.external_id, attributes.other_attributes
        if is_suspended:
            documents.suspend(user, by=uow.by.urn)
        elif attributes.is_active and old_info.get("active") is False:
            documents.activate(user, by=uow.by.urn)


def create_group(*, name: str, external_id: str, members: Sequence[User], uow: UnitOfWork) -> GroupProfile:
    """Create an external group; its id is its name if that is valid and free in a URN, else a random UUID.

    Raises Forbidden, Conflict when a group has this name, Invalid with every problem.
    """
    required_privileges.require(by=uow.by, requirement=required_privileges.privilege_group("group.create"))
    _check_group(name, external_id)
    if GroupProfile.objects.filter(is_removed=False, name=name).exists():
        raise Conflict(f"There is a group {name!r} already.")
    origin = GroupProfile.Origin.EXTERNAL
    group = people_writer.build_group(identifier=_choose_identifier(name), by=uow.by, origin=origin, name=name)
    group.external_id = external_id
    people_writer.store([group], facts_before={group.urn: None}, uow=uow)
    membership_writer.add_members(users=members, groups=[group], kind=membership_writer.EXTERNAL, uow=uow)
    return group


def update_group(
    *,
    group: GroupProfile,
    name: str,
    external_id: str,
    added_users: Sequence[User],
    removed_users: Collection[User],
    uow: UnitOfWork,
) -> None:
    """Rename a group, and add and remove external members; each part needs its own privilege.

    Raises Forbidden, Invalid with every problem, Conflict when nobody could manage policies afterwards.
    """
    by = uow.by
    if (name, external_id) != (group.name, group.external_id):
        profile_requirement = required_privileges.group_profile()
        required_privileges.require(by=by, requirement=profile_requirement, urn=group.urn, type=ENTITY_TYPE)
        _check_group(name, external_id)
        with people_writer.edit(group, uow=uow, describe=people_writer.source_facts):
            documents.set_columns(group, {"name": name})
            group.external_id = external_id
    if added_users or removed_users:
        members_requirement = required_privileges.group_members()
        required_privileges.require(by=by, requirement=members_requirement, urn=group.urn, type=ENTITY_TYPE)
        membership_writer.add_members(users=added_users, groups=[group], kind=membership_writer.EXTERNAL, uow=uow)
        membership_writer.remove_members(users=removed_users, group=group, kind=membership_writer.EXTERNAL, uow=uow)


def _list_known_attributes(attributes: ProvisionedUser) -> dict[str, str]:
    return {key: attributes.info[key] for key in INFO_LENGTHS if attributes.info.get(key)}


def _choose_identifier(name: str) -> str:
    """Return the id of a new group: its name where possible, since other programs refer to groups by name."""
    checks = Checks()
    checks.validate_identifier(name, "")
    is_free = not GroupProfile.objects.filter(identifier=name).exists()
    return name if not checks.problems and len(name) <= MAX_IDENTIFIER_LENGTH and is_free else str(uuid.uuid4())


def _check_user(attributes: ProvisionedUser) -> None:
    checks = Checks()
    checks.validate_text(attributes.external_id, "/externalId", limit=MAX_EXTERNAL_ID_LENGTH)
    for key, limit in INFO_LENGTHS.items():
        checks.validate_text(attributes.info.get(key, ""), f"/{key}", limit=limit)
    # JSON text escapes NUL, so only half a surrogate pair makes it unstorable.
    text = JsonTextField().get_prep_value(attributes.other_attributes) or ""
    if not is_storable(text):
        checks.add("text.unstorable", "", "A text holds no half of a surrogate pair.")
    elif len(text) > MAX_TEXT_LENGTH:
        checks.add("text.long", "", f"All attributes together have up to {MAX_TEXT_LENGTH} characters.")
    checks.finish()


def _check_group(name: str, external_id: str) -> None:
    checks = Checks()
    checks.validate_text(name, "/displayName", limit=MAX_NAME_LENGTH, is_required=True)
    checks.validate_text(external_id, "/externalId", limit=MAX_EXTERNAL_ID_LENGTH)
    checks.finish()
