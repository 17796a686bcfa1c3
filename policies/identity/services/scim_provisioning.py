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
from policies.models.fields import JsonTextField, folded, is_storable
from policies.models.people import EXTERNAL_ID_LENGTH, IDENTIFIER_LENGTH, NAME_LENGTH
from policies.writes import required_privileges
from policies.writes.unit_of_work import Change
from policies.writes.validation import EMAIL_LENGTH, TEXT_LENGTH, Checks

#: What of `corpUserInfo` a source says, and how many characters each has.
INFO: Mapping[str, int] = MappingProxyType(
    {
        "displayName": NAME_LENGTH,
        "fullName": NAME_LENGTH,
        "firstName": NAME_LENGTH,
        "lastName": NAME_LENGTH,
        "title": NAME_LENGTH,
        "email": EMAIL_LENGTH,
        "departmentName": NAME_LENGTH,
    }
)


@dataclass(frozen=True, slots=True)
class Told:
    """All that a source says of a user: `info` by the keys of INFO, the absent being empty; `rest` as it came.

    `is_active` is None when the source says nothing about it: a new user is active, another one stays as it is.
    """

    is_active: bool | None = None
    external_id: str = ""
    info: Mapping[str, str] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)


def create_user(*, username: str, told: Told, doing: Change) -> User:
    """Store a new user.

    Raises Forbidden, Conflict when the name is taken in letters of any size, Invalid with every problem.
    """
    required_privileges.require(by=doing.by, requirement=required_privileges.group_of("user.create"))
    _check(told)
    if User.objects.filter(username__lower=folded(username)).exists():
        raise Conflict(f"There is a user {username!r} already.")
    user = User(external_id=told.external_id, delivered=told.rest)
    documents.reduce(user, {documents.USER_INFO: {"active": told.is_active is not False, **_filled(told)}})
    state = User.State.SUSPENDED if told.is_active is False else User.State.ACTIVE
    return user_services.add(username=username, profile={}, state=state, row=user, doing=doing)


def update_user(*, user: User, told: Told, doing: Change) -> None:
    """Replace what the source says of a user.

    Raises Forbidden, Invalid with every problem, Conflict for the last who can manage policies.
    """
    required_privileges.require(by=doing.by, requirement=required_privileges.group_of("user.update"))
    _check(told)
    doing.announce(user.urn)
    before, was_active = _facts(user), user.is_active
    composed = documents.compose(user)
    info = {key: value for key, value in composed.get(documents.USER_INFO, {"active": True}).items() if key not in INFO}
    documents.reduce(user, composed | {documents.USER_INFO: info | _filled(told)})
    user.external_id, user.delivered = told.external_id, told.rest
    verb = Verb.UPDATED
    if was_active and told.is_active is False:
        verb = Verb.SUSPENDED
        doing.takes(f"the account of {user.name}")
        doing.ends(user.urn)
        _let_go(user, doing)
        user.session_epoch += 1
    elif told.is_active and info.get("active") is False:
        verb = Verb.ACTIVATED
        documents.activate(user, user_services.stamp(doing.by))
    user.save()
    name_index.index(users=[user])
    doing.record(urn=user.urn, name=user.name, verb=verb, before=before, after=_facts(user))


def create_group(*, name: str, external_id: str, members: Sequence[User], doing: Change) -> GroupProfile:
    """Store a new group whose members come from the source; its id is its name where a URN can hold that.

    Raises Forbidden, Conflict when a group is called so, Invalid with every problem.
    """
    required_privileges.require(by=doing.by, requirement=required_privileges.group_of("group.create"))
    _check_group(name, external_id)
    if GroupProfile.objects.filter(is_removed=False, name=name).exists():
        raise Conflict(f"There is a group {name!r} already.")
    group = group_service.blank(identifier=_identifier(name), by=doing.by)
    group.external_id = external_id
    doing.announce(group.urn)
    documents.reduce(group, {documents.ORIGIN: {"type": GroupProfile.Origin.EXTERNAL}})
    documents.edit(group, {"name": name})
    group_service.store_new([group])
    doing.record(urn=group.urn, name=group.name, verb=Verb.CREATED, after=group_service.facts(group))
    _put_in(group, members, doing)
    return group


