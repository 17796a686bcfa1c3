"""Writes to users.

The root user cannot be removed or suspended, and only the bootstrap creates it; no user can have the name of the system
actor. Removing a user deletes its memberships, role assignments, tokens and sessions. Suspending a user ends its
sessions, and its tokens are refused until it is activated. A user removed by its `status` aspect is as unknown to all
other writes until that aspect restores it; only deletion finds it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from django.db.models import Q

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.requirements import Requirement
from policies.errors import Conflict, Forbidden
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups as group_service
from policies.identity.services import membership_writer, people_writer
from policies.identity.services import roles as role_service
from policies.models import ResetToken, User, Verb, documents
from policies.models.fields import is_storable
from policies.models.lookalikes import fold_name
from policies.models.people import HAS_PASSWORD, MAX_NAME_LENGTH, ROOT_USERNAME, SYSTEM_USERNAME, USER_PREFIX
from policies.writes import delegation, required_privileges
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work, refuse_stale
from policies.writes.validation import MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH, Checks

ENTITY_TYPE = "corpuser"

#: Editable columns → maximum length, in characters.
PROFILE_LENGTHS = {
    "display_name": MAX_NAME_LENGTH,
    "title": MAX_NAME_LENGTH,
    "email": MAX_EMAIL_LENGTH,
    "description": MAX_TEXT_LENGTH,
}
#: Columns of the profile, each with the key that holds it in the editable aspect of users.
_PROFILE_PARTS = {"display_name": "displayName", "title": "title", "description": "aboutMe", "email": "email"}


class UserProfile(TypedDict, total=False):
    """Columns of a user that forms and APIs change; None stands for no change."""

    display_name: str | None
    email: str | None
    title: str | None
    description: str | None


def create(
    *,
    username: str,
    by: Actor,
    channel: str,
    state: str = User.State.ACTIVE,
    kind: str = User.Kind.PERSON,
    password: str | None = None,
    object_id: str | None = None,
    groups: Sequence[str] = (),
    roles: Sequence[str] = (),
    **profile: Unpack[UserProfile],
) -> User:
    """Create a user with its first groups and roles, both given as URNs.

    Raises Forbidden, Conflict for a taken name, look-alike name or taken object id, Invalid with every problem.
    """
    required_privileges.require(
        by=by,
        requirement=required_privileges.MANAGE_SERVICE_ACCOUNTS
        if kind == User.Kind.SERVICE
        else required_privileges.privilege_group("user.create"),
    )
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = insert_user(
            username=username,
            profile=profile,
            uow=uow,
            state=state,
            kind=kind,
            password=password,
            object_id=object_id,
        )
        joined_groups = group_service.load_joinable_groups(urns=groups, by=by)
        membership_writer.add_members(users=[user], groups=joined_groups, kind=membership_writer.NATIVE, uow=uow)
        role_service.assign_initial_roles(holder=user, roles=roles, uow=uow)
    return user


def insert_user(
    *,
    username: str,
    profile: Mapping[str, Any],
    uow: UnitOfWork,
    state: str = User.State.ACTIVE,
    kind: str = User.Kind.PERSON,
    password: str | None = None,
    object_id: str | None = None,
    row: User | None = None,
) -> User:
    """Store a new user inside an open unit of work; the caller has checked the privilege to create it.

    `row` is an unsaved user with values from its identity source. Raises Conflict and Invalid as `create`, and
    Forbidden for a suspended root user.
    """
    columns = _drop_unchanged(profile)
    checks = Checks()
    check_username(checks, username, "/username", by=uow.by)
    _check_profile(checks, columns)
    checks.validate_choice(state, "/state", User.State.values)
    checks.validate_choice(kind, "/kind", User.Kind.values)
    user = User() if row is None else row
    user.username, user.created_by, user.kind = username, uow.by.urn, kind
    if object_id is not None:
        user.object_id = object_id.lower()
        checks.validate_object_id(user.object_id, "/object_id")
    if password is not None:
        checks.validate_password(password, "/password", user)
    checks.finish()
    user.urn = USER_PREFIX + username
    user.set_password(password)
    if row is None:
        documents.set_aspects(user, {documents.USER_INFO: {"active": True}})
    documents.set_columns(user, columns)
    if state == User.State.SUSPENDED:
        documents.suspend(user, by=uow.by.urn)
    if User.objects.filter(urn=user.urn).exists():
        raise Conflict(f"The user {user.urn} already exists.")
    if lookalike := User.objects.filter(folded_username=fold_name(username)).order_by("urn").first():
        raise Conflict(f"The name {username} looks like that of the user {lookalike.urn}. Choose another one.")
    if User.objects.filter(object_id=user.object_id).exists():
        raise Conflict(f"The object id {user.object_id} is taken.")
    people_writer.store([user], facts_before={user.urn: None}, uow=uow)
    return user


def update(
    *,
    urn: str,
    by: Actor,
    channel: str,
    state: str | None = None,
    expected_fingerprint: str = "",
    **profile: Unpack[UserProfile],
) -> User:
    """Change the given fields of a user; None leaves a field unchanged.

    `expected_fingerprint` is that of the facts the caller edited; empty skips the comparison. Raises Forbidden (also
    for suspending root), NotFound, Stale, Invalid with every problem, Conflict for the last who can manage policies.
    """
    changes = _drop_unchanged(profile)
    if state is None and not _is_service(urn):
        changes = _drop_stored(changes, urn)
        _require_profile_change(changes, urn=urn, by=by)
    else:
        require_state_change(urn=urn, by=by)
    checks = Checks()
    _check_profile(checks, changes)
    if state is not None:
        checks.validate_choice(state, "/state", User.State.values)
    checks.finish()
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=urn)
        refuse_stale(expected_fingerprint=expected_fingerprint, facts=people_writer.facts(user))
        with people_writer.edit(user, uow=uow):
            documents.set_columns(user, changes)
            if state is not None and state != user.state:
                set_state = documents.suspend if state == User.State.SUSPENDED else documents.activate
                set_state(user, by=by.urn)
    return user


def build_profile_requirement(column: str | None) -> Requirement:
    """Return the requirement for changing a column of a person's profile; None stands for a change of nothing."""
    part = None if column is None else _PROFILE_PARTS[column]
    return required_privileges.user_profile(part, is_address=part == "email")


