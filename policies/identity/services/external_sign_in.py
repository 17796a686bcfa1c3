"""Sign-in with an external identity: finding, linking or creating the account and updating it from the claims.

An account is linked to one subject of an issuer and is found by that link afterwards, even when the provider changes
the name or address. At the first sign-in it is found by its user name, never by an address. Root, service accounts and
accounts linked at the same issuer are not linked, nor are accounts with a password unless `may_link`. The user's
external memberships (`groupMembership`) are replaced, without groups created here by hand; of its roles, those that the
settings map. The change log records the user itself as `by`, with the channel `oidc`.
"""

from collections.abc import Collection

import structlog
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from policies.engine.model import Actor
from policies.errors import Forbidden, NotFound
from policies.identity.services import groups, name_index, oidc_claims, users
from policies.identity.services import roles as role_service
from policies.identity.services.oidc_claims import ExternalIdentity
from policies.models import GroupProfile, Membership, Role, User, Verb, documents
from policies.models.fields import is_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import actor_resolution
from policies.writes import delegation, required_privileges
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
    by = Actor(_find_linked_urn(identity) or USER_PREFIX + identity.username)
    with open_unit_of_work(by=by, channel=CHANNEL, author=_build_author(identity)) as uow:
        # Looked up again under the lock: of two concurrent first sign-ins, the second finds the account of the first.
        link = SocialAccount.objects.select_related("user").filter(provider=PROVIDER, uid=identity.digest).first()
        user = link.user if link else User.objects.filter(urn=USER_PREFIX + identity.username).first()
        if user is None:
            user = _create_account(identity, uow, may_sign_up=may_sign_up)
        else:
            _require_may_sign_in(user)
        uow.announce(user.urn)
        if link is None:
            _link(user, identity, uow, may_link=may_link)
        _sync_profile(user, identity, uow)
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
    rows = GroupProfile.objects.filter(urn__in=urns, is_removed=False) if urns else ()
    assignments_by_group = role_service.load_assignments(holders=rows) if rows else {}
    return {urn: [row.role.urn for row in assignments] for urn, assignments in assignments_by_group.items()}


