"""Sign-in with an external identity: finding, linking or creating the account and updating it from the claims.

An account is linked to one subject of an issuer and is found by that link afterwards, even when the provider changes
the name or address. At the first sign-in it is found by its user name, never by an address. Root, service accounts and
accounts linked at the same issuer are not linked, nor are accounts with a password unless `may_link`. The user's
external memberships (`groupMembership`) are replaced, without groups created here by hand; of its roles, those that the
settings map. The change log records the user itself as `by`, with the channel `oidc`.
"""

from collections.abc import Collection
from dataclasses import replace

import structlog
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.queries import users_groups_roles
from policies.identity.services import membership_writer, oidc_claims, people_writer, role_writer, users
from policies.identity.services.oidc_claims import ExternalIdentity
from policies.models import GroupProfile, Role, RoleAssignment, User, Verb, documents
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import actor_resolution
from policies.writes import delegation, deleted_names, required_privileges
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work

log = structlog.get_logger(__name__)

#: `SocialAccount.provider` of every link.
PROVIDER = "oidc"
CHANNEL = "oidc"


def sign_in(*, identity: ExternalIdentity, may_sign_up: bool, may_link: bool) -> User:
    """Return the account of an external identity, created if necessary and updated from its claims.

    The provider may give only the platform privileges of the roles and groups that the settings name for it
    (policies.writes.delegation); groups that would give others are left out. Raises Forbidden with the reason when
    there is no account, it may not be used or linked, or the user would gain other platform privileges; Conflict when
    nobody could manage policies after the change of groups and roles.
    """
    urn, link = USER_PREFIX + identity.username, _find_link(identity)
    by = Actor(link.user.urn if link else urn)
    with open_unit_of_work(by=by, channel=CHANNEL, author=_build_author(identity)) as uow:
        # Looked up again under the lock: of two concurrent first sign-ins, the second finds the account of the first.
        link = _find_link(identity)
        user = link.user if link else users_groups_roles.find_user(urn=urn)
        if user is None:
            user = _create_account(identity, uow, may_sign_up=may_sign_up)
        else:
            _require_may_sign_in(user)
        uow.announce(user.urn)
        if link is None:
            _link(user, identity, uow, may_link=may_link)
        if changes := {column: text for column, text in identity.profile.items() if getattr(user, column) != text}:
            with people_writer.edit(user, uow=uow):
                documents.set_columns(user, changes)
        if identity.groups is not None:
            _sync_groups(user, identity.groups, uow)
        _sync_roles(user, identity.roles, uow)
    return user


def _build_author(identity: ExternalIdentity) -> Actor:
    """Return the author for the delegation check: an actor with the roles and platform groups that the settings map."""
    groups = [GROUP_PREFIX + group for group in identity.groups or () if group in settings.OIDC.platform_groups]
    return Actor("", frozenset(groups), frozenset(identity.roles).union(*_load_group_roles(groups).values()))


def _load_group_roles(urns: Collection[str]) -> dict[str, list[str]]:
    """Return group URN → URNs of its roles, for groups that exist and are not removed."""
    roles_by_group: dict[str, list[str]] = {
        urn: [] for urn in GroupProfile.objects.filter(urn__in=urns, is_removed=False).values_list("urn", flat=True)
    }
    rows = RoleAssignment.objects.filter(group__profile__urn__in=roles_by_group)
    for group_urn, role_urn in rows.values_list("group__profile__urn", "role__urn"):
        roles_by_group[group_urn].append(role_urn)
    return roles_by_group