def _drop_stored(changes: Mapping[str, str], urn: str) -> dict[str, str]:
    """Return the columns that get another value: a write is judged by the difference that it makes."""
    user = users_groups_roles.find_user(urn=urn) if is_storable(urn) else None
    return {column: value for column, value in changes.items() if user is None or getattr(user, column) != value}


def _require_profile_change(columns: Collection[str], *, urn: str, by: Actor) -> None:
    """Raise Forbidden unless the actor may change these columns of a person."""
    for column in sorted(columns) or (None,):
        required_privileges.require(by=by, requirement=build_profile_requirement(column), urn=urn, type=ENTITY_TYPE)


def suspend(*, urn: str, by: Actor, channel: str) -> User:
    """Suspend a user and end its sessions. Raises as `update`."""
    return update(urn=urn, state=User.State.SUSPENDED, by=by, channel=channel)


def activate(*, urn: str, by: Actor, channel: str) -> User:
    """Activate a suspended user, whether it was suspended here or by its source. Raises as `update`."""
    return update(urn=urn, state=User.State.ACTIVE, by=by, channel=channel)


def require_state_change(*, urn: str, by: Actor) -> None:
    """Raise Forbidden unless the actor may suspend and activate a user."""
    requirement = (
        required_privileges.service_profile()
        if _is_service(urn)
        else required_privileges.privilege_group("user.update")
    )
    required_privileges.require(by=by, requirement=requirement)


def set_password(*, urn: str, password: str, by: Actor, channel: str) -> User:
    """Set a user's password and end its sessions. Active users may set their own; the channel checks the old one.

    Raises Forbidden (also when the user holds platform privileges that the caller does not hold), NotFound, Invalid
    (a weak password, or a service account, which has no password).
    """
    if by.urn != urn or not by.is_active:
        required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=urn)
        if by.urn != urn:
            delegation.require_account(by=by, urns=[urn])
        write_password(user=user, password=password, uow=uow)
    return user