def update_group(
    *, group: GroupProfile, name: str, external_id: str, added: Sequence[User], removed: Collection[User], doing: Change
) -> None:
    """Call a group so, and change who is in it for its source.

    Raises Forbidden, Invalid with every problem, Conflict when nobody could manage policies afterwards.
    """
    if (name, external_id) != (group.name, group.external_id):
        required_privileges.require(
            by=doing.by, requirement=required_privileges.group_profile(), urn=group.urn, type=group_service.TYPE
        )
        _check_group(name, external_id)
        doing.announce(group.urn)
        before = group_service.facts(group)
        documents.edit(group, {"name": name})
        group.external_id = external_id
        group.save()
        name_index.index(groups=[group])
        after = group_service.facts(group)
        doing.record(urn=group.urn, name=group.name, verb=Verb.UPDATED, before=before, after=after)
    if added or removed:
        required_privileges.require(
            by=doing.by, requirement=required_privileges.group_members(), urn=group.urn, type=group_service.TYPE
        )
        _put_in(group, added, doing)
        _take_out(group, removed, doing)


def _put_in(group: GroupProfile, users: Sequence[User], doing: Change) -> None:
    doing.announce(*(user.urn for user in users))
    Membership.objects.bulk_create(
        [Membership(user=user, group=group.group, is_external=True) for user in users],
        update_conflicts=True,
        unique_fields=["user", "group"],
        update_fields=["is_external"],
    )
    group_service.record_members(doing, group, added=users)


def _take_out(group: GroupProfile, users: Collection[User], doing: Change) -> None:
    if not users:
        return
    doing.takes(f"the members of {group.name} as they are")
    rows = Membership.objects.filter(group=group.group_id, user__in=users)
    rows.filter(is_native=False).delete()
    rows.update(is_external=False)
    group_service.record_members(doing, group, removed=users)


def _let_go(user: User, doing: Change) -> None:
    """Suspend (unsaved) so that it shows whose doing it is."""
    composed = documents.compose(user)
    documents.reduce(user, composed | {documents.USER_INFO: composed[documents.USER_INFO] | {"active": False}})
    documents.suspend(user, user_services.stamp(doing.by))


def _filled(told: Told) -> dict[str, str]:
    return {key: told.info[key] for key in INFO if told.info.get(key)}


def _identifier(name: str) -> str:
    """Return the id of a new group: other programs that name groups name them by what they are called."""
    checks = Checks()
    checks.identifier(name, "")
    is_free = not GroupProfile.objects.filter(identifier=name).exists()
    return name if not checks.problems and len(name) <= IDENTIFIER_LENGTH and is_free else str(uuid.uuid4())


def _facts(user: User) -> dict[str, Any]:
    return user_services.facts(user) | {"external_id": user.external_id, "aspects": documents.compose(user)}


def _check(told: Told) -> None:
    checks = Checks()
    checks.text(told.external_id, "/externalId", limit=EXTERNAL_ID_LENGTH)
    for key, limit in INFO.items():
        checks.text(told.info.get(key, ""), f"/{key}", limit=limit)
    # As text in JSON everything but half a surrogate pair is storable.
    text = JsonTextField().get_prep_value(told.rest) or ""
    if not is_storable(text):
        checks.add("text.unstorable", "", "A text holds no half of a surrogate pair.")
    elif len(text) > TEXT_LENGTH:
        checks.add("text.long", "", f"All attributes together have up to {TEXT_LENGTH} characters.")
    checks.finish()


def _check_group(name: str, external_id: str) -> None:
    checks = Checks()
    checks.text(name, "/displayName", limit=NAME_LENGTH, is_required=True)
    checks.text(external_id, "/externalId", limit=EXTERNAL_ID_LENGTH)
    checks.finish()
