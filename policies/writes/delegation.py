"""Bounded delegation: a change gives nobody a platform privilege that its author does not hold.

Modelled on Kubernetes' verbs `escalate` and `bind`. A change announces the users and groups it concerns before it
writes. At its end their privileges are compared with those before, so the way in which they were gained does not
matter: a group, a role, a policy that named them before they existed, the end of a suspension, or leaving a group that
a policy denies or excludes. The holder of a credential can act as its account, so the author must hold every platform
privilege of the account.

Holders of MANAGE_POLICIES may give everything, since they can write a policy that does; all but MANAGE_GUARDRAILS,
which only its holders give, also by a policy. settings.BOUNDED_DELEGATION false disables the rule but for that one,
which is DataHub's own behaviour. docs/threats.md lists every path and its requirement.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings

from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Effect, MissingPrivilege, Question, Statement
from policies.engine.selectors import ActorMatch
from policies.engine.snapshot import Snapshot
from policies.errors import Forbidden
from policies.models import Membership, User
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import actor_resolution, snapshot_store, users_by_actor_clause

_MANAGE_POLICIES = "MANAGE_POLICIES"

#: What stands above policies, so that whoever manages policies cannot take it.
_MANAGE_GUARDRAILS = "MANAGE_GUARDRAILS"

_PrivilegesByUrn = Mapping[str, frozenset[str]]


@dataclass(slots=True)
class Delegation:
    """The platform privileges of users before and after one change by this author."""

    author: Actor
    announced_urns: set[str] = field(default_factory=set)
    removed_urns: set[str] = field(default_factory=set)
    privileges_before: dict[str, frozenset[str]] = field(default_factory=dict)
    _withheld_privileges: frozenset[str] | None = None

    @property
    def withheld_privileges(self) -> frozenset[str]:
        """The platform privileges that the author may not give (computed once)."""
        if self._withheld_privileges is None:
            self._withheld_privileges = find_withheld_privileges(by=self.author)
        return self._withheld_privileges

    def announce(self, urns: Iterable[str]) -> None:
        """Record the privileges of these users, and of the members of these groups, before anything is written."""
        new_urns = set(urns) - self.announced_urns
        self.announced_urns |= new_urns
        if new_urns and self.withheld_privileges:
            for urn, privileges in find_holders(privileges=self.withheld_privileges, urns=new_urns).items():
                self.privileges_before.setdefault(urn, privileges)

    def announce_removal(self, urns: Iterable[str]) -> None:
        """Record the privileges of these users, and of the members of these groups, before they lose a group or role.

        Nothing is looked up unless a policy denies platform privileges or excludes people from them.
        """
        removed_urns = set(urns)
        self.removed_urns |= removed_urns
        if not snapshot_store.get_current().has_narrowing(_list_platform_names()) or not self.withheld_privileges:
            return
        groups = [urn for urn in removed_urns if urn.startswith(GROUP_PREFIX)]
        # Members by URN: after the change the group may have none of them.
        members = User.objects.filter(memberships__group__profile__urn__in=groups) if groups else User.objects.none()
        self.announce(removed_urns.union(members.order_by().values_list("urn", flat=True)))

    def refuse_gain(self) -> None:
        """Raise Forbidden if an announced user has gained a privilege that the author may not give."""
        if not self.announced_urns or not self.withheld_privileges:
            return
        privileges_after = find_holders(privileges=self.withheld_privileges, urns=self.announced_urns)
        _refuse(
            privileges - self.privileges_before.get(urn, frozenset()) for urn, privileges in privileges_after.items()
        )

    def refuse_later_gain(self, changes: Iterable[tuple[Actor, Actor]]) -> None:
        """Raise Forbidden if an actor will gain a privilege that the author may not give.

        `changes` are actors as they are, and as they will be when something has begun or ended. A suspended user counts
        as active: the suspension may end before.
        """
        if not self.withheld_privileges:
            return
        snapshot = snapshot_store.get_current()
        for actor_now, actor_then in changes:
            gained = _find_allowed_privileges(replace(actor_then, is_active=True), self.withheld_privileges, snapshot)
            _refuse([gained - _find_allowed_privileges(replace(actor_now, is_active=True), gained, snapshot)])


def find_withheld_privileges(*, by: Actor) -> frozenset[str]:
    """Return the platform privileges that the actor may not give: of those it lacks all, or one if it manages policies.

    That one is MANAGE_GUARDRAILS.
    """
    if not settings.AUTH_POLICIES_ENABLED:
        return frozenset()
    snapshot = snapshot_store.get_current()
    is_bounded = settings.BOUNDED_DELEGATION and not _find_allowed_privileges(by, [_MANAGE_POLICIES], snapshot)
    names = _list_platform_names() if is_bounded else frozenset({_MANAGE_GUARDRAILS})
    return names - _find_allowed_privileges(by, names, snapshot)


def require_given_guardrails(*, by: Actor, before: Iterable[Statement], after: Iterable[Statement]) -> None:
    """Raise Forbidden if policies come to give MANAGE_GUARDRAILS, to others than before, and the author lacks it.

    `before` and `after` are the statements of all changed policies. A deny that goes gives it, too.
    """
    earlier_clauses, clauses = _list_clauses(before), _list_clauses(after)
    given_clauses = {clause for clause in clauses - earlier_clauses if clause[1] is Effect.ALLOW}
    given_clauses |= {clause for clause in earlier_clauses - clauses if clause[1] is Effect.DENY}
    if given_clauses and settings.AUTH_POLICIES_ENABLED:
        _refuse([[_MANAGE_GUARDRAILS]] if _MANAGE_GUARDRAILS in find_withheld_privileges(by=by) else [])


def is_about_guardrails(document: Mapping[str, Any]) -> bool:
    """Whether a document lists MANAGE_GUARDRAILS, which nothing implies."""
    return _MANAGE_GUARDRAILS in (document.get("privileges") or ())


def _list_clauses(statements: Iterable[Statement]) -> set[tuple[str, Effect, ActorMatch]]:
    return {
        (statement.origin.policy, statement.effect, statement.actors)
        for statement in statements
        if _MANAGE_GUARDRAILS in statement.privileges
    }


def find_holders(*, privileges: Collection[str], urns: Collection[str]) -> _PrivilegesByUrn:
    """Return user URN → those of these platform privileges that it holds, for these users and members of these groups.

    Users without any are left out; inactive and unknown users have none. At most four queries, however many users.
    """
    snapshot = snapshot_store.get_current()
    allow_statements = [
        statement
        for name in privileges
        for statement in snapshot.list_statements(name)
        if statement.effect is Effect.ALLOW
    ]
    tokens = frozenset[str]().union(*(statement.actors.tokens for statement in allow_statements))
    users = User.objects.filter(urn__in=[urn for urn in urns if urn.startswith(USER_PREFIX)])
    user_urns = set(users.order_by().values_list("urn", flat=True))
    if groups := [urn for urn in urns if urn.startswith(GROUP_PREFIX)]:
        members = Membership.objects.filter(group__profile__urn__in=groups).values("user")
        user_urns |= set(
            users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)
            .filter(pk__in=members)
            .values_list("urn", flat=True)
        )
    actors = actor_resolution.load_actors(urns=user_urns) if user_urns else {}
    # Most users are named by none of these statements and need not be decided.
    named_actors = {urn: actor for urn, actor in actors.items() if not tokens.isdisjoint(actor.tokens)}
    privileges_by_urn = {
        urn: _find_allowed_privileges(actor, privileges, snapshot) for urn, actor in named_actors.items()
    }
    return {urn: held_privileges for urn, held_privileges in privileges_by_urn.items() if held_privileges}


def require_account(*, by: Actor, urns: Collection[str]) -> None:
    """Raise Forbidden unless the author holds every platform privilege of these users, since it could act as them.

    A suspended user counts as active: a credential outlasts the suspension.
    """
    if withheld_privileges := find_withheld_privileges(by=by):
        snapshot = snapshot_store.get_current()
        actors = actor_resolution.load_actors(urns=urns).values()
        _refuse(
            _find_allowed_privileges(replace(actor, is_active=True), withheld_privileges, snapshot) for actor in actors
        )


def require_role(*, by: Actor, role: str) -> None:
    """Raise Forbidden unless the author holds every platform privilege that a role (its URN) gives."""
    if withheld_privileges := find_withheld_privileges(by=by):
        _refuse(
            [
                _find_allowed_privileges(
                    Actor("", roles=frozenset({role})), withheld_privileges, snapshot_store.get_current()
                )
            ]
        )


def find_given_privileges(*, groups: Collection[str] = (), roles: Collection[str] = ()) -> frozenset[str]:
    """Return the platform privileges that these groups and roles give (URNs): what everybody has is none of them."""
    snapshot, names = snapshot_store.get_current(), _list_platform_names()
    holder = Actor("", groups=frozenset(groups), roles=frozenset(roles))
    return _find_allowed_privileges(holder, names - _find_allowed_privileges(Actor(""), names, snapshot), snapshot)


def list_gained_privileges(*, by: Actor, actor: Actor, groups: Mapping[str, Collection[str]]) -> _PrivilegesByUrn:
    """Return group URN → platform privileges that the actor would gain by joining it and the author may not give.

    `groups` is group URN → URNs of its roles. Groups without such privileges are left out.
    """
    withheld_privileges, snapshot = find_withheld_privileges(by=by), snapshot_store.get_current()
    current_privileges = _find_allowed_privileges(actor, withheld_privileges, snapshot)
    actors_by_group = {
        urn: replace(actor, groups=actor.groups | {urn}, roles=actor.roles.union(roles))
        for urn, roles in groups.items()
    }
    gains_by_group = {
        urn: _find_allowed_privileges(joined_actor, withheld_privileges, snapshot) - current_privileges
        for urn, joined_actor in actors_by_group.items()
    }
    return {urn: gained_privileges for urn, gained_privileges in gains_by_group.items() if gained_privileges}


def list_withholding_groups(
    *, by: Actor, actor: Actor, left_actor: Actor, groups: Mapping[str, Collection[str]]
) -> _PrivilegesByUrn:
    """Return group URN → platform privileges that the actor would gain by leaving it and the author may not give.

    `left_actor` is the actor after leaving all of `groups`, which are as in `list_gained_privileges`; a policy denies
    one, or excludes it. Groups without such privileges are left out.
    """
    snapshot = snapshot_store.get_current()
    if not groups or not snapshot.has_narrowing(_list_platform_names()):
        return {}
    withheld_privileges = find_withheld_privileges(by=by)
    gained_privileges = _find_allowed_privileges(left_actor, withheld_privileges, snapshot)
    gained_privileges -= _find_allowed_privileges(actor, gained_privileges, snapshot)
    withheld_by_group = {
        urn: gained_privileges
        - _find_allowed_privileges(
            replace(left_actor, groups=left_actor.groups | {urn}, roles=left_actor.roles.union(roles)),
            gained_privileges,
            snapshot,
        )
        for urn, roles in groups.items()
    }
    return {urn: privileges for urn, privileges in withheld_by_group.items() if privileges}


def _list_platform_names() -> frozenset[str]:
    return frozenset(privilege.name for privilege in vocabulary.load_datahub().platform_privileges())


def _find_allowed_privileges(actor: Actor, privileges: Collection[str], snapshot: Snapshot) -> frozenset[str]:
    return frozenset(name for name in privileges if decide(snapshot, Question(actor, name)).is_allowed)


def _refuse(gains: Iterable[Collection[str]]) -> None:
    gained_names = frozenset[str]().union(*gains)
    missing = tuple(
        MissingPrivilege(None, item.name)
        for item in vocabulary.load_datahub().platform_privileges()
        if item.name in gained_names
    )
    if missing:
        names_text = ", ".join(item.privilege for item in missing)
        raise Forbidden(missing, f"Nobody gives others a platform privilege without holding it. Missing: {names_text}.")