def change_password(*, old_password: str, password: str, by: Actor, channel: str) -> User:
    """Change the caller's own password, which ends the caller's sessions.

    Raises Forbidden for a suspended user, NotFound, Invalid with every problem (wrong old password, weak new one).
    """
    if not by.is_active:
        raise Forbidden((), "A suspended account changes nothing.")
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=by.urn)
        checks = Checks()
        if not user.check_password(old_password):
            checks.add("password.wrong", "/old", "This is not your password.")
        write_password(user=user, password=password, uow=uow, checks=checks)
    return user


def write_password(*, user: User, password: str, uow: UnitOfWork, checks: Checks | None = None) -> None:
    """Store a password inside an open unit of work whose service has checked the privilege; deletes any reset link.

    Raises Invalid with the problems of the password and those already in `checks`.
    """
    checks = checks or Checks()
    if user.kind == User.Kind.SERVICE:
        checks.add("password.service", "/password", "A service has tokens and no password.")
    checks.validate_password(password, "/password", user)
    checks.finish()
    user.set_password(password)
    user.save()
    ResetToken.objects.filter(user=user).delete()
    uow.audit(urn=user.urn, name=user.name, verb=Verb.PASSWORD_SET)


def remove(*, urn: str, by: Actor, channel: str) -> None:
    """Delete a user with its memberships, role assignments, tokens and sessions.

    Raises Forbidden (also for the root user), NotFound, Conflict for the last user who can manage policies.
    """
    require_removal(urn=urn, by=by)
    with open_unit_of_work(by=by, channel=channel) as uow:
        people_writer.remove(get_removable_user(urn), uow=uow)


def get_removable_user(urn: str) -> User:
    """Return a user to delete; raises NotFound, and Forbidden for the root user."""
    user = users_groups_roles.get_row(User.objects.all(), urn=urn)
    if user.is_root:
        raise Forbidden((), "The root user cannot be removed.")
    return user


def require_removal(*, urn: str, by: Actor) -> None:
    """Raise Forbidden unless the actor may delete this user."""
    required_privileges.require(
        by=by,
        requirement=required_privileges.MANAGE_SERVICE_ACCOUNTS
        if _is_service(urn)
        else required_privileges.privilege_group("user.delete"),
    )


def check_username(checks: Checks, username: Any, pointer: str, *, by: Actor) -> None:
    """Add a problem to `checks` unless the user name is valid and unreserved; SYSTEM_ACTOR may create the root user."""
    before = len(checks.problems)
    checks.validate_identifier(username, pointer)
    if len(checks.problems) == before and is_reserved(username) and (username, by.urn) != (ROOT_USERNAME, SYSTEM_ACTOR):
        checks.add("username.reserved", pointer, f"The name {username} is reserved, or looks like one that is.")


def is_reserved(username: str) -> bool:
    """Whether a name looks like that of the root user or of the system actor."""
    return fold_name(username) in {fold_name(ROOT_USERNAME), fold_name(SYSTEM_USERNAME)}


def find_lookalikes(*, usernames: Collection[str]) -> dict[str, str]:
    """Return user name → URN of an account that can sign in and whose name looks the same; one query.

    An account can sign in when it has a password or is linked to an external identity.
    """
    folded_names = {name: fold_name(name) for name in usernames}
    if not folded_names:
        return {}
    sign_in_condition = HAS_PASSWORD | Q(socialaccount__isnull=False)
    accounts = User.objects.filter(sign_in_condition, folded_username__in=set(folded_names.values()))
    urns_by_folded_name = dict(accounts.order_by("-urn").values_list("folded_username", "urn"))
    return {name: urns_by_folded_name[key] for name, key in folded_names.items() if key in urns_by_folded_name}


def _drop_unchanged(profile: Mapping[str, Any]) -> dict[str, str]:
    return {column: value for column, value in profile.items() if value is not None}


def _check_profile(checks: Checks, profile: Mapping[str, str]) -> None:
    for column, value in profile.items():
        checks.validate_text(value, f"/{column}", limit=PROFILE_LENGTHS[column])


def _is_service(urn: str) -> bool:
    return User.objects.filter(urn=urn, kind=User.Kind.SERVICE).exists()