def unlink(*, urn: str, by: Actor, channel: str) -> int:
    """Delete every external link of an account, so that it can be linked again, and return their number.

    Afterwards the provider decides who signs in to the account, so the caller must hold its platform privileges. Raises
    Forbidden, NotFound.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    with open_unit_of_work(by=by, channel=channel) as uow:
        user = User.objects.filter(urn=urn).first() if is_storable(urn) else None
        if user is None:
            raise NotFound(f"There is no user {urn!r}.")
        delegation.require_account(by=by, urns=[urn])
        uow.announce(urn)
        links = list(SocialAccount.objects.filter(user=user, provider=PROVIDER).order_by("pk"))
        for link in links:
            uow.audit(urn=urn, name=user.name, verb=Verb.UPDATED, before={"identity": link.extra_data})
            link.delete()
    return len(links)


def _find_linked_urn(identity: ExternalIdentity) -> str:
    links = SocialAccount.objects.filter(provider=PROVIDER, uid=identity.digest)
    return links.values_list("user__urn", flat=True).first() or ""


def _create_account(identity: ExternalIdentity, uow: UnitOfWork, *, may_sign_up: bool) -> User:
    if not may_sign_up:
        raise Forbidden((), f"There is no account {identity.username} here, and accounts are not made by signing in.")
    profile = {"display_name": "", "email": ""} | dict(identity.profile)
    return users.insert_user(username=identity.username, profile=profile, uow=uow)


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
        raise Forbidden((), f"{detail} Sign in with the password, or ask whoever runs this site to have it linked.")
    link_data = {"iss": identity.issuer, "sub": identity.subject}
    SocialAccount.objects.create(user=user, provider=PROVIDER, uid=identity.digest, extra_data=link_data)
    uow.audit(urn=user.urn, name=user.name, verb=Verb.UPDATED, after={"identity": link_data})


def _sync_profile(user: User, identity: ExternalIdentity, uow: UnitOfWork) -> None:
    before = users.facts(user)
    documents.set_columns(user, identity.profile)
    after = users.facts(user)
    if after != before:
        user.save()
        name_index.rebuild(users=[user])
        uow.audit(urn=user.urn, name=user.name, verb=Verb.UPDATED, before=before, after=after)


def _sync_groups(user: User, identifiers: tuple[str, ...], uow: UnitOfWork) -> None:
    """Replace the user's external memberships by these group ids; unknown groups are created with external origin."""
    urns = [GROUP_PREFIX + identifier for identifier in identifiers]
    existing_groups = {row.urn: row for row in GroupProfile.objects.filter(urn__in=urns).select_related("group")}
    new_groups = {
        urn: groups.build_group(identifier=urn.removeprefix(GROUP_PREFIX), by=uow.by)
        for urn in urns
        if urn not in existing_groups
    }
    uow.announce(*new_groups)
    for group in new_groups.values():
        documents.set_aspects(group, {documents.ORIGIN: {"type": GroupProfile.Origin.EXTERNAL}})
    groups.insert_groups(list(new_groups.values()))
    for group in new_groups.values():
        uow.audit(urn=group.urn, name=group.name, verb=Verb.CREATED, after=groups.facts(group))
    rows = {row.group_id: row for row in Membership.objects.filter(user=user).select_related("group__profile")}
    current_urns = {row.group.profile.urn for row in rows.values()}
    refused_urns = _list_refused_groups(user, [urn for urn in urns if urn not in current_urns], uow)
    # An identity source does not change the members of a group that was created here by hand, nor joins a removed one.
    target_groups = {
        row.group_id: row
        for urn, row in (existing_groups | new_groups).items()
        if urn not in refused_urns and not _is_by_hand(row) and not (row.is_removed and row.group_id not in rows)
    }
    joined_groups = [row for key, row in target_groups.items() if key not in rows or not rows[key].is_external]
    left_memberships = [row for key, row in rows.items() if row.is_external and key not in target_groups]
    if not joined_groups and not left_memberships:
        return
    if left_memberships:
        uow.announce_revocation(f"the groups of {user.name} as they are")
    before = sorted(row.group.profile.urn for row in rows.values() if row.is_external)
    existing_ids = [rows[group.group_id].pk for group in joined_groups if group.group_id in rows]
    Membership.objects.filter(pk__in=existing_ids).update(is_external=True)
    Membership.objects.bulk_create(
        Membership(user=user, group=group.group, is_external=True)
        for group in joined_groups
        if group.group_id not in rows
    )
    Membership.objects.filter(pk__in=[row.pk for row in left_memberships if not row.is_native]).delete()
    Membership.objects.filter(pk__in=[row.pk for row in left_memberships if row.is_native]).update(is_external=False)
    after = sorted(group.urn for group in target_groups.values())
    uow.touched_urns.update(before, after)
    uow.audit(
        urn=user.urn,
        name=user.name,
        verb=Verb.MEMBERS_CHANGED,
        before={"groups": before},
        after={"groups": after},
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


def _is_by_hand(group: GroupProfile) -> bool:
    return group.origin == GroupProfile.Origin.NATIVE and documents.ORIGIN in group.extra


def _sync_roles(user: User, roles: tuple[str, ...], uow: UnitOfWork) -> None:
    """Replace the user's roles among those mapped from claims by these URNs; roles assigned by hand stay."""
    managed_urns = oidc_claims.managed_roles()
    if not managed_urns:
        return
    assignments = role_service.load_assignments(holders=[user])
    unmanaged_roles = [row.role for row in assignments[user.urn] if row.role.urn not in managed_urns]
    claimed_roles = list(Role.objects.filter(urn__in=roles))
    role_service.replace_assignments(
        targets=[(user, [*unmanaged_roles, *claimed_roles])], assignments=assignments, uow=uow
    )
