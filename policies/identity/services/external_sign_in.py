"""Who arrives with an identity from outside: which account that is, and what it brings along.

An account is linked to one subject of an issuer and found by that from then on, whatever name or address the provider
says later. At the first sign-in it is found by its user name, never by an address; an account that has a password here,
the root user, services and accounts that are linked already are not taken over. Groups are replaced as an external
source's (`groupMembership`), except those made here by hand; of the roles only those that the settings map.

The person is recorded as its own maker, through the door `oidc`.
"""

from collections.abc import Collection

import structlog
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from policies.engine.model import Actor
from policies.errors import Forbidden, NotFound
from policies.identity.services import groups, name_index, oidc_claims, users
from policies.identity.services import roles as role_service
from policies.identity.services.oidc_claims import Arrival
from policies.models import GroupProfile, Membership, Role, User, Verb, documents
from policies.models.fields import is_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import actor_resolution
from policies.writes import delegation, required_privileges
from policies.writes.unit_of_work import Change, change

log = structlog.get_logger(__name__)

#: Under which name links to this kind of provider are kept.
PROVIDER = "oidc"
DOOR = "oidc"


def arrive(*, arrival: Arrival, may_sign_up: bool, may_link: bool) -> User:
    """Return the account of who arrives, made and brought up to date as need be.

    The provider gives the platform privileges of the roles and groups that the settings name for it, and no others
    (services.delegation): of its groups, those that would give more are left out. Raises Forbidden saying why it is
    nobody's or may not be used, or naming what an account of this name would hold, Conflict for the last who can manage
    policies and would not any more by these groups or roles.
    """
    by = Actor(_known(arrival) or USER_PREFIX + arrival.username)
    with change(by=by, door=DOOR, author=_author(arrival)) as doing:
        # Looked up again behind the lock: of two first arrivals at once, one finds the account of the other.
        link = SocialAccount.objects.select_related("user").filter(provider=PROVIDER, uid=arrival.digest).first()
        user = link.user if link else User.objects.filter(urn=USER_PREFIX + arrival.username).first()
        if user is None:
            user = _made(arrival, doing, may_sign_up=may_sign_up)
        else:
            _refuse(user)
        doing.announce(user.urn)
        if link is None:
            _link(user, arrival, doing, may_link=may_link)
        _describe(user, arrival, doing)
        if arrival.groups is not None:
            _put_into(user, arrival.groups, doing)
        _give(user, arrival.roles, doing)
    return user


def _author(arrival: Arrival) -> Actor:
    """Return what the settings let the provider give: an actor with the roles and groups that they name."""
    groups = [GROUP_PREFIX + one for one in arrival.groups or () if one in settings.OIDC.platform_groups]
    return Actor("", frozenset(groups), frozenset(arrival.roles).union(*_roles_of(groups).values()))


def _roles_of(urns: Collection[str]) -> dict[str, list[str]]:
    """Return group URN → URNs of its roles, for those groups that are there and give their members anything."""
    rows = GroupProfile.objects.filter(urn__in=urns, is_removed=False) if urns else ()
    held = role_service.held_by(holders=rows) if rows else {}
    return {urn: [row.role.urn for row in assignments] for urn, assignments in held.items()}


