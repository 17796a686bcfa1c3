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
from policies.identity.services import groups as group_service
from policies.identity.services import name_index
from policies.identity.services import users as user_services
from policies.models import GroupProfile, Membership, User, Verb, documents
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
    return user_services.insert_user(username=username, profile={}, state=state, row=user, uow=uow)


def update_user(*, user: User, attributes: ProvisionedUser, uow: UnitOfWork) -> None:
    """Replace the attributes of a user that come from its source.

    Raises Forbidden, Invalid with every problem, Conflict for the last user who can manage policies.
    """
    required_privileges.require(by=uow.by, requirement=required_privileges.privilege_group("user.update"))
    _check_user(attributes)
    uow.announce(user.urn)
    before, was_active = _user_facts(user), user.is_active
    aspects = documents.to_aspects(user)
    info = {
        key: value
        for key, value in aspects.get(documents.USER_INFO, {"active": True}).items()
        if key not in INFO_LENGTHS
    }
    documents.set_aspects(user, aspects | {documents.USER_INFO: info | _list_known_attributes(attributes)})
    user.external_id, user.delivered = attributes.external_id, attributes.other_attributes
    verb = Verb.UPDATED
    if was_active and attributes.is_active is False:
        verb = Verb.SUSPENDED
        uow.announce_revocation(f"the account of {user.name}")
        uow.announce_deactivation(user.urn)
        _suspend(user, uow)
        user.session_epoch += 1
    elif attributes.is_active and info.get("active") is False:
        verb = Verb.ACTIVATED
        documents.activate(user, user_services.audit_stamp(uow.by))
    user.save()
    name_index.rebuild(users=[user])
    uow.audit(urn=user.urn, name=user.name, verb=verb, before=before, after=_user_facts(user))


def create_group(*, name: str, external_id: str, members: Sequence[User], uow: UnitOfWork) -> GroupProfile:
    """Create an external group; its id is its name if that is valid and free in a URN, else a random UUID.

    Raises Forbidden, Conflict when a group has this name, Invalid with every problem.
    """
    required_privileges.require(by=uow.by, requirement=required_privileges.privilege_group("group.create"))
    _check_group(name, external_id)
    if GroupProfile.objects.filter(is_removed=False, name=name).exists():
        raise Conflict(f"There is a group {name!r} already.")
    group = group_service.build_group(identifier=_choose_identifier(name), by=uow.by)
    group.external_id = external_id
    uow.announce(group.urn)
    documents.set_aspects(group, {documents.ORIGIN: {"type": GroupProfile.Origin.EXTERNAL}})
    documents.set_columns(group, {"name": name})
    group_service.insert_groups([group])
    uow.audit(urn=group.urn, name=group.name, verb=Verb.CREATED, after=group_service.facts(group))
    _add_members(group, members, uow)
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
    if (name, external_id) != (group.name, group.external_id):
        required_privileges.require(
            by=uow.by, requirement=required_privileges.group_profile(), urn=group.urn, type=group_service.ENTITY_TYPE
        )
        _check_group(name, external_id)
        uow.announce(group.urn)
        before = group_service.facts(group)
        documents.set_columns(group, {"name": name})
        group.external_id = external_id
        group.save()
        name_index.rebuild(groups=[group])
        after = group_service.facts(group)
        uow.audit(urn=group.urn, name=group.name, verb=Verb.UPDATED, before=before, after=after)
    if added_users or removed_users:
        required_privileges.require(
            by=uow.by, requirement=required_privileges.group_members(), urn=group.urn, type=group_service.ENTITY_TYPE
        )
        _add_members(group, added_users, uow)
        _remove_members(group, removed_users, uow)


def _add_members(group: GroupProfile, users: Sequence[User], uow: UnitOfWork) -> None:
    uow.announce(*(user.urn for user in users))
    Membership.objects.bulk_create(
        [Membership(user=user, group=group.group, is_external=True) for user in users],
        update_conflicts=True,
        unique_fields=["user", "group"],
        update_fields=["is_external"],
    )
    group_service.record_members(uow, group, added_users=users)


def _remove_members(group: GroupProfile, users: Collection[User], uow: UnitOfWork) -> None:
    if not users:
        return
    uow.announce_revocation(f"the members of {group.name} as they are")
    rows = Membership.objects.filter(group=group.group_id, user__in=users)
    rows.filter(is_native=False).delete()
    rows.update(is_external=False)
    group_service.record_members(uow, group, removed_users=users)


def _suspend(user: User, uow: UnitOfWork) -> None:
    """Suspend a user (unsaved) by its status and by `corpUserInfo.active`, which marks a suspension by the source."""
    aspects = documents.to_aspects(user)
    documents.set_aspects(user, aspects | {documents.USER_INFO: aspects[documents.USER_INFO] | {"active": False}})
    documents.suspend(user, user_services.audit_stamp(uow.by))


def _list_known_attributes(attributes: ProvisionedUser) -> dict[str, str]:
    return {key: attributes.info[key] for key in INFO_LENGTHS if attributes.info.get(key)}


def _choose_identifier(name: str) -> str:
    """Return the id of a new group: its name where possible, since other programs refer to groups by name."""
    checks = Checks()
    checks.validate_identifier(name, "")
    is_free = not GroupProfile.objects.filter(identifier=name).exists()
    return name if not checks.problems and len(name) <= MAX_IDENTIFIER_LENGTH and is_free else str(uuid.uuid4())


def _user_facts(user: User) -> dict[str, Any]:
    return user_services.facts(user) | {"external_id": user.external_id, "aspects": documents.to_aspects(user)}


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
