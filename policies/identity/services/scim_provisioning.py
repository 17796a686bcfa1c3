"""Users and groups as a source of people delivers them: an identity provider that says who there is.

What it says of a user has its home in `corpUserInfo`, where DataHub's own sources put it, and in `User.delivered` where
no aspect has a place for it. A user it lets go is suspended here at once: sessions end, tokens answer nothing. It takes
back only what it did itself: somebody suspended here stays so, however often the source says the account is active.

Whom it puts into a group is an external member; members by hand are not its business. Neither are the root user, the
system actor and the accounts of programs: they are not there for it.

Every function is part of a change that the door opened, so that what was read before it is still so.
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

#: What of `corpUserInfo` a source says, and how many characters each has.
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
    """All that a source says of a user: `info` has the keys of INFO, those absent empty; `other_attributes` as it came.

    `is_active` is None when the source says nothing about it: a new user is active, another one stays as it is.
    """

    is_active: bool | None = None
    external_id: str = ""
    info: Mapping[str, str] = field(default_factory=dict)
    other_attributes: Mapping[str, Any] = field(default_factory=dict)


def create_user(*, username: str, attributes: ProvisionedUser, uow: UnitOfWork) -> User:
    """Store a new user.

    Raises Forbidden, Conflict when the name is taken in letters of any size, Invalid with every problem.
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
    """Replace what the source says of a user.

    Raises Forbidden, Invalid with every problem, Conflict for the last who can manage policies.
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
    """Store a new group whose members come from the source; its id is its name where a URN can hold that.

    Raises Forbidden, Conflict when a group is called so, Invalid with every problem.
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
    """Call a group so, and change who is in it for its source.

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
    """Suspend (unsaved) so that it shows whose doing it is."""
    aspects = documents.to_aspects(user)
    documents.set_aspects(user, aspects | {documents.USER_INFO: aspects[documents.USER_INFO] | {"active": False}})
    documents.suspend(user, user_services.audit_stamp(uow.by))


def _list_known_attributes(attributes: ProvisionedUser) -> dict[str, str]:
    return {key: attributes.info[key] for key in INFO_LENGTHS if attributes.info.get(key)}


def _choose_identifier(name: str) -> str:
    """Return the id of a new group: other programs that name groups name them by what they are called."""
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
    # As text in JSON everything but half a surrogate pair is storable.
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