def forget(*, urn: str, by: Actor, door: str) -> int:
    """End every link of an account, so that it can be linked anew, and return how many there were.

    Whoever the provider calls so is let in afterwards, so the caller must hold what the account holds. Raises
    Forbidden, NotFound.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_CREDENTIALS)
    with change(by=by, door=door) as doing:
        user = User.objects.filter(urn=urn).first() if is_storable(urn) else None
        if user is None:
            raise NotFound(f"There is no user {urn!r}.")
        delegation.require_account(by=by, urns=[urn])
        doing.announce(urn)
        links = list(SocialAccount.objects.filter(user=user, provider=PROVIDER).order_by("pk"))
        for link in links:
            doing.record(urn=urn, name=user.name, verb=Verb.UPDATED, before={"identity": link.extra_data})
            link.delete()
    return len(links)


def _known(arrival: Arrival) -> str:
    links = SocialAccount.objects.filter(provider=PROVIDER, uid=arrival.digest)
    return links.values_list("user__urn", flat=True).first() or ""


def _made(arrival: Arrival, doing: Change, *, may_sign_up: bool) -> User:
    if not may_sign_up:
        raise Forbidden((), f"There is no account {arrival.username} here, and accounts are not made by signing in.")
    profile = {"display_name": "", "email": ""} | dict(arrival.profile)
    return users.add(username=arrival.username, profile=profile, doing=doing)


def _refuse(user: User) -> None:
    if user.is_root:
        raise Forbidden((), f"Nobody can sign in as {user.username} this way.")
    if user.kind != User.Kind.PERSON:
        raise Forbidden((), f"{user.username} is a service account; service accounts do not sign in.")
    if not user.is_active:
        raise Forbidden((), "This account is suspended. Ask somebody who manages users and groups.")


def _link(user: User, arrival: Arrival, doing: Change, *, may_link: bool) -> None:
    if any(one.extra_data.get("iss") == arrival.issuer for one in SocialAccount.objects.filter(user=user)):
        raise Forbidden((), f"The account {user.username} belongs to somebody else of the same provider.")
    if user.has_usable_password() and not may_link:
        detail = f"There is an account {user.username} with a password here, and it is not known to be yours."
        raise Forbidden((), f"{detail} Sign in with the password, or ask whoever runs this site to have it linked.")
    identity = {"iss": arrival.issuer, "sub": arrival.subject}
    SocialAccount.objects.create(user=user, provider=PROVIDER, uid=arrival.digest, extra_data=identity)
    doing.record(urn=user.urn, name=user.name, verb=Verb.UPDATED, after={"identity": identity})


def _describe(user: User, arrival: Arrival, doing: Change) -> None:
    before = users.facts(user)
    documents.edit(user, arrival.profile)
    after = users.facts(user)
    if after != before:
        user.save()
        name_index.index(users=[user])
        doing.record(urn=user.urn, name=user.name, verb=Verb.UPDATED, before=before, after=after)


def _put_into(user: User, identifiers: tuple[str, ...], doing: Change) -> None:
    """Make these the groups that a source put the user into; those that nobody knows yet are made."""
    urns = [GROUP_PREFIX + identifier for identifier in identifiers]
    stored = {row.urn: row for row in GroupProfile.objects.filter(urn__in=urns).select_related("group")}
    new = {
        urn: groups.blank(identifier=urn.removeprefix(GROUP_PREFIX), by=doing.by) for urn in urns if urn not in stored
    }
    doing.announce(*new)
    for group in new.values():
        documents.reduce(group, {documents.ORIGIN: {"type": GroupProfile.Origin.EXTERNAL}})
    groups.store_new(list(new.values()))
    for group in new.values():
        doing.record(urn=group.urn, name=group.name, verb=Verb.CREATED, after=groups.facts(group))
    rows = {row.group_id: row for row in Membership.objects.filter(user=user).select_related("group__profile")}
    known = {row.group.profile.urn for row in rows.values()}
    refused = _refused(user, [urn for urn in urns if urn not in known], doing)
    # Who is in a group that was made here by hand is not for a source to say.
    wanted = {row.group_id: row for urn, row in (stored | new).items() if urn not in refused and not _is_by_hand(row)}
    joined = [row for key, row in wanted.items() if key not in rows or not rows[key].is_external]
    left = [row for key, row in rows.items() if row.is_external and key not in wanted]
    if not joined and not left:
        return
    if left:
        doing.takes(f"the groups of {user.name} as they are")
    before = sorted(row.group.profile.urn for row in rows.values() if row.is_external)
    had = [rows[group.group_id].pk for group in joined if group.group_id in rows]
    Membership.objects.filter(pk__in=had).update(is_external=True)
    Membership.objects.bulk_create(
        Membership(user=user, group=group.group, is_external=True) for group in joined if group.group_id not in rows
    )
    Membership.objects.filter(pk__in=[row.pk for row in left if not row.is_native]).delete()
    Membership.objects.filter(pk__in=[row.pk for row in left if row.is_native]).update(is_external=False)
    after = sorted(group.urn for group in wanted.values())
    doing.touched.update(before, after)
    doing.record(
        urn=user.urn,
        name=user.name,
        verb=Verb.MEMBERS_CHANGED,
        before={"groups": before},
        after={"groups": after},
    )


def _refused(user: User, urns: Collection[str], doing: Change) -> Collection[str]:
    """Return those of these groups that would give the user more than the provider may give; the log names them."""
    author = doing.delegation.author
    gained = delegation.list_gained(by=author, actor=actor_resolution.actor(urn=user.urn), groups=_roles_of(urns))
    for urn, privileges in gained.items():
        log.warning("oidc_group_gives_too_much", user=user.urn, group=urn, privileges=sorted(privileges))
    return gained.keys()


def _is_by_hand(group: GroupProfile) -> bool:
    return group.origin == GroupProfile.Origin.NATIVE and documents.ORIGIN in group.extra


def _give(user: User, roles: tuple[str, ...], doing: Change) -> None:
    """Give the roles of the claims, and take the others that claims give; those given here by hand stay."""
    managed = oidc_claims.managed_roles()
    if not managed:
        return
    held = role_service.held_by(holders=[user])
    kept = [row.role for row in held[user.urn] if row.role.urn not in managed]
    given = list(Role.objects.filter(urn__in=roles))
    role_service.replace(targets=[(user, [*kept, *given])], held=held, doing=doing)