def unlink(*, urn: str, by: Actor, channel: str) -> int:
    """Delete every external link of an account, so that it can be linked again, and return their number.

    Afterwards the provider decides who signs in to the account, so the caller must hold its platform privileges. Raises
    Forbidden, NotFound.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = users_groups_roles.get_row(users_groups_roles.select_present_users(), urn=urn)
        delegation.require_account(by=by, urns=[urn])
        uow.announce(urn)
        links = list(SocialAccount.objects.filter(user=user, provider=PROVIDER).order_by("pk"))
        for link in links:
            uow.audit(urn=urn, name=user.name, verb=Verb.UPDATED, before={"identity": link.extra_data})
            link.delete()
    return len(links)


def _find_link(identity: ExternalIdentity) -> SocialAccount | None:
    return SocialAccount.objects.select_related("user").filter(provider=PROVIDER, uid=identity.digest).first()


def _create_account(identity: ExternalIdentity, uow: UnitOfWork, *, may_sign_up: bool) -> User:
    if not may_sign_up:
        raise Forbidden((), f"There is no account {identity.username} here, and accounts are not made by signing in.")
    return users.insert_user(username=identity.username, profile=identity.profile, uow=uow)


def _require_may_sign_in(user: User) -> None:
    if user.is_root:
        raise Forbidden((), f"Nobody can sign in as {user.username} this way.")
    if user.kind != User.Kind.PERSON:
        raise Forbidden((), f"{user.username} is a service account; service accounts do not sign in.")
    if not user.is_active:
        raise Forbidden((), "This account is suspended. Ask somebody who manages users and groups.")


def _link(user: User, identity: ExternalIdentity, uow: UnitOfWork, *, may_link: bool) -> None:
    if any(account.extra_data.get("iss") == identity.issuer for account in SocialAccount.objects.filter(user=user)):
        raise Forbidden((), f"The account {user.username} belongs to somebody else of the same provider.")
    if user.has_usable_password() and not may_link:
        detail = f"There is an account {user.username} with a password here, and it is not known to be yours."
        raise Forbidden((), f"{detail} Sign in with the password, or ask an administrator to have it linked.")
    link_data = {"iss": identity.issuer, "sub": identity.subject}
    SocialAccount.objects.create(user=user, provider=PROVIDER, uid=identity.digest, extra_data=link_data)
    uow.audit(urn=user.urn, name=user.name, verb=Verb.UPDATED, after={"identity": link_data})


def _sync_groups(user: User, identifiers: tuple[str, ...], uow: UnitOfWork) -> None:
    """Replace the user's external memberships by these group ids; unknown groups are created with external origin.

    A group that was deleted and is still named by a policy or document is left out until the next sign-in.
    """
    all_urns = [GROUP_PREFIX + identifier for identifier in identifiers]
    unfinished_urns = deleted_names.find_unfinished(all_urns)
    if unfinished_urns:
        log.warning("oidc_group_is_being_deleted", user=user.urn, groups=sorted(unfinished_urns))
    urns = [urn for urn in all_urns if urn not in unfinished_urns]
    groups = {group.urn: group for group in GroupProfile.objects.filter(urn__in=urns)}
    new_groups = [
        people_writer.build_group(
            identifier=urn.removeprefix(GROUP_PREFIX), by=uow.by, origin=GroupProfile.Origin.EXTERNAL
        )
        for urn in urns
        if urn not in groups
    ]
    people_writer.store(new_groups, facts_before={group.urn: None for group in new_groups}, uow=uow)
    groups |= {group.urn: group for group in new_groups}
    memberships = membership_writer.load_memberships(urns=[user.urn])
    joined_urns = {urn for urn in urns if urn not in memberships[user.urn]}
    refused_urns = _list_refused_groups(user, joined_urns, uow)
    # An identity source does not change the members of a group that was created here by hand, nor joins a removed one.
    target_groups = [
        groups[urn]
        for urn in urns
        if urn not in refused_urns
        and not _is_by_hand(groups[urn])
        and not (groups[urn].is_removed and urn in joined_urns)
    ]
    target_urns = {group.urn for group in target_groups}
    left_urns = [
        urn
        for urn, row in memberships[user.urn].items()
        if row.is_external and not row.is_native and urn not in target_urns
    ]
    rows_by_urn = {group.urn: group for group in GroupProfile.objects.filter(urn__in=left_urns)}
    left_groups = {urn: rows_by_urn[urn] for urn in left_urns}
    target_groups += [left_groups[urn] for urn in _list_kept_groups(user, left_groups, uow)]
    membership_writer.replace_groups(
        targets=[(user, membership_writer.EXTERNAL, target_groups)], memberships=memberships, uow=uow
    )


def _list_refused_groups(user: User, urns: Collection[str], uow: UnitOfWork) -> Collection[str]:
    """Return the groups that would give the user more platform privileges than the provider may give, and log them."""
    author = uow.delegation.author
    gains_by_group = delegation.list_gained_privileges(
        by=author, actor=actor_resolution.load_actor(urn=user.urn), groups=_load_group_roles(urns)
    )
    for urn, privileges in gains_by_group.items():
        log.warning("oidc_group_gives_too_much", user=user.urn, group=urn, privileges=sorted(privileges))
    return gains_by_group.keys()


def _list_kept_groups(user: User, urns: Collection[str], uow: UnitOfWork) -> Collection[str]:
    """Return the groups that withhold platform privileges which the provider may not give, and log them.

    A policy denies such a group, or excludes it: the user stays in it, although the claim no longer names it.
    """
    if not urns:
        return ()
    actor = actor_resolution.load_actor(urn=user.urn)
    other_groups = actor.groups.difference(urns)
    own_roles = RoleAssignment.objects.filter(user=user).values_list("role__urn", flat=True)
    left_actor = replace(
        actor, groups=other_groups, roles=frozenset(own_roles).union(*_load_group_roles(other_groups).values())
    )
    withheld_by_group = delegation.list_withholding_groups(
        by=uow.delegation.author, actor=actor, left_actor=left_actor, groups=_load_group_roles(urns)
    )
    for urn, privileges in withheld_by_group.items():
        log.warning("oidc_group_kept", user=user.urn, group=urn, privileges=sorted(privileges))
    return withheld_by_group.keys()


def _is_by_hand(group: GroupProfile) -> bool:
    return group.origin == GroupProfile.Origin.NATIVE and documents.ORIGIN in group.extra


def _sync_roles(user: User, roles: tuple[str, ...], uow: UnitOfWork) -> None:
    """Replace the user's roles among those mapped from claims by these URNs; roles assigned by hand stay."""
    managed_urns = oidc_claims.managed_roles()
    if not managed_urns:
        return
    claimed_roles = list(Role.objects.filter(urn__in=roles))
    role_writer.change_roles(
        holders=[user],
        choose=lambda _, roles: [*(role for role in roles if role.urn not in managed_urns), *claimed_roles],
        uow=uow,
    )
